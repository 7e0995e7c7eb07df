"""Settings within narrower limits than those of the space, for one question.

=======  ==============================================================  =======
symbol   meaning                                                         shape
=======  ==============================================================  =======
x, s     the user's variables and their scales                           (n,)
z        the search's variables: x = p + s N z (`reduction.py`)          (k,)
=======  ==============================================================  =======
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .grid import fifteen_digits
from .polyhedron import Polyhedron
from .reduction import Side
from .setpoints import Place, Setpoints

Array = NDArray[np.float64]

_APART = 1e-9  # scales; nearer, two places are the same


def nearer_to(points: Setpoints, here: Place, others: Sequence[Array]) -> Setpoints:
    """Those settings that are nearer to `here` than to any of the others, in z.

    A place that is the same as `here` counts for nothing. `here` itself is one of them.
    """
    size = 1.0 + math.sqrt(here.z @ here.z)
    ways = [way for z in others if math.sqrt((way := z - here.z) @ way) > _APART * size]
    if not ways:
        return points
    free, area = points.free, points.area
    A = np.array([way / math.sqrt(way @ way) for way in ways])
    b = A @ here.z + 0.5 * np.linalg.norm(ways, axis=1)
    sides = [
        Side(free.N @ row / points.scale, limit, "nearer to the safe place")
        for row, limit in zip(A, b.tolist(), strict=True)
    ]
    k = len(free.sides)  # rows of sums come first, then those of bounds
    return replace(
        points,
        free=replace(free, sides=(*free.sides, *sides), inner=here.z),
        area=Polyhedron(
            np.vstack([area.A[:k], A, area.A[k:]]),
            np.concatenate([area.b[:k], b, area.b[k:]]),
            (*area.names[:k], *(side.name for side in sides), *area.names[k:]),
        ),
    )


def one_move(last: Array, most: Array) -> tuple[Array, Array]:
    """Limits of the settings that are no farther from the last than `most` allows.

    As decimal numbers: 0.3 is 0.1 from 0.2, whatever binary digits say.
    """
    low = [fifteen_digits(v) for v in (last - most).tolist()]
    high = [fifteen_digits(v) for v in (last + most).tolist()]
    return np.array(low), np.array(high)


def on_the_way(points: Setpoints, last: Array, goal: Array, most: Array) -> Array:
    """The setting to go to from `last` if `goal` is too far: as far as one move leads.

    It lies between the two, or, where a grid leaves nothing there, as near to the goal
    as a move may lead.
    """
    low, high = one_move(last, most)
    if ((low <= goal) & (goal <= high)).all():
        return goal
    here, there = points.to_search(last), points.to_search(goal)
    near = _within(points, Place(last, here), low, high)
    far = np.abs(goal - last)
    share = float((most[far > most] / far[far > most]).min(initial=1.0))
    for z in (here + share * (there - here), there):
        x = near.place(z).x
        if not np.array_equal(x, last):
            return x
    return last


def _within(points: Setpoints, here: Place, low: Array, high: Array) -> Setpoints:
    """The settings between these limits; `here` is one of them."""
    low, high = np.maximum(points.low, low), np.minimum(points.high, high)
    N, p, s = points.free.N, points.free.p, points.scale
    area, finite = points.area, np.isfinite(high - low)
    A = np.vstack([area.A, N[finite], -N[finite]])
    b = [area.b, ((high - p) / s)[finite], ((p - low) / s)[finite]]
    names = ["one move"] * (2 * int(finite.sum()))
    return replace(
        points,
        low=low,
        high=high,
        free=replace(points.free, inner=here.z),
        area=Polyhedron(A, np.concatenate(b), (*area.names, *names)),
    )
