"""The first points around the start, for all methods."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from .._check import LARGEST_COORDINATE
from ..state import Task

Array = NDArray[np.float64]

_OFF = 0.3  # of its distance from x0, by which a first point may be off its way
_BEYOND = 1.5  # lengths of the way
_ROOM = 0.25  # of the first radius, that there must be on either side


def first_ways(task: Task) -> Array:
    """From x0 to the other points of the probe, one per row: there and back along e_j.

    Where one side has no room, both are on the other, at two distances: slope and
    curvature are still told apart.
    """
    assert task.radius is not None
    ways: list[Array] = []
    for e in task.radius * np.eye(task.x0.size):
        pair = e, -e
        if task.area is not None:
            room = [min(task.area.reach(task.x0, way), 1.0) for way in pair]
            pair = room[0] * e, -room[1] * e
            if min(room) < _ROOM:
                pair = (e, 0.5 * e) if room[0] > room[1] else (-e, -0.5 * e)
                pair = max(room) * pair[0], max(room) * pair[1]
        ways.extend(pair)
    return np.array(ways)


def one_way_each(task: Task, *, shuffled: bool) -> tuple[Array, Array]:
    """From x0 to the first points, one for each variable, in the order in which they
    are taken, and the ways to the other sides.

    The longer one where limits leave less room on one side, else by chance.
    """
    n = task.x0.size
    pairs = first_ways(task).reshape(n, 2, n)
    side, order = np.zeros(n, dtype=np.int64), np.arange(n)
    if shuffled:
        rng = np.random.default_rng(task.seed)
        order, side = rng.permutation(n), rng.integers(2, size=n)
    length = np.linalg.norm(pairs, axis=2)
    side = np.where(length[:, 0] == length[:, 1], side, length.argmax(axis=1))
    return pairs[order, side[order]], pairs[order, 1 - side[order]]


def two_at_once(task: Task, k: int) -> Array:
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


def point_along(task: Task, way: Array) -> Array:
    """The allowed point nearest to the one along a way from x0."""
    x = task.x0 + way
    if task.area is not None:
        x = task.area.nearest(x)
    return np.asarray(np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE))


def unread(x0: Array, ways: Array, points: Array) -> list[int]:
    """Which of the first points none of `points` is: 0 for x0, j for x0 + ways[j - 1].

    A point nearer on the same way counts, as after a failure, and one that is a little
    off, as where knobs move in steps.
    """
    found = {_first_point(d, ways) for d in points - x0}
    ways_out = [k for k, way in enumerate(ways, start=1) if way.any()]
    return [k for k in (0, *ways_out) if k not in found]


def failures_at(x0: Array, ways: Array, failed: tuple[Array, ...], k: int) -> int:
    """How often the k-th of the first points, or one nearer on its way, has failed."""
    return sum(_first_point(x - x0, ways) == k for x in failed)


def _first_point(d: Array, ways: Array) -> int:
    """Which of the first points is at `d` from x0; -1: none."""
    if not d.any():
        return 0
    squares = np.einsum("ij,ij->i", ways, ways)
    along = (ways @ d) / np.where(squares > 0.0, squares, 1.0)  # in lengths of the way
    off = np.linalg.norm(d - along[:, None] * ways, axis=1)
    is_near = (along > 0.0) & (along < _BEYOND) & (off <= _OFF * np.linalg.norm(d))
    if not is_near.any():
        return -1
    return 1 + int(np.abs(np.log(np.where(is_near, along, 1e300))).argmin())
