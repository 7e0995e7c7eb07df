"""The first readings, around the start in random order, and the first belief."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...samples import SampleSet
from ...spacetime.fit import fit
from ...spacetime.likelihood import start_components
from ...spacetime.window import window_around, window_size
from ...state import State, Task, Verdict, with_reading
from ..first_points import failures_at
from .belief import Asking, Belief, Place, Plan
from .centre import witness
from .first import (
    first_missing,
    first_proposal,
    is_complete,
    ordered_ways,
    probe_length,
)
from .noise import noise_of_probe
from .options import Options


def probe(task: Task, s: Options) -> Asking[Belief]:
    """x0, a point x0 + radius e_j or x0 - radius e_j for each j, and x0 again.

    In random order: in a fixed one curvature would look like drift. After failures the
    points are nearer.
    """
    n, (ways, _) = task.x0.size, ordered_ways(task, s)
    state: State[Any] = State(task, SampleSet.empty(n))
    together = False  # several have been out at a time
    while state.readings < probe_length(n) or (together and not is_complete(state)):
        k, nearer, reading = state.readings, state.failures, None
        if together:
            points = state.samples.points[state.samples.asked]
            k = first_missing(task, ways, points) or 0
            nearer = failures_at(task.x0, ways, state.failed, k)
        proposal = first_proposal(task, ways, k, nearer)
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
        elif together:
            state = replace(state, failed=(*state.failed, reading.x))
        verdict = Verdict(accepted=is_start and not reading.failed)
        state = replace(state, failures=failures, verdict=verdict)
    return first_belief(state, s)


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
        evidence=witness(samples, old, new, noise.unit, spacing),
        best=Place(samples.points[new], B),  # the start as it could be set
        fitted=fitted,
        plan=Plan(task.x0),
        widest=s.max_radius * task.radius,
        iterations=1,
        accepted=True,
    )
