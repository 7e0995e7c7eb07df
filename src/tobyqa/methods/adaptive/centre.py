"""The centre: the place that is lowest at worst."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...polyhedron import Polyhedron
from ...spacetime.fit import Fit
from .noise import Noise, credible_noise

Array = NDArray[np.float64]

_CREDIT = 100.0  # noise levels that a place may read higher now than the centre
_CAUTION = 2.0  # standard errors
_HARMLESS = 1.0  # noise levels
_LOUD = 4.0  # nu from which on a fit gives no such credit, if the noise was stated


def best_row(fitted: Fit, noise: Noise, area: Polyhedron | None) -> int:
    """The row in the region that is lowest at worst, and lower than the centre."""
    window, centre, smooth = fitted.window, fitted.window.centre, fitted.smooth
    lower = smooth < smooth[centre]
    if area is not None:  # readings nobody asked for may be outside
        x = window.frame.x + window.U @ window.frame.B.T
        lower &= area.holds(x)
    if fitted.components.interacts:
        lower &= _may_be_local_drift(fitted, noise)
    rows = np.append(np.flatnonzero(window.inside & lower), centre)
    return int(rows[_at_worst(fitted, rows).argmin()])


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
