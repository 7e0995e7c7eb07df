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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...spacetime.fit import Fit
from ...spacetime.window import coefficients
from .belief import Belief, Plan

Array = NDArray[np.float64]

_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_LONGEST = 100.0  # largest ratio of the region's axes
_BEYOND = 1.2  # regions; a longer step was no part of the plan


class Seen(NamedTuple):
    """The newest reading beside what the fit before it had expected, in its noise.

    Leaving the reading out of a later fit is the same in theory, but loses all digits
    where it alone decides.
    """

    surprise: float  # above what was expected
    error: float  # standard error of that
    chance: float  # what noise alone may do


class Step(NamedTuple):
    """A step, by what was promised and what has come of it."""

    promised: float  # fall
    achieved: float
    sure: float  # as much of that as is beyond doubt
    length: float  # in regions
    unresolved: bool  # it went along a gradient that was noise


def seen_after(b: Belief, before: Fit) -> Seen:
    """The newest reading; `before`: the fit that it is not in."""
    y, own = before.window.frame.reading(b.samples, b.newest)
    expected, variance = b.expected
    seen = y / math.sqrt(before.nu)
    chance = _BY_CHANCE * max(1.0, math.sqrt(own)) * before.unrest
    return Seen(seen - expected, math.sqrt(variance + own), chance)


def change_by_exploration(seen: Seen) -> float:
    """Smaller, where the fit was wrong about it."""
    return 0.85 if abs(seen.surprise) > 3.0 * seen.error else 1.0


def change_by_step(step: Step, chance: float) -> float:
    """Larger, where a step to the edge has kept its promise; smaller, if it has not."""
    promised = step.promised + chance
    if step.sure + chance > 0.7 * promised and step.length > 0.9:
        return 1.5 * max(step.length, 1.0)
    if step.achieved + chance < 0.25 * promised and step.length < _BEYOND:
        # A step along a gradient that is noise says little about the size.
        return 0.85 if step.unresolved else 0.6
    return 1.0


def change_to_see(b: Belief, plan: Plan, before: Fit, factor: float) -> float:
    """The change, but also such that there is something to be seen."""
    if plan.blurred and b.s.focus:
        factor = min(factor, 0.7)  # look closer
    if plan.visible < max(5.0, b.task.x0.size) * before.unrest:
        factor = max(factor, 1.2)  # differences must stand out of the noise
    return factor


def size_change(b: Belief, planned_by: Fit) -> float:
    """How the region is to change after the newest reading, which was planned.

    It becomes wider than ever only by a step that has gained beyond doubt: on a plateau
    nothing stands out of the noise at any size.
    """
    seen, has_gained = seen_after(b, planned_by), False
    if b.plan.explores:
        factor = change_by_exploration(seen)
    else:
        step = _step(b, planned_by, seen.surprise)
        factor = change_by_step(step, seen.chance)
        has_gained = factor > 1.0 and step.sure > seen.chance
    factor = change_to_see(b, b.plan, planned_by, factor)
    return factor if has_gained or factor <= 1.0 else capped(b, factor)


def _step(b: Belief, planned_by: Fit, surprise: float) -> Step:
    """The step that was planned; where knobs move in steps, it may go beyond."""
    u = planned_by.window.frame.u(b.samples.points[-1])
    length = math.sqrt(u @ u)
    achieved = sure = float(planned_by.falls(u[None])[0]) - surprise
    if b.fitted.components.interacts:
        # The reading alone says nothing of the start. The region may grow only on a
        # fall that is sure, and is seen in what is read now as well.
        v = b.fitted.window.U[-1:]
        achieved = float(b.fitted.falls(v)[0])
        error = math.sqrt(float(b.fitted.fall_variances(v)[0]))
        sure = achieved - max(error, float(b.fitted.local_drift[-1]))
    return Step(b.plan.predicted, achieved, sure, length, b.plan.unresolved)


def capped(b: Belief, factor: float) -> float:
    """The change, but no region that is wider than ever."""
    return min(factor, max(1.0, b.widest / float(np.linalg.norm(b.B, 2))))


def resized(b: Belief, factor: float) -> Belief:
    """The belief with a region so many times as large."""
    B = factor * b.B
    widest = max(b.widest, float(np.linalg.norm(B, 2))) if factor > 1.0 else b.widest
    return replace(b, B=B, widest=widest)


def reshaped(b: Belief) -> Array:
    """Turn the region so that every direction varies by about as much.

    Directions whose curvature is unknown count as curved as it may be. Each change is
    bounded, so that it takes about as many readings as the Hessian has entries.
    """
    B, fitted, enough = b.B, b.fitted, coefficients(len(b.B))
    if b.s.reshape and fitted.window.y.size >= enough and not fitted.is_off:
        e, Q = fitted.eigen
        rate = math.exp(3.9 / enough)
        size = np.sqrt(e**2 + fitted.curvature_variances(Q))
        weight = np.maximum(2.0, size / 2.0)
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
