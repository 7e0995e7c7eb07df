"""Knobs that move in steps: what to measure where all that is near was measured.

A search that has come down to single steps would ask for one and the same setting again
and again. Settings beside it tell its model as much, and what lies there as well.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from .setpoints import Place, Setpoints

Array = NDArray[np.float64]
Counts = Mapping[tuple[float, ...], int]  # how often a setting was asked for

OFTEN = 2  # more tells no more than settings beside it
_STEPS = (1.0, -1.0, 2.0, -2.0)  # equalities may let pass only every other one


def is_on_grid(points: Setpoints) -> bool:
    """Whether all that moves does so in steps, so that settings can be counted."""
    return not bool(np.isnan(points.resolution[points.low < points.high]).any())


def key(x: Array) -> tuple[float, ...]:
    """What a setting is counted by."""
    return tuple(x.tolist())


def nearest_untried(
    goal: Place,
    place: Callable[[Array], Place],
    points: Setpoints,
    tried: Set[tuple[float, ...]],
    farthest: float,
) -> Place | None:
    """The setting nearest to `goal`, in scaled distance, that is none of the tried.

    None if there is none that differs by no more than `farthest` scales in each
    variable. `place` gives the allowed setting of z.
    """
    order = itertools.count()  # of those equally far, the one found first
    waiting, seen = [(0.0, next(order), goal)], {key(goal.x)}
    while waiting:
        _, _, here = heapq.heappop(waiting)
        if key(here.x) not in tried:
            return here
        for x in _beside(here.x, points.resolution):
            there = place(points.to_search(x))
            way = (there.x - goal.x) / points.scale
            is_far = float(np.abs(way).max()) > farthest * (1.0 + 1e-9)
            if not (is_far or key(there.x) in seen):
                seen.add(key(there.x))
                heapq.heappush(waiting, (float(way @ way), next(order), there))
    return None


def _beside(x: Array, resolution: Array) -> Iterator[Array]:
    """Settings one or two steps of one knob away."""
    for i in np.flatnonzero(~np.isnan(resolution)):
        for steps in _STEPS:
            other = x.copy()
            other[i] += steps * resolution[i]
            yield other
