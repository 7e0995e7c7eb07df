"""The region in which the search samples: its size and its shape.

=======  ==============================================================
symbol   meaning
=======  ==============================================================
B        region {centre + B u : |u| <= 1}, (n, n)
e, Q     eigenvalues and eigenvectors of the Hessian in the region
=======  ==============================================================
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .fit import Fit
from .options import FARTHEST
from .window import Window, coefficients

Array = NDArray[np.float64]

_MOVED = 0.3  # regions between the best point and the centre of a fit, at the most
_CHANGED = 0.1  # relative change of the region's shape that a fit bears
_AS_LARGE = 0.01  # relative change of its size that is none
_MOST_ROWS = 12  # by which a fit is extended before old readings are dropped
_LONGEST = 100.0  # largest ratio of the region's axes


def size_factor(
    *, ratio: float | None, length: float, unresolved: bool, surprise: float
) -> float:
    """How the region changes after a reading.

    `ratio` is achieved over promised reduction of a step, None for an exploration,
    whose `surprise` is its innovation in standard deviations.
    """
    if ratio is None:
        return 0.85 if surprise > 3.0 else 1.0
    if ratio > 0.7 and length > 0.9:
        return 1.5
    if ratio < 0.25:
        # A step along a gradient that is noise says little about the size.
        return 0.85 if unresolved else 0.6
    return 1.0


def reshaped(B: Array, fitted: Fit) -> Array:
    """Turn the region so that every direction varies by about as much.

    Directions whose curvature is unknown count as curved as it may be. Each change is
    bounded, so that it takes about as many readings as the Hessian has entries.
    """
    e, Q = fitted.eigen
    rate = math.exp(3.9 / coefficients(e.size))
    seen = np.sqrt(e**2 + fitted.eigen_variances) / 2.0
    weight = np.maximum(2.0, seen)
    stretch = np.sqrt(np.exp(np.log(weight).mean()) / weight)
    return np.asarray(B @ (Q * np.clip(stretch, 1.0 / rate, rate)) @ Q.T)


def rounded(B: Array) -> Array:
    """B with its longest axes cut to `_LONGEST` times the shortest."""
    W, s, Vt = np.linalg.svd(B)
    if s[0] <= _LONGEST * s[-1]:
        return B
    return np.asarray((W * np.minimum(s, _LONGEST * s[-1])) @ Vt)


def change(fitted: Fit, B: Array) -> tuple[float, bool]:
    """Size of a region relative to that of a fit; whether the fit is of no use there.

    Of none if the shape is another, or readings have become too remote.
    """
    ratio = fitted.window.frame.back @ B
    size = math.exp(float(np.linalg.slogdet(ratio)[1]) / len(B))
    if abs(size - 1.0) < _AS_LARGE:
        size = 1.0
    shape_has_changed = float(np.abs(ratio / size - np.eye(len(B))).max()) > _CHANGED
    return size, shape_has_changed or fitted.window.farthest > FARTHEST * size


def is_overgrown(window: Window) -> bool:
    """Whether readings not asked for have extended it while nothing was planned."""
    return window.extended >= 2 * _MOST_ROWS


def is_outdated(fitted: Fit, row: int) -> bool:
    """Whether a fit that has been extended so far should be made anew.

    It costs a factorisation, and a fit that is a little off the best point is as good.
    """
    u = fitted.window.U[row]
    return bool(u @ u > _MOVED**2) or fitted.window.extended >= _MOST_ROWS
