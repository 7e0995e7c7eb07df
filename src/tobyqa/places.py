"""Places that were measured, in the user's variables and in the search's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Places:
    """Each place as x, what the user set, and as z: the same one again, bit by bit.

    Computed from one another they would differ by rounding.
    """

    def __init__(self) -> None:
        self._x: dict[bytes, Array] = {}
        self._z: dict[bytes, Array] = {}

    def add(self, z: Array, x: Array) -> None:
        self._x[z.tobytes()] = x
        self._z[x.tobytes()] = z

    def x(self, z: Array) -> Array | None:
        """What the user set where the search knows it as `z`, if it was measured."""
        return self._x.get(z.tobytes())

    def z(self, x: Array) -> Array | None:
        """What the search knows of the point `x`, if it was measured."""
        return self._z.get(x.tobytes())
