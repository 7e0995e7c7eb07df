"""The events of a run, and what they add up to without asking the method.

An event is a record as a journal has it:

========  =========================  =================================================
event     fields                     meaning
========  =========================  =================================================
ask       id, x, why, beside         a trial was handed out; `beside`, if others were
                                     waiting: "own" for what the method proposed,
                                     "further" for a further point
tell      id, x, t, value, sigma     a reading of a trial; of the point x if id is None
fail      id, t, reason              the measurement of a trial failed
stop      status                     the search was ended from outside
continue  maxfev                     a search that had ended goes on, with this budget
give_up   drops                      these trials are not waited for any more
undo                                 the latest reading or failure is withdrawn
saved                                the run was saved here; counts for nothing
========  =========================  =================================================

and those of `changes.py`, which `undo` withdraws too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import _check
from .changes import AMENDMENTS, CHANGES, checked_change, fixed_after
from .counting import Event, counting
from .frozen import replace
from .result import Status
from .state import NAMED, Why

Array = NDArray[np.float64]

BESIDE = ("own", "further")  # what a trial was that went out while others waited
WITHDRAWN = "withdrawn"  # why a row has no value, if it had one
ENDS = (Status.STOPPED.name, Status.CALLBACK.name)  # those that come from outside


@dataclass(frozen=True)
class Trial:
    """A point to be measured; `x` is read-only. No id: it was not asked for."""

    id: int | None
    x: Array
    why: Why | None = None  # what for; None: that was not kept


class RecordError(ValueError):
    """An event that cannot be one of a run, with its place among them."""

    def __init__(self, place: int, reason: object) -> None:
        super().__init__(f"event {place}: {reason}")
        self.place, self.reason = place, reason


def checked_events(events: Iterable[Event], n: int) -> list[Event]:
    """Records of a file with points as arrays, every field as `tell` would have it.

    Raises
    ------
    RecordError
        If a field is missing or not what it has to be.
    """
    clean = []
    for place, event in enumerate(events):
        try:
            clean.append({**event, **_checked(event, n)})
        except KeyError as error:
            raise RecordError(place, f"the field {error} is missing") from None
        except (TypeError, ValueError) as error:
            raise RecordError(place, error) from None
    return clean


def _checked(event: Event, n: int) -> Event:
    """The fields of an event, or an error that names the one that is wrong."""
    kind = event["event"]
    if kind == "ask":
        # Its own points may lie beyond what a user may say: x0 and a radius add up.
        x = _check.point("x", event["x"], n, largest=math.inf)
        clean = {"id": _check.whole("id", event["id"]), "x": x}
        if "beside" in event:
            clean["beside"] = _check.one_of("beside", event["beside"], BESIDE)
        return clean
    if kind == "tell":
        return _checked_reading(event, n)
    if kind == "fail":
        return {
            "id": _check.whole("id", event["id"]),
            "t": _check.time("t", event["t"]),
            "reason": _check.text("reason", event.get("reason", "")),
        }
    if kind == "stop":
        return {"status": _check.one_of("status", event["status"], ENDS)}
    if kind == "continue":
        maxfev = event["maxfev"]
        return {"maxfev": None if maxfev is None else _check.count("maxfev", maxfev)}
    if kind in CHANGES:
        return checked_change(event)
    if kind == "give_up":
        return {"drops": [_check.whole("drops", trial) for trial in event["drops"]]}
    if kind not in ("undo", "saved"):
        raise ValueError(f"unknown event {kind!r}")
    return {}


def _checked_reading(event: Event, n: int) -> Event:
    trial, sigma = event["id"], event.get("sigma")
    return {
        "id": None if trial is None else _check.whole("id", trial),
        "x": None if trial is not None else _check.point("x", event["x"], n),
        "t": _check.time("t", event["t"]),
        "value": _check.reading("value", event["value"]),
        "sigma": None if sigma is None else _check.non_negative("sigma", sigma),
    }


@dataclass(frozen=True)
class Books:
    """Where a run stands by its events alone."""

    asked: int = 0  # trials handed out
    pending: tuple[Trial, ...] = ()  # those that wait for their readings, as asked
    next_id: int = 0
    rows: int = 0  # readings and failures
    blank: Mapping[int, str] = field(
        default_factory=dict
    )  # rows without a value, and why
    failures: int = 0  # in a row, up to now
    ended: Status | None = None  # from outside
    is_numbered: bool = True  # readings are timed by their number
    latest: float = 0.0  # time of the latest row
    maxfev: int | None = None  # the budget, as it was said last
    extended: int = 0  # the budget, as it was extended last
    changes: int = 0
    fixed: Mapping[str, float] = field(default_factory=dict)  # since the search began
    dropped: int = 0  # trials given up

    def after(self, event: Event) -> Books:
        """The books with one more event, or an error if it cannot come next."""
        kind = event["event"]
        if kind == "ask":
            # None, if its version did not keep it or this one does not know it.
            trial = Trial(event["id"], event["x"], NAMED.get(str(event.get("why"))))
            return replace(
                self,
                asked=self.asked + 1,
                pending=(*self.pending, trial),
                next_id=max(self.next_id, event["id"] + 1),
            )
        if kind == "stop":
            return replace(self, ended=Status[event["status"]])
        if kind == "continue":
            return replace(self, ended=None, failures=0, maxfev=event["maxfev"])
        if kind in CHANGES:
            return self._after_change(event)
        if kind == "give_up":
            return self._without(event["drops"])
        return self if kind == "saved" else self._after_reading(event)

    def _after_change(self, event: Event) -> Books:
        blank = self.blank
        if event["event"] in AMENDMENTS:
            self.check_row(event["row"])
        if event["event"] == "withdraw":
            blank = {**blank, event["row"]: WITHDRAWN}
        return replace(
            self._without(event.get("drops", ())),
            blank=blank,
            changes=self.changes + 1,
            maxfev=event.get("maxfev", self.maxfev),
            extended=event.get("maxfev", self.extended),
            fixed=fixed_after(self.fixed, event),
        )

    def _without(self, drops: Sequence[int]) -> Books:
        """The books once these trials are not waited for any more."""
        pending = tuple(trial for trial in self.pending if trial.id not in drops)
        given_up = len(self.pending) - len(pending)
        return replace(self, pending=pending, dropped=self.dropped + given_up)

    def _after_reading(self, event: Event) -> Books:
        trial, pending = event["id"], self.pending
        if trial is not None:
            pending = tuple([other for other in pending if other.id != trial])
            if len(pending) == len(self.pending):
                raise ValueError(f"trial {trial} was told but not asked for")
        has_failed = event["event"] == "fail"
        reason = {self.rows: event.get("reason", "")} if has_failed else {}
        return replace(
            self,
            pending=pending,
            rows=self.rows + 1,
            blank={**self.blank, **reason} if reason else self.blank,
            failures=self.failures + 1 if has_failed else 0,
            is_numbered=self.is_numbered and event["t"] == self.rows,
            latest=event["t"],
        )

    @staticmethod
    def of(events: Sequence[Event], maxfev: int | None) -> Books:
        """The books of a whole run, begun with this budget.

        One said when the run went on is the one thing that is never withdrawn.
        """
        books, live = Books(), counting(events)
        for event in live:
            try:
                books = books.after(event)
            except ValueError as error:
                place = next(k for k, e in enumerate(events) if e is event)
                raise RecordError(place, error) from None
        extensions = {id(e) for e in live if e["event"] == "extend"}
        stated = (
            e["maxfev"]
            for e in reversed(events)
            if e["event"] == "continue" or id(e) in extensions
        )
        return replace(books, maxfev=next(stated, maxfev))

    @property
    def answered(self) -> int:
        """Trials that have their reading, or have failed."""
        return self.asked - len(self.pending) - self.dropped

    @property
    def has_room(self) -> bool:
        """Whether the budget allows for one more trial; those given up are free."""
        return self.maxfev is None or self.asked - self.dropped < self.maxfev

    def default_time(self) -> float:
        """Of a row without a time of its own: its number, or that of the row before."""
        return float(self.rows) if self.is_numbered else self.latest

    @property
    def reasons(self) -> list[str]:
        """Why rows have no value, one text per row, mostly empty."""
        return [self.blank.get(row, "") for row in range(self.rows)]

    def check_row(self, row: int) -> None:
        """A row must be one of the history, with a value."""
        if row >= self.rows:
            there = f"0 to {self.rows - 1}" if self.rows else "none yet"
            raise ValueError(
                f"row must be one of the history, which are {there}, but is {row}"
            )
        if row not in self.blank:
            return
        if self.blank[row] == WITHDRAWN:
            raise ValueError(
                f"row {row} is withdrawn already and has no value to correct; what is "
                "known of its place after all can be told, with its point and time"
            )
        raise ValueError(
            f"row {row} is a failed measurement, which has no value to correct"
        )

    def check_waiting(self, trial: Trial) -> None:
        """A trial must be one that waits; its id alone does not prove that."""
        for other in self.pending:
            if trial is other:
                return
            if trial.id == other.id and np.array_equal(trial.x, other.x):
                return
        each = [f"trial {other.id} at {other.x}" for other in self.pending]
        raise ValueError(
            f"trial {trial.id} at {trial.x} is not waiting for a reading (waiting: "
            f"{', '.join(each) or 'none'}); tell(x, value) takes points that were not "
            "asked for"
        )
