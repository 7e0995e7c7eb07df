"""The events of a run, and what they add up to without asking the method.

An event is a record as a journal has it:

========  =========================  =================================================
event     fields                     meaning
========  =========================  =================================================
ask       id, x, why                 a trial was handed out
tell      id, x, t, value, sigma     a reading of a trial; of the point x if id is None
fail      id, t, reason              the measurement of a trial failed
stop      status                     the search was ended from outside
continue  maxfev                     a search that had ended goes on, with this budget
undo                                 the latest reading or failure is withdrawn
saved                                the run was saved here; counts for nothing
========  =========================  =================================================

and those of `changes.py`, which `undo` withdraws too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _check
from .changes import CHANGES, checked_change, fixed_after
from .result import Status
from .state import Why

Array = NDArray[np.float64]
Event = dict[str, Any]

READINGS = ("tell", "fail")  # events that make a row of the history
WITHDRAWABLE = (*READINGS, *CHANGES)
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
        return {"id": _check.whole("id", event["id"]), "x": x}
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


def counting(events: Iterable[Event], notes: list[str] | None = None) -> list[Event]:
    """The events that have not been withdrawn.

    Whatever came after a withdrawn reading goes with it: the next trial, an end.

    An earlier version could be interrupted after it had written a record and before
    the record counted, and went on as if nothing had been written. Its files are read
    as it went on: of two records that ask for one trial the first counts; of two that
    answer one trial the second, as a correction of the first; the answer of a trial
    that was withdrawn is a reading nobody asked for; and a withdrawal of nothing is
    passed over. `notes` takes up where this was so.
    """
    live: list[Event] = []
    asked: dict[int, Array] = {}  # all trials with their points, withdrawn or not
    notes = [] if notes is None else notes
    for event in events:
        if event["event"] == "undo":
            _withdraw(live, notes)
        elif event.get("id") is not None:
            live += _mended(event, live, asked, notes)
        elif event["event"] != "saved":
            live.append(event)
    return live


def _mended(
    event: Event, live: list[Event], asked: dict[int, Array], notes: list[str]
) -> list[Event]:
    """An event of a trial, as it counts after those that do."""
    trial, is_ask = event["id"], event["event"] == "ask"
    places = (k for k in reversed(range(len(live))) if live[k].get("id") is not None)
    before = next(places, None)
    is_same = before is not None and live[before]["id"] == trial
    is_asked = is_same and before is not None and live[before]["event"] == "ask"
    if is_ask:
        asked[trial] = event["x"]
    if is_ask != is_asked or trial not in asked:
        return [event]
    if is_ask:
        notes.append(f"trial {trial} was asked for twice, the first time counts")
        return []
    if is_same and before is not None:
        notes.append(f"trial {trial} was answered twice, the second answer counts")
        del live[before]
        return [event]
    notes.append(f"trial {trial} was withdrawn, its answer counts as not asked for")
    return [{**event, "id": None, "x": asked[trial]}] if "value" in event else []


def _withdraw(live: list[Event], notes: list[str]) -> None:
    """Take the latest reading or change out, and what came after it."""
    places = (k for k in reversed(range(len(live))) if live[k]["event"] in WITHDRAWABLE)
    latest = next(places, None)
    if latest is None:
        notes.append("a reading was withdrawn where there was none")
    else:
        del live[latest:]


class Books(NamedTuple):
    """Where a run stands by its events alone."""

    asked: int = 0  # trials handed out
    pending: Trial | None = None  # the one that waits for its reading
    rows: int = 0  # readings and failures
    failures: int = 0  # in a row, up to now
    ended: Status | None = None  # from outside
    is_numbered: bool = True  # readings are timed by their number
    latest: float = 0.0  # time of the latest row
    maxfev: int | None = None  # the budget, as it was said last
    extended: int = 0  # the budget, as it was extended last
    changes: int = 0
    fixed: Mapping[str, float] = MappingProxyType({})  # since the search began
    dropped: int = 0  # trials given up for that

    def after(self, event: Event) -> Books:
        """The books with one more event, or an error if it cannot come next."""
        kind = event["event"]
        if kind == "ask":
            trial = Trial(event["id"], event["x"], _why(event))
            return self._replace(asked=self.asked + 1, pending=trial)
        if kind == "stop":
            return self._replace(ended=Status[event["status"]])
        if kind == "continue":
            return self._replace(ended=None, failures=0, maxfev=event["maxfev"])
        if kind in CHANGES:
            return self._after_change(event)
        return self if kind == "saved" else self._after_reading(event)

    def _after_change(self, event: Event) -> Books:
        is_dropped = self.pending is not None and self.pending.id in event.get(
            "drops", ()
        )
        return self._replace(
            changes=self.changes + 1,
            maxfev=event.get("maxfev", self.maxfev),
            extended=event.get("maxfev", self.extended),
            fixed=fixed_after(self.fixed, event),
            pending=None if is_dropped else self.pending,
            dropped=self.dropped + is_dropped,
        )

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
        return books._replace(maxfev=next(stated, maxfev))

    @property
    def answered(self) -> int:
        """Trials that have their reading, or have failed."""
        return self.asked - (self.pending is not None) - self.dropped

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


def _why(event: Event) -> Why | None:
    """What a trial is for, if its version kept it and this one knows it."""
    return Why.__members__.get(str(event.get("why")))
