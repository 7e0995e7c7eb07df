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

from .. import Optimizer, Trial, _check
from .._check import LARGEST_READING
from ._lost import give_up_lost

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
        self._since: dict[int, int] = {}  # readings when a trial was handed out
        self._points: dict[int, Array] = {}  # that are out, but not asked for
        self._readings = self._registered = 0

    @property
    def optimizer(self) -> Optimizer:
        if not self._is_open:
            self._opt = Optimizer.open(self._journal, **self._arguments)
            self._is_open = True
        return self._opt

    def suggest(self, k: int) -> list[dict[str, Any]]:
        """So many new points, or ValueError if there are not as many.

        Trials that an earlier process has left behind are the first of them.
        """
        opt, k = self.optimizer, _check.count("num_points", k)
        if opt.done:
            raise ValueError(f"nothing to suggest, the search has ended: {opt.message}")
        here = [trial for trial in opt.pending if trial.id in self._since]
        new = [t for t in opt.ask(len(here) + k) if t.id not in self._since]
        if len(new) < k:
            raise ValueError(
                f"num_points = {k} are more than the {len(new)} trials that "
                f"{_limit(opt)} leaves"
            )
        self._since |= {t.id: self._readings for t in new if t.id is not None}
        return [self._row(trial.id, trial.x) for trial in new]

    def register(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Points of somebody else's with an id, negative to differ from ours."""
        points = {-1 - self._registered - k: self._point(r) for k, r in enumerate(rows)}
        self._registered += len(points)
        self._points |= points
        return [self._row(key, x) for key, x in points.items()]

    def ingest(self, rows: Iterable[Row]) -> None:
        """Take results in; if there is one that cannot be, none of them."""
        out: dict[Any, Any] = {trial.id: trial for trial in self.optimizer.pending}
        out |= self._points
        readings = []
        for row in rows:
            if (key := _id(row)) is None:
                place = self._point(row)
            elif key not in out:
                raise ValueError(
                    f"{ID} = {key!r} is of no suggestion that is out; out are "
                    f"{list(out)}"
                )
            else:
                place = out.pop(key)
            readings.append((place, _value(row, self.objective), _time(row)))
        for reading in readings:
            self._tell(*reading)
        self._points = {key: x for key, x in self._points.items() if key in out}

    def _tell(self, place: Trial | Array, value: float, t: float | None) -> None:
        """A reading; of a point that nobody waits for a failure says nothing."""
        opt = self.optimizer
        if isinstance(place, Trial) and all(t.id != place.id for t in opt.pending):
            place = place.x  # given up since
        if isinstance(place, Trial) or abs(value) <= LARGEST_READING:
            opt.tell(place, value, t)
        self._readings += 1
        before = opt.pending
        give_up_lost(opt, self._since, self._readings)
        waiting = {trial.id for trial in opt.pending}
        self._points |= {int(t.id or 0): t.x for t in before if t.id not in waiting}

    def fail(self, rows: Iterable[Row]) -> None:
        """These suggestions could not be measured."""
        out = {trial.id: trial for trial in self.optimizer.pending}
        for row in rows:
            self._points.pop(row[ID], None)
            if row[ID] in out:
                self.optimizer.tell_failed(out[row[ID]], "not measured")

    def _row(self, key: Any, x: Array) -> dict[str, Any]:
        """A point as a mapping."""
        names = self.optimizer.names
        return {**dict(zip(names, x.tolist(), strict=True)), ID: key}

    def _point(self, row: Row) -> Array:
        """The variables of a row."""
        names = self.optimizer.names
        if missing := [name for name in names if name not in row]:
            raise ValueError(f"{dict(row)} lacks the variables {', '.join(missing)}")
        return np.array([_check.finite(name, row[name]) for name in names])


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


def _limit(opt: Optimizer) -> str:
    """What allows no more trials at present."""
    asked = opt.nfev + len(opt.pending)
    if opt.maxfev is not None and asked >= opt.maxfev:
        return f"maxfev = {opt.maxfev}"
    return "a reading beyond the limit, before one at the safe place is in,"
