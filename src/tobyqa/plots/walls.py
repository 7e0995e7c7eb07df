"""Limits of the variables in pictures: walls, and ways that stay on equalities.

A slice along variable i goes from the answer x along v, v_i = 1. Variables that an
equality ties together move together; the others stay.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..limits import constraint_text
from ..space import Space
from ..view import Run
from .canvas import Array

_WALL = "#8a7a66"
_NEAR = 0.5  # of the view, beyond its edge: a wall so near is shown
_THICK = 0.05  # of the view
_LONGEST_NOTE = 40  # characters over the narrowest panel


def fixed(space: Space, i: int) -> bool:
    """Whether a variable is not searched."""
    return math.isfinite(space.variables[i].value)


def at_limit(run: Run, i: int) -> bool:
    """Whether the answer is on a bound of a variable."""
    x, v = run.result.x[i], run.space.variables[i]
    return not fixed(run.space, i) and (x <= v.lower or x >= v.upper)


def way(space: Space, i: int) -> Array:
    """How x changes along the slice of variable i; all zero if nothing can move."""
    n = len(space.variables)
    s = np.array([v.scale for v in space.variables])
    held = [s * row.coefficients for row in space.constraints if row.lower == row.upper]
    held += [np.eye(n)[j] for j in range(n) if fixed(space, j)]
    v = np.eye(n)[i]
    if held:
        E = np.array(held)
        v = v - np.linalg.pinv(E) @ (E @ v)
    return np.asarray(s * v / (s[i] * v[i]) if v[i] > 1e-9 else np.zeros(n))


def room(space: Space, x: Array, v: Array, i: int) -> tuple[float, float]:
    """The least and the largest value of variable i along v that is allowed."""
    low, high = -math.inf, math.inf
    sides = [
        (e, k.lower, k.upper)
        for e, k in zip(np.eye(x.size), space.variables, strict=True)
    ]
    sides += [
        (np.array(row.coefficients), row.lower, row.upper)
        for row in space.constraints
        if row.lower < row.upper
    ]
    for a, lower, upper in sides:
        rate = float(a @ v)
        if abs(rate) > 1e-12 * float(np.abs(a) @ np.abs(v)):
            ends = sorted((limit - float(a @ x)) / rate for limit in (lower, upper))
            low, high = max(low, ends[0]), min(high, ends[1])
    return x[i] + min(low, 0.0), x[i] + max(high, 0.0)


def draw_walls(ax: Any, low: float, high: float, *, across: str) -> None:
    """Hatched walls at the limits that are in view or near; `across`: the axis, x or y.

    To be drawn last: the view is widened to show them.
    """
    get, put = getattr(ax, f"get_{across}lim"), getattr(ax, f"set_{across}lim")
    draw = ax.axvspan if across == "x" else ax.axhspan
    left, right = get()
    span = right - left
    walls = []
    if low > left - _NEAR * span:
        left = low - _THICK * span
        walls.append((left, low))
    if high < right + _NEAR * span:
        right = high + _THICK * span
        walls.append((high, right))
    style = {"facecolor": "none", "edgecolor": _WALL, "hatch": "/////", "linewidth": 0}
    for k, wall in enumerate(walls):
        draw(*wall, label="_" if k else "limit", **style)
    put(left, right)


def note(run: Run, i: int) -> str:
    """What else limits a variable, to be written over its panel; mostly nothing."""
    rows = [row for row in run.space.constraints if row.coefficients[i] != 0.0]
    if fixed(run.space, i) or not rows:
        return ""
    text = constraint_text(rows[0], run.names)
    text += f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return text if len(text) <= _LONGEST_NOTE else text[: _LONGEST_NOTE - 1] + "…"


def write_note(ax: Any, text: str) -> None:
    """A constraint, small, between the title and its panel."""
    if text:
        style = {"fontsize": 6.5, "color": _WALL, "parse_math": False}
        ax.text(0.0, 1.02, text, transform=ax.transAxes, va="bottom", **style)
        title = ax.get_title(loc="left")
        ax.set_title(title, loc="left", fontsize=8.5, pad=13, parse_math=False)
