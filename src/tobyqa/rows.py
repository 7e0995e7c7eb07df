"""Rows of the history: what was read, and where the search stood then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .frozen import replace
from .result import History
from .state import Gauges, Observation

Array = NDArray[np.float64]


class Row(NamedTuple):
    """An observation, and where the search stood after it, in the user's variables."""

    seen: Observation
    accepted: bool
    centre: Array
    gauges: Gauges


def amended(row: Row, value: float) -> Row:
    """The row with another value; what happened then stays as it was."""
    return row._replace(seen=replace(row.seen, value=value))


def values_at(rows: Sequence[Row], x: Array) -> list[float]:
    """What was read at a point, as it is known by now."""
    return [row.seen.value for row in rows if np.array_equal(row.seen.x, x)]


def history(rows: Sequence[Row], n: int) -> History:
    """The rows as arrays, for `n` variables."""
    seen = [row.seen for row in rows]
    return History(
        x=np.array([o.x for o in seen]).reshape(-1, n),
        t=np.array([o.t for o in seen]),
        value=np.array([o.value for o in seen]),
        sigma=np.array([o.sigma for o in seen]),
        asked=np.array([o.asked for o in seen], dtype=bool),
        accepted=np.array([row.accepted for row in rows], dtype=bool),
        centre=np.array([row.centre for row in rows]).reshape(-1, n),
        radius=np.array([row.gauges.radius for row in rows]),
        gradient=np.array([row.gauges.gradient for row in rows]),
        gradient_std=np.array([row.gauges.gradient_std for row in rows]),
        weight=np.array([0.0 if o.failed else 1.0 for o in seen]),
    )
