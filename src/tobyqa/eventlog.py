"""The log of a run: what was said before it, what happened, what this has led to.

All that is known of a run follows from its header and its events, so replaying them
restores it bit by bit: that is how saved runs, journals, copies and `undo` work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .books import (
    READINGS,
    Books,
    Event,
    Row,
    Trial,
    budget,
    checked_events,
    counting,
)
from .journal import Journal, StrPath
from .result import Status
from .setup import Clock, Setup, stored_setup
from .state import Observation

Array = NDArray[np.float64]
_log = logging.getLogger(__name__)

_ROUNDING = 1e-6  # of the distance from x0, by which a replay may differ elsewhere


class EventLog:
    """A run: what was said, what happened, and the search that this has led to.

    It grows by `record` and by nothing else. A copy is rebuilt from header and events,
    in memory: it never has the journal of the original.
    """

    def __init__(self, setup: Setup, events: Iterable[Event] = ()) -> None:
        self.setup = setup
        self.events = list(events)  # all that happened, withdrawn or not
        self.journal: Journal | None = None
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
            return EventLog(setup, checked_events(events, setup.task.x0.size))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"this is no run that can be replayed: {type(error).__name__} {error}"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        header, clock = self.setup.header(), self.setup.clock
        return EventLog.stored, (header, self.events, clock)

    @property
    def status(self) -> Status:
        """Why the search has ended, or ``Status.RUNNING``."""
        books = self.books
        if books.ended is not None:
            return books.ended
        if books.failures >= self.setup.max_failures:
            return Status.FAILURES
        if self.state.status is not Status.RUNNING:
            return self.state.status
        if self.maxfev is not None and books.answered >= self.maxfev:
            return Status.MAXFEV
        return Status.RUNNING

    @property
    def message(self) -> str:
        """The status in a sentence, with the last reason if measurements failed."""
        if self.status is Status.FAILURES:
            return f"{self.status.message} The last one: {self.reasons[-1] or '?'}"
        return self.status.message

    @property
    def reasons(self) -> list[str]:
        """Why measurements failed, one text per row of the history, mostly empty."""
        rows = (event for event in self.live if event["event"] in READINGS)
        return [event.get("reason", "") for event in rows]

    # -- how it grows ----------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Put an event on the disk, then let it count."""
        if self.journal is not None:
            self.journal.append(event)
        self.events.append(event)
        try:
            self._apply(event)
        except Exception:
            # What a method cannot take in must not keep the run from being replayed.
            if event["event"] in READINGS:
                self.record({"event": "undo"})
            raise

    def ask(self) -> Trial:
        """The trial that waits, or else the proposal as a new one."""
        if self.books.pending is None:
            x = self.proposal.x
            x.flags.writeable = False
            self.record({"event": "ask", "id": self.books.asked, "x": x})
        assert self.books.pending is not None
        return self.books.pending

    def stop(self, status: Status) -> None:
        """End the search from outside."""
        if status not in (Status.STOPPED, Status.CALLBACK):
            raise ValueError(
                f"status must be Status.STOPPED or Status.CALLBACK, but is {status!r}"
            )
        self.record({"event": "stop", "status": status.name})

    def undo(self) -> None:
        """Withdraw the latest reading or failure, or raise ValueError."""
        event = {"event": "undo"}
        counting([*self.events, event])
        self.record(event)

    def begin_journal(self, path: StrPath | None) -> None:
        """From now on events go into a new file as well; None: there is none."""
        if path is not None:
            self.journal = Journal(path, self.setup.header())

    def catch_up(self) -> None:
        """Let count what was recorded when the method was interrupted."""
        if self._applied < len(self.events):
            self._replay()

    def _replay(self) -> None:
        """From the beginning: the only way back, since a search only goes on."""
        self._search = self.setup.searcher.begin(self.setup.task)
        self.proposal, self.state = next(self._search)
        self._trial: int | None = None  # in which that proposal went out
        self.books = Books()
        self.rows: list[Row] = []
        self.live: list[Event] = []  # the events that have not been withdrawn
        self._applied = 0
        for event in counting(self.events):
            self._apply(event)
        self.maxfev = budget(self.events, self.setup.maxfev)
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
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be what ask() returned, but is {trial!r}")
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


def _is_same_place(x: Array, y: Array, x0: Array) -> bool:
    """Whether a trial in the log is what the method proposes now.

    On another machine a replay differs by rounding. Another version of the method may
    propose something else altogether, which the trial's reading is no answer to.
    """
    if x is y or np.array_equal(x, y):
        return True
    return bool(np.abs(x - y).max() <= _ROUNDING * np.abs(x - x0).max())
