"""What the search makes of trials that were out beside others.

Such a reading comes when the search has gone on: it was planned by an earlier fit. What
it is worth for the region is judged by what it was asked as, and by the fit of now,
which knows the drift since. Readings of one and the same plan together change the
region as one of them would.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...spacetime.fit import Fit
from ...spacetime.window import relative_variances
from ...state import Observation, Why
from .belief import Belief

_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_MOST_FAILED = 50  # further points that are remembered


def is_beside(reading: Observation | None) -> bool:
    """Whether a reading is one that the search may have gone on without."""
    return reading is not None and reading.flight is not None and not reading.answers


def after_failure(b: Belief, reading: Observation) -> Belief:
    """The belief once a further point could not be measured: look elsewhere."""
    return replace(b, failed=(*b.failed, reading.x)[-_MOST_FAILED:])


def size_change_beside(b: Belief, before: Fit, reading: Observation) -> float:
    """How the region is to change after a reading beside the plan.

    `before`: the fit just before it.
    """
    flight = reading.flight
    then = None if flight is None else flight.standing
    if flight is None or not isinstance(then, Belief):
        return 1.0
    factor = _judged(b, before, then, flight.proposal.why)
    plan = then.plan
    if plan.blurred and b.s.focus:
        factor = min(factor, 0.7)
    if plan.visible < max(5.0, b.task.x0.size):
        factor = max(factor, 1.2)
    # In all, not once more for every reading of that plan.
    wanted = factor * _size(then) / _size(b)
    return min(wanted, 1.0) if factor < 1.0 else max(wanted, 1.0)


def _judged(b: Belief, before: Fit, then: Belief, why: Why) -> float:
    """The change by what the reading is beside what was expected of it."""
    frame, nu = before.window.frame, math.sqrt(before.nu)
    x = b.samples.points[-1]
    own = float(relative_variances(b.samples.sigmas[-1:], frame.noise)[0])
    expected, variance = b.expected
    surprise = float(frame.y(b.samples.values[-1:])[0]) / nu - expected
    if why is Why.EXPLORATION:
        return 0.85 if abs(surprise) > 3.0 * math.sqrt(variance + own) else 1.0
    if why is not Why.STEP or b.fitted.components.interacts:
        return 1.0
    here, there = before.falls(frame.u(np.array([x, then.centre_point])))
    achieved = float(here - there) - surprise
    u = np.linalg.solve(then.B, x - then.centre_point)
    place = then.fitted.window.frame.u(x)
    louder = then.fitted.noise_std / before.noise_std
    fall = max(float(then.fitted.falls(place[None])[0]) * louder, 0.0)
    chance = _BY_CHANCE * max(1.0, math.sqrt(own))
    length = math.sqrt(u @ u)
    if achieved + chance > 0.7 * (fall + chance) and length > 0.9:
        return 1.5 * max(length, 1.0)
    if achieved + chance < 0.25 * (fall + chance) and length < _LONGER:
        return 0.85 if then.plan.unresolved else 0.6
    return 1.0


_LONGER = 1.2  # regions; a step beyond was no part of the plan


def _size(b: Belief) -> float:
    return math.exp(float(np.linalg.slogdet(b.B)[1]) / len(b.B))
