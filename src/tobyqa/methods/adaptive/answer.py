"""The answer: which place is recommended, and what is known of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...polyhedron import Polyhedron
from ...result import CURVE_POINTS, DriftCurve
from ...spacetime.face import lowest
from ...spacetime.fit import Fit
from ...spacetime.precision import INSIDE, ROUNDING, Precision, refined
from ...spacetime.surface import FitSurface
from ...state import Estimate
from .belief import Belief
from .centre import best_row, explains_readings
from .noise import Noise

Array = NDArray[np.float64]


def recommended(fitted: Fit, noise: Noise, area: Polyhedron | None) -> Array:
    """The model's minimum if it is well inside the region, else the best known place.

    A minimum at the edge is where the model knows least, and has been chosen for
    seeming low: as an answer it was mostly worse than the centre. The search may go
    there and look; an answer is not looked at.
    """
    face = lowest(fitted, area)
    is_inside = face.is_minimum and face.u @ face.u < INSIDE**2
    is_believed = is_inside and explains_readings(fitted, noise)
    return refined(face, area) if is_believed else np.zeros_like(face.u)


def answer(b: Belief) -> tuple[Fit, Array]:
    """A wider fit around the centre, and the position in its region to recommend."""
    wide = b.wide_fit(b.centre)
    centre = int(wide.window.rows[best_row(wide, b.noise, b.task.area)])
    if centre != b.centre:
        wide = b.wide_fit(centre)
    return wide, recommended(wide, b.noise, b.task.area)


def in_user_units(
    fitted: Fit, u: Array, known: Precision, fine: Fit, spread: float
) -> Estimate:
    """The answer, at `u` in the region of a fit.

    `known`: what is known of the minimum, which may be elsewhere; `fine`: the fit that
    says how fast the readings drift and how loud they are.
    """
    window = fitted.window
    scale = fitted.noise_std
    back = window.frame.back
    B = window.frame.B
    apart = B @ (u - known.u)
    apart[np.abs(apart) <= ROUNDING * np.hypot.reduce(B, axis=1)] = 0.0
    x_cov = known.covariance + np.multiply.outer(apart, apart)
    now = float(window.times[-1])
    times = np.linspace(window.frame.clock.times[0], now, CURVE_POINTS)
    drift, drift_std = fitted.drift_since(times, window.times[-1:])
    rate, rate_std = fine.drift_rate()
    value, variance = fitted.predicted(fitted.reading(u, now))
    return Estimate(
        x=window.frame.point(u),
        x_std=np.sqrt(x_cov.diagonal()),
        x_cov=x_cov,
        t=now,
        fun=window.frame.level + scale * value,
        fun_std=scale * math.sqrt(variance),
        jac=scale * (back.T @ fitted.slope_at(u)),
        hess=scale * (back.T @ fitted.curvature_at(u) @ back),
        drift_rate=fine.noise_std * rate,
        drift_rate_std=fine.noise_std * rate_std,
        drift=DriftCurve(times, scale * drift, scale * drift_std),
        noise_std=fine.noise_std,
        noise_std_std=fine.noise_error(spread),
        open_way=known.open_way,
        surface=FitSurface.of(fitted),
    )
