"""What would be read at any place and time, as a model has it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _check
from .space import Space

Array = NDArray[np.float64]

_OFF = 1e-6  # scales; how far a point may be from the equalities, for rounding's sake


class Surface(Protocol):
    """A model, in the search's variables; a frozen value that can be pickled."""

    def predict(self, Z: Array, t: Array) -> tuple[Array, Array]:
        """What is expected at rows of Z, (N, k), and times t, (N,).

        Also its standard errors, (N,), without the noise that a reading adds; pure.
        """


@dataclass(frozen=True)
class UserSurface:
    """A model as the user sees it: what `Result.predict` asks."""

    space: Space
    surface: Surface | None = field(repr=False)  # None: there is no model yet

    def predict(self, x: Any, t: Any) -> tuple[Any, Any]:
        """Values and standard errors at points x, (..., n), and times t, (...).

        They go together as numpy broadcasts them. Floats, if there is one of each.
        """
        X, times = self._places(x, t)
        shape = times.shape
        if self.surface is None:
            unknown = np.full(shape, math.nan)
            return (unknown, unknown.copy()) if shape else (math.nan, math.nan)
        Z = self._to_search(X.reshape(-1, X.shape[-1]))
        # Far out it is not known, or infinite: no error.
        with np.errstate(over="ignore", invalid="ignore"):
            value, error = self.surface.predict(Z, times.reshape(-1))
        value = self.space.sign * value.reshape(shape)
        error = error.reshape(shape)
        return (value, error) if shape else (float(value), float(error))

    def _places(self, x: Any, t: Any) -> tuple[Array, Array]:
        """Points and times of one shape, or an error that says what is wrong."""
        n, raw = len(self.space.variables), np.asarray(x)
        if raw.ndim == 0 or raw.shape[-1] != n:
            raise ValueError(
                f"x must be of shape ({n},) or (..., {n}), but has shape {raw.shape}"
            )
        points = _check.point("x", raw.reshape(-1)).reshape(raw.shape)
        when = np.asarray(t)
        largest = _check.LARGEST_TIME
        times = _check.point("t", when.reshape(-1), largest=largest).reshape(when.shape)
        try:
            shape = np.broadcast_shapes(raw.shape[:-1], when.shape)
        except ValueError:
            raise ValueError(
                f"t must have one time for all points of x, or one for each: it has "
                f"shape {when.shape}, x has {raw.shape}"
            ) from None
        return np.broadcast_to(points, (*shape, n)), np.broadcast_to(times, shape)

    def _to_search(self, X: Array) -> Array:
        """The search's variables of points that its model knows."""
        space = self.space
        if space.is_identity:
            return X
        Z = np.array([space.to_search(x) for x in X]).reshape(-1, space.dimensions)
        back = space.unrounded(Z)
        scale = np.array([variable.scale for variable in space.variables])
        off = (np.abs(X - back) > _OFF * scale + 1e-9 * np.abs(X)).any(axis=1)
        if off.any():
            row = int(np.flatnonzero(off)[0])
            raise ValueError(
                "x must keep to what is fixed and to the equalities, since nothing is "
                f"known elsewhere: {X[row].tolist()} is off them, the nearest point is "
                f"{back[row].tolist()}"
            )
        return Z
