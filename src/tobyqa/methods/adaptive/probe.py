"""The first readings, and what a search makes of them before its first step."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet
from ...state import Observation, Proposal, State, Task, Verdict, with_reading
from . import fits
from .belief import Belief, Place, Plan
from .centre import witness
from .noise import BELIEVED, GUESSED, Noise, credible_noise, digits
from .options import Options

Array = NDArray[np.float64]

NOISE_FLOOR = 1e-6  # of the variation; finer, the fit has no digits left


def probe(
    task: Task, s: Options
) -> Generator[tuple[Proposal, State[Any]], Observation | None, Belief]:
    """x0, the points x0 +- radius e_j in random order, x0 again.

    In a fixed order the curvature would look like drift.
    """
    state: State[Any] = State(task, SampleSet.empty(task.x0.size))
    while state.readings < 2 * task.x0.size + 2:
        reading = yield Proposal(_point(state, s)), state
        if reading is None:
            state = replace(state, failures=0)
        elif reading.failed:
            state = replace(
                state, failures=state.failures + 1, verdict=Verdict(accepted=False)
            )
        else:
            samples = with_reading(state.samples, reading)
            is_start = reading.asked and state.readings == 0
            state = replace(
                state,
                samples=samples,
                centre=len(samples) - 1 if is_start else state.centre,
                readings=state.readings + reading.asked,
                failures=0,
                verdict=Verdict(accepted=is_start),
            )
    return _begun(state, s)


def _point(state: State[Any], s: Options) -> Array:
    """The next point of the probe; nearer after failures."""
    x, k = state.task.x0.copy(), state.readings
    if 0 < k <= 2 * x.size:
        assert state.task.radius is not None
        order = np.arange(2 * x.size)
        if s.shuffle:
            order = np.random.default_rng(state.task.seed).permutation(order)
        distance = math.ldexp(state.task.radius, -state.failures)
        x[order[k - 1] // 2] += distance if order[k - 1] % 2 == 0 else -distance
    return x


def _begun(state: State[Any], s: Options) -> Belief:
    """The belief after a complete probe, with its first fit."""
    task, samples = state.task, state.samples
    assert task.radius is not None
    assert state.centre is not None
    old, new = state.centre, len(samples) - 1  # both at x0
    times = samples.times[samples.asked]
    span = float(np.ptp(times))
    spacing = span / (times.size - 1) if span > 0 else 1.0
    noise = _first_noise(task.noise, samples, old, new)
    B = task.radius * np.eye(task.x0.size)
    return Belief(
        task=task,
        samples=samples,
        centre=new,
        B=B,
        noise=noise,
        spacing=spacing,
        evidence=witness(samples, old, new, noise.unit, spacing),
        best=Place(task.x0, B),
        fitted=fits.first(samples, new, B, noise, spacing, s),
        plan=Plan(task.x0, 0.0, True, True, math.inf),
        local_is_known=not s.local,
    )


def _first_noise(noise: float | None, samples: SampleSet, old: int, new: int) -> Noise:
    """As stated; else by the two readings at x0: their difference is all there is."""
    values, spread = samples.values[samples.asked], BELIEVED
    if noise is None:
        noise, spread = abs(samples.values[new] - samples.values[old]) / 1.4, GUESSED
    stated = float(noise)
    floor = digits(float(np.abs(values).max()))
    unit = max(stated, NOISE_FLOOR * float(np.ptp(values)), floor)
    return Noise(unit, stated, spread, loudest=credible_noise(spread) ** 2)
