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
from .space_arguments import DEFAULT_RADIUS
from .stuck import is_repeating, stuck

Array = NDArray[np.float64]
_log = logging.getLogger(__package__)

_BETWEEN = __package__, "scipy"  # whose lines are not the user's
_RANK = 1e-10  # relative; smaller singular values are none
_NOTHING = 1e-9  # of the largest effect; a smaller one is none
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
    space: Space, rows: Sequence[Row], known: int, noise: Callable[[], float]
) -> None:
    """Log the latest reading; warn of poor scales, and of a sensor that looks stuck.

    `known`: how many of the rows have a value.
    """
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
    if known == _first_look(space.dimensions) and _is_unscaled(space):
        _compare_effects(rows, space.names)
    before = rows[-2].seen.value if len(rows) > 1 else math.nan
    if before == seen.value or math.isnan(before):  # else no sensor is stuck
        _after_the_same(rows, noise)


def _compare_effects(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Warn if readings change far more along one variable than along another."""
    taken = [row.seen for row in rows if not row.seen.failed]
    points, times = np.array([o.x for o in taken]), [o.t for o in taken]
    values = np.array([o.value for o in taken])
    start = next((o.x for o in taken if o.asked), points[0])
    told = effects(points - start, values, np.array(times))
    if text := unequal_effects(*told, names):
        caution(text)


def _after_the_same(rows: Sequence[Row], noise: Callable[[], float]) -> None:
    """Warn in the log, once, when the sensor begins to look stuck."""
    read = (row.seen.value for row in reversed(rows) if not row.seen.failed)
    if not is_repeating(read):
        return
    seen, std = history(rows, rows[-1].seen.x.size), noise()
    text = stuck(seen.x, seen.value, std)
    if text and not stuck(seen.x[:-1], seen.value[:-1], std):
        _log.warning("%s", text)


def _first_look(n: int) -> int:
    """After how many readings the effects of n variables are compared.

    Slopes, curvatures, a level and a drift are 2n + 2 numbers; n + 2 are to spare.
    """
    return 3 * n + 4


def _is_unscaled(space: Space) -> bool:
    """Whether nothing was said of how far the variables are to be moved."""
    return space.radius is None and all(v.scale == 1.0 for v in space.variables)


def effects(moves: Array, values: Array, times: Array) -> tuple[Array, Array]:
    """By how much values change a first radius away, along each variable alone.

    By least squares: a level, a drift, a slope and a curvature for each. At the least
    and at the most, (n,), whichever reading is left out, so that neither noise nor one
    bad reading makes an effect. Slope and curvature are told apart, or two equal
    values on both sides of a minimum would look like a variable without effect. NaN
    where readings do not tell.
    """
    n, unknown = moves.shape[1], np.full(moves.shape[1], math.nan)
    varies = moves.any(axis=0)
    U = moves[:, varies] / DEFAULT_RADIUS
    t = (times - times[0])[:, None]
    X = np.hstack([np.ones_like(t), U, U**2, t[:, np.ptp(t, axis=0) > 0.0]])
    lengths = np.abs(X).max(axis=0)
    size = float(np.abs(values - values[0]).max())
    if not (U.size and lengths.all() and size > 0.0 and len(X) > X.shape[1]):
        return unknown, unknown.copy()
    X, y = X / lengths, (values - values[0]) / size
    inverse = np.linalg.pinv(X, rcond=_RANK)
    leverage = np.einsum("ij,ji->i", X, inverse)
    if leverage.sum() < X.shape[1] - 0.5 or leverage.max() > 1.0 - _RANK:
        return unknown, unknown.copy()
    coefficients = inverse @ y
    without = inverse * ((y - X @ coefficients) / (1.0 - leverage))
    found = np.abs((coefficients[:, None] - without) / lengths[:, None])
    k = U.shape[1]
    change = np.full((n, len(X)), math.nan)
    change[varies] = size * (found[1 : k + 1] + found[k + 1 : 2 * k + 1])
    return change.min(axis=1), change.max(axis=1)


def unequal_effects(least: Array, most: Array, names: Sequence[str]) -> str:
    """What is to be said of the variables' effects; empty if they are alike.

    A variable without any effect at all tells nothing of its scale.
    """
    known = np.nan_to_num(most)
    seen = np.flatnonzero(known > _NOTHING * known.max())
    if not seen.size:
        return ""
    strong, weak = seen[least[seen].argmax()], seen[most[seen].argmin()]
    if not least[strong] > _UNEQUAL * most[weak]:
        return ""
    return (
        f"the first readings change by {most[strong]:.2g} along {names[strong]} but "
        f"only by {most[weak]:.2g} along {names[weak]}: a search does better if it is "
        "told by how much each variable is to be moved; give x_scale or initial_radius "
        "with one number for each, or bounds"
    )
