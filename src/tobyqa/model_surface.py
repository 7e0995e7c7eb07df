"""The paper's model as a surface over space and time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .samples import SampleSet
from .scaling import unit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelSurface:
    """Q(x, t) of model.py; the errors are by the noise of its readings alone.

    A curvature that was carried over counts as known.
    """

    model: Model
    samples: SampleSet
    stds: float | Array  # standard errors of the readings

    def predict(self, Z: Array, t: Array) -> tuple[Array, Array]:
        """Values and standard errors at rows of Z and times t."""
        model, size = self.model, unit(self.stds)
        D, rows = Z - model.x, model.rows(Z, t)
        X = model.rows(self.samples.points, self.samples.times)
        values = rows @ model.beta + 0.5 * np.einsum("ij,ij->i", D @ model.hessian, D)
        errors = model.weights(rows, X) * (self.stds / size)
        return values, size * np.sqrt(np.sum(errors**2, axis=-1))
