"""The 65 problems within boxes that cut the unconstrained minimiser off.

The boxes, starts and least values are in ``boxes.json``, which ``benchmarks/boxes.py``
has written; it says how they are made. A name is ``walled-`` and the problem's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from tobyqa.bench.problems import Box, Problem, get_problem, problem_names

_PREFIX = "walled-"


def walled_names() -> tuple[str, ...]:
    """Names of the problems, in the order of those without walls.

    >>> walled_names()[0]
    'walled-arglina'
    """
    return tuple(_PREFIX + name for name in problem_names())


def walled_dimensions(name: str) -> tuple[int, ...]:
    """The dimensions for which there is a box.

    >>> walled_dimensions("walled-woods")
    (6, 10)
    """
    return tuple(map(int, _boxes()[name.removeprefix(_PREFIX)]))


def get_walled(name: str, n: int) -> Problem:
    """The problem `name`, one of `walled_names`, in dimension `n`.

    >>> get_walled("walled-arwhead", 2).box.lower.tolist()
    [0.0, 0.5]
    """
    if n not in walled_dimensions(name):
        known = ", ".join(map(str, walled_dimensions(name)))
        raise ValueError(f"problem {name!r}: n = {n}, there is a box for n = {known}")
    plain = name.removeprefix(_PREFIX)
    stored = _boxes()[plain][str(n)]
    lower, upper, x0 = (np.array(stored[key]) for key in ("lower", "upper", "x0"))
    for array in (lower, upper, x0):
        array.flags.writeable = False
    box = Box(lower, upper, stored["minimum"])
    return Problem(name, get_problem(plain, n).formula, x0, box, catalogued=True)


def walled_minimum(name: str, n: int) -> float:
    """The least value of the problem in its box."""
    return float(_boxes()[name.removeprefix(_PREFIX)][str(n)]["minimum"])


@cache
def _boxes() -> Mapping[str, Mapping[str, Any]]:
    file = resources.files(__package__) / "boxes.json"
    boxes: Mapping[str, Mapping[str, Any]] = json.loads(file.read_text("utf-8"))
    return boxes
