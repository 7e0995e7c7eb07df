"""Points as they can be set: inside all limits, as double precision sees them.

=======  ==============================================================  =======
symbol   meaning                                                         shape
=======  ==============================================================  =======
x, s     the user's variables and their scales                           (n,)
z        the search's variables: x = p + s N z (`reduction.py`)          (k,)
=======  ==============================================================  =======
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._check import LARGEST_COORDINATE
from .grid import Knob, fifteen_digits, settle
from .polyhedron import NoPointError, Polyhedron, project
from .reduction import THIN, Reduction, Side

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)


class Place(NamedTuple):
    """A point to measure, in the user's variables and in the search's."""

    x: Array
    z: Array


@dataclass(frozen=True)
class Setpoints:
    """Which points can be set, and which z they have."""

    low: Array  # limits; equal where a variable stays
    high: Array
    scale: Array
    resolution: Array  # NaN where a variable moves at will, or stays
    free: Reduction
    area: Polyhedron  # what is allowed in z: that of `free`, or less

    def to_search(self, x: Array) -> Array:
        """z of a point; of its nearest point where it is off the equalities."""
        y = np.asarray(x, dtype=np.float64) / self.scale
        return y[self._axes] if self._is_unmixed else np.asarray(self.free.N.T @ y)

    def unrounded(self, z: Array) -> Array:
        """Points of z, one per row, as they are: neither rounded nor moved inside."""
        return np.asarray(self.free.p + self.scale * (z @ self.free.N.T))

    def place(self, z: Array) -> Place:
        """The point of z, or the nearest one that can be set and is allowed; its z.

        The place of that z is itself, bit by bit.
        """
        z = np.array(z, dtype=np.float64)
        x = self.unrounded(z)
        if np.abs(x).max() > LARGEST_COORDINATE:  # which a search knows in z alone
            z = self.to_search(_in_range(x))
        A, b = self.area.A, self.area.b
        rounding = 64.0 * _EPS * (1.0 + np.abs(b) + math.sqrt(z @ z))
        if (A @ z - b > rounding).any():
            z = self._nearest(z, 0.0)
        if self._knobs:
            return self._on_grid(z) or self.anchor
        x = self._set(z)
        return Place(x, z) if self.holds(x) else self._repaired(z)

    @cached_property
    def anchor(self) -> Place:
        """A place that can be set and is allowed, whatever else fails."""
        z = self._nearest(self.free.inner, 0.0)
        if not self._knobs:
            x = self._set(z)
            return Place(x, z) if self.holds(x) else self._repaired(z)
        on_grid = self._on_grid(z)
        if on_grid is None:
            names = ", ".join(s.name for s in (*self.free.sides, *self.free.equalities))
            raise ValueError(
                f"no point on the grid of `resolution` meets the constraints {names}"
            )
        return on_grid

    def holds(self, x: Array) -> bool:
        """Whether a point is allowed, as double precision sees it; the grid aside."""
        is_inside = bool(((self.low <= x) & (x <= self.high)).all())
        return (
            is_inside
            and _evaluates(self._oblique, x)
            and all(
                abs(side.a @ x - side.limit) <= self.tolerance(side, x)
                for side in self.free.equalities
                if not side.is_bound
            )
        )

    def tolerance(self, side: Side, x: Array) -> float:
        """What counts as nothing in a . x: a billionth of the scale, or rounding."""
        rounding = 64.0 * _EPS * (float(np.abs(side.a) @ np.abs(x)) + abs(side.limit))
        return max(THIN * float(np.abs(side.a) @ self.scale), rounding)

    @cached_property
    def _oblique(self) -> list[Side]:
        return [side for side in self.free.sides if not side.is_bound]

    @cached_property
    def _margins(self) -> Array:
        """1 for the rows that need a margin: sums, which round; 0 for bounds."""
        margins = np.zeros(self.area.b.size)
        margins[: len(self.free.sides)] = [not s.is_bound for s in self.free.sides]
        return margins

    @cached_property
    def _axes(self) -> NDArray[np.intp]:
        """The variable that each entry of z is, where equalities mix none of them."""
        return np.asarray(np.argmax(self.free.N, axis=0))

    @cached_property
    def _is_unmixed(self) -> bool:
        N = self.free.N
        return bool((np.eye(len(N))[:, self._axes] == N).all())

    def _nearest(self, z: Array, margin: float) -> Array:
        """The nearest allowed z; at a distance from all sides but bounds."""
        try:
            return project(z, self.area.A, self.area.b - margin * self._margins).x
        except NoPointError:
            return z

    def _set(self, z: Array) -> Array:
        """The point of z as decimal numbers, on a bound where rounding is between."""
        low, high, p = self.low, self.high, self.free.p
        x = self.unrounded(z)
        is_power_of_two = np.frexp(self.scale)[0] == 0.5
        is_exact = is_power_of_two & (p == 0.0) & self._is_unmixed
        for i in np.flatnonzero((low < high) & ~is_exact):
            x[i] = fifteen_digits(x[i])
        size = np.abs(p) + self.scale * (np.abs(self.free.N) @ np.abs(z))
        near = 32.0 * _EPS * size
        x = np.where(x <= low + near, low, np.where(x >= high - near, high, x))
        return _in_range(x)

    def _repaired(self, z: Array) -> Place:
        """An allowed place close to z, where rounding alone is in the way."""
        size = 1.0 + float(np.abs(self.unrounded(z) / self.scale).max())
        margins = size * 2.0 ** np.arange(-48, -24, 2)
        pulls = 2.0 ** np.arange(-24, 1)
        for inside in (
            *(self._nearest(z, margin) for margin in margins),
            *(z + pull * (self.free.inner - z) for pull in pulls),
        ):
            x = self._set(inside)
            if self.holds(x):
                break
        return Place(x, inside)

    @cached_property
    def _knobs(self) -> dict[int, Knob]:
        """The variables on a grid."""
        return {
            int(i): Knob.of(
                self.free.N[i],
                float(self.free.p[i]),
                float(self.scale[i]),
                (float(self.low[i]), float(self.high[i])),
                float(self.resolution[i]),
            )
            for i in np.flatnonzero(~np.isnan(self.resolution))
        }

    def _on_grid(self, z: Array) -> Place | None:
        """An allowed place on the grid that is close to z, None if there is none."""
        if any(knob.first > knob.last for knob in self._knobs.values()):
            return None
        x = self._turned(z)
        if self.holds(x):
            return self._of(x, z)
        for margin in (0.0, 1e-13, 1e-10, 1e-7, 1e-4):
            b = self.area.b - self._margins * margin
            found = settle(z, self.area.A, b, list(self._knobs.values()))
            if found is None:
                return None
            x = self._set(found[0])
            x[list(self._knobs)] = found[1]
            if self.holds(x):
                return self._of(x, found[0])
        return None

    def _turned(self, z: Array) -> Array:
        """The point of z with every knob at its nearest setting."""
        x = self._set(z)
        for i, knob in self._knobs.items():
            x[i] = knob.nearest(x[i])
        return x

    def _of(self, x: Array, z: Array) -> Place:
        """The place of x: by z if rounding alone is between, else by its own."""
        own = self.to_search(x)
        size = max(float(np.abs(x / self.scale).max()), math.sqrt(z @ z))
        if (np.abs(own - z) <= 256.0 * _EPS * size).all():
            return Place(x, z)
        again = self._turned(own)
        return Place(again if self.holds(again) else x, own)


def _in_range(x: Array) -> Array:
    return np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE)


def _evaluates(sides: Sequence[Side], x: Array) -> bool:
    """Whether a . x <= limit in double precision, in whatever order it is summed.

    Matrix products sum in an order that depends on the other rows, and with or without
    a rounding between product and sum.
    """
    return all(_is_met(side.a, x, side.limit) for side in sides)


def _is_met(a: Array, x: Array, limit: float) -> bool:
    a, x = a[a != 0.0], x[a != 0.0]
    terms = a * x
    total = math.fsum(terms)
    error = terms.size * _EPS * math.fsum(np.abs(terms))  # of any order, at the most
    if total + error <= limit:
        return True
    if not (total <= limit and math.isfinite(total)):
        return False
    # Handy numbers on the limit itself: their products are exact, and so is every sum
    # of them, or there is only one.
    exact = [Fraction(u) * Fraction(v) for u, v in zip(a, x, strict=True)]
    finest = max(term.denominator for term in exact)
    if sum(map(abs, exact)) * finest <= 2**53:
        return sum(exact) <= limit
    has_one_sum = len(exact) <= 2 and exact == terms.tolist()
    return has_one_sum and bool(terms.sum() <= limit)
