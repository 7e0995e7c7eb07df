"""The search: one procedure that asks for a point, is sent a reading, and goes on.

Comparisons keep it honest. Fits with few readings near their centre can lead it astray,
each of them content with itself. So now and then the centre is compared with the best
place that came before it, by readings: there, here, and there again, so that a steady
drift cancels. Where the centre never left that place, the step that was just turned
down is compared with it: a drift that depends on the place makes any start look low.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...result import Status
from ...spacetime.fit import Fit
from ...state import Observation, Task
from .belief import Asking, Belief, Place
from .beside import after_failure, is_beside, resized_beside
from .centre import witness
from .contrast import contrast
from .options import Options
from .plan import next_plan, next_plan_at_best
from .probe import probe
from .recheck import agreed, is_doubted, looked_again
from .region import resized, size_change

Array = NDArray[np.float64]

_READINGS = 3  # of a comparison
_APART = 0.3  # regions; nearer, there is nothing to compare
_FAR_AHEAD = 3.0  # standard errors
_CLOSE = 4.0  # noise levels; two places known to within that are compared


def search(task: Task, s: Options) -> Asking[None]:
    """Yields a plan and a belief, is sent an observation, and never ends by itself."""
    b = yield from probe(task, s)
    yield from pursue(next_plan(replace(b, iterations=1)))


def pursue(b: Belief) -> Asking[None]:
    """The search from a belief on that has its plan."""
    waited = math.inf  # iterations since the last comparison
    while True:
        plan, planned_by = b.plan, b.fitted
        b, reading = yield from measure(b)
        if b.status is Status.UNBOUNDED:
            continue
        goes_back = False
        if reading is not None and (reading.answers or is_beside(reading)):
            # Before anything can interrupt.
            b, is_smaller = judged(b, planned_by, reading)
            waited, rival = waited + 1, None
            if waited > b.task.x0.size + 20 and is_affordable(b):
                rival = rival_of(b, turned_down=is_smaller and not plan.explores)
            if rival is not None:
                b, goes_back = yield from compared(b, rival)
                waited = 0
        b = next_plan_at_best(b) if goes_back else next_plan(b)
        if b.recheck is not None:
            b = next_plan((yield from recheck(b)))


def judged(b: Belief, before: Fit, reading: Observation) -> tuple[Belief, bool]:
    """The belief with its region resized, and whether the plan has made it smaller.

    `before`: the fit just before the reading.
    """
    if not reading.answers:
        return resized_beside(b, before, reading), False
    change = size_change(b, before)
    return replace(resized(b, change), judged=b.iterations - 1), change < 1.0


def measure(b: Belief) -> Asking[tuple[Belief, Observation | None]]:
    """One reading, of the plan or of anything else that somebody measured.

    After a failure the plan is half as far away, and so is the region's edge. A known
    place gets a second chance, and is given up after that: None.
    """
    failures, doubted = 0, list[int]()
    while True:
        reading = yield b.plan, b
        if reading is None:
            failures = 0
        elif not reading.failed:
            b = b.plus(reading)
            if reading.answers and doubted:
                b = agreed(b, doubted)
            if not (reading.answers and is_doubted(b)):
                return b, reading
            doubted.append(b.newest)
            b = looked_again(b)
        elif is_beside(reading):
            b = after_failure(b, reading)
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


def compared(b: Belief, rival: Array) -> Asking[tuple[Belief, bool]]:
    """After a comparison with a rival, and whether to go back to the best place."""
    is_centre = np.array_equal(rival, b.centre_point)
    b, has_all = yield from compare(b, rival)
    return decided(b, rival, is_centre=is_centre) if has_all else (b, False)


def compare(b: Belief, rival: Array) -> Asking[tuple[Belief, bool]]:
    """Readings at the best place, at its rival, and at the best place again.

    Whether there are all of them: one of the two may be impossible to measure.
    """
    b = _visiting(b, (b.best.x, rival, b.best.x))
    while True:
        place, before = b.plan.x, b.fitted
        b, reading = yield from measure(b)
        if reading is None:
            return replace(b, to_come=()), False
        if reading.answers:
            b = replace(b, repeats=b.repeats + 1)
            if not b.to_come:
                return b, True
            b = _visiting(b, b.to_come)
        elif is_beside(reading):
            left = _without_first(b.to_come, reading.x)
            repeats = b.repeats + len(b.to_come) - len(left)
            b = replace(resized_beside(b, before, reading), repeats=repeats)
            b = _visiting(next_plan(b), (place, *left))


def _visiting(b: Belief, places: tuple[Array, ...]) -> Belief:
    """With the plan to measure the first of these places, and then the others."""
    plan = replace(b.plan, x=places[0], revisits=True)
    return replace(b, plan=plan, to_come=places[1:])


def _without_first(places: tuple[Array, ...], x: Array) -> tuple[Array, ...]:
    """The places without the first one that is at x."""
    for k, place in enumerate(places):
        if np.array_equal(place, x):
            return (*places[:k], *places[k + 1 :])
    return places


def recheck(b: Belief) -> Asking[Belief]:
    """A reading at the place of one that the fit cannot believe any more."""
    row = b.recheck
    assert row is not None
    b = looked_again(b, b.samples.points[row])
    b, has_answer = yield from answered(b)
    return agreed(b, [row]) if has_answer else b


def answered(b: Belief) -> Asking[tuple[Belief, bool]]:
    """Readings until one answers the plan; whether one did: it may be impossible."""
    while True:
        b, reading = yield from measure(b)
        if reading is None or reading.answers:
            return b, reading is not None


def rival_of(b: Belief, *, turned_down: bool) -> Array | None:
    """What the best place is to be compared with, if there is anything."""
    if not b.s.compare:
        return None
    u = np.linalg.solve(b.B, b.centre_point - b.best.x)
    if u @ u > _APART**2:
        return b.centre_point
    return np.asarray(b.samples.points[-1]) if turned_down else None


def is_affordable(b: Belief) -> bool:
    """Whether a comparison leaves enough readings for new places."""
    asked = len(b.samples) - b.samples.guests + _READINGS
    return b.repeats + _READINGS <= b.s.repeats * asked


def decided(
    b: Belief, rival: Array, *, is_centre: bool | None = None
) -> tuple[Belief, bool]:
    """After a comparison: the better place, and whether to go on from there.

    A place that drifts in its own way is put aside: it would bend every fit.
    `is_centre`: whether the rival was the centre when the comparison began, if the
    search has gone on since.
    """
    if is_centre is None:
        is_centre = np.array_equal(rival, b.centre_point)
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
        there = b.rows_at(rival)
        first, last = int(there[0]), int(there[-1])
        seen = witness(b.samples, first, last, b.noise.unit, b.spacing)
        b = replace(b, aside=(*b.aside, old.x), evidence=seen)
        b = replace(b, fitted=b.fit_around(b.centre, b.fitted.components))
    return b, not is_centre
