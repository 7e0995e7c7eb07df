"""What repeated readings have shown of the drift, and which centre it allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...polyhedron import Polyhedron
from ...samples import SampleSet
from ...spacetime.fit import Fit
from ...spacetime.window import relative_variances
from .noise import Noise, credible_noise

Array = NDArray[np.float64]

_BY_CHANCE = 4.0  # standard deviations of a reading
_CREDIT = 100.0  # noise levels that a place may read higher now than the centre
_CAUTION = 2.0  # standard errors
_TOO_SOON = 1e-3  # spacings between two readings that are to show a slope
_HARMLESS = 1.0  # noise levels
_LOUD = 4.0  # nu from which on a fit gives no such credit, if the noise was stated


@dataclass(frozen=True)
class Evidence:
    """What two readings at one place have shown of the drift, per spacing of readings.

    Nothing else can tell drift from ascent. All of it moves along when an affine drift
    is added to the readings, so the method stays blind to that if the noise is stated.
    """

    slope: float  # between the latest two readings at one place
    slope_std: float
    unrest: float = 0.0  # largest change of that slope so far, beyond its error

    def after(self, earlier: Evidence) -> Evidence:
        error = 3.0 * math.hypot(self.slope_std, earlier.slope_std)
        change = abs(self.slope - earlier.slope) - error
        return replace(self, unrest=max(earlier.unrest, change, 0.0))

    def explains(self, rise: Array, age: Array, noise: float) -> NDArray[np.bool_]:
        """Whether readings `rise` above one that is `age` older may be drift alone."""
        # An old slope is no licence.
        unsure = np.minimum(2.0 * self.slope_std * np.abs(age), _BY_CHANCE * noise)
        drift = self.slope * age + 2.0 * self.unrest * np.abs(age)
        return np.asarray(rise <= drift + unsure + 1.5 * _BY_CHANCE * noise)


def witness(
    samples: SampleSet, old: int, new: int, noise: float, spacing: float
) -> Evidence:
    """Two readings at one place."""
    own = relative_variances(samples.sigmas[[old, new]], noise)
    std = noise * math.sqrt(own.sum())
    gap = float(samples.times[new] - samples.times[old]) / spacing
    if abs(gap) < _TOO_SOON:
        return Evidence(0.0, std)
    slope = float(samples.values[new] - samples.values[old]) / gap
    return Evidence(slope, std / abs(gap))


def best_row(
    fitted: Fit,
    evidence: Evidence,
    noise: Noise,
    *,
    cautious: bool,
    area: Polyhedron | None,
) -> int:
    """The row in the region that is lowest and that the readings do not deny.

    A point owes its rank to the drift correction if its reading is higher than the
    centre's. It is taken only as far as the drift has been seen to go. `cautious`:
    lowest at worst, see `_at_worst`.
    """
    window, centre, smooth = fitted.window, fitted.window.centre, fitted.smooth
    lower = smooth < smooth[centre]
    lower &= fitted.steady <= fitted.steady[centre] + _BY_CHANCE * fitted.unrest
    if area is not None:  # readings nobody asked for may be outside
        x = window.frame.x + window.U @ window.frame.B.T
        lower &= area.holds(x)
    rows = np.flatnonzero(window.inside & lower)
    if rows.size == 0:
        return centre
    rise = (window.y[rows] - window.y[centre]) * window.frame.noise
    rise -= fitted.noise_std * fitted.local_drift[rows]
    jumped = fitted.sudden_drift
    rise -= fitted.noise_std * (jumped[rows] - jumped[centre])
    # A noise estimate far from the assumed level is misfit, and no excuse.
    loud = min(fitted.noise_std, noise.most * noise.unit)
    loud *= fitted.unrest
    may_be = evidence.explains(rise, window.age[rows] - window.age[centre], loud)
    if fitted.components.interacts:
        may_be &= _may_be_local_drift(fitted, noise)[rows]
    rows = np.append(rows[may_be], centre)
    heights = _at_worst(fitted, rows) if cautious else smooth[rows]
    return int(rows[heights.argmin()])


def _may_be_local_drift(fitted: Fit, noise: Noise) -> NDArray[np.bool_]:
    """Whether places read little enough higher now than the centre does.

    Else a local drift could explain any rise: time has to tell.
    """
    age, centre = fitted.window.age, fitted.window.centre
    now = fitted.smooth + fitted.local_drift * age[-1] / np.maximum(age, 1.0)
    # A guess of the noise may be far too low.
    is_loud = fitted.nu > _LOUD * credible_noise(noise.spread - 1.0) ** 2
    credit = _CREDIT if explains_readings(fitted, noise) and not is_loud else 0.0
    return np.asarray(now <= fitted.smooth[centre] + credit)


def explains_readings(fitted: Fit, noise: Noise) -> bool:
    """Whether a fit needs no more noise than can be; else it is not of this function.

    Where a function is rougher than any fit, only what was measured is known.
    """
    return math.sqrt(fitted.nu) <= noise.loudest


def _at_worst(fitted: Fit, rows: NDArray[np.int64]) -> Array:
    """Smoothed values, higher by what they may be wrong, seen from the centre.

    Where little was measured the lowest of many values is mostly an error, under a
    restless drift a large one: a search that goes there is lost. Errors of the size of
    the noise do no harm, and valleys are followed by steps that are no surer than that.
    """
    errors = np.sqrt(fitted.fall_variances(fitted.window.U[rows]))
    harmless = _HARMLESS * fitted.unrest
    return fitted.smooth[rows] + _CAUTION * np.maximum(errors - harmless, 0.0)
