"""The log of a run: what was said before it, its events, and what they add up to.

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

All that is known of a run follows from its header and these, so replaying them
restores it bit by bit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .books import READINGS, Books, Event, Row, Trial
from .journal import Journal, StrPath, differences, read
from .setup import (
    Clock,
    Setup,
    checked_clock,
    in_present_terms,
    stored_clock,
    stored_setup,
)
from .state import Observation

Array = NDArray[np.float64]
_log = logging.getLogger(__name__)

_ROUNDING = 1e-6  # of the distance from x0, by which a replay may differ elsewhere


class EventLog:
    """A run: what was said, what happened, and the search that this has led to.

    It grows by `record` and by nothing else. A copy is rebuilt from header and events,
    in memory: it never has the journal of the original.
    """

    def __init__(
        self,
        setup: Setup,
        events: Iterable[Event] = (),
        journal: Journal | None = None,
    ) -> None:
        self.setup = setup
        self.events = list(events)
        self.journal = journal
        self._replay()

    @staticmethod
    def stored(
        header: Mapping[str, Any], events: Iterable[Event], clock: Clock | None
    ) -> EventLog:
        """The run of a file.

        Raises
        ------
        ValueError
            If the records are not those of a run.
        """
        try:
            setup = stored_setup(header, clock)
            return EventLog(setup, _checked_events(events, setup.task.x0.size))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"this is no run that can be replayed: {type(error).__name__} {error}"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        header, clock = self.setup.header(), self.setup.clock
        return EventLog.stored, (header, self.events, clock)

    # -- how it grows ----------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Put an event on the disk, then let it count."""
        if self.journal is not None:
            self.journal.append(event)
        self.events.append(event)
        try:
            self._apply(event)
        except Exception:
            # A reading that the method cannot take in must not spoil the run.
            if event["event"] in READINGS:
                self.record({"event": "undo"})
            raise

    def catch_up(self) -> None:
        """Let count what was recorded when the method was interrupted."""
        if self._applied < len(self.events):
            self._replay()

    def _replay(self) -> None:
        """From the beginning: the only way back, since a search only goes on."""
        self._search = self.setup.method.begin(self.setup.task)
        self.proposal, self.state = next(self._search)
        self._trial: int | None = None  # in which that proposal went out
        self.books = Books()
        self.rows: list[Row] = []
        self.live: list[Event] = []  # the events that have not been withdrawn
        self._applied = 0
        for event in counting(self.events):
            self._apply(event)
        self.maxfev = _budget(self.events, self.setup.maxfev)
        self._applied = len(self.events)

    def _apply(self, event: Event) -> None:
        """An event, new or replayed: the only place where anything changes."""
        kind = event["event"]
        if kind == "undo":
            self._replay()
            return
        books = self.books.after(event)
        if kind in READINGS:
            answers = event["id"] is not None and event["id"] == self._trial
            seen = self.books.observation(event, answers)
            self._send(seen)
            # A copy: a row of the table would keep that whole table alive.
            centre = self.state.centre_point.copy()
            self.rows.append(Row(seen, self.state.accepted, centre, self.state.gauges))
        elif kind == "continue":
            self._send(None)
            self.maxfev = event["maxfev"]
        elif kind == "ask":
            x, x0 = event["x"], self.setup.task.x0
            is_proposal = _is_same_place(x, self.proposal.x, x0)
            self._trial = event["id"] if is_proposal else None
        self.books = books
        self.live.append(event)
        self._applied += 1

    def _send(self, observation: Observation | None) -> None:
        proposal, self.state = self._search.send(observation)
        if proposal is not self.proposal:
            self.proposal, self._trial = proposal, None

    # -- what can come next ----------------------------------------------------------

    def reading(
        self, trial: Trial | Any, value: Any, t: float | None, sigma: float | None
    ) -> Event:
        """A reading as an event; one that cannot be used is a failure of its trial."""
        clean = _check.number("value", value)
        sigma = None if sigma is None else _check.non_negative("sigma", sigma)
        if not isinstance(trial, Trial) or trial.id is None:
            trial = self._trial_at(trial.x if isinstance(trial, Trial) else trial)
        if trial.id is None:
            _check.reading("value", clean)
        else:
            self.books.check_waiting(trial)
            if not abs(clean) <= _check.LARGEST_READING:
                return self.failure(trial, f"the reading is {clean}", t)
        return {
            "event": "tell",
            "id": trial.id,
            "x": None if trial.id is not None else trial.x,
            "t": self._time(t),
            "value": clean,
            "sigma": sigma,
        }

    def failure(self, trial: Trial, reason: str, t: float | None) -> Event:
        """A failed measurement as an event; it needs no time, no model ever sees it."""
        self.books.check_waiting(trial)
        _log.info("trial %s failed: %s", trial.id, reason)
        when = self.books.default_time() if t is None else _check.time("t", t)
        return {"event": "fail", "id": trial.id, "t": when, "reason": str(reason)}

    def _trial_at(self, x: Any) -> Trial:
        """The trial that waits, if it is at this point."""
        x = _check.point("x", x, self.setup.task.x0.size)
        pending = self.books.pending
        if pending is not None and np.array_equal(x, pending.x):
            return pending
        return Trial(None, x)

    def _time(self, t: float | None) -> float:
        """When a reading was taken: as stated, by the clock, or its number."""
        if t is not None:
            return _check.time("t", t)
        if self.setup.clock is not None:
            return _check.time("clock()", self.setup.clock())
        if not self.books.is_numbered:
            raise ValueError(
                "t is needed: earlier readings had times of their own, and there is no "
                "clock"
            )
        return self.books.default_time()


# -- files ---------------------------------------------------------------------------


def loaded(path: StrPath, clock: Clock | None) -> EventLog:
    """The run in a file, in memory."""
    log = read(path)
    return EventLog.stored(log.header, log.events, _clock(log.header, clock))


def resumed(path: StrPath, clock: Clock | None, maxfev: int | None) -> EventLog:
    """The run in a journal, which goes on there."""
    journal = Journal(path)
    try:
        file = journal.log
        log = EventLog.stored(file.header, file.events, _clock(file.header, clock))
    except BaseException:
        journal.close()
        raise
    log.journal = journal
    if file.torn:
        _log.warning("%s: dropped a torn last record", os.fspath(path))
    budget_is_new = maxfev is not None and maxfev != log.maxfev
    ended_by_failures = log.books.failures >= log.setup.max_failures
    if log.books.ended is not None or ended_by_failures or budget_is_new:
        log.record({"event": "continue", "maxfev": maxfev or log.maxfev})
    return log


def check_same_problem(path: StrPath, setup: Setup, *, seed_is_given: bool) -> None:
    """An error that says what differs, if the file holds a run of another problem."""
    header = setup.header()
    if not seed_is_given:
        del header["seed"]  # drawn anew each time; the file's own counts
    if differing := differences(in_present_terms(read(path).header), header):
        raise ValueError(
            f"{os.fspath(path)} holds a run of another problem: {'; '.join(differing)}"
        )


def _clock(header: Mapping[str, Any], clock: Clock | None) -> Clock | None:
    return stored_clock(header) if clock is None else checked_clock(clock)


# -- events --------------------------------------------------------------------------


def _checked_events(events: Iterable[Event], n: int) -> list[Event]:
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


def _budget(events: Sequence[Event], at_first: int | None) -> int | None:
    """The latest budget; the one event whose effect is never withdrawn."""
    stated = (e["maxfev"] for e in reversed(events) if e["event"] == "continue")
    return next(stated, at_first)


def _is_same_place(x: Array, y: Array, x0: Array) -> bool:
    """Whether a trial in the log is what the method proposes now.

    On another machine a replay differs by rounding. Another version of the method may
    propose something else altogether, which the trial's reading is no answer to.
    """
    if x is y or np.array_equal(x, y):
        return True
    return bool(np.abs(x - y).max() <= _ROUNDING * np.abs(x - x0).max())
