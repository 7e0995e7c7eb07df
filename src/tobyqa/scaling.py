"""Squares that stay within the floating-point range, by powers of two.

Readings may be of size 1e100 or 1e-200, and their squares are no numbers any more.
Dividing by a power of two before squaring costs no rounding, so that a problem in other
units has the same digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LARGEST = 1023  # exponent of the largest power of two
_SMALL, _LARGE = 1e-200, 1e200  # sums of squares from which nothing was lost


def exponent(v: Array | float) -> int:
    """e with 2^(e-1) <= max |v_i| < 2^e; 0 if all are 0."""
    if isinstance(v, float):
        return math.frexp(v)[1]
    return math.frexp(np.maximum.reduce(np.abs(v), axis=None))[1]


def unit(v: Array | float) -> float:
    """A power of two near max |v_i|; 1 if all are 0."""
    return math.ldexp(1.0, min(exponent(v), _LARGEST))


def norm(v: Array) -> float:
    """Root of the sum of squares."""
    square = float(np.vdot(v, v))
    if _SMALL < square < _LARGE:  # the common case, at a third of the price
        return math.sqrt(square)
    size = unit(v)
    w = v / size
    return size * math.sqrt(np.vdot(w, w))


def longest(D: Array) -> float:
    """The largest norm of a row."""
    square = float(np.maximum.reduce(np.einsum("ij,ij->i", D, D)))
    if _SMALL < square < _LARGE:
        return math.sqrt(square)
    size = unit(D)
    U = D / size
    return size * math.sqrt(np.maximum.reduce(np.einsum("ij,ij->i", U, U)))


def quadratic(H: Array, s: Array) -> float:
    """s'Hs; infinite if that is beyond the range."""
    curvature, length = unit(H), unit(s)
    u = s / length
    return float(u @ (H / curvature) @ u) * length * curvature * length
