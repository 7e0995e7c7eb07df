"""The search: one procedure that asks for a point, is sent a reading, and goes on.

Comparisons keep it honest. Fits with few readings near their centre can lead it astray,
each of them content with itself. So now and then the centre is compared with the best
place that came before it, by readings: there, here, and there again, so that a steady
drift cancels. The first comparison is repeated until it is known whether the drift
depends on the place.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...result import Status
from ...state import Observation, Task, with_reading
from . import fits
from .belief import Belief
from .centre import witness
from .components import Components
from .contrast import contrast, decided
from .options import Options
from .plan import next_plan, next_plan_at_best, size_change
from .probe import probe

Array = NDArray[np.float64]
T = TypeVar("T")
Asking = Generator[tuple[Any, Any], "Observation | None", T]  # gives T in the end
Rows = tuple[int, ...]  # of one comparison

_READINGS = 3  # of a comparison
_APART = 0.3  # regions; nearer, there is nothing to compare
_TOO_SOON = 0.5  # spacings between two readings that are to show a slope
_SOON, _SOON_OFTEN = 4, 3  # iterations between the first comparisons; how many


def search(task: Task, s: Options) -> Asking[None]:
    """Yields a plan and a belief, is sent an observation, and never ends by itself."""
    b = yield from probe(task, s)
    b = next_plan(replace(b, iterations=1), s)
    rival: Array | None = None
    rounds: tuple[Rows, ...] = ()
    waited = 0
    while True:
        planned_by = b.fitted
        b, reading = yield from measure(b, s)
        answers = reading is not None and reading.answers
        if b.status is Status.UNBOUNDED:
            continue
        if answers:  # before anything can interrupt
            b = replace(b, B=size_change(b, planned_by, s) * b.B)
        way_back: Components | None = None  # of the fit to go on from the best place
        if s.home and answers:
            is_due = waited + bool(rounds) >= patience(b, rounds)
            is_due = is_due and is_affordable(b, s, _READINGS)
            if is_due and rival is None and is_apart(b):
                rival = b.centre_point
            if is_due and rival is not None:
                b, rows = yield from compare(b, s, rival)
                rounds, waited = (*rounds, *rows), 1 - len(rows)
                if rows:
                    b, lead = contrast(b, rival, rounds)
                    if lead.is_decided:
                        b, way_back = decided(b, rival, lead)
                        rounds = ()
                    b = fits.without_local(b, s)
                rival = rival if rounds else None
            else:
                waited += 1
        if way_back is None:
            b = next_plan(b, s)
        else:
            b = next_plan_at_best(b, s, way_back)


def measure(b: Belief, s: Options) -> Asking[tuple[Belief, Observation | None]]:
    """One reading, of the plan or of anything else that somebody measured.

    After a failure the plan is half as far away, and so is the region's edge. A known
    place gets a second chance, and is given up after that: None.
    """
    failures = 0
    while True:
        reading = yield b.plan, b
        if reading is None:
            failures = 0
        elif not reading.failed:
            return plus(b, s, reading), reading
        else:
            failures += 1
            b = replace(b, accepted=False)
            if not b.plan.revisits:
                b = nearer(b)
            elif failures > 1:
                return b, None


def nearer(b: Belief) -> Belief:
    """Half the region, and half the step towards the point that failed."""
    x = b.centre_point + 0.5 * (b.plan.x - b.centre_point)
    fall = float(b.fitted.falls(b.fitted.window.frame.u(x[None]))[0])
    plan = replace(b.plan, x=x, predicted=max(fall, 0.0))
    return replace(b, B=0.5 * b.B, plan=plan)


def plus(b: Belief, s: Options, reading: Observation) -> Belief:
    """The belief with one more reading.

    If it repeats the centre, it is the centre now, and a witness of the drift, unless
    it was taken at about the same time.
    """
    samples, old = with_reading(b.samples, reading), b.centre
    b = replace(b, samples=samples, accepted=False)
    if b.status is Status.UNBOUNDED:
        return b
    b = replace(b, fitted=fits.extended(b, s), iterations=b.iterations + 1)
    if not np.array_equal(samples.points[-1], samples.points[old]):
        return b
    b = replace(b, centre=b.newest, accepted=True)
    gap = abs(float(samples.times[-1] - samples.times[old])) / b.spacing
    if gap < _TOO_SOON:
        return b
    seen = witness(samples, old, b.newest, b.noise.unit, b.spacing)
    return replace(b, evidence=seen.after(b.evidence))


def compare(b: Belief, s: Options, rival: Array) -> Asking[tuple[Belief, list[Rows]]]:
    """Readings at the best place, at its rival, and at the best place again.

    Their rows; none if one of the two could not be measured.
    """
    rows: Rows = ()
    for place in (b.best.x, rival, b.best.x):
        b, answers = b.measuring(place), False
        while not answers:
            b, reading = yield from measure(b, s)
            if reading is None:
                return b, []
            answers = reading.answers
        rows = (*rows, b.newest)
        b = replace(b, repeats=b.repeats + 1)
    return b, [rows]


def is_affordable(b: Belief, s: Options, readings: int) -> bool:
    """Whether so many readings at known places leave enough for new ones."""
    asked = len(b.samples) - b.samples.guests
    return b.repeats + readings <= s.repeats * (asked + readings)


def patience(b: Belief, rounds: tuple[Rows, ...]) -> int:
    """Iterations between comparisons; few until the kind of drift is known."""
    soon = not b.local_is_known and len(rounds) < _SOON_OFTEN
    return _SOON if soon else b.task.x0.size + 20


def is_apart(b: Belief) -> bool:
    """Whether the centre is far enough from the best place to be compared with it."""
    u = np.linalg.solve(b.B, b.centre_point - b.best.x)
    return bool(u @ u > _APART**2)
