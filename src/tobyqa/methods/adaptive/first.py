"""The first points: the start, one more for each variable, and the start again.

A plane and a straight drift have as many coefficients. How curved the function is comes
out on the way: the search explores downhill what it knows least.

Several can be measured at the same time. They come in any order, and all of them can be
out at once. Whoever has room for more measures on the other sides, and then along two
coordinates together, which tells how they are coupled. So the search need not wait for
the slowest: it goes on once as many readings have come as there are first points, the
start and every coordinate among them.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...state import Proposal, State, Task, Why
from ..first_points import failures_at, first_ways, unread
from .options import Options

Array = NDArray[np.float64]
Waiting = tuple[Array, ...]

_STARTS = 2  # readings at the start


def probe_length(n: int) -> int:
    """Readings before there is a model."""
    return n + _STARTS


def ordered_ways(task: Task, s: Options) -> tuple[Array, Array]:
    """From x0 to the first points, one for each variable, in the order in which they
    are taken, and the ways to the other sides.

    The longer one where limits leave less room on one side, else by chance.
    """
    n = task.x0.size
    pairs = first_ways(task).reshape(n, 2, n)
    side, order = np.zeros(n, dtype=np.int64), np.arange(n)
    if s.shuffle:
        rng = np.random.default_rng(task.seed)
        order, side = rng.permutation(n), rng.integers(2, size=n)
    length = np.linalg.norm(pairs, axis=2)
    side = np.where(length[:, 0] == length[:, 1], side, length.argmax(axis=1))
    return pairs[order, side[order]], pairs[order, 1 - side[order]]


def first_missing(task: Task, ways: Array, points: Array) -> int | None:
    """Number of the first point that is not among these; the last is x0 again."""
    missing = unread(task.x0, ways, points)
    if missing:
        return missing[0]
    starts = np.count_nonzero((points == task.x0).all(axis=1))
    return len(ways) + 1 if starts < _STARTS else None


def is_complete(state: State[Any]) -> bool:
    """Whether the readings, in whatever order they came, make a first fit.

    A way along which nothing has been measured would be taken to be level.
    """
    task, samples = state.task, state.samples
    starts = samples.rows_at(task.x0).size
    if starts < (_STARTS if task.noise is None else 1):
        return False
    ways = samples.points[samples.asked] - task.x0
    return bool(np.linalg.matrix_rank(ways) == task.x0.size)


def first_proposal(task: Task, ways: Array, k: int, failures: int) -> Proposal:
    """The k-th of the first points, nearer after failures."""
    if not 0 < k <= len(ways):
        return Proposal(task.x0.copy(), Why.START_AGAIN if k else Why.START)
    return Proposal(_at(task, ways[k - 1], failures), Why.FIRST)


def first_further(
    state: State[Any], s: Options, proposal: Proposal | None, waiting: Waiting
) -> Proposal:
    """What nobody measures yet of the first points, the other sides, then pairs."""
    if proposal is not None:
        return proposal
    task, samples = state.task, state.samples
    points = np.array([*samples.points[samples.asked], *waiting])
    ways, others = ordered_ways(task, s)
    k = first_missing(task, ways, points)
    if k is not None:
        nearer = failures_at(task.x0, ways, state.failed, k)
        return first_proposal(task, ways, k, nearer)
    beyond = max(len(points) + len(state.failed) - probe_length(len(ways)), 0)
    way = others[beyond] if beyond < len(others) else _pair(task, beyond - len(others))
    return Proposal(_at(task, way, 0), Why.FIRST)


def _pair(task: Task, k: int) -> Array:
    """Along two coordinates at once; once all pairs are taken, along any way."""
    assert task.radius is not None
    n, rng = task.x0.size, np.random.default_rng([task.seed, 1])
    pairs = list(itertools.combinations(range(n), 2))
    signs = rng.choice([-1.0, 1.0], (len(pairs), 2))
    if k < len(pairs):
        at = int(rng.permutation(len(pairs))[k])
        way = np.zeros(n)
        way[list(pairs[at])] = signs[at] / math.sqrt(2.0)
        return task.radius * way
    rng = np.random.default_rng([task.seed, 2, k])
    way = rng.standard_normal(n)
    return np.asarray(task.radius * rng.uniform(0.3, 1.0) * way / np.linalg.norm(way))


def _at(task: Task, way: Array, failures: int) -> Array:
    x = task.x0 + np.ldexp(way, -failures)
    if task.area is not None:
        x = task.area.nearest(x)
    return np.asarray(np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE))
