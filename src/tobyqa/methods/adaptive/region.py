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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...spacetime.fit import Fit
from ...spacetime.window import coefficients, relative_variances
from .belief import Belief

Array = NDArray[np.float64]

_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_LONGEST = 100.0  # largest ratio of the region's axes


def size_change(b: Belief, planned_by: Fit) -> float:
    """How the region is to change after the newest reading, which was planned.

    It becomes wider than ever only by a step that has gained beyond doubt: on a plateau
    nothing stands out of the noise at any size.
    """
    factor, has_gained = _judged(b, planned_by)
    if b.plan.blurred and b.s.focus:
        factor = min(factor, 0.7)  # look closer
    if b.plan.visible < max(5.0, b.task.x0.size) * planned_by.unrest:
        factor = max(factor, 1.2)  # differences must stand out of the noise
    return factor if has_gained or factor <= 1.0 else capped(b, factor)


def capped(b: Belief, factor: float) -> float:
    """The change, but no region that is wider than ever."""
    return min(factor, max(1.0, b.widest / float(np.linalg.norm(b.B, 2))))


def resized(b: Belief, factor: float) -> Belief:
    """The belief with a region so many times as large."""
    B = factor * b.B
    widest = max(b.widest, float(np.linalg.norm(B, 2))) if factor > 1.0 else b.widest
    return replace(b, B=B, widest=widest)


def _judged(b: Belief, planned_by: Fit) -> tuple[float, bool]:
    """The change by what the reading is, and what the fit before it had promised.

    Leaving the reading out of a later fit is the same in theory, but loses all digits
    where it alone decides. Also whether a step has gained beyond doubt.
    """
    samples, plan, window = b.samples, b.plan, planned_by.window
    u = window.frame.u(samples.points[-1])
    own = float(relative_variances(samples.sigmas[-1:], window.frame.noise)[0])
    expected, variance = b.expected
    seen = float(window.frame.y(samples.values[-1:])[0]) / math.sqrt(planned_by.nu)
    surprise = seen - expected
    if plan.explores:
        is_off = abs(surprise) > 3.0 * math.sqrt(variance + own)
        return 0.85 if is_off else 1.0, False
    achieved = sure = float(planned_by.falls(u[None])[0]) - surprise
    if b.fitted.components.interacts:
        # The reading alone says nothing of the start. The region may grow only on a
        # fall that is sure, and is seen in what is read now as well.
        v = b.fitted.window.U[-1:]
        achieved = float(b.fitted.falls(v)[0])
        error = math.sqrt(float(b.fitted.fall_variances(v)[0]))
        sure = achieved - max(error, float(b.fitted.local_drift[-1]))
    chance = _BY_CHANCE * max(1.0, math.sqrt(own)) * planned_by.unrest
    promised = plan.predicted + chance
    if sure + chance > 0.7 * promised and math.sqrt(u @ u) > 0.9:
        return 1.5, sure > chance
    if achieved + chance < 0.25 * promised:
        # A step along a gradient that is noise says little about the size.
        return 0.85 if plan.unresolved else 0.6, False
    return 1.0, False


def reshaped(b: Belief) -> Array:
    """Turn the region so that every direction varies by about as much.

    Directions whose curvature is unknown count as curved as it may be. Each change is
    bounded, so that it takes about as many readings as the Hessian has entries.
    """
    B, fitted, enough = b.B, b.fitted, coefficients(len(b.B))
    if b.s.reshape and fitted.window.y.size >= enough and not fitted.is_off:
        e, Q = fitted.eigen
        rate = math.exp(3.9 / enough)
        weight = np.maximum(2.0, np.sqrt(e**2 + fitted.eigen_variances) / 2.0)
        stretch = np.sqrt(np.exp(np.log(weight).mean()) / weight)
        B = B @ (Q * np.clip(stretch, 1.0 / rate, rate)) @ Q.T
    is_too_wide = float(np.linalg.norm(B)) > b.widest  # or nearly so
    return _rounded(B, b.widest) if is_too_wide or b.iterations % 5 == 0 else B


def _rounded(B: Array, widest: float) -> Array:
    """B with its longest axes cut, to `widest` and `_LONGEST` times the shortest."""
    W, s, Vt = np.linalg.svd(B)
    longest = min(_LONGEST * float(s[-1]), widest)
    if s[0] <= longest:
        return B
    return np.asarray((W * np.minimum(s, longest)) @ Vt)
