"""A fit's answer, in the units of the search's variables and of the readings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..result import CURVE_POINTS, DriftCurve
from ..state import Estimate
from .fit import Fit
from .precision import ROUNDING, Precision
from .surface import FitSurface

Array = NDArray[np.float64]


def estimate_at(
    fitted: Fit, u: Array, known: Precision, fine: Fit, spread: float
) -> Estimate:
    """What a fit says of the position `u` in its region, and of the drift.

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
