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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..samples import SampleSet
from .fit import Fit, Functional

Array = NDArray[np.float64]

_NARROWEST = 2.0  # range of the readings, in noise units, at the least


class Seen(NamedTuple):
    """A reading beside what a fit without it expects, relative to the noise."""

    above: float
    error: float
    strangeness: float


NOTHING = Seen(0.0, 0.0, -math.inf)  # before there is a fit


def strangeness(e: float, v: float, k: float, w: float) -> float:
    """Twice the log of how much likelier a reading is if something is wrong with it.

    >>> strangeness(0.5, 1.0, 10.0, 20.0) < 0.0 < strangeness(15.0, 1.0, 10.0, 20.0)
    True
    """
    honest = math.log(2.0 * math.pi * v) + (k + 1.0) * math.log1p(e * e / (v * k))
    return honest - 2.0 * math.log(max(w, _NARROWEST))


def freedom(fitted: Fit, spread: float) -> float:
    """Degrees of freedom of the noise that a fit shows."""
    m, p = fitted.solution.X_w.shape
    return max(1.0, float(m - p)) + 2.0 / spread**2


def seen(fitted: Fit, samples: SampleSet, row: int, spread: float) -> Seen:
    """A reading that is not in the fit."""
    u = fitted.window.frame.u(samples.points[row])
    reading = fitted.reading(u, float(samples.times[row]))
    return seen_as(reading, fitted, samples, row, spread)


def seen_as(
    reading: Functional, fitted: Fit, samples: SampleSet, row: int, spread: float
) -> Seen:
    """The same, where it is known already as a functional of the fit."""
    mean, v = fitted.predicted(reading)
    y, own = fitted.window.frame.reading(samples, row)
    e, v = y / math.sqrt(fitted.nu) - mean, v + own
    w = max(float(np.ptp(fitted.steady)), abs(e))
    k = freedom(fitted, spread)
    strange = -math.inf if _is_vague(v, w) else strangeness(e, v, k, w)
    return Seen(e, math.sqrt(v), strange)


def strangest(
    fitted: Fit, spread: float, known: NDArray[np.bool_]
) -> tuple[int, float]:
    """The reading of a fit that is hardest to believe, but for those `known`.

    Each is compared with what all others of the window expect there, by the same
    variance components; it is given by its place in the window.
    """
    errors, variances = fitted.solution.left_out()
    w = float(np.ptp(fitted.steady))
    known = known | _is_vague(variances, w)
    squares = np.where(known, -1.0, errors**2 / variances)
    place = int(squares.argmax())
    if known[place]:
        return place, -math.inf
    log_nu = fitted.solution.noise_without(float(squares[place]), spread)
    scale, k = math.exp(0.5 * log_nu), max(freedom(fitted, spread) - 1.0, 1.0)
    e, v = float(errors[place]) / scale, float(variances[place])
    return place, strangeness(e, v, k, w * math.sqrt(fitted.nu) / scale)


def _is_vague(v: Array | float, w: float) -> NDArray[np.bool_]:
    """Whether an expectation says less than the range of the readings does."""
    return np.asarray(2.0 * math.pi * v >= max(w, _NARROWEST) ** 2)
