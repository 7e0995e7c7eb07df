"""Polyhedra, and their nearest points.

=======  =======================================================  =======
symbol   meaning                                                  shape
=======  =======================================================  =======
A, b     polyhedron {y : A y <= b}                                (m, n), (m,)
U, c     the same with rows of length one                         (m, n), (m,)
W, u     rows that hold as equalities, and their multipliers      list, (k,)
Y, R     U[W]' = Y[:, :k] R, Y orthonormal, R triangular          (n, n), (k, k)
=======  =======================================================  =======
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_DEPENDENT = 1e-10  # part of a unit row outside the span of others that counts as none
_SURELY_INDEPENDENT = 1e-6  # the same, where there is another way to find out


class NoPointError(ValueError):
    """The polyhedron is empty."""


@dataclass(frozen=True)
class Polyhedron:
    """Points z with A z <= b, and what each row is called."""

    A: Array
    b: Array
    names: tuple[str, ...]

    @cached_property
    def is_flat(self) -> bool:
        """Whether some row leaves no width beside its opposite."""
        rows = np.column_stack([self.A, self.b])
        return bool((rows[:, None] == -rows).all(axis=2).any())

    def around(self, z: Array, B: Array) -> tuple[Array, Array]:
        """The rows in u, for points z + B u; if z is outside, as if it were on them."""
        return self.A @ B, np.maximum(self.b - self.A @ z, 0.0)

    def reach(self, z: Array, way: Array) -> float:
        """How often `way` can be added to z, a point inside, without leaving."""
        ahead = self.A @ way
        blocking = ahead > 4.0 * _EPS * math.sqrt(way @ way)
        slack = np.maximum(self.b - self.A @ z, 0.0)[blocking]
        return float((slack / ahead[blocking]).min(initial=math.inf))

    def holds(self, Z: Array) -> NDArray[np.bool_]:
        """Which rows of Z are inside, to rounding."""
        size = np.abs(self.A) @ np.abs(Z).T + np.abs(self.b)[:, None]
        return np.asarray((self.A @ Z.T <= self.b[:, None] + 1e-12 * size).all(axis=0))

    def nearest(self, z: Array) -> Array:
        """The nearest point inside; z itself, bit by bit, if it is inside."""
        return project(z, self.A, self.b).x


class Nearest(NamedTuple):
    """The nearest point x - A'lam of a polyhedron."""

    x: Array
    multipliers: Array  # lam, (m,)


def project(x: Array, A: Array, b: Array) -> Nearest:
    """The point of {y : A y <= b} nearest to x; x itself, bit by bit, if it is inside.

    The dual active-set method of Goldfarb and Idnani (1983) for the identity: the most
    violated row is made to hold, rows whose multiplier would become negative are
    dropped. Raises NoPointError where there is no such point.
    """
    lam = np.zeros(b.size)
    violated = A @ x > b
    if not violated.any():
        return Nearest(x.copy(), lam)
    size = np.sqrt(np.einsum("ij,ij->i", A, A))
    usable = np.isfinite(b) & (size > 0.0)
    if (violated & ~usable).any():
        raise NoPointError("a row of zeros asks for less than zero")
    kept = np.flatnonzero(usable)
    U, c = A[kept] / size[kept, None], b[kept] / size[kept]
    W, u = _all_at_once(x, U, c) or _dual_active_set(x, U, c)
    lam[kept[W]] = u / size[kept[W]]
    return Nearest(_on_face(x, U[W], c[W]), lam)


def _all_at_once(x: Array, U: Array, c: Array) -> tuple[list[int], Array] | None:
    """The violated rows, if the nearest point is where they hold: a common case."""
    W = np.flatnonzero(U @ x > c)
    if not 0 < W.size <= x.size:
        return None
    Y, R = factors(U[W])
    if np.abs(R.diagonal()).min() < _SURELY_INDEPENDENT:
        return None
    way, _ = lapack.dtrtrs(R, U[W] @ x - c[W], trans=1)
    u, _ = lapack.dtrtrs(R, way)
    is_met = U @ (x - Y[:, : W.size] @ way) <= c + _rounding(x, c)
    return (W.tolist(), u) if u.min() >= 0.0 and is_met.all() else None


def _rounding(x: Array, c: Array) -> Array:
    """What rounding may add to a unit row at a point not farther away than x."""
    return np.asarray(16.0 * _EPS * (math.sqrt(x @ x) + np.abs(c)))


def _dual_active_set(x: Array, U: Array, c: Array) -> tuple[list[int], Array]:
    """Rows that hold at the nearest point, linearly independent, and multipliers."""
    W: list[int] = []
    u, y = np.empty(0), x
    tolerance = _rounding(x, c)
    done = np.zeros(c.size, dtype=bool)  # rows that others imply, but for rounding
    for _ in range(50 + 10 * c.size):
        excess = U @ y - c
        unmet = np.where(done, 0.0, excess - tolerance)
        unmet[W] = 0.0
        row = int(unmet.argmax())
        if unmet[row] <= 0.0:
            break
        larger = _with_row(W, u, U, float(excess[row]), row)
        if larger is not None:
            W, u = larger
            y = _on_face(x, U[W], c[W])
        elif excess[row] <= 1e7 * tolerance[row]:
            done[row] = True
        else:
            raise NoPointError("no point satisfies all rows")
    return W, u


def _with_row(
    W: list[int], u: Array, U: Array, excess: float, row: int
) -> tuple[list[int], Array] | None:
    """W and multipliers once a violated row holds as well; None if it cannot."""
    price = 0.0
    while True:
        r, rest = _split(U[W], U[row])
        free = float(rest @ rest)
        falling = r > _DEPENDENT
        ratios = np.where(falling, u / np.where(falling, r, 1.0), np.inf)
        drop = int(ratios.argmin()) if W else -1
        t_drop = float(ratios[drop]) if W else math.inf
        t_hold = excess / free if free > _DEPENDENT**2 else math.inf
        t = min(t_drop, t_hold)
        if math.isinf(t):
            return None
        u, price, excess = np.maximum(u - t * r, 0.0), price + t, excess - t * free
        if t_hold <= t_drop:
            return [*W, row], np.append(u, price)
        W = W[:drop] + W[drop + 1 :]
        u = np.delete(u, drop)


def _split(rows: Array, a: Array) -> tuple[Array, Array]:
    """Coefficients of the part of `a` in the span of independent rows, and the rest."""
    k = len(rows)
    if k == 0:
        return np.empty(0), a
    Y, R = factors(rows)
    r, _ = lapack.dtrtrs(R, Y[:, :k].T @ a)
    return r, Y[:, k:] @ (Y[:, k:].T @ a)


def _on_face(x: Array, rows: Array, c: Array) -> Array:
    """The nearest point to x where independent rows hold as equalities."""
    k = len(rows)
    if k == 0:
        return x
    Y, R = factors(rows)
    for _ in range(2):  # once more for the digits that x lost by its distance
        way, _ = lapack.dtrtrs(R, rows @ x - c, trans=1)
        x = x - Y[:, :k] @ way
    return np.asarray(x)


def factors(rows: Array) -> tuple[Array, Array]:
    """Orthonormal Y, (n, n), and triangular R with rows' = Y[:, :k] R.

    The columns Y[:, k:] are the directions along which no row changes. LAPACK without
    wrappers: matrices are so small that these would take most of the time.
    """
    k, n = rows.shape
    packed, tau, _, _ = lapack.dgeqrf(rows.T)
    Y = np.zeros((n, n), order="F")
    Y[:, :k] = packed
    Y, _, _ = lapack.dorgqr(Y, tau, overwrite_a=1)
    return Y, packed[:k]
