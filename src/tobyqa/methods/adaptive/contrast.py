"""What readings at two places tell, with no model of the function between them.

=========  ==============================================================
symbol     meaning
=========  ==============================================================
y, t       readings of a comparison and their times
b, c       time between them, in spacings
q          restlessness of the drift, see `likelihood`
K          covariance of the readings: common wandering, own noise
X          columns: level and slope at one place, at the other
=========  ==============================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...kernels import integrated_wiener
from ...samples import SampleSet
from .belief import Belief, Place
from .components import Components
from .window import relative_variances

Array = NDArray[np.float64]

_SURE, _DOUBTFUL = 5.0, 2.0  # standard errors
UNKNOWN = 1e9  # noise levels: the error of a comparison that tells nothing
_USELESS = 10.0  # times the error of the best comparison
_ANYTHING = 1e12  # variance of the wandering, in noise units, beyond which all is open
_MOST = 5  # comparisons that are to tell whether the drift depends on the place
_FAR_AHEAD = 3.0  # standard errors
_CLOSE = 4.0  # noise levels; two places known to within that are compared
_MOST_AT_START = 6  # comparisons of two places until they are known that well
_LEAST_IF_GUESSED = 4  # comparisons that tell the noise as well


@dataclass(frozen=True)
class Ruler:
    """The units of a comparison."""

    noise: float
    q: float
    spacing: float

    def ahead(self, samples: SampleSet, rows: tuple[int, ...]) -> tuple[float, float]:
        """How much lower the first place reads than the second; the standard error.

        In noise units, from readings there, here and there again.
        """
        y, t = samples.values[list(rows)], samples.times[list(rows)]
        between = np.diff(t) / self.spacing
        if between[0] * between[1] < 0.0:
            return 0.0, UNKNOWN  # the clock was set back: drift does not cancel
        b, c = np.maximum(np.abs(between), 1e-9)
        v = relative_variances(samples.sigmas[list(rows)], self.noise)
        early, late = c / (b + c), b / (b + c)
        ahead = float(y[1] - early * y[0] - late * y[2]) / self.noise
        # How far an integrated Wiener process strays from its chord.
        stray = self.q**2 * b**2 * c**2 / (3.0 * (b + c))
        return ahead, math.sqrt(v[1] + early**2 * v[0] + late**2 * v[2] + stray)

    def ahead_at_start(
        self, samples: SampleSet, x: Array, rival: Array
    ) -> tuple[float, float]:
        """The same, but as it was at the first reading, from all readings at the two.

        The error is infinite unless both were measured at two times at the least.
        """
        lines = self.lines(samples, x, rival)
        return (0.0, math.inf) if lines is None else lines.ahead

    def lines(self, samples: SampleSet, x: Array, rival: Array) -> Lines | None:
        """Two places with a drift of their own, from all readings there."""
        here, there = samples.rows_at(x), samples.rows_at(rival)
        rows = np.concatenate([here, there])
        age = samples.times[rows] - samples.times[0]
        is_here = np.arange(rows.size) < here.size
        if np.ptp(age[is_here]) == 0.0 or np.ptp(age[~is_here]) == 0.0:
            return None
        # In units of the whole time: a pause of weeks must not cost the digits.
        whole = float(np.abs(age).max())
        age = age / whole
        wanders = min(self.q**2 * (whole / self.spacing) ** 3, _ANYTHING)
        own = relative_variances(samples.sigmas[rows], self.noise)
        K = wanders * integrated_wiener(age - age.min()) + np.diag(own)
        X = np.column_stack([is_here, is_here * age, ~is_here, ~is_here * age])
        y = samples.values[rows] / self.noise
        solved = np.linalg.solve(K, X)
        covariance = np.linalg.pinv(X.T @ solved, hermitian=True)
        beta = covariance @ (solved.T @ y)
        left = y - X @ beta
        square = float(left @ np.linalg.solve(K, left))
        spare = max(rows.size - beta.size, 1)
        return Lines(beta, covariance, math.sqrt(max(square, 0.0) / spare))


@dataclass(frozen=True)
class Lines:
    """The readings at two places as straight lines in time."""

    beta: Array  # level at the first reading and rise, at one place and the other
    covariance: Array
    misfit: float  # standard deviation of what they leave over, in noise units

    @property
    def ahead(self) -> tuple[float, float]:
        """How much lower the first place was at the start; the standard error."""
        return self._contrast(np.array([-1.0, 0.0, 1.0, 0.0]))

    def _contrast(self, weights: Array) -> tuple[float, float]:
        variance = float(weights @ self.covariance @ weights)
        error = math.sqrt(variance) if variance > 0.0 else math.inf
        return float(weights @ self.beta), error


def drift_is_local(
    samples: SampleSet, comparisons: tuple[tuple[int, ...], ...], ruler: Ruler
) -> tuple[bool, bool]:
    """Whether the drift depends on the place, and whether that is the last word.

    If it does not, what lies between two places is the same at all times. If it does,
    it must grow steadily to be told from a rate that goes up and down.
    """
    if len(comparisons) < 2:
        return False, False
    ahead, error = np.array([ruler.ahead(samples, rows) for rows in comparisons]).T
    # One that a pause fell into tells nothing, and must not have the last word.
    tells = error <= _USELESS * error.min()
    if np.count_nonzero(tells) < 2 or error.min() >= UNKNOWN:
        return False, len(comparisons) >= _MOST
    t = np.array([samples.times[rows[1]] for rows in comparisons])
    ahead, error, t = ahead[tells], error[tells], t[tells]
    change = abs(ahead[-1] - ahead[0]) / math.hypot(error[0], error[-1])
    if change < _DOUBTFUL:
        return False, True
    is_straight = bool((np.abs(ahead - _line(t, ahead, error)) <= _SURE * error).all())
    is_local = is_straight and bool(change > _SURE)
    return is_local, not is_straight or len(comparisons) == _MOST


def noise_between(
    samples: SampleSet, comparisons: tuple[tuple[int, ...], ...]
) -> float:
    """Noise by how the place that is measured twice in each comparison has changed.

    At one and the same rate, if the drift is straight. Infinite if there are too few.
    """
    if len(comparisons) < 3:
        return math.inf
    rows = np.array(comparisons)
    changes = samples.values[rows[:, 2]] - samples.values[rows[:, 0]]
    times = samples.times[rows[:, 2]] - samples.times[rows[:, 0]]
    square = float(times @ times)
    rate = float(changes @ times) / square if square > 0.0 else 0.0
    left = changes - rate * times
    return math.sqrt(float(left @ left) / (2.0 * (len(comparisons) - 1)))


def _line(t: Array, y: Array, error: Array) -> Array:
    """The straight line through y(t) by weighted least squares, at t."""
    weight = error**-2 / np.sum(error**-2)
    t, mean = t - weight @ t, weight @ y
    variance = float(weight @ t**2)
    slope = float(weight @ (t * y)) / variance if variance > 0.0 else 0.0
    return np.asarray(mean + slope * t)


@dataclass(frozen=True)
class Lead:
    """How much lower the best place is than its rival, in noise units."""

    ahead: float
    error: float
    is_decided: bool


def contrast(
    b: Belief, rival: Array, rounds: tuple[tuple[int, ...], ...]
) -> tuple[Belief, Lead]:
    """The best place against its rival, and whether the drift depends on the place."""
    ruler = _ruler(b, rounds)
    if not b.local_is_known:
        local, known = drift_is_local(b.samples, rounds, ruler)
        known &= not b.noise.is_guessed or len(rounds) >= _LEAST_IF_GUESSED
        b = replace(b, local=local, local_is_known=known)
    ahead, error = ruler.ahead(b.samples, rounds[-1])
    is_decided = b.local_is_known
    if b.local:
        ahead, error = ruler.ahead_at_start(b.samples, b.best.x, rival)
        close = error <= _CLOSE or abs(ahead) > _FAR_AHEAD * error
        is_decided &= close or len(rounds) >= _MOST_AT_START
    return b, Lead(ahead, error, is_decided)


def decided(b: Belief, rival: Array, lead: Lead) -> tuple[Belief, Components | None]:
    """The better one of two places; the components to go on from there, if so."""
    # Of the start, late readings tell little: there the sign alone would be chance.
    needed = lead.error if b.local else 0.0
    if lead.ahead < -needed:
        return replace(b, best=Place(rival, b.B)), None
    return b, b.fitted.components if lead.ahead > _FAR_AHEAD * lead.error else None


def _ruler(b: Belief, rounds: tuple[tuple[int, ...], ...]) -> Ruler:
    """A noise estimate far from the assumed level is misfit, and no excuse."""
    least, most = b.noise.credible
    noise = b.fitted.noise_std
    if b.noise.is_guessed:
        # What the fit calls noise may be the very drift that is asked for.
        noise = min(noise, noise_between(b.samples, rounds))
    noise = min(max(noise, b.noise.unit * least), b.noise.unit * most)
    return Ruler(noise, math.exp(b.fitted.components.log_q), b.spacing)
