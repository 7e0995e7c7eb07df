"""What readings at two places tell, with no model of the function between them.

=========  ==============================================================
symbol     meaning
=========  ==============================================================
y, t       readings at the two places and their times, in spacings
X          columns: level at one place, at the other, slopes in time
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
from ...spacetime.window import Rows, relative_variances
from .belief import Belief
from .noise import BELIEVED, credible_noise, digits

Array = NDArray[np.float64]

_SURE = 5.0  # standard errors of a difference between two rates
_STILL = 3.0  # and without any one reading
_RESTLESS = (0.02, 0.14, 1.0, 7.0, 30.0)  # drifts, per spacing
_ANYTHING = 1e12  # variance of the wandering, in noise units, beyond which all is open


class Lead(NamedTuple):
    """By how many standard errors the best place is lower than its rival.

    As they were at the first reading of all where the drift depends on the place.
    """

    ahead: float
    error: float  # one of these, in noise levels
    drifts_apart: bool = False  # both drift steadily, at rates of their own


def contrast(b: Belief, rival: Array) -> Lead:
    """The best place against its rival, after a comparison of the two.

    By the readings of the comparison alone: what lies before it has wandered off. But
    whether both drift steadily, and where they were at the start, all readings tell.
    """
    here, there = b.rows_at(b.best.x), b.rows_at(rival)
    times = b.samples.times
    if all(np.ptp(times[rows]) > 0.0 for rows in (here, there)):
        lines = _lines(b, here, there)
        drifts_apart = _is_sure(lines, _SURE) and not _rests_on_one(b, here, there)
        if b.local or drifts_apart:
            return Lead(*_errors(lines, [-1.0, 1.0, 0.0, 0.0]), drifts_apart)
    here, there = here[-2:], there[-1:]
    first = float(times[np.append(here, there)].min())
    # A noise estimate far from the assumed level is misfit, and no excuse.
    louder = b.fitted.noise_std / b.noise.unit
    noise = b.noise.unit * min(max(louder, b.noise.least), b.noise.most)
    at, t = _columns(b, here, there, first)
    q = math.exp(b.fitted.components.log_q)
    X = np.column_stack([at, t / max(float(t.max()), 1e-300)])
    levels = _solved(b, np.append(here, there), X, q, t, noise)
    return Lead(*_errors(levels, [-1.0, 1.0, 0.0]))


def _is_sure(lines: gls.Solution, errors: float) -> bool:
    """Whether a difference of rates is none by chance, nor by a drift that is no line.

    The noise is what it is said to be, or more, if the lines leave more over.
    """
    left = math.sqrt(lines.misfit * lines.nu)
    apart, _ = _errors(lines, [0.0, 0.0, -1.0, 1.0])
    seen = abs(apart) * math.sqrt(lines.nu)
    return left <= credible_noise(BELIEVED) and seen > errors * max(left, 1.0)


def _rests_on_one(b: Belief, here: Rows, there: Rows) -> bool:
    """Whether it takes a single reading at the best place to be sure of two rates.

    That one may be wrong. The rival has seldom more readings than a rate takes.
    """
    times = b.samples.times
    others = (here[here != row] for row in here)
    return not all(
        # Readings of one moment have no rate, whatever is made of them.
        np.ptp(times[rows]) > 0.0 and _is_sure(_lines(b, rows, there), _STILL)
        for rows in others
    )


def _lines(b: Belief, here: Rows, there: Rows) -> gls.Solution:
    """Two places with a rate of their own, in units of the whole time.

    What they have in common may wander: as much as the fit says, or more, if that is
    likelier.
    """
    at, t = _columns(b, here, there, float(b.samples.times[0]))
    X = np.hstack([at, at * (t / np.abs(t).max())[:, None]])
    rows = np.append(here, there)
    # No fit, so no need of more digits than the readings have.
    rounding = digits(float(np.abs(b.samples.values[rows]).max()))
    is_guessed = b.noise.spread > BELIEVED
    known = b.fitted.noise_std if is_guessed else b.noise.stated
    noise = max(known, rounding)
    least = math.exp(b.fitted.components.log_q)
    solutions = [
        _solved(b, rows, X, q, t - t.min(), noise)
        for q in (least, *(q for q in _RESTLESS if q > least))
    ]
    return min(solutions, key=lambda solution: solution.criterion)


def _columns(b: Belief, here: Rows, there: Rows, since: float) -> tuple[Array, Array]:
    """Which readings are where, (m, 2), and their times, in spacings."""
    at = np.zeros((here.size + there.size, 2))
    at[: here.size, 0] = at[here.size :, 1] = 1.0
    longest = LONGEST_TIME * b.spacing
    t = b.samples.times[np.append(here, there)] - since
    return at, np.clip(t, -longest, longest) / b.spacing


def _solved(
    b: Belief, rows: Rows, X: Array, q: float, t: Array, noise: float
) -> gls.Solution:
    y = (b.samples.values[rows] - b.samples.values[rows[0]]) / noise
    own = relative_variances(b.samples.sigmas[rows], noise)
    # In units of the whole time: a pause of weeks must not cost the digits.
    whole = max(float(t.max()), 1e-300)
    K = min((q * whole**1.5) ** 2, _ANYTHING) * integrated_wiener(t / whole)
    solution = gls.solve(K, own, np.asfortranarray(X), y, BELIEVED)
    assert solution is not None
    return solution


def _errors(solution: gls.Solution, weights: list[float]) -> tuple[float, float]:
    """A contrast of the columns, in standard errors; one of these in noise levels."""
    x, k = np.array([weights]), np.zeros((1, solution.lam.size))
    error = math.sqrt(float(solution.variance(k, 0.0, x)[0]))
    return float(solution.mean(k, x)[0]) / error if error > 0.0 else 0.0, error
