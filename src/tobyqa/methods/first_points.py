"""The first points around the start, for all methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..state import Task

Array = NDArray[np.float64]

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
