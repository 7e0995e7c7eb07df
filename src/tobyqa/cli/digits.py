"""Points as a person sets them: no more digits than matter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..optimizer import Optimizer
from ..rounding import keeps_digits, settable
from ..space_arguments import DEFAULT_RADIUS
from ..view import space_of

Array = NDArray[np.float64]

_FINER = 3  # digits below the first one of the distance between readings


def handy(opt: Optimizer, x: Array) -> Array:
    """`x` to a thousandth of the distance of readings, and as allowed as `x` is.

    That distance is the search's present one, in each variable's scale. Knobs that move
    in steps, or that are fixed, are shown as they are. Where rounding would leave the
    bounds or violate a constraint, last digits are moved inward, or there are more.
    """
    space = space_of(opt.setup)
    radius = _radius(opt, space.radius)
    decimals = [
        None
        if exact or v.name in opt.fixed
        else _FINER - math.floor(math.log10(radius * v.scale))
        for v, exact in zip(space.variables, keeps_digits(space), strict=True)
    ]
    return settable(space, x, decimals)[0]


def _radius(opt: Optimizer, first: float | None) -> float:
    """The distance of readings in scales: the latest known, no more than the first."""
    known = opt.result().history.radius
    known = known[np.isfinite(known) & (known > 0.0)]
    start = DEFAULT_RADIUS if first is None else first
    return min(start, float(known[-1])) if known.size else start
