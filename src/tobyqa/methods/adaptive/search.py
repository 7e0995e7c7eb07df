"""The search: one procedure that asks for a point, is sent a reading, and goes on.

Comparisons keep it honest. Fits with few readings near their centre can lead it astray,
each of them content with itself. So now and then the centre is compared with the best
place that came before it, by readings: there, here, and there again, so that a steady
drift cancels. Where the centre never left that place, the step that was just turned
down is compared with it: a drift that depends on the place makes any start look low.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...result import Status
from ...scaling import norm
from ...state import Observation, Task
from .belief import Asking, Belief, Place
from .contrast import contrast
from .options import Options
from .plan import next_plan, next_plan_at_best
from .probe import probe
from .recheck import agreed, awake, stuck_rows, visiting
from .region import is_beside, is_planned, resized

Array = NDArray[np.float64]

_MOST_FAILED = 50  # further points that are remembered
_TELLING = 3  # failures in a row, from which on more say nothing of the place
_READINGS = 3  # of a comparison
_EARLIEST = 6  # iterations for each variable before the first
_PATIENCE = 20  # and more than n before another
_APART = 0.3  # regions; nearer, there is nothing to compare
_FAR_AHEAD = 3.0  # standard errors
_CLOSE = 4.0  # noise levels; two places known to within that are compared


def search(task: Task, s: Options) -> Asking[None]:
    """Yields a plan and a belief, is sent an observation, and never ends by itself."""
    yield from pursue(next_plan((yield from probe(task, s))))


def pursue(b: Belief) -> Asking[None]:
    """The search from a belief on that has its plan."""
    n = b.task.x0.size
    waited, patience = 0, _EARLIEST * n  # iterations: since a comparison, until one
    while True:
        before = b
        b, reading = yield from measure(b)
        if b.status is Status.UNBOUNDED:
            continue
        goes_back = False
        if reading is not None and is_planned(reading) and not b.is_doubted:
            waited, rival = waited + 1, None
            if waited > patience and is_affordable(b):
                rival = rival_of(b, before)
            if rival is not None:
                b, goes_back = yield from compared(b, rival)
                waited, patience = 0, n + _PATIENCE
        b = next_plan_at_best(b) if goes_back else next_plan(b)
        if b.recheck is not None:
            b = next_plan((yield from recheck(b)))


def measure(b: Belief) -> Asking[tuple[Belief, Observation | None]]:
    """One reading, of the plan or of anything else that somebody measured.

    After a failure the plan is half as far away, after the second and the third in a
    row the region's edge too. A known place gets a second chance, and is given up after
    that: None.
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
            if not b.plan.revisits:
                b = nearer(b, shrinks=1 < failures <= _TELLING)
            elif failures > 1:
                return b, None


def nearer(b: Belief, *, shrinks: bool) -> Belief:
    """Half the step towards the point that failed, and half the region if it shrinks.

    One failure says little of the place: where readings fail by chance, a region that
    shrinks at each of them never grows again. Nor do many in a row: the instrument is
    down.
    """
    x = b.centre_point + 0.5 * (b.plan.x - b.centre_point)
    return replace(b, B=0.5 * b.B if shrinks else b.B, plan=replace(b.plan, x=x))


def compared(b: Belief, rival: Array) -> Asking[tuple[Belief, bool]]:
    """After a comparison with a rival, and whether to go back to the best place."""
    is_centre = np.array_equal(rival, b.centre_point)
    b, has_all = yield from compare(b, rival)
    return decided(b, rival, is_centre=is_centre) if has_all else (b, False)


def compare(b: Belief, rival: Array) -> Asking[tuple[Belief, bool]]:
    """Readings at the best place, at its rival, and at the best place again.

    Whether there are all of them: one of the two may be impossible to measure.
    """
    best = b.best.x
    b = replace(b, to_come=(best, rival, best))
    while b.to_come:
        place, *others = b.to_come
        b, has_it = yield from taken_again(replace(b, to_come=tuple(others)), place)
        if not has_it:
            return replace(b, to_come=()), False
        b = replace(b, repeats=b.repeats + 1)
    return b, True


def recheck(b: Belief) -> Asking[Belief]:
    """A reading that counts at the place of one that is hard to believe."""
    assert b.recheck is not None
    place = np.asarray(b.samples.points[b.recheck])
    b, _ = yield from taken_again(b, place, rechecks=True)
    return replace(b, recheck=None)


def taken_again(
    b: Belief, place: Array, *, rechecks: bool = False
) -> Asking[tuple[Belief, bool]]:
    """A reading that counts at a known place, and whether there is one.

    The search goes on with readings that come in between.
    """
    b = visiting(b, place, rechecks=rechecks)
    while not rechecks or not b.rows_at(place).size:
        b, reading = yield from measure(b)
        if reading is None:
            return b, False
        if is_beside(reading):
            b = next_plan(taken_off(b, reading.x))
            b = visiting(b, place, rechecks=rechecks)
        elif reading.answers and not b.is_doubted:
            return b, True
        elif reading.answers:
            b = visiting(b, place, rechecks=True)
    return b, True


def taken_off(b: Belief, x: Array) -> Belief:
    """Without a place of a comparison that has been measured beside the plan."""
    for k, place in enumerate(b.to_come):
        if np.array_equal(place, x):
            others = (*b.to_come[:k], *b.to_come[k + 1 :])
            return replace(b, to_come=others, repeats=b.repeats + 1)
    return b


def rival_of(b: Belief, before: Belief) -> Array | None:
    """What the best place is to be compared with, if there is anything.

    The centre, or where that is the best place itself, a step that has made the region
    smaller; `before`: the belief that planned it.
    """
    if not b.s.compare:
        return None
    u = np.linalg.solve(b.B, b.centre_point - b.best.x)
    if u @ u > _APART**2:
        return b.centre_point
    newest = np.asarray(b.samples.points[-1])
    is_step = np.array_equal(newest, before.plan.x) and not before.plan.explores
    return newest if is_step and norm(b.B) < norm(before.B) else None


def is_affordable(b: Belief) -> bool:
    """Whether a comparison leaves enough readings for new places."""
    asked = len(b.samples) - b.samples.guests + _READINGS
    return b.repeats + _READINGS <= b.s.repeats * asked


def decided(b: Belief, rival: Array, *, is_centre: bool) -> tuple[Belief, bool]:
    """After a comparison: the better place, and whether to go on from there.

    A place that drifts in its own way is put aside: it would bend every fit.
    `is_centre`: whether the rival was the centre when the comparison began.
    """
    lead, old = contrast(b, rival), b.best
    b = replace(b, local=b.local or lead.drifts_apart)
    needed = 0.0
    if b.local:
        # Of the start, late readings tell little: the sign alone would be chance.
        needed = 1.0 if lead.error < _CLOSE else _FAR_AHEAD
    if lead.ahead > -needed:
        return b, is_centre and lead.ahead > _FAR_AHEAD
    b = replace(b, best=Place(rival, b.B if is_centre else old.B))
    if lead.drifts_apart:
        b = replace(b, aside=(*b.aside, old.x)).refitted()
    return b, not is_centre
