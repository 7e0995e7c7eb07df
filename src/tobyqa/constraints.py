"""Bounds and linear constraints as a user states them, checked and in one form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from ._check import LARGEST_COORDINATE
from .constraint_text import Linear, expression, parse_constraint

Array = NDArray[np.float64]


def checked_bounds(bounds: Any, names: Sequence[str]) -> tuple[Array, Array]:
    """Lower and upper limits of all variables, infinite where there is none.

    `bounds` is a `scipy.optimize.Bounds`, a sequence of pairs, or None; None in the
    place of a pair or of a number says that there is no limit.
    """
    n = len(names)
    if bounds is None:
        return np.full(n, -math.inf), np.full(n, math.inf)
    if isinstance(bounds, Bounds):
        lower, upper = (
            _limits("bounds.lb", bounds.lb, n),
            _limits("bounds.ub", bounds.ub, n),
        )
    else:
        pairs = _pairs(bounds, n)
        lower = _limits("bounds", [-math.inf if a is None else a for a, _ in pairs], n)
        upper = _limits("bounds", [math.inf if b is None else b for _, b in pairs], n)
    for name, low, high in zip(names, lower, upper, strict=True):
        is_within_range = low <= LARGEST_COORDINATE and high >= -LARGEST_COORDINATE
        if not low <= high or not is_within_range:
            raise ValueError(
                f"bounds of {name!r}: there is no number between {low:g} and {high:g}, "
                "or none up to 1e50 in size"
            )
    return lower, upper


def _pairs(bounds: Any, n: int) -> list[tuple[Any, Any]]:
    """One pair per variable."""
    try:
        pairs = [(None, None) if pair is None else tuple(pair) for pair in bounds]
    except TypeError:
        pairs = []
    if len(pairs) != n or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            f"bounds must be a scipy.optimize.Bounds or {n} pairs (lower, upper), one "
            f"for each variable, but is {bounds!r}"
        )
    return pairs


def _limits(name: str, value: Any, length: int) -> Array:
    """`length` numbers, one for all if there is only one; infinite ones are welcome."""
    raw = np.asarray(value)
    if raw.dtype.kind not in "biuf" or raw.ndim > 1 or raw.size not in (1, length):
        raise ValueError(f"{name} must hold {length} real numbers, but is {value!r}")
    clean = np.array(np.broadcast_to(raw, (length,)), dtype=np.float64)
    if np.isnan(clean).any():
        raise ValueError(f"{name} must not be NaN, but is {clean}")
    return clean


def checked_constraints(constraints: Any, names: Sequence[str]) -> tuple[Linear, ...]:
    """Linear constraints row by row.

    `constraints` is a `scipy.optimize.LinearConstraint`, a text such as
    ``"gap + 2*angle <= 3"``, or a sequence of these.
    """
    if constraints is None:
        return ()
    if isinstance(
        constraints, LinearConstraint | Linear | str | dict
    ) or not isinstance(constraints, Sequence):
        constraints = [constraints]
    return tuple(row for item in constraints for row in _rows(item, names))


def _rows(item: Any, names: Sequence[str]) -> list[Linear]:
    """The rows of one constraint."""
    n = len(names)
    if isinstance(item, str):
        return [parse_constraint(item, names)]
    if isinstance(item, Linear):
        return [item]
    if not isinstance(item, LinearConstraint):
        raise TypeError(
            "constraints must be linear: a scipy.optimize.LinearConstraint, a text "
            f"such as 'a + 2*b <= 3', or a list of them, but one is {item!r}"
        )
    raw = item.A.toarray() if hasattr(item.A, "toarray") else item.A
    A = np.atleast_2d(np.asarray(raw, dtype=np.float64))
    if A.ndim != 2 or A.shape[1] != n:
        raise ValueError(
            f"a constraint's A must have {n} columns, one for each variable, but has "
            f"shape {A.shape}"
        )
    if not np.isfinite(A).all():
        raise ValueError(f"a constraint's A must be finite, but is {A}")
    lower, upper = _limits("lb", item.lb, len(A)), _limits("ub", item.ub, len(A))
    for a, low, high in zip(A, lower, upper, strict=True):
        if not low <= high or low == math.inf or high == -math.inf:
            raise ValueError(
                f"constraint on {expression(a, names)}: there is no number between "
                f"{low:g} and {high:g}"
            )
    return [
        Linear(tuple(a.tolist()), float(low), float(high))
        for a, low, high in zip(A, lower, upper, strict=True)
        if math.isfinite(low) or math.isfinite(high)
    ]
