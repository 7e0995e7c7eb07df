"""What is said of a run on the way: its readings in the log, and warnings in time."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .rows import Row, history
from .shown import point_texts
from .space import Space
from .stuck import is_repeating, stuck

Array = NDArray[np.float64]
_log = logging.getLogger(__package__)

_BETWEEN = __package__, "scipy"  # whose lines are not the user's
_UNEQUAL = 1e3  # ratio of two variables' effects from which on scales are worth stating


def caution(text: str) -> None:
    """Warn the user, at the line of their own that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _BETWEEN:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def small_budget(maxfev: int, needed: int) -> str:
    """What is to be said of a budget below what a method needs; empty if nothing."""
    if maxfev >= needed:
        return ""
    return (
        f"maxfev = {maxfev} is too small: the first {needed} readings are needed for a "
        "model, and without one the answer is only the best reading"
    )


def after_reading(
    space: Space, rows: Sequence[Row], noise: Callable[[], float]
) -> None:
    """Log the latest reading; warn of poor scales, and of a sensor that looks stuck."""
    seen = rows[-1].seen
    if _log.isEnabledFor(logging.INFO):
        said = {"names": space.names, "units": [v.unit for v in space.variables]}
        _log.info(
            "reading %d%s: %.10g at t = %.10g, %s",
            len(rows),
            "" if seen.asked else ", not asked for",
            seen.value,
            seen.t,
            ", ".join(point_texts(said, seen.x)),
        )
    if _has_first_model(rows) and _is_unscaled(space):
        taken = [row.seen for row in rows if not row.seen.failed]
        points, values = np.array([o.x for o in taken]), [o.value for o in taken]
        start = next(o.x for o in taken if o.asked)
        if text := unequal_effects(start, points, np.array(values), space.names):
            caution(text)
    _after_value(rows, noise)


def _after_value(rows: Sequence[Row], noise: Callable[[], float]) -> None:
    """Warn in the log, once, when the sensor begins to look stuck."""
    read = (row.seen.value for row in reversed(rows) if not row.seen.failed)
    if not is_repeating(read):
        return
    seen, std = history(rows, rows[-1].seen.x.size), noise()
    text = stuck(seen.x, seen.value, std)
    if text and not stuck(seen.x[:-1], seen.value[:-1], std):
        _log.warning("%s", text)


def _has_first_model(rows: Sequence[Row]) -> bool:
    """Whether there is a model since the latest row."""
    gauges = [row.gauges.radius for row in rows[-2:]]
    return len(gauges) == 2 and math.isnan(gauges[0]) and not math.isnan(gauges[1])


def _is_unscaled(space: Space) -> bool:
    """Whether nothing was said of how far the variables are to be moved."""
    return space.radius is None and all(v.scale == 1.0 for v in space.variables)


def effects(x0: Array, points: Array, values: Array) -> tuple[Array, Array]:
    """By how much readings change from x0 to where one variable alone has moved.

    The least and the most for each, (n,); NaN where there is none. Noise and drift are
    in it, so the most is hardly ever too small, and one bad reading not in both.
    """
    moved = points != x0
    at_start = ~moved.any(axis=1)
    if not at_start.any():
        return np.full(x0.size, math.nan), np.full(x0.size, math.nan)
    alone = moved & (moved.sum(axis=1) == 1)[:, None]
    changes = np.abs(values - np.median(values[at_start]))[:, None]
    least = np.where(alone, changes, math.inf).min(axis=0)
    most = np.where(alone, changes, -math.inf).max(axis=0)
    is_known = alone.any(axis=0)
    return np.where(is_known, least, math.nan), np.where(is_known, most, math.nan)


def unequal_effects(
    x0: Array, points: Array, values: Array, names: Sequence[str]
) -> str:
    """What is to be said of the variables' effects; empty if they are alike.

    A variable without any effect at all tells nothing of its scale.
    """
    least, most = effects(x0, points, values)
    seen = np.flatnonzero(most > 0.0)  # which NaN is not
    if not seen.size:
        return ""
    strong, weak = seen[least[seen].argmax()], seen[most[seen].argmin()]
    if not least[strong] > _UNEQUAL * most[weak]:
        return ""
    return (
        f"the first readings changed by {most[strong]:.2g} along {names[strong]} but "
        f"only by {most[weak]:.2g} along {names[weak]}: a search does better if it is "
        "told by how much each variable is to be moved; give x_scale or initial_radius "
        "with one number for each, or bounds"
    )
