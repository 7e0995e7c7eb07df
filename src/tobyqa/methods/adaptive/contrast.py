"""What readings at two places tell, with no model of the function between them.

=========  ==============================================================
symbol     meaning
=========  ==============================================================
y, t       readings at the two places and their times, in spacings
X          columns: level at one place, at the other, slope in time
K          covariance of the readings: common wandering of intensity q
=========  ==============================================================
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import gls
from ...kernels import integrated_wiener
from ...spacetime.clock import LONGEST_TIME
from ...spacetime.window import relative_variances
from .belief import Belief
from .noise import BELIEVED

Array = NDArray[np.float64]

_ANYTHING = 1e12  # variance of the wandering, in noise units, beyond which all is open
_LEAST_ERROR = 1e-9  # noise levels


class Lead(NamedTuple):
    """By how many standard errors the best place is lower than its rival."""

    ahead: float
    error: float  # one of these, in noise levels


def contrast(b: Belief, rival: Array) -> Lead:
    """The best place against its rival, after a comparison of the two.

    By the readings of the comparison alone: what lies before it has wandered off. Where
    the drift depends on the place, they tell nothing of the function as it was at the
    first reading: then by the fit.
    """
    if b.drifts_locally:
        U = b.fitted.window.frame.u(np.array([b.best.x, rival]))
        falls, variances = b.fitted.falls(U), b.fitted.fall_variances(U)
        error = max(math.sqrt(float(variances.sum())), _LEAST_ERROR)
        return Lead(float(falls[0] - falls[1]) / error, error)
    rows = np.append(b.rows_at(b.best.x)[-2:], b.rows_at(rival)[-1:])
    at_rival = np.arange(rows.size) == rows.size - 1
    longest = LONGEST_TIME * b.spacing
    t = b.samples.times[rows]
    t = np.clip(t - t.min(), 0.0, longest) / b.spacing
    # In units of the whole time: a pause of weeks must not cost the digits.
    whole = max(float(t.max()), 1e-300)
    noise = _credible_noise(b)
    y = (b.samples.values[rows] - b.samples.values[rows[0]]) / noise
    own = relative_variances(b.samples.sigmas[rows], noise)
    q = math.exp(b.fitted.components.log_q)
    K = min((q * whole**1.5) ** 2, _ANYTHING) * integrated_wiener(t / whole)
    X = np.column_stack([~at_rival, at_rival, t / whole])
    solution = gls.solve(K, own, np.asfortranarray(X), y, BELIEVED)
    assert solution is not None
    k, x = np.zeros((1, rows.size)), np.array([[-1.0, 1.0, 0.0]])
    error = math.sqrt(float(solution.variance(k, 0.0, x)[0]))
    return Lead(float(solution.mean(k, x)[0]) / error if error > 0.0 else 0.0, error)


def _credible_noise(b: Belief) -> float:
    """Of a reading: an estimate far from the assumed level is misfit, and no excuse."""
    louder = b.fitted.noise_std / b.noise.unit
    return b.noise.unit * min(max(louder, b.noise.least), b.noise.most)
