"""A fit as a surface over space and time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .fit import Fit

Array = NDArray[np.float64]

_ROWS = 500  # at once; each takes a column as long as the window


@dataclass(frozen=True)
class FitSurface:
    """What a fit says of any place and time, (4) in docs/method.md."""

    fitted: Fit

    @staticmethod
    def of(fitted: Fit) -> FitSurface:
        """Without what was computed on the way: matrices as large as the factor."""
        return FitSurface(replace(fitted, window=replace(fitted.window)))

    def predict(self, Z: Array, t: Array) -> tuple[Array, Array]:
        """Values and standard errors at rows of Z and times t."""
        cuts = range(_ROWS, len(Z), _ROWS)
        parts = zip(np.split(Z, cuts), np.split(t, cuts), strict=True)
        values, errors = zip(*(self._part(*part) for part in parts), strict=True)
        return np.concatenate(values), np.concatenate(errors)

    def _part(self, Z: Array, t: Array) -> tuple[Array, Array]:
        fitted, frame = self.fitted, self.fitted.window.frame
        k, v, x = fitted.readings(frame.u(Z), t)
        mean, variance = fitted.solution.mean(k, x), fitted.solution.variance(k, v, x)
        scale = fitted.noise_std
        return frame.level + scale * mean, scale * np.sqrt(variance)
