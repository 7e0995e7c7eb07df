"""Where to measure while others still measure, by a copy that looks ahead."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Optimizer

Array = NDArray[np.float64]


def proposed(opt: Optimizer) -> Array:
    """The next point; where a search has ended, its answer once more."""
    return np.asarray(opt.result().x if opt.done else opt.ask().x)


def suppose(opt: Optimizer, x: Any) -> None:
    """Go on as if the reading at a place were in and were what is expected there.

    For copies that are thrown away: in a run nothing is made up.
    """
    res = opt.result()
    values = res.history.value[~res.history.failed]
    expected, _ = res.predict(x)
    if not math.isfinite(expected):  # no model: the first points do not depend on it
        expected = float(np.median(values)) if values.size else 0.0
    opt.tell(x, expected, float(res.history.t[-1]) if len(res.history) else 0.0)


def further(opt: Optimizer, out: Iterable[Array], k: int) -> list[Array]:
    """The next k points, all different, while those of `out` are being measured."""
    ahead, points = copy.deepcopy(opt), []
    for x in out:
        suppose(ahead, x)
    for _ in range(k):
        points.append(proposed(ahead))
        suppose(ahead, points[-1])
    return points
