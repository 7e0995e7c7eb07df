"""The search: one procedure that asks for a point, is sent a reading, and goes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...result import Status
from ...state import Observation, Task
from .belief import Asking, Belief
from .options import Options
from .plan import next_plan
from .probe import probe
from .recheck import agreed, awake, stuck_rows, visiting
from .region import is_beside, resized

Array = NDArray[np.float64]

_MOST_FAILED = 50  # further points that are remembered


def search(task: Task, s: Options) -> Asking[None]:
    """Yields a plan and a belief, is sent an observation, and never ends by itself."""
    yield from pursue(next_plan((yield from probe(task, s))))


def pursue(b: Belief) -> Asking[None]:
    """The search from a belief on that has its plan."""
    while True:
        b, _ = yield from measure(b)
        if b.status is Status.UNBOUNDED:
            continue
        b = next_plan(b)
        if b.recheck is not None:
            b = next_plan((yield from recheck(b)))


def measure(b: Belief) -> Asking[tuple[Belief, Observation | None]]:
    """One reading, of the plan or of anything else that somebody measured.

    After a failure the plan is half as far away, after the second in a row the region's
    edge too. A known place gets a second chance, and is given up after that: None.
    """
    failures = 0
    while True:
        before = b
        reading = yield b.plan, b
        if reading is None:
            failures = 0
        elif not reading.failed:
            b = b.plus(reading)
            if stuck_rows(b):
                return (yield from awake(b)), None
            return resized(agreed(b), before, reading), reading
        elif is_beside(reading):
            b = replace(b, failed=(*b.failed, reading.x)[-_MOST_FAILED:])
        else:
            failures += 1
            b = replace(b, accepted=False)
            if not b.plan.rechecks:
                b = nearer(b, shrinks=failures > 1)
            elif failures > 1:
                return b, None


def nearer(b: Belief, *, shrinks: bool) -> Belief:
    """Half the step towards the point that failed, and half the region if it shrinks.

    One failure says little of the place: where readings fail by chance, a region that
    shrinks at each of them never grows again.
    """
    x = b.centre_point + 0.5 * (b.plan.x - b.centre_point)
    return replace(b, B=0.5 * b.B if shrinks else b.B, plan=replace(b.plan, x=x))


def recheck(b: Belief) -> Asking[Belief]:
    """A reading that counts at the place of one that is hard to believe.

    The search goes on with readings that come in between.
    """
    assert b.recheck is not None
    place = np.asarray(b.samples.points[b.recheck])
    b = visiting(b, place)
    while not b.rows_at(place).size:
        b, reading = yield from measure(b)
        if reading is None:
            break
        if is_beside(reading):
            b = next_plan(b)
        if reading.answers or is_beside(reading):
            b = visiting(b, place)
    return replace(b, recheck=None)
