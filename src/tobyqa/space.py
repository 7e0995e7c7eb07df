"""The user's variables and the search's: scaled, free, to be minimised.

=======  ==============================================================  =======
symbol   meaning                                                         shape
=======  ==============================================================  =======
x        the user's variables, in their units                            (n,)
s        their scales                                                    (n,)
z        the search's variables: x = p + s N z (`reduction.py`)          (k,)
=======  ==============================================================  =======

Methods see z, values to be minimised, and the polyhedron A z <= b of what is allowed.
Only here one becomes the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .constraint_text import Linear
from .frozen import cached_property, replace
from .polyhedron import NoPointError, Polyhedron
from .reduction import Reduction, reduce, sides_of_bounds, sides_of_rows
from .setpoints import Place, Setpoints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variable:
    """A knob: what it is called, how far it goes, and in what steps."""

    name: str
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    scale: float = 1.0
    resolution: float | None = None  # it moves in multiples of this; None: at will
    fixed: float | None = None  # it stays there; None: it is searched
    max_move: float | None = None  # between two settings asked for; None: any

    @property
    def value(self) -> float:
        """Where it stays, NaN if it is searched."""
        if self.fixed is not None:
            return self.fixed
        width, largest = self.upper - self.lower, max(abs(self.lower), abs(self.upper))
        # Narrower than this, there are no digits left to search in.
        is_narrow = math.isfinite(largest) and width <= 1e-12 * largest
        return self.lower + 0.5 * width if is_narrow else math.nan


class Start(NamedTuple):
    """Where a search begins, and the constraints that the stated point violates."""

    x: Array
    z: Array
    violated: tuple[str, ...]


@dataclass(frozen=True)
class Space:
    """Variables, linear constraints, and whether readings are to be large or small."""

    variables: tuple[Variable, ...]
    constraints: tuple[Linear, ...] = ()
    maximize: bool = False
    radius: float | None = None  # of the first points, in z; None: the method's own
    held: tuple[tuple[int, float], ...] = ()  # kept for the time being; z is the same

    # -- what it is ------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)

    @cached_property
    def dimensions(self) -> int:
        """How many free directions there are: the length of z."""
        return int(self._free.N.shape[1])

    @cached_property
    def is_identity(self) -> bool:
        """Whether z is x, bit by bit: there are no limits, steps or scales."""
        return not (self.constraints or self.held) and all(
            v == Variable(v.name, v.unit) for v in self.variables
        )

    @property
    def is_plain(self) -> bool:
        """Whether nothing is to be converted at all."""
        return self.is_identity and not self.maximize

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """What is allowed, in z; variables that are held are bounded on both sides."""
        base = self._free.polyhedron
        rows = [(sign, i, value) for i, value in self.held for sign in (1.0, -1.0)]
        if not rows:
            return base
        p, N, s = self._free.p, self._free.N, self._scale
        A = np.array([sign * N[i] for sign, i, _ in rows])
        b = np.array([sign * (value - p[i]) / s[i] for sign, i, value in rows])
        names = [f"{self.variables[i].name} == {value:.6g}" for _, i, value in rows]
        return Polyhedron(
            np.vstack([base.A, A]), np.append(base.b, b), (*base.names, *names)
        )

    @cached_property
    def setpoints(self) -> Setpoints:
        known = np.array([v.value for v in self.variables])
        stays = known.copy()
        for i, value in self.held:
            stays[i] = value
        limits = [
            (v.lower, v.upper) if math.isnan(at) else (at, at)
            for v, at in zip(self.variables, stays, strict=True)
        ]
        low, high = np.array(limits).T
        steps = [v.resolution or math.nan for v in self.variables]
        return Setpoints(
            low=low,
            high=high,
            scale=self._scale,
            resolution=np.where(low < high, steps, math.nan),
            free=self._free,
            area=self.polyhedron,
        )

    @cached_property
    def max_move(self) -> Array | None:
        """How far each may go from one point to the next, None: all anywhere."""
        moves = [math.inf if (m := v.max_move) is None else m for v in self.variables]
        return None if np.isinf(moves).all() else np.array(moves)

    @cached_property
    def _scale(self) -> Array:
        return np.array([v.scale for v in self.variables])

    @cached_property
    def _free(self) -> Reduction:
        known = np.array([v.value for v in self.variables])
        lower = np.array([v.lower for v in self.variables])
        upper = np.array([v.upper for v in self.variables])
        bounds = sides_of_bounds(lower, upper, self.names, np.isnan(known))
        sides, equalities = sides_of_rows(self.constraints, self.names, self._scale)
        return reduce([*bounds, *sides], equalities, known, self._scale)

    # -- points ----------------------------------------------------------------------

    def to_search(self, x: Array) -> Array:
        """z of a point; of its nearest point where it is off the equalities."""
        return _copy(x) if self.is_identity else self.setpoints.to_search(x)

    def place(self, z: Array) -> Place:
        """The point to be measured for z, and the z that it has.

        The point of z, or the nearest one that can be set and is allowed: inside the
        bounds to the last bit, A x <= b as double precision evaluates it, equalities to
        1e-9 of their scale, on the grid where there is one. Its z is the same if only
        rounding is between them, so that a place which is measured again is the same
        to the search as well.
        """
        return (
            Place(_copy(z), _copy(z)) if self.is_identity else self.setpoints.place(z)
        )

    def to_user(self, z: Array) -> Array:
        """The point of `place`."""
        return self.place(z).x

    def unrounded(self, z: Array) -> Array:
        """Points of z, one per row, as they are: neither rounded nor moved inside."""
        return _copy(z) if self.is_identity else self.setpoints.unrounded(z)

    def start(self, x0: Array) -> Start:
        """The allowed point nearest to x0, in scaled distance.

        What x0 says of a fixed variable does not count.
        """
        points = self.setpoints
        x0 = np.where(points.low == points.high, points.low, x0)
        excess = [
            *((s, s.a @ x0 - s.limit) for s in points.free.sides),
            *((s, abs(s.a @ x0 - s.limit)) for s in points.free.equalities),
        ]
        violated = [s.name for s, much in excess if much > points.tolerance(s, x0)]
        x, z = self.place(self.to_search(x0))
        return Start(x, z, tuple(violated))

    def holds(self, x: Array) -> bool:
        """Whether a point is allowed, as double precision sees it; the grid aside."""
        return self.setpoints.holds(np.asarray(x, dtype=np.float64))

    def active(self, x: Array) -> tuple[str, ...]:
        """Names of the bounds and inequalities without slack at a point.

        With a grid: those that leave no room for a step.
        """
        points = self.setpoints
        steps = np.nan_to_num(points.resolution)
        names = []
        for side in points.free.sides:
            step = float(np.abs(side.a * steps)[side.a != 0.0].min())
            slack = side.limit - side.a @ x
            if slack <= max(points.tolerance(side, x), step * (1.0 - 1e-9)):
                names.append(side.name)
        return tuple(names)

    @property
    def anchor(self) -> Array:
        """A point that can be set and is allowed; ValueError if the grid has none."""
        return self.setpoints.anchor.x.copy()

    def holding(self, values: Mapping[int, float]) -> Space:
        """The space where these variables stay for the time being; z is the same."""
        space = replace(self, held=tuple(sorted({**dict(self.held), **values}.items())))
        try:
            space.polyhedron.nearest(self._free.inner)
        except NoPointError:
            kept = ", ".join(f"{self.names[i]}={v:g}" for i, v in space.held)
            raise ValueError(f"no point within the constraints has {kept}") from None
        return space

    # -- values and their derivatives ------------------------------------------------

    @cached_property
    def sign(self) -> float:
        """-1 if readings are to be large, else 1."""
        return -1.0 if self.maximize else 1.0

    def value_to_search(self, value: float) -> float:
        return self.sign * value

    def value_to_user(self, value: float) -> float:
        return self.sign * value

    def gradient_to_user(self, g: Array) -> Array:
        """Gradient by x of what was measured; zero across equalities, in y."""
        if self.is_identity:
            return np.asarray(self.sign * g)
        return np.asarray(self.sign * (self._free.N @ g) / self._scale)

    def hessian_to_user(self, H: Array) -> Array:
        if self.is_identity:
            return np.asarray(self.sign * H)
        T = self._free.N / self._scale[:, None]
        return np.asarray(self.sign * (T @ H @ T.T))

    def cov_to_user(self, cov: Array) -> Array:
        """Covariance of x; zero for fixed variables and across equalities."""
        if self.is_identity:
            return np.array(cov)
        T = self._free.N * self._scale[:, None]
        # What does not move has no error, even where that of others is not known.
        moves = np.any(T != 0.0, axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # then it is not known
            full = T @ cov @ T.T
        return np.where(np.outer(moves, moves), full, 0.0)

    # -- files -----------------------------------------------------------------------

    def to_record(self) -> dict[str, Any]:
        """As JSON has it, infinite bounds None; `space_record` reads it."""
        return {
            "variables": [_record(variable) for variable in self.variables],
            "constraints": [row.record() for row in self.constraints],
            "maximize": self.maximize,
            "radius": self.radius,
        }


def _record(variable: Variable) -> dict[str, Any]:
    """Without a `max_move` that is None: earlier files have none."""
    fields = {k: v for k, v in asdict(variable).items() if (k, v) != ("max_move", None)}
    return {k: None if v in (-math.inf, math.inf) else v for k, v in fields.items()}


def _copy(x: Array) -> Array:
    return np.array(x, dtype=np.float64)
