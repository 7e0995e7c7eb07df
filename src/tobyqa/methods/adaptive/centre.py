"""What repeated readings have shown of the drift, and which centre it allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet
from .fit import Fit
from .noise import Noise, credible_noise
from .window import relative_variances

Array = NDArray[np.float64]

_CREDIT = 100.0  # noise levels that a place may read higher now than the centre
_CAUTION = 2.0  # standard errors
_HARMLESS = 1.0  # noise levels
_LOUD = 4.0  # nu from which on a fit gives no such credit, if the noise was stated


@dataclass(frozen=True)
class Evidence:
    """What two readings at one place have shown of the drift.

    In units of the assumed noise per spacing, whatever the noise turns out to be.
    Nothing else can tell drift from ascent. All of it moves along when an affine drift
    is added to the readings, so the method stays blind to that if the noise is stated.
    """

    slope: float  # between the latest two readings at one place
    slope_std: float
    unrest: float  # largest change of that slope so far, beyond its error

    def after(self, earlier: Evidence) -> Evidence:
        error = 3.0 * math.hypot(self.slope_std, earlier.slope_std)
        change = abs(self.slope - earlier.slope) - error
        return replace(self, unrest=max(earlier.unrest, change, 0.0))

    def divided(self, ratio: float) -> Evidence:
        """The same in a unit of noise that is `ratio` times as large."""
        return replace(self, slope=self.slope / ratio, unrest=self.unrest / ratio)

    def explains(self, rise: Array, age: Array, noise_std: float) -> NDArray[np.bool_]:
        """Whether readings `rise` above one that is `age` older may be drift alone."""
        # An old slope is no licence.
        unsure = np.minimum(2.0 * self.slope_std * np.abs(age), 4.0)
        noise = noise_std * (6.0 + unsure)
        return np.asarray(
            rise <= self.slope * age + 2.0 * self.unrest * np.abs(age) + noise
        )


def explains_readings(fitted: Fit, noise: Noise) -> bool:
    """Whether a fit needs no more noise than can be; else it is not of this function.

    Where a function is rougher than any fit, only what was measured is known.
    """
    return math.sqrt(fitted.nu) <= noise.loudest


def witness(
    samples: SampleSet, old: int, new: int, noise: float, spacing: float
) -> Evidence:
    """Two readings at one place."""
    own = relative_variances(samples.sigmas[[old, new]], noise)
    std = math.sqrt(own.sum())
    gap = (samples.times[new] - samples.times[old]) / spacing
    if gap == 0.0:
        return Evidence(0.0, std, 0.0)
    slope = (samples.values[new] - samples.values[old]) / noise / gap
    return Evidence(float(slope), std / abs(float(gap)), 0.0)


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


def best_row(fitted: Fit, evidence: Evidence, noise: Noise, *, cautious: bool) -> int:
    """The row in the region that is lowest and that the readings do not deny.

    A point owes its rank to the drift correction if its reading is higher than the
    centre's. It is taken only as far as the drift has been seen to go. `cautious`:
    lowest at worst, see `_at_worst`.
    """
    window, centre = fitted.window, fitted.window.centre
    plausible = fitted.steady <= fitted.steady[centre] + 4.0
    rise = window.y - window.y[centre]
    rise -= math.sqrt(fitted.nu) * fitted.local_drift
    age = window.t - window.t[centre]
    # A noise estimate far from the assumed level is misfit, and no excuse.
    noise_std = min(math.sqrt(fitted.nu), credible_noise(noise.spread))
    candidate = window.inside & plausible & evidence.explains(rise, age, noise_std)
    if fitted.components.interacts:
        candidate &= _may_be_local_drift(fitted, noise)
    # At worst a place is higher than it seems, the centre is as it is.
    candidate &= fitted.smooth < fitted.smooth[centre]
    rows = np.append(np.flatnonzero(candidate), centre)
    if rows.size == 1:
        return centre
    heights = _at_worst(fitted, rows) if cautious else fitted.smooth[rows]
    return int(rows[heights.argmin()])


def _at_worst(fitted: Fit, rows: NDArray[np.int64]) -> Array:
    """Smoothed values, higher by what they may be wrong, seen from the centre.

    Where little was measured the lowest of many values is mostly an error, under a
    restless drift a large one: a search that goes there is lost. Errors of the size of
    the noise do no harm, and valleys are followed by steps that are no surer than that.
    """
    errors = np.sqrt(fitted.fall_variances(fitted.window.U[rows]))
    return fitted.smooth[rows] + _CAUTION * np.maximum(errors - _HARMLESS, 0.0)
