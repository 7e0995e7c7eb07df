"""What a user says of the variables, checked, as a `Space`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .constraints import checked_bounds, checked_constraints
from .space import Space, Variable

Array = NDArray[np.float64]

DEFAULT_RADIUS = 2.0  # of the first points, in the user's units, where nothing is said
_FIRST = 0.15  # of a variable's range: distance of the first points; a tenth leaves
# a quarter more (study `short`, seeds 20-22, up to 10n readings)
_FARTHEST = 0.25  # the same at the most, whatever was said
_MOST_STEPS = 1e14  # from zero: with more, 15 digits do not tell settings apart


def checked_space(
    n: int,
    *,
    bounds: Any = None,
    constraints: Any = None,
    x_scale: Any = None,
    initial_radius: Any = None,
    resolution: Any = None,
    fixed: Mapping[str | int, float] | None = None,
    max_move: Any = None,
    names: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    maximize: bool = False,
) -> Space:
    """The space of `n` variables, or an error that names the argument.

    Scales are `x_scale`; else the entries of `initial_radius` if it has one for each
    variable; else the range between finite bounds; else 1. One `initial_radius` for all
    is in units of `x_scale`. The first points are a step of `resolution` away at least.
    """
    labels = _check.labels("names", names, n) or [f"x{i}" for i in range(n)]
    lower, upper = checked_bounds(bounds, labels)
    stays = _fixed(fixed, labels, lower, upper)
    reach = np.where([i in stays for i in range(n)], math.inf, upper - lower)
    reach[reach <= 1e-12 * np.maximum(np.abs(lower), np.abs(upper))] = math.inf
    scale, radius = _scales(x_scale, initial_radius, reach)
    steps = _steps(resolution, lower, upper)
    moves = _moves(max_move, steps, labels)
    if x_scale is None and initial_radius is None:
        # From one side of the start to the other is one move.
        most = 0.5 * moves / (DEFAULT_RADIUS if radius is None else radius)
        scale = np.fmin(scale, most)
    moving = np.where([i in stays for i in range(n)], math.nan, steps)
    scale, radius = _a_step_away(scale, radius, moving, keeps_scale=x_scale is not None)
    rows = zip(
        labels,
        _check.labels("units", units, n) or [""] * n,
        lower.tolist(),
        upper.tolist(),
        scale.tolist(),
        [None if math.isnan(step) else step for step in steps.tolist()],
        [stays.get(i) for i in range(n)],
        [None if math.isnan(move) else move for move in moves.tolist()],
        strict=True,
    )
    space = Space(
        tuple(Variable(*row) for row in rows),
        checked_constraints(constraints, labels),
        _check.switch("maximize", maximize),
        radius,
    )
    if space.dimensions == 0:
        raise ValueError(
            "bounds, constraints and `fixed` leave nothing to search: every variable "
            "has one allowed value"
        )
    if not space.holds(space.anchor):
        raise ValueError(
            "the constraints leave so little room that no point in double precision "
            f"meets them all: {', '.join(space.polyhedron.names)}"
        )
    return space


def _moves(max_move: Any, steps: Array, names: list[str]) -> Array:
    """How far each variable may move at once; NaN where at will."""
    moves = _per_variable("max_move", max_move, steps.size, none_allowed=True)
    for name, move, step in zip(names, moves.tolist(), steps.tolist(), strict=True):
        if move < step:
            raise ValueError(
                f"max_move of {name} must be at least its resolution, {step:g}, but is "
                f"{move:g}: it could not move"
            )
    return moves


def _steps(resolution: Any, lower: Array, upper: Array) -> Array:
    """The steps of the variables, NaN where they move at will."""
    steps = _per_variable("resolution", resolution, lower.size, none_allowed=True)
    for i, (step, *limits) in enumerate(zip(steps, lower, upper, strict=True)):
        farthest = max((abs(v) for v in limits if math.isfinite(v)), default=0.0)
        if farthest / _MOST_STEPS > step:
            raise ValueError(
                f"resolution[{i}] must be at least {farthest / _MOST_STEPS:g}, so that "
                f"settings near the bound {farthest:g} differ in double precision, but "
                f"is {step:g}"
            )
    return steps


def _a_step_away(
    scale: Array, radius: float | None, steps: Array, *, keeps_scale: bool
) -> tuple[Array, float | None]:
    """Scales and first radius such that no first point is at the start's setting."""
    first = DEFAULT_RADIUS if radius is None else radius
    if keeps_scale:
        least = float(np.nanmax(steps / scale, initial=0.0))
        return scale, least if least > first else radius
    return np.fmax(scale, steps / first), radius


def _per_variable(
    name: str, value: Any, n: int, *, none_allowed: bool = False
) -> Array:
    """`n` positive numbers, from one for all or one each; NaN where None is allowed."""
    if value is None and none_allowed:
        return np.full(n, math.nan)
    if np.ndim(value) == 0:
        return np.full(n, _check.positive(name, value))
    if len(value) != n:
        raise ValueError(f"{name} must have {n} entries, but has {len(value)}")
    return np.array(
        [
            math.nan
            if v is None and none_allowed
            else _check.positive(f"{name}[{i}]", v)
            for i, v in enumerate(value)
        ]
    )


def _fixed(
    fixed: Mapping[str | int, float] | None,
    names: list[str],
    lower: Array,
    upper: Array,
) -> dict[int, float]:
    """Values of fixed variables by their index."""
    if fixed is None:
        return {}
    if not isinstance(fixed, Mapping):
        raise TypeError(
            f"fixed must map names or indices of variables to values, but is {fixed!r}"
        )
    clean = {}
    for key, value in fixed.items():
        i = variable_index(key, names, "fixed")
        at = float(_check.point(f"fixed[{key!r}]", value, 1)[0])
        if not lower[i] <= at <= upper[i]:
            raise ValueError(
                f"fixed[{key!r}] must be within its bounds, {lower[i]:g} to "
                f"{upper[i]:g}, but is {at:g}"
            )
        clean[i] = at
    return clean


def variable_index(key: str | int, names: Sequence[str], argument: str) -> int:
    """Which variable a name or an index means."""
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    is_index = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if is_index and 0 <= int(key) < len(names):
        return int(key)
    raise ValueError(
        f"{argument} names {key!r}, which is no variable; they are {', '.join(names)}, "
        f"or 0 to {len(names) - 1}"
    )


def _scales(
    x_scale: Any, initial_radius: Any, reach: Array
) -> tuple[Array, float | None]:
    """Scales, and the first radius in scales; None: the method's own.

    `reach` is the range of each variable, infinite where there is none. The first
    points are within a quarter of it in any case.
    """
    n = reach.size
    limited = np.isfinite(reach)
    one_for_all = initial_radius is None or np.ndim(initial_radius) == 0
    if initial_radius is not None:
        each = _per_variable("initial_radius", initial_radius, n)
    if x_scale is not None:
        scale = _per_variable("x_scale", x_scale, n)
        if initial_radius is None:
            radius = DEFAULT_RADIUS
        else:
            radius = float((each if one_for_all else each / scale).min())
    elif not one_for_all:
        scale, radius = np.minimum(each, _FARTHEST * reach), 1.0
    elif limited.any():
        first = DEFAULT_RADIUS if initial_radius is None else float(each[0])
        radius = _FIRST if initial_radius is None else (first / reach[limited]).min()
        radius = min(float(radius), _FARTHEST)
        scale = np.where(limited, reach, first / radius)
    else:
        scale = np.ones(n)
        radius = DEFAULT_RADIUS if initial_radius is None else float(each[0])
    most = float((_FARTHEST * reach / scale).min())
    is_said = initial_radius is not None or bool(limited.any())
    return scale, min(radius, most) if is_said else None
