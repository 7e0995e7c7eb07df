"""The search: one procedure that asks for a point, is sent a reading, and goes on.

Comparisons keep it honest. Fits with few readings near their centre can lead it astray,
each of them content with itself. So now and then the centre is compared with the best
place that came before it, by readings: there, here, and there again, so that a steady
drift cancels. Where the centre never left that place, the step that was just turned
down is compared with it: a drift that depends on the place makes any start look low.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...result import Status
from ...samples import SampleSet
from ...spacetime.fit import Fit, fit
from ...spacetime.likelihood import start_components
from ...spacetime.window import window_around, window_size
from ...state import (
    Observation,
    Proposal,
    State,
    Task,
    Verdict,
    Why,
    with_reading,
)
from ..first_points import first_ways
from .belief import Belief, Place, Plan
from .beside import after_failure, is_beside, size_change_beside
from .centre import witness
from .contrast import contrast
from .first import first_missing, is_complete
from .noise import noise_of_probe
from .options import Options
from .plan import next_plan, next_plan_at_best
from .recheck import agreed, is_doubted, looked_again
from .region import resized, size_change

Array = NDArray[np.float64]
T = TypeVar("T")
Asking = Generator[tuple[Any, Any], "Observation | None", T]  # gives T in the end

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
            change = judged(b, planned_by, reading)
            b = resized(b, change)  # before anything can interrupt
            waited += 1
            turned_down = change < 1.0 and not plan.explores and reading.answers
            rival = rival_of(b, turned_down=turned_down)
            if rival is not None and waited > b.task.x0.size + 20 and is_affordable(b):
                is_centre = np.array_equal(rival, b.centre_point)
                b, has_all = yield from compare(b, rival)
                waited = 0
                if has_all:
                    b, goes_back = decided(b, rival, is_centre=is_centre)
        b = next_plan_at_best(b) if goes_back else next_plan(b)
        if b.recheck is not None:
            b = next_plan((yield from recheck(b)))


def judged(b: Belief, planned_by: Fit, reading: Observation) -> float:
    """How the region is to change after the newest reading."""
    if reading.answers:
        return size_change(b, planned_by)
    return size_change_beside(b, planned_by, reading)


def probe_length(n: int) -> int:
    """Readings of a probe."""
    return 2 * n + 2


def probe(task: Task, s: Options) -> Asking[Belief]:
    """x0, the points x0 +- radius e_j in random order, x0 again.

    In a fixed order the curvature would look like drift. After failures the points are
    nearer.
    """
    n = task.x0.size
    ways = first_ways(task)
    rng = np.random.default_rng(task.seed)
    order = np.arange(len(ways))
    if s.shuffle:
        order = rng.permutation(order)
    state: State[Any] = State(task, SampleSet.empty(n))
    together = False  # several have been out at a time
    while state.readings < probe_length(n) or (together and not is_complete(state)):
        x, k = task.x0.copy(), state.readings
        if together:
            points = state.samples.points[state.samples.asked]
            k = first_missing(task, ways[order], points) or 0
        why = Why.START if k == 0 else Why.START_AGAIN
        if 0 < k <= len(ways):
            why = Why.FIRST
            x = x + np.ldexp(ways[order[k - 1]], -state.failures)
            x = np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE)
        proposal, reading = Proposal(x, why), None
        while reading is None:
            reading = yield proposal, state
            state = replace(state, failures=0) if reading is None else state
        together = together or reading.flight is not None
        failures, is_start = state.failures + 1, reading.asked and k == 0
        if together:
            is_start = state.centre is None and np.array_equal(reading.x, task.x0)
        if not reading.failed:
            failures, samples = 0, with_reading(state.samples, reading)
            centre = len(samples) - 1 if is_start else state.centre
            state = replace(state, samples=samples, centre=centre)
            state = replace(state, readings=state.readings + reading.asked)
        verdict = Verdict(accepted=is_start and not reading.failed)
        state = replace(state, failures=failures, verdict=verdict)
    return first_belief(state, s)


def first_belief(state: State[Any], s: Options) -> Belief:
    """The belief after a complete probe, with its first fit."""
    task, samples = state.task, state.samples
    assert task.radius is not None
    assert state.centre is not None
    starts = samples.rows_at(task.x0)
    old, new = state.centre, int(starts[-1])  # both at x0
    times = samples.times[samples.asked]
    span = float(np.ptp(times))
    spacing = span / (times.size - 1) if span > 0 else 1.0
    noise = noise_of_probe(task, samples, old, new)
    B = task.radius * np.eye(task.x0.size)
    window = window_around(
        samples,
        new,
        B,
        reach=s.reach,
        size=window_size(len(B), s.window),
        noise=noise.unit,
        spacing=spacing,
    )
    fitted = fit(window, start_components(window, s.limits), noise.spread)
    assert fitted is not None
    return Belief(
        task=task,
        s=s,
        samples=samples,
        centre=new,
        B=B,
        noise=noise,
        spacing=spacing,
        evidence=witness(samples, old, new, noise.unit, spacing),
        best=Place(samples.points[new], B),  # the start as it could be set
        fitted=fitted,
        plan=Plan(task.x0),
        widest=s.max_radius * task.radius,
        accepted=True,
    )


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


def compare(b: Belief, rival: Array) -> Asking[tuple[Belief, bool]]:
    """Readings at the best place, at its rival, and at the best place again.

    Whether there are all of them: one of the two may be impossible to measure.
    """
    places = [b.best.x, rival, b.best.x]
    while places:
        place = places.pop(0)
        plan = replace(b.plan, x=place, revisits=True)
        b = replace(b, plan=plan, to_come=tuple(places))
        answers = False
        while not answers:
            planned_by = b.fitted
            b, reading = yield from measure(b)
            if reading is None:
                return replace(b, to_come=()), False
            answers = reading.answers
            if is_beside(reading):
                taken_of(places, reading)
                b = replace(b, B=judged(b, planned_by, reading) * b.B)
                b = next_plan(b)
                plan = replace(b.plan, x=place, revisits=True)
                b = replace(b, plan=plan, to_come=tuple(places))
        b = replace(b, repeats=b.repeats + 1)
    return b, True


def recheck(b: Belief) -> Asking[Belief]:
    """A reading at the place of one that the fit cannot believe any more."""
    row = b.recheck
    assert row is not None
    b = looked_again(b, b.samples.points[row])
    answers = False
    while not answers:
        b, reading = yield from measure(b)
        if reading is None:
            return b
        answers = reading.answers
    return agreed(b, [row])


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


def taken_of(places: list[Array], reading: Observation) -> None:
    """Take a place off the list that has been measured beside the plan."""
    for k, place in enumerate(places):
        if np.array_equal(place, reading.x):
            del places[k]
            return


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
    if is_centre:
        return b, False
    if lead.drifts_apart:
        there = b.rows_at(rival)
        first, last = int(there[0]), int(there[-1])
        seen = witness(b.samples, first, last, b.noise.unit, b.spacing)
        b = replace(b, aside=(*b.aside, old.x), evidence=seen)
    return b, True
