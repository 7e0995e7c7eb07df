"""The first points: the start, one more for each variable, and the start again.

A plane and a straight drift have as many coefficients. How curved the function is comes
out on the way: the search explores downhill what it knows least. They are taken in
random order: in a fixed one curvature would look like drift.

Several can be measured at the same time. They come in any order, and all of them can be
out at once. Whoever has room for more measures on the other sides, and then along two
coordinates together, which tells how they are coupled. So the search need not wait for
the slowest: it goes on once as many readings have come as there are first points, the
start and every coordinate among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet
from ...spacetime.fit import fit
from ...spacetime.likelihood import start_components
from ...spacetime.window import window_around, window_size
from ...state import Observation, Proposal, State, Task, Verdict, Why, with_reading
from ..first_points import (
    failures_at,
    one_way_each,
    point_along,
    two_at_once,
    unread,
)
from .belief import Asking, Belief, Place, Plan
from .noise import noise_of_probe
from .options import Options

Array = NDArray[np.float64]
Waiting = tuple[Array, ...]

_STARTS = 2  # readings at the start


def probe_length(n: int) -> int:
    """Readings before there is a model."""
    return n + _STARTS


def probe(task: Task, s: Options) -> Asking[Belief]:
    """x0, a point x0 + radius e_j or x0 - radius e_j for each j, and x0 again."""
    n = task.x0.size
    state: State[Any] = State(task, SampleSet.empty(n))
    while state.readings < probe_length(n) or _is_to_wait(state):
        again = Proposal(task.x0.copy(), Why.START_AGAIN)
        reading, proposal = None, _missing(state, s, ()) or again
        while reading is None:
            reading = yield proposal, state
            state = replace(state, failed=()) if reading is None else state
        is_start = reading.asked and proposal.why is Why.START
        state = _after(state, reading, is_start=is_start)
    return first_belief(state, s)


def _after(state: State[Any], reading: Observation, *, is_start: bool) -> State[Any]:
    """The state after a reading or a failure, asked for or not."""
    samples, failed, centre = state.samples, state.failed, state.centre
    if reading.failed:
        failed = (*failed, reading.x)
    else:
        samples = with_reading(samples, reading)
    if reading.flight is not None:
        is_start = np.array_equal(reading.x, state.task.x0)
    is_start = is_start and centre is None and not reading.failed
    return replace(
        state,
        samples=samples,
        failed=failed,
        centre=len(samples) - 1 if is_start else centre,
        readings=len(samples) - samples.guests,
        verdict=Verdict(accepted=is_start),
        is_beside=state.is_beside or reading.flight is not None,
    )


def _is_to_wait(state: State[Any]) -> bool:
    """Whether readings that come in any order do not make a first fit yet.

    A way along which nothing has been measured would be taken to be level.
    """
    task, samples = state.task, state.samples
    starts = _STARTS if task.noise is None else 1
    ways = samples.points[samples.asked] - task.x0
    is_whole = np.linalg.matrix_rank(ways) == task.x0.size
    return state.is_beside and not (
        is_whole and samples.rows_at(task.x0).size >= starts
    )


def first_further(state: State[Any], s: Options, waiting: Waiting) -> Proposal:
    """What nobody measures yet of the first points, the other sides, then pairs."""
    missing = _missing(state, s, waiting)
    if missing is not None:
        return missing
    task, samples = state.task, state.samples
    _, others = one_way_each(task, shuffled=s.shuffle)
    known = len(samples) - samples.guests + len(waiting) + len(state.failed)
    beyond = max(known - probe_length(len(others)), 0)
    pairs = beyond - len(others)
    way = two_at_once(task, pairs) if pairs >= 0 else others[beyond]
    return Proposal(point_along(task, way), Why.FIRST)


def _missing(state: State[Any], s: Options, waiting: Waiting) -> Proposal | None:
    """The next first point that is neither read nor out, nearer after failures.

    One after the other they are numbered: a knob that moves in steps, or one without
    room, may be set elsewhere. Where several are out it is told by their places.
    """
    task, samples = state.task, state.samples
    ways, _ = one_way_each(task, shuffled=s.shuffle)
    if state.is_beside or waiting:
        points = np.array([*samples.points[samples.asked], *waiting])
        points = points.reshape(-1, len(ways))
        if state.centre is not None:  # the start may be a little off, as it could be
            points[(points == state.centre_point).all(axis=1)] = task.x0
        missing = unread(task.x0, ways, points)
        starts = int(np.count_nonzero((points == task.x0).all(axis=1)))
    else:
        missing, starts = list(range(state.readings, len(ways) + 1)), 1
    if missing and missing[0] > 0:
        k = missing[0]
        nearer = np.ldexp(ways[k - 1], -failures_at(task.x0, ways, state.failed, k))
        return Proposal(point_along(task, nearer), Why.FIRST)
    if missing:
        return Proposal(task.x0.copy(), Why.START)
    return Proposal(task.x0.copy(), Why.START_AGAIN) if starts < _STARTS else None


def first_belief(state: State[Any], s: Options) -> Belief:
    """The belief after a complete probe, with its first fit."""
    task, samples = state.task, state.samples
    assert task.radius is not None
    assert state.centre is not None
    starts = samples.rows_at(samples.points[state.centre])  # as it could be set
    old, new = state.centre, int(starts[-1])  # both at x0
    times = samples.times[samples.asked]
    span = float(np.ptp(times))
    spacing = span / (times.size - 1) or 1.0
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
        best=Place(samples.points[new], B),  # the start as it could be set
        fitted=fitted,
        plan=Plan(task.x0),
        widest=s.max_radius * task.radius,
        iterations=1,
        accepted=True,
    )
