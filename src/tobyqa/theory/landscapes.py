"""Functions of which everything is known: gradient, its Lipschitz constant, infimum.

=======  =====================================================  =======
symbol   meaning                                                shape
=======  =====================================================  =======
Q        rotation, so that no axis is special                   (n, n)
z        x in the rotated coordinates, z = Qx                   (n,)
L_g      Lipschitz constant of the gradient                     scalar
f_low    infimum; it is zero for all of them                    scalar
=======  =====================================================  =======
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Landscape:
    """A smooth function with f_low = 0; Assumption 4.1 holds with `lipschitz`."""

    name: str
    x0: Array
    lipschitz: float  # L_g
    rotation: Array
    _terms: Callable[[Array], Array]
    _slopes: Callable[[Array], Array]

    def __call__(self, x: Array) -> float:
        return float(np.sum(self._terms(self.rotation @ x)))

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.rotation.T @ self._slopes(self.rotation @ x))

    @property
    def size(self) -> float:
        """s_0 = max(|f(x0)|, 1), in which the paper states noise and drift."""
        return max(abs(self(self.x0)), 1.0)


def rotation(n: int, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(n, n)))
    return np.asarray(Q * np.sign(np.diag(R)))


def bowl(n: int, seed: int = 0) -> Landscape:
    """A convex quadratic with curvatures from 1 to 10."""
    h = np.linspace(1.0, 10.0, n)
    return _landscape("bowl", n, seed, 10.0, lambda z: 0.5 * h * z**2, lambda z: h * z)


def wells(n: int, seed: int = 0) -> Landscape:
    """sum log(1 + z^2): not convex farther out than 1; L_g = 2."""
    return _landscape(
        "wells",
        n,
        seed,
        2.0,
        lambda z: np.log1p(z**2),
        lambda z: 2.0 * z / (1.0 + z**2),
    )


def flat(n: int, seed: int = 0) -> Landscape:
    """sum sqrt(1 + z^4) - 1: no curvature at its minimum; L_g = 2 sqrt(2), at z = 1."""
    return _landscape(
        "flat", n, seed, math.sqrt(8.0),
        lambda z: np.sqrt(1.0 + z**4) - 1.0,
        lambda z: 2.0 * z**3 / np.sqrt(1.0 + z**4),
    )  # fmt: skip


LANDSCAPES = (bowl, wells, flat)


def _landscape(
    name: str,
    n: int,
    seed: int,
    lipschitz: float,
    terms: Callable[[Array], Array],
    slopes: Callable[[Array], Array],
) -> Landscape:
    """Started three units from the minimum along every rotated axis."""
    Q = rotation(n, np.random.default_rng(seed))
    return Landscape(name, Q.T @ np.full(n, 3.0), lipschitz, Q, terms, slopes)
