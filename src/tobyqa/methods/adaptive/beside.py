"""What the search makes of trials that were out beside others.

Such a reading comes when the search has gone on: it was planned by an earlier fit. What
it is worth for the region is judged by what it was asked as, and by the fit of now,
which knows the drift since. Readings of one and the same plan together change the
region as one of them would.
"""

from __future__ import annotations

import math

import numpy as np

from ...frozen import replace
from ...spacetime.fit import Fit
from ...spacetime.window import mean_axis
from ...state import Observation, Why
from .belief import Belief
from .region import (
    Step,
    capped,
    change_by_exploration,
    change_by_step,
    change_to_see,
    resized,
    seen_after,
)

_MOST_FAILED = 50  # further points that are remembered


def is_beside(reading: Observation) -> bool:
    """Whether a reading is one that the search may have gone on without."""
    return reading.flight is not None and not reading.answers


def after_failure(b: Belief, reading: Observation) -> Belief:
    """The belief once a further point could not be measured: look elsewhere."""
    return replace(b, failed=(*b.failed, reading.x)[-_MOST_FAILED:])


def resized_beside(b: Belief, before: Fit, reading: Observation) -> Belief:
    """The belief with its region changed after a reading beside the plan.

    `before`: the fit just before it.
    """
    flight = reading.flight
    if flight is None or not isinstance(flight.standing, Belief):
        return b
    change = _size_change(b, before, flight.standing, flight.proposal.why)
    return b if change == 1.0 else resized(b, change)


def _size_change(b: Belief, before: Fit, then: Belief, why: Why) -> float:
    """How the region is to change by what it was when the trial was asked for."""
    seen, factor = seen_after(b, before), 1.0
    if why is Why.EXPLORATION:
        factor = change_by_exploration(seen)
    elif why is Why.STEP and not b.fitted.components.interacts:
        step = _step(b, before, then, seen.surprise)
        factor = change_by_step(step, seen.chance)
    factor = change_to_see(b, then.plan, before, factor)
    # In all, not once more for every reading of that plan.
    wanted = factor * mean_axis(then.B) / mean_axis(b.B)
    return min(wanted, 1.0) if factor < 1.0 else capped(b, max(wanted, 1.0))


def _step(b: Belief, before: Fit, then: Belief, surprise: float) -> Step:
    """The step from where the centre was then."""
    x, frame = b.samples.points[-1], before.window.frame
    here, there = before.falls(frame.u(np.array([x, then.centre_point])))
    achieved = float(here - there) - surprise
    u = np.linalg.solve(then.B, x - then.centre_point)
    place = then.fitted.window.frame.u(x)
    louder = then.fitted.noise_std / before.noise_std
    fall = max(float(then.fitted.falls(place[None])[0]) * louder, 0.0)
    return Step(fall, achieved, achieved, math.sqrt(u @ u), then.plan.unresolved)
