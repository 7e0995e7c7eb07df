"""Knobs that move in steps: the nearest setting of a grid that constraints allow.

=======  ==============================================================  =======
symbol   meaning                                                         shape
=======  ==============================================================  =======
z        the search's variables                                          (k,)
A, b     what is allowed: A z <= b                                       (m, k)
=======  ==============================================================  =======
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .polyhedron import NoPointError, project

Array = NDArray[np.float64]

_MOST_TRIALS = 300  # of settings: where they would have to coincide, the search ends


def fifteen_digits(x: float) -> float:
    """x to the digits that every decimal number keeps in double precision.

    >>> 3 * 0.1, fifteen_digits(3 * 0.1)
    (0.30000000000000004, 0.3)
    """
    return float(f"{x:.15g}")


def setting(step: float, resolution: float) -> float:
    """What a knob shows that was moved by so many steps from zero."""
    return fifteen_digits(step * resolution)


def step_range(lower: float, upper: float, resolution: float) -> tuple[float, float]:
    """First and last step whose setting is inside; the first is larger if none is."""
    first = math.ceil(lower / resolution) if math.isfinite(lower) else lower
    last = math.floor(upper / resolution) if math.isfinite(upper) else upper
    while setting(first, resolution) < lower:
        first += 1
    while setting(first - 1, resolution) >= lower > -math.inf:
        first -= 1
    while setting(last, resolution) > upper:
        last -= 1
    while setting(last + 1, resolution) <= upper < math.inf:
        last += 1
    return first, last


@dataclass(frozen=True)
class Knob:
    """A variable p + s row . z that moves in steps."""

    row: Array
    p: float
    s: float
    resolution: float
    first: float  # step, at the lower bound
    last: float

    @staticmethod
    def of(
        row: Array, p: float, s: float, limits: tuple[float, float], unit: float
    ) -> Knob:
        return Knob(row, p, s, unit, *step_range(*limits, unit))

    def nearest(self, x: float) -> float:
        """The setting nearest to x within the bounds."""
        step = min(max(float(np.rint(x / self.resolution)), self.first), self.last)
        return setting(step, self.resolution)

    def around(self, z: Array) -> list[float]:
        """Settings on both sides of z within the bounds, the nearest one last."""
        step = (self.p + self.s * float(self.row @ z)) / self.resolution
        below = math.floor(step)
        steps = [k for k in range(below - 1, below + 3) if self.first <= k <= self.last]
        steps.sort(key=lambda k: -abs(k - step))
        return [setting(k, self.resolution) for k in steps]


def settle(
    z: Array, A: Array, b: Array, knobs: Sequence[Knob]
) -> tuple[Array, tuple[float, ...]] | None:
    """An allowed point close to z with every knob on its grid; None: none was found.

    One knob after the other is set near to where the nearest point has it, given those
    before; where that leaves no point, the one before is set anew.
    """
    stack: list[tuple[float, ...]] = [()]
    for _ in range(_MOST_TRIALS):
        if not stack:
            break
        chosen = stack.pop()
        rows = [knob.row for knob, _ in zip(knobs, chosen, strict=False)]
        at = [(v - k.p) / k.s for k, v in zip(knobs, chosen, strict=False)]
        signed = np.reshape([*rows, *(-row for row in rows)], (-1, z.size))
        limits = np.array([*at, *(-v for v in at)])
        try:
            point = project(z, np.vstack([A, signed]), np.append(b, limits)).x
        except NoPointError:
            continue
        if len(chosen) == len(knobs):
            return point, chosen
        stack.extend((*chosen, v) for v in knobs[len(chosen)].around(point))
    return None
