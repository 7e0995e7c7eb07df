"""How hard a reading is to believe, by what all the others say.

=======  ==================================================================
symbol   meaning
=======  ==================================================================
e, v     a reading above what the others let expect, and the variance of
         that, both relative to the noise they show
k        degrees of freedom: readings to spare, and what a stated noise counts
w        range of the readings without their drift, relative to the same noise
=======  ==================================================================

An honest reading has Student's t distribution about what is expected; a wrong one may
be anything within the range of all that was read, itself included. The density of the
second over the first, twice the logarithm, is how strange a reading is. Where all
others say less than the range does, nothing is strange.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .fit import Fit

Array = NDArray[np.float64]

_NARROWEST = 2.0  # range of the readings, in noise units, at the least


def strangeness(e: float, v: float, k: float, w: float) -> float:
    """Twice the log of how much likelier a reading is if something is wrong with it.

    >>> strangeness(0.5, 1.0, 10.0, 20.0) < 0.0 < strangeness(15.0, 1.0, 10.0, 20.0)
    True
    """
    honest = math.log(2.0 * math.pi * v) + (k + 1.0) * math.log1p(e * e / (v * k))
    return honest - 2.0 * math.log(max(w, _NARROWEST))


def _is_vague(v: Array | float, w: float) -> NDArray[np.bool_]:
    """Whether an expectation says less than the range of the readings does."""
    return np.asarray(2.0 * math.pi * v >= max(w, _NARROWEST) ** 2)


def freedom(fitted: Fit, spread: float) -> float:
    """Degrees of freedom of the noise that a fit shows."""
    m, p = fitted.solution.X_w.shape
    return max(1.0, float(m - p)) + 2.0 / spread**2


def of_newest(fitted: Fit, e: float, v: float, spread: float) -> float:
    """Of a reading that is in no fit yet."""
    w = max(float(np.ptp(fitted.steady)), abs(e))
    if _is_vague(v, w):
        return -math.inf
    return strangeness(e, v, freedom(fitted, spread), w)


def strangest(
    fitted: Fit, spread: float, known: NDArray[np.bool_]
) -> tuple[int, float]:
    """The row that is hardest to believe, but for those `known` to be right.

    Each is compared with what all other rows of the window expect there, by the same
    variance components.
    """
    errors, variances = fitted.solution.left_out()
    w = float(np.ptp(fitted.steady)) * math.sqrt(fitted.nu)
    known = known | _is_vague(variances, w / math.sqrt(fitted.nu))
    squares = np.where(known, 0.0, errors**2 / variances)
    row = int(squares.argmax())
    log_nu = fitted.solution.noise_without(float(squares[row]), spread)
    scale = math.exp(0.5 * log_nu)
    k = max(freedom(fitted, spread) - 1.0, 1.0)
    if known[row]:
        return row, -math.inf
    return row, strangeness(errors[row] / scale, float(variances[row]), k, w / scale)
