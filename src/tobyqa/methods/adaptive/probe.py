"""The first readings, and what a search makes of them before its first fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...state import State
from .champion import Champion
from .evidence import credible_noise, digits, witness
from .fits import Fits
from .search import BELIEVED, GUESSED, Plan, Search
from .unit import NOISE_FLOOR

Array = NDArray[np.float64]


def size(n: int) -> int:
    """Readings of a probe."""
    return 2 * n + 2


def probe_point(state: State[Any], *, shuffle: bool) -> Array:
    """x0, the points x0 +- radius e_j in random order, x0 again.

    In a fixed order the curvature would look like drift. Nearer after failures.
    """
    x, k = state.task.x0.copy(), state.readings
    if 0 < k <= 2 * x.size:
        assert state.task.radius is not None
        order = np.arange(2 * x.size)
        if shuffle:
            order = np.random.default_rng(state.task.seed).permutation(order)
        distance = math.ldexp(state.task.radius, -state.failures)
        x[order[k - 1] // 2] += distance if order[k - 1] % 2 == 0 else -distance
    return x


def begun(
    state: State[Search], fits: Fits, *, may_be_local: bool
) -> tuple[State[Search], Search]:
    """The search after a complete probe, with its first fit.

    `may_be_local`: whether the drift may depend on the place.
    """
    task, samples = state.task, state.samples
    assert task.radius is not None
    assert state.centre is not None
    old, new = state.centre, len(samples) - 1  # both at x0
    values, times = samples.values, samples.times[samples.asked]
    probe = values[samples.asked]
    noise, spread = task.noise, BELIEVED
    if noise is None:
        # x0 was measured twice; their difference is all there is to go by.
        noise, spread = abs(values[new] - values[old]) / 1.4, GUESSED
    stated = float(noise)
    noise = max(
        stated,
        NOISE_FLOOR * float(np.ptp(probe)),
        digits(float(np.abs(probe).max())),
    )
    span = float(np.ptp(times))
    spacing = span / (times.size - 1) if span > 0 else 1.0
    state = replace(state, centre=new)
    B = task.radius * np.eye(task.x0.size)
    search = Search(
        B=B,
        noise=noise,
        stated=stated,
        spread=spread,
        loudest=credible_noise(spread) ** 2,
        spacing=spacing,
        evidence=witness(samples, old, new, noise, spacing),
        local_is_known=not may_be_local,
        champion=Champion(task.x0, B),
        fitted=None,  # type: ignore[arg-type]  # set below, before it is used
        plan=Plan(task.x0, 0.0, True, True, math.inf),
    )
    return state, replace(search, fitted=fits.first(state, new, search))
