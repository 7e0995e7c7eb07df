"""The events of a run, and what they add up to without asking the method.

An event is a record as a journal has it:

========  =========================  =================================================
event     fields                     meaning
========  =========================  =================================================
ask       id, x                      a trial was handed out
tell      id, x, t, value, sigma     a reading of a trial; of the point x if id is None
fail      id, t, reason              the measurement of a trial failed
stop      status                     the search was ended from outside
continue  maxfev                     a search that had ended goes on, with this budget
undo                                 the latest reading or failure is withdrawn
========  =========================  =================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _check
from .result import History, Status
from .state import Gauges, Observation

Array = NDArray[np.float64]
Event = dict[str, Any]

READINGS = ("tell", "fail")  # events that make a row of the history


@dataclass(frozen=True)
class Trial:
    """A point to be measured; `x` is read-only. No id: it was not asked for."""

    id: int | None
    x: Array


def checked_events(events: Iterable[Event], n: int) -> list[Event]:
    """Records of a file with points as arrays, or an error that says what is wrong."""
    return [_checked(event, n) for event in events]


def _checked(event: Event, n: int) -> Event:
    kind, clean = event["event"], dict(event)
    if kind == "ask" or (kind == "tell" and event["id"] is None):
        clean["x"] = _check.point("x", event["x"], n)
    if kind in READINGS:
        clean["t"] = _check.time("t", event["t"])
    if kind == "tell":
        clean["value"] = _check.reading("value", event["value"])
        if event.get("sigma") is not None:
            clean["sigma"] = _check.non_negative("sigma", event["sigma"])
    if kind == "continue" and event["maxfev"] is not None:
        clean["maxfev"] = _check.count("maxfev", event["maxfev"])
    return clean


def counting(events: Iterable[Event]) -> list[Event]:
    """The events that have not been withdrawn.

    Whatever came after a withdrawn reading goes with it: the next trial, an end.
    """
    live: list[Event] = []
    for event in events:
        if event["event"] != "undo":
            live.append(event)
            continue
        while live and live[-1]["event"] not in READINGS:
            live.pop()
        if not live:
            raise ValueError("there is no reading to withdraw")
        live.pop()
    return live


def budget(events: Sequence[Event], at_first: int | None) -> int | None:
    """The latest budget; the one event whose effect is never withdrawn."""
    stated = (e["maxfev"] for e in reversed(events) if e["event"] == "continue")
    return next(stated, at_first)


class Books(NamedTuple):
    """Where a run stands by its events alone."""

    asked: int = 0  # trials handed out
    pending: Trial | None = None  # the one that waits for its reading
    rows: int = 0  # readings and failures
    failures: int = 0  # in a row, up to now
    ended: Status | None = None  # from outside
    is_numbered: bool = True  # readings are timed by their number
    latest: float = 0.0  # time of the latest row

    def after(self, event: Event) -> Books:
        """The books with one more event, or an error if it cannot come next."""
        kind = event["event"]
        if kind == "ask":
            trial = Trial(event["id"], event["x"])
            return self._replace(asked=self.asked + 1, pending=trial)
        if kind == "stop":
            return self._replace(ended=Status[event["status"]])
        if kind == "continue":
            return self._replace(ended=None, failures=0)
        if kind not in READINGS:
            raise ValueError(f"unknown event {kind!r}")
        return self._after_reading(event)

    def _after_reading(self, event: Event) -> Books:
        trial, pending = event["id"], self.pending
        if trial is not None:
            if pending is None or pending.id != trial:
                raise ValueError(f"trial {trial} was told but not asked for")
            pending = None
        return self._replace(
            pending=pending,
            rows=self.rows + 1,
            failures=self.failures + 1 if event["event"] == "fail" else 0,
            is_numbered=self.is_numbered and event["t"] == self.rows,
            latest=event["t"],
        )

    @property
    def answered(self) -> int:
        """Trials that have their reading, or have failed."""
        return self.asked - (self.pending is not None)

    def default_time(self) -> float:
        """Of a row without a time of its own: its number, or that of the row before."""
        return float(self.rows) if self.is_numbered else self.latest

    def check_waiting(self, trial: Trial) -> None:
        """A trial must be the one that waits; its id alone does not prove that."""
        pending = self.pending
        if trial is pending:
            return
        if (
            pending is not None
            and trial.id == pending.id
            and np.array_equal(trial.x, pending.x)
        ):
            return
        waiting = "none" if pending is None else f"trial {pending.id} at {pending.x}"
        raise ValueError(
            f"trial {trial.id} at {trial.x} is not waiting for a reading (waiting: "
            f"{waiting}); tell(x, value) takes points that were not asked for"
        )

    def observation(self, event: Event, answers: bool) -> Observation:
        """A reading or failure as a method sees it; `self`: the books before it."""
        sigma, pending = event.get("sigma"), self.pending
        return Observation(
            x=event["x"] if event["id"] is None or pending is None else pending.x,
            t=event["t"],
            value=event.get("value", math.nan),
            sigma=math.nan if sigma is None else sigma,
            trial=event["id"],
            answers=answers,
        )


class Row(NamedTuple):
    """An observation, and where the search stood after it."""

    seen: Observation
    accepted: bool
    centre: Array
    gauges: Gauges


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
    )
