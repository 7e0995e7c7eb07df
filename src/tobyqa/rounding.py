"""Settings rounded for people, and still within the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .space import Space

Array = NDArray[np.float64]
Decimals = Sequence["int | None"]  # of each variable; None: as it is

_ROUNDING = 1e-15  # relative, of a sum
_MOST = 16  # digits that are added where rounding is not allowed


def keeps_digits(space: Space) -> list[bool]:
    """Which variables are shown as they are: those that move in steps or not at all."""
    return [v.resolution is not None or math.isfinite(v.value) for v in space.variables]


def settable(space: Space, x: Array, decimals: Decimals) -> tuple[Array, int]:
    """`x` to so many decimals, and by how many more where limits ask for them.

    All of its digits if there is no other way.
    """
    for further in range(_MOST):
        finer = [None if d is None else d + further for d in decimals]
        y = _inside(space, np.array(list(map(_rounded, x.tolist(), finer))), finer)
        if space.is_identity or space.holds(y):
            return y, further
    return x, _MOST


def _rounded(value: float, decimals: int | None) -> float:
    return value if decimals is None else round(value, decimals)


def _inside(space: Space, y: Array, decimals: Decimals) -> Array:
    """A rounded point with last digits moved inward, as far as that helps."""
    moves = [i for i, d in enumerate(decimals) if d is not None]
    for row in space.constraints:
        a = np.array(row.coefficients)
        ways = [i for i in moves if a[i] != 0.0]
        if row.lower == row.upper and ways:
            # The finest of its variables makes up for what rounding left.
            i = min(ways, key=lambda i: abs(a[i]) * 10.0 ** -(decimals[i] or 0))
            y[i] = _rounded(float(y[i] - (a @ y - row.lower) / a[i]), decimals[i])
    for a, limit in _sides(space):
        for i in moves:
            if a[i] != 0.0 and a @ y > limit - _rest(a, y):
                digit = 10.0 ** -(decimals[i] or 0)
                y[i] = _rounded(float(y[i] - math.copysign(digit, a[i])), decimals[i])
    return y


def _rest(a: Array, y: Array) -> float:
    """By how much a sum depends on the order of its terms; a bound has but one."""
    is_sum = np.count_nonzero(a) > 1
    return _ROUNDING * float(np.abs(a) @ np.abs(y)) if is_sum else 0.0


def _sides(space: Space) -> list[tuple[Array, float]]:
    """All that must hold, as a.x <= limit."""
    rows = [(np.array(row.coefficients), row) for row in space.constraints]
    pairs = [(a, row.lower, row.upper) for a, row in rows if row.lower < row.upper]
    unit = np.eye(len(space.variables))
    pairs += [(unit[i], v.lower, v.upper) for i, v in enumerate(space.variables)]
    return [side for a, lower, upper in pairs for side in ((a, upper), (-a, -lower))]
