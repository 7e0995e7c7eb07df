"""What was said before a search, after changes: variables that stay, or did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .setup import Setup, task_of
from .space import Space
from .space_arguments import variable_index

Array = NDArray[np.float64]

_SAME = 1e-6  # scales, by which a reading may be off a value that is fixed


def held(first: Setup, now: Setup, fixed: Mapping[str, float]) -> Setup | None:
    """The setup with these variables held: z stays as it is, and so does the model.

    None if z has lost some of the others before.
    """
    names, lost = first.names, _lost(first, now)
    if not all(fixed.get(names[i]) == value for i, value in lost.items()):
        return None
    kept = {names.index(k): v for k, v in fixed.items() if names.index(k) not in lost}
    return replace(now, space=replace(now.space, held=()).holding(kept))


def without(first: Setup, fixed: Mapping[str, float], x: Array) -> Setup:
    """The setup for a search that begins at x and knows nothing of these variables."""
    rows = [replace(v, fixed=fixed.get(v.name, v.fixed)) for v in first.space.variables]
    space = replace(first.space, variables=tuple(rows))
    start = np.where([v.name in fixed for v in rows], [v.value for v in rows], x)
    return replace(first, space=space, task=task_of(first.task, space, start))


def _lost(first: Setup, now: Setup) -> dict[int, float]:
    """Variables that are no part of z, though they were at first."""
    pairs = zip(first.space.variables, now.space.variables, strict=True)
    return {
        i: new.fixed
        for i, (old, new) in enumerate(pairs)
        if new.fixed is not None and old.fixed is None
    }


def is_seen(first: Setup, now: Setup, x: Array) -> bool:
    """Whether a reading at x says something to a search in these variables."""
    return all(
        abs(x[i] - value) <= _SAME * now.space.variables[i].scale
        for i, value in _lost(first, now).items()
    )


def checked_fix(
    space: Space, fixed: Mapping[str, float], values: Mapping[Any, Any]
) -> dict[str, float]:
    """Values to fix variables at, by name, beside those that are fixed already.

    Raises
    ------
    ValueError, TypeError
        Naming the variable, its value and what is allowed.
    """
    if not values:
        raise ValueError("fix needs a variable and its value, such as fix(temp=300)")
    clean = {}
    for key, value in values.items():
        variable = space.variables[variable_index(key, space.names, "fix")]
        name, at = variable.name, _check.finite(f"fix: {key}", value)
        if np.isfinite(variable.value):
            raise ValueError(f"{name} has been fixed since the search began")
        if not variable.lower <= at <= variable.upper:
            raise ValueError(
                f"fix: {name} must be within its bounds, {variable.lower:g} to "
                f"{variable.upper:g}, but is {at:g}"
            )
        clean[name] = at
    _check_room(space, {**fixed, **clean})
    return clean


def _check_room(space: Space, fixed: Mapping[str, float]) -> None:
    """There must be a point with these values, and something left to search."""
    index = {space.names.index(name): value for name, value in fixed.items()}
    kept = space.holding(index)
    rows = space.setpoints.free.N[list(index)]
    if np.linalg.matrix_rank(rows) == space.dimensions:
        raise ValueError(
            f"fixing {', '.join(fixed)} leaves nothing to search: free another first, "
            "or measure without asking"
        )
    if not space.holds(kept.anchor):
        raise ValueError(
            f"no setting within the constraints has "
            f"{', '.join(f'{name}={value:g}' for name, value in fixed.items())}"
        )


def checked_free(
    space: Space, fixed: Mapping[str, float], keys: Sequence[Any]
) -> list[str]:
    """Names of variables that are fixed and are to be searched again."""
    if not keys:
        raise ValueError("free needs the name of a variable that is fixed")
    names = [space.names[variable_index(key, space.names, "free")] for key in keys]
    for name in names:
        if name not in fixed:
            known = ", ".join(fixed) or "none"
            raise ValueError(
                f"free: {name} is not one that was fixed since the search began; those "
                f"that were: {known}"
            )
    return names
