"""The answer: which place is recommended, and what is known of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...result import CURVE_POINTS, DriftCurve
from ...state import Estimate
from ...step import ball_step
from . import fits
from .belief import Belief
from .centre import best_row, explains_readings
from .fit import Fit
from .noise import Noise
from .options import Options

Array = NDArray[np.float64]
_Answer = tuple[Fit, Array]  # a fit and a position in its region

_INSIDE = 0.5  # regions; a minimum farther out is not believed
_JUDGED_WITHIN = 2.0  # regions; a fit says little of what is farther out


def recommended(fitted: Fit, noise: Noise) -> Array:
    """The model's minimum if it is well inside the region, else the best known place.

    A minimum at the edge is where the model knows least, and has been chosen for
    seeming low: as an answer it was mostly worse than the centre. The search may go
    there and look; an answer is not looked at.
    """
    e, Q = fitted.eigen
    u = ball_step(fitted.g, e, Q)
    is_inside = e[0] > 0.0 and u @ u < _INSIDE**2
    return u if is_inside and explains_readings(fitted, noise) else np.zeros_like(u)


def answer(b: Belief, s: Options) -> _Answer:
    """A wider fit and the position in its region that it recommends.

    Of two: around the centre, and around the best place that a comparison has
    confirmed. The safer one is given, the second if they cannot be compared.
    """
    if not s.home:
        return _latest(b, s)
    best = int(b.samples.rows_at(b.best.x)[-1])
    at_best = replace(b, B=b.best.B)
    there = fits.wide(at_best, s, best)
    confirmed = there, recommended(there, b.noise)
    rival = _latest(b, s)
    # What judges both must reach as far as the other one.
    far = float(np.linalg.norm(there.window.frame.u(_point(rival)[None])))
    if far > _JUDGED_WITHIN:
        if b.local:
            # Late readings say too little of how much lower one was at first, and a
            # fit without a local drift holds near its own centre only.
            return confirmed
        B = b.best.B * (far / _JUDGED_WITHIN)
        there = fits.wide(replace(b, B=B), s, best)
    if not explains_readings(there, b.noise):
        return confirmed
    return safer(there, [rival, confirmed])


def _latest(b: Belief, s: Options) -> _Answer:
    """The answer by what lies around the centre."""
    wide = fits.wide(b, s, b.centre)
    row = best_row(wide, b.evidence, b.noise, cautious=s.caution)
    wide = fits.wide(b, s, int(wide.window.rows[row]))
    return wide, recommended(wide, b.noise)


def _value(answer: _Answer, time: float) -> tuple[float, float]:
    """What would be read there, and its standard error, in the user's units."""
    fitted, u = answer
    value, variance = fitted.predicted(u, time)
    scale = fitted.noise_std
    return fitted.window.frame.level + scale * value, scale * math.sqrt(variance)


def safer(judge: Fit, answers: list[_Answer]) -> _Answer:
    """The answer that is lowest at worst, two standard errors up, by one fit."""
    U = judge.window.frame.u(np.array([_point(answer) for answer in answers]))
    at_worst = 2.0 * np.sqrt(judge.fall_variances(U)) - judge.falls(U)
    return answers[int(at_worst.argmin())]


def _point(answer: _Answer) -> Array:
    fitted, u = answer
    return fitted.window.frame.point(u)


def expected_excess(fitted: Fit) -> float:
    """Expected height of the centre above the minimum; infinite if that is not known.

    (5) in docs/method.md: with gradient g and its covariance P,
    (g'H^-1 g + tr H^-1 P) / 2, every curvature taken two standard errors
    lower than estimated. It counts as known if all are positive even so,
    the readings are as loud as the model says, and the minimum is well inside the
    region.
    """
    e, Q = fitted.eigen
    low = e - 2.0 * np.sqrt(fitted.eigen_variances)
    if fitted.is_off or not (low > 0.0).all():
        return math.inf
    h = Q.T @ fitted.g
    if np.sum((h / low) ** 2) > _INSIDE**2:
        return math.inf
    P = (Q.T @ fitted.gradient_covariance @ Q).diagonal()
    return fitted.noise_std * 0.5 * float(np.sum((h**2 + P) / low))


def in_user_units(fitted: Fit, u: Array) -> Estimate:
    """The answer, at `u` in the region of a fit."""
    frame, H = fitted.window.frame, fitted.hessian
    scale = fitted.noise_std
    back = frame.back
    e, Q = fitted.eigen
    x_std = np.full(e.size, math.nan)
    if e[0] > 1e-12 * abs(e[-1]):
        moved = frame.B @ ((Q / e) @ Q.T)  # the minimum, by a change of the gradient
        variance = (moved @ fitted.gradient_covariance @ moved.T).diagonal()
        x_std = np.sqrt(np.maximum(variance, 0.0))
    now = float(fitted.window.times[-1])  # later than the frame's, if extended
    times = np.linspace(frame.first, now, CURVE_POINTS)
    drift, drift_std = fitted.drift_curve(times)
    rate, rate_std = fitted.drift_rate()
    value, value_std = _value((fitted, u), now)
    return Estimate(
        x=frame.point(u),
        x_std=x_std,
        t=now,
        fun=value,
        fun_std=value_std,
        jac=scale * (back.T @ (fitted.g + H @ u)),
        hess=scale * (back.T @ H @ back),
        drift_rate=scale * rate,
        drift_rate_std=scale * rate_std,
        drift=DriftCurve(times, scale * drift, scale * drift_std),
        noise_std=scale,
    )
