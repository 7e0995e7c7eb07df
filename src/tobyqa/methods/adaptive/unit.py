"""The unit of a fit: the noise that is assumed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .evidence import digits
from .likelihood import bounded
from .posterior import Components, Posterior
from .search import Search

NOISE_FLOOR = 1e-6  # of the variation; finer, the fit has no digits left
_DRIFT_FLOOR = 1e-7  # of the range of the readings as they are, drift included


def assumed_noise(fitted: Posterior, search: Search) -> float:
    """The noise to be assumed: as stated, but not less than the fit has digits for.

    What varies a million times as much within the region leaves the noise no digit.
    The unit follows the region as it shrinks, in large strides.
    """
    window = fitted.window
    varies = fitted.noise_std * float(np.ptp(fitted.steady[window.inside]))
    # The drift costs digits too, though it is known better than its own size.
    reads = search.noise * float(np.ptp(window.y))
    unit = max(
        search.stated,
        NOISE_FLOOR * varies,
        _DRIFT_FLOOR * reads,
        digits(window.frame.level),
    )
    return unit if not 0.1 <= unit / search.noise <= 10.0 else search.noise


def in_unit(
    unit: float, search: Search, components: Components
) -> tuple[Search, Components]:
    """The same knowledge in another unit of noise."""
    ratio = unit / search.noise
    log = math.log(ratio)
    return (
        replace(search, noise=unit, evidence=search.evidence.divided(ratio)),
        bounded(
            replace(
                components,
                log_a=components.log_a - log,
                log_q=components.log_q - log,
                log_b=components.log_b - log,
            )
        ),
    )
