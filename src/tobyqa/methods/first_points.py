"""The first points around the start, for all methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def unread(x0: Array, ways: Array, points: Array) -> list[int]:
    """Which of the first points none of `points` is: 0 for x0, j for x0 + ways[j - 1].

    A point nearer on the same way counts, as after a failure, and one that is a little
    off, as where knobs move in steps.
    """
    found = {_first_point(d, ways) for d in points - x0}
    return [k for k in range(len(ways) + 1) if k not in found]


def failures_at(x0: Array, ways: Array, failed: tuple[Array, ...], k: int) -> int:
    """How often the k-th of the first points, or one nearer on its way, has failed."""
    return sum(_first_point(x - x0, ways) == k for x in failed)


def _first_point(d: Array, ways: Array) -> int:
    """Which of the first points is at `d` from x0; -1: none."""
    if not d.any():
        return 0
    along = (ways @ d) / np.einsum("ij,ij->i", ways, ways)  # in lengths of the way
    off = np.linalg.norm(d - along[:, None] * ways, axis=1)
    is_near = (along > 0.0) & (along < _BEYOND) & (off <= _OFF * np.linalg.norm(d))
    if not is_near.any():
        return -1
    return 1 + int(np.abs(np.log(np.where(is_near, along, 1e300))).argmin())
