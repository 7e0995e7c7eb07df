"""Limits of the variables in words: bounds, steps, constraints, what is fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .constraint_text import Linear, expression
from .space import Space, Variable


def limits(space: Space, names: Sequence[str]) -> list[str]:
    """Every limit of a space as a line; `names` as they are shown."""
    ranges = (range_text(v, n) for v, n in zip(space.variables, names, strict=True))
    rows = (constraint_text(row, names) for row in space.constraints)
    return [text for text in (*ranges, *rows) if text]


def range_text(v: Variable, name: str) -> str:
    """How far a variable goes and in what steps; empty: anywhere.

    >>> range_text(Variable("gap", "mm", 0.1, 2.0, resolution=0.01), "gap")
    '0.1 <= gap <= 2 mm in steps of 0.01 mm'
    """
    unit = f" {v.unit}".rstrip()
    if math.isfinite(v.value):
        return f"{name} = {v.value:.15g}{unit}, fixed"
    lower = f"{v.lower:.15g} <= " if math.isfinite(v.lower) else ""
    upper = f" <= {v.upper:.15g}{unit}" if math.isfinite(v.upper) else ""
    text = f"{lower}{name}{upper}" + ("" if upper else unit)
    if v.resolution is not None:
        text += f" in steps of {v.resolution:.15g}{unit}"
    if v.max_move is not None:
        text += f", {v.max_move:.15g}{unit} at a time at the most"
    is_limited = v.resolution is not None or v.max_move is not None
    return text if lower or upper or is_limited else ""


def constraint_text(row: Linear, names: Sequence[str]) -> str:
    """A linear constraint as one would write it.

    >>> constraint_text(Linear((1.0, -2.0), 0.0, math.inf), ["gap", "angle"])
    'gap - 2*angle >= 0'
    """
    text = expression(row.coefficients, names)
    if row.lower == row.upper:
        return f"{text} == {row.lower:.15g}"
    if not math.isfinite(row.upper):
        return f"{text} >= {row.lower:.15g}"
    lower = f"{row.lower:.15g} <= " if math.isfinite(row.lower) else ""
    return f"{lower}{text} <= {row.upper:.15g}"
