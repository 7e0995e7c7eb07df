"""Points that are handed out as mappings and come back with what was measured.

That is how gest-api and bluesky do it: a suggestion has the value of every variable by
name and an ``"_id"``; a result has the ``"_id"`` of its suggestion, or the variables of
a point that nobody asked for, and the objective.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Optimizer, _check
from .._check import LARGEST_READING
from ._ahead import further

Array = NDArray[np.float64]
Row = Mapping[str, Any]

ID = "_id"
TIMES = ("time", "timestamp")  # where a result says when it was measured


class Desk:
    """Hands points out, takes results in, and knows which are out.

    A journal is opened when the first point is handed out, so that an object that is
    copied before that can have one.
    """

    def __init__(self, objective: str, journal: Any, **arguments: Any) -> None:
        self.objective = objective
        self._journal, self._arguments = journal, arguments
        self._opt = Optimizer(**arguments)  # what is wrong is said here
        self._is_open = journal is None
        self._out: dict[int, Array] = {}
        self._next = 0

    @property
    def optimizer(self) -> Optimizer:
        if not self._is_open:
            self._opt = Optimizer.open(self._journal, **self._arguments)
            self._next = self._opt.nfev
            self._is_open = True
        return self._opt

    def suggest(self, k: int) -> list[dict[str, Any]]:
        """So many new points, or ValueError if there are none."""
        opt = self.optimizer
        if opt.done:
            raise ValueError(f"nothing to suggest, the search has ended: {opt.message}")
        is_sequential = k == 1 and not self._out
        points = [opt.ask().x] if is_sequential else further(opt, self._out.values(), k)
        return [self.register(x) for x in points]

    def register(self, x: Array) -> dict[str, Any]:
        """A point that goes out, as a mapping."""
        trial, self._next = self._next, self._next + 1
        self._out[trial] = x
        names = self.optimizer.names
        return {**dict(zip(names, x.tolist(), strict=True)), ID: trial}

    def point(self, row: Row) -> Array:
        """The variables of a row."""
        names = self.optimizer.names
        if missing := [name for name in names if name not in row]:
            raise ValueError(f"{dict(row)} lacks the variables {', '.join(missing)}")
        return np.array([float(row[name]) for name in names])

    def ingest(self, rows: Iterable[Row]) -> None:
        """Take results in; if there is one that cannot be, none of them."""
        out = dict(self._out)
        readings: list[tuple[Array, float, float | None]] = []
        for row in rows:
            if (trial := _id(row)) is None:
                x = self.point(row)
            elif trial not in out:
                raise ValueError(
                    f"{ID} = {trial!r} is of no suggestion that is out; out are "
                    f"{sorted(self._out)}"
                )
            else:
                x = out.pop(trial)
            readings.append((x, _value(row, self.objective), _time(row)))
        self._out = out
        for x, value, t in readings:
            self._tell(x, value, t)

    def fail(self, rows: Sequence[Row]) -> None:
        """These suggestions could not be measured."""
        for row in rows:
            if (x := self._out.pop(_id(row), None)) is not None:
                self._tell(x, math.nan, None)

    def _tell(self, x: Array, value: float, t: float | None) -> None:
        """A reading, or a failure of what the search has asked for."""
        opt = self.optimizer
        is_asked = not opt.done and np.array_equal(opt.ask().x, x)
        if abs(value) <= LARGEST_READING:
            opt.tell(opt.ask() if is_asked else x, value, t)
        elif is_asked:
            opt.tell_failed(opt.ask(), "no value", t)


def _is_missing(value: Any) -> bool:
    """Whether there is none, or NaN, which tables have in its place."""
    return bool(value is None or value != value)


def _id(row: Row) -> Any:
    """Of a suggestion; None: of none."""
    trial = row.get(ID)
    return None if _is_missing(trial) else trial


def _value(row: Row, objective: str) -> float:
    """The reading; NaN: there is none."""
    value = row.get(objective)
    return math.nan if _is_missing(value) else _check.number(objective, value)


def _time(row: Row) -> float | None:
    """When a result was measured, in seconds if it is a date; None: it does not say."""
    for name in TIMES:
        t = row.get(name)
        if not _is_missing(t):
            t = t.timestamp() if isinstance(t, datetime) else t
            return _check.time(name, t)
    return None
