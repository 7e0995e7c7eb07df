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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...result import Status
from ...spacetime.fit import Fit
from ...spacetime.window import coefficients, mean_axis
from ...state import Observation, Why
from .belief import Belief

Array = NDArray[np.float64]

_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_LONGEST = 100.0  # largest ratio of the region's axes
_BEYOND = 1.2  # regions; a longer step was no part of the plan


class Step(NamedTuple):
    """A step, by what was promised and what has come of it."""

    promised: float  # fall
    achieved: float
    sure: float  # as much of that as is beyond doubt
    length: float  # in regions
    unresolved: bool  # it went along a gradient that was noise


def resized(b: Belief, before: Belief, reading: Observation) -> Belief:
    """The belief with its region changed by the newest reading, if that was planned.

    `before`: the belief that it was sent to. A trial beside others is judged by the
    belief that it went out with, and all readings of one plan together change the
    region as one of them would.
    """
    then: Any = before
    explores, is_judged = before.plan.explores, reading.answers
    if (flight := reading.flight) is not None and not reading.answers:
        then, why = flight.standing, flight.proposal.why
        explores = why is Why.EXPLORATION
        is_judged = isinstance(then, Belief) and (explores or why is Why.STEP)
    elif before.plan.revisits:
        return b
    if not is_judged or b.is_doubted or b.status is Status.UNBOUNDED:
        return b
    factor = _size_change(b, before.fitted, then, explores=explores)
    if then.B is not b.B:
        wanted = factor * mean_axis(then.B) / mean_axis(b.B)
        factor = min(wanted, 1.0) if factor < 1.0 else max(wanted, 1.0)
    return b if factor == 1.0 else _scaled(b, factor)


def _size_change(b: Belief, fitted: Fit, then: Belief, *, explores: bool) -> float:
    """How much larger the region is to be than it was `then`.

    It becomes wider than ever only by a step that has gained beyond doubt: on a plateau
    nothing stands out of the noise at any size. `fitted`: without the newest reading.
    """
    above, error, _ = b.latest
    if explores:
        factor, has_gained = 0.85 if abs(above) > 3.0 * error else 1.0, False
    else:
        _, own = fitted.window.frame.reading(b.samples, b.newest)
        chance = _BY_CHANCE * max(1.0, math.sqrt(own)) * fitted.unrest
        step = _step(b, fitted, then, above)
        factor = _change_by_step(step, chance)
        has_gained = factor > 1.0 and step.sure > chance
    if then.plan.blurred:
        factor = min(factor, 0.7)  # look closer
    if then.plan.visible < max(5.0, b.task.x0.size) * fitted.unrest:
        factor = max(factor, 1.2)  # differences must stand out of the noise
    if has_gained or factor <= 1.0:
        return factor
    return min(factor, max(1.0, b.widest / float(np.linalg.norm(b.B, 2))))


def is_planned(reading: Observation) -> bool:
    """Whether the search has asked for a reading, as its plan or beside it."""
    return reading.answers or reading.flight is not None


def is_beside(reading: Observation) -> bool:
    """Whether a reading is one that the search may have gone on without."""
    return reading.flight is not None and not reading.answers


def _step(b: Belief, fitted: Fit, then: Belief, surprise: float) -> Step:
    """The step from where the centre was; where knobs move in steps, it may go beyond.

    The newest reading is `surprise` above what the fit expected of it.
    """
    x, frame = b.samples.points[-1], fitted.window.frame
    here, there = fitted.falls(frame.u(np.array([x, then.centre_point])))
    u = then.fitted.window.frame.u(x)  # in the region as it was, not as turned since
    promised = float(then.fitted.falls(u[None])[0])
    louder = then.fitted.noise_std / fitted.noise_std
    achieved = sure = float(here - there) - surprise
    if b.fitted.components.interacts:
        # The reading alone says nothing of the start. The region may grow only on a
        # fall that is sure, and is seen in what is read now as well.
        v = b.fitted.window.U[-1:]
        achieved = float(b.fitted.falls(v)[0])
        error = math.sqrt(float(b.fitted.fall_variances(v)[0]))
        sure = achieved - max(error, float(b.fitted.local_drift[-1]))
    return Step(
        promised=max(promised * louder, 0.0),
        achieved=achieved,
        sure=sure,
        length=math.sqrt(u @ u),
        unresolved=then.plan.unresolved,
    )


def _change_by_step(step: Step, chance: float) -> float:
    """Larger, where a step to the edge has kept its promise; smaller, if it has not.

    `chance`: what noise alone may do.
    """
    promised = step.promised + chance
    if step.sure + chance > 0.7 * promised and step.length > 0.9:
        return 1.5 * max(step.length, 1.0)
    if step.achieved + chance < 0.25 * promised and step.length < _BEYOND:
        # A step along a gradient that is noise says little about the size.
        return 0.85 if step.unresolved else 0.6
    return 1.0


def _scaled(b: Belief, factor: float) -> Belief:
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
