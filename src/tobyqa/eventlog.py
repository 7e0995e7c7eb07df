"""The log of a run: what was said before it, what happened, what this has led to.

All that is known of a run follows from its header and its events, so replaying them
restores it bit by bit: that is how saved runs, journals, copies and `undo` work.
"""

from __future__ import annotations

import functools
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import _check
from .books import Books, Trial, checked_events
from .counting import WITHDRAWABLE, Event, counting
from .course import Course
from .journal import Journal, StrPath
from .replay import replayed
from .result import Status
from .setup import Clock, Setup, stored_setup

_log = logging.getLogger(__name__)


class EventLog:
    """A run: what was said, what happened, and the search that this has led to.

    It grows by `record` and by nothing else. `events`, `books` and `course` first make
    up for what an interrupt or an error has left undone: an event has happened once it
    is on the disk (without a journal: in the list), wherever the call that recorded it
    was cut short. A search that was interrupted is begun anew; it cannot go back.

    A copy is rebuilt in memory: it never has the journal of the original.
    """

    def __init__(self, setup: Setup, events: Iterable[Event] = ()) -> None:
        self.setup = setup
        self.journal: Journal | None = None
        self._events = list(events)
        self._offered: Event = {}  # the latest that was to be written
        self._counted = len(self._events), Books.of(self._events, setup.maxfev)
        # Nothing yet to replay: what a method objects to is said at once.
        self._course = None if self._events else Course(setup)

    @staticmethod
    def stored(
        header: Mapping[str, Any], events: Iterable[Event], clock: Clock | None
    ) -> EventLog:
        """The run of these records; its search is replayed when it is needed.

        Raises
        ------
        ValueError, TypeError
            If they are not those of a run; RecordError if it is one after the header.
        """
        setup = stored_setup(header, clock)
        return EventLog(setup, checked_events(events, setup.x0.size))

    def __reduce__(self) -> tuple[Any, ...]:
        header, clock = self.setup.header(), self.setup.clock
        return EventLog.stored, (header, self.events, clock)

    # -- what is known ---------------------------------------------------------------

    @property
    def events(self) -> Sequence[Event]:
        """All that happened, withdrawn or not."""
        if self.journal is not None:
            self._settle()
        return self._events

    def _settle(self) -> None:
        """Take up the event that was written by a call which was then interrupted."""
        if self.journal is not None and self.journal.events > len(self._events):
            self._events.append(self._offered)

    @property
    def books(self) -> Books:
        """What the events add up to without the method."""
        events = self.events
        count, books = self._counted
        if count < len(events):
            latest = events[count:]
            if "undo" in [event["event"] for event in latest]:
                books = Books.of(events, self.setup.maxfev)
            else:
                books = functools.reduce(Books.after, latest, books)
            self._counted = len(events), books
        return books

    @property
    def course(self) -> Course:
        """The search that the events have led to."""
        course = self._course
        if course is not None and course.taken == len(self.events):
            return course
        return self._caught_up()

    def _caught_up(self) -> Course:
        try:
            if (course := self._advanced()) is not None:
                return course
        except MemoryError:
            raise
        except Exception:
            # The call that recorded the event was interrupted before it could withdraw
            # what the method cannot take in: the replay leaves it out.
            _log.debug("the search is begun anew", exc_info=True)
        course = replayed(self.setup, counting(self.events))
        course.taken = len(self.events)
        self._course = course
        return course

    def _advanced(self) -> Course | None:
        """The search after the latest events, or None if only a replay leads there."""
        course, events = self._course, self.events
        if course is None or course.taken == len(events):
            return course
        # From here to the end nobody else has it: an interrupt leaves it half-way.
        self._course = None
        for event in events[course.taken :]:
            if event["event"] == "undo":
                return None
            course.take(event)
        course.taken = len(events)
        self._course = course
        return course

    def close(self) -> None:
        """Release the journal, if there is one."""
        self._settle()
        if self.journal is not None:
            self.journal.close()

    @property
    def status(self) -> Status:
        """Why the search has ended, or ``Status.RUNNING``."""
        books = self.books
        if books.ended is not None:
            return books.ended
        if books.failures >= self.setup.max_failures:
            return Status.FAILURES
        course = self.course
        if (status := course.state.status) is not Status.RUNNING:
            return status
        if books.maxfev is not None and books.answered >= books.maxfev:
            return Status.MAXFEV
        if not books.pending and course.is_exhausted:
            return Status.EXHAUSTED
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
        return self.books.reasons

    # -- how it grows ----------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Put an event on the disk, then let it count.

        A reading or change that the method cannot take in is withdrawn at once, by a
        further event, and the method's error raised.
        """
        if event["event"] not in WITHDRAWABLE:
            self._put(event)
            return
        self._caught_up()
        self._put(event)
        try:
            self._advanced()
        except Exception:
            self._put({"event": "undo"})
            raise

    def _put(self, event: Event) -> None:
        """From here on the event has happened, or an error says why not."""
        self._settle()
        self._offered = {**event, "at": time.time()}
        if self.journal is None:
            self._events.append(self._offered)
            return
        if what := self.journal.lost():
            self._move(self.journal, what)
        self.journal.append(self._offered)

    def _move(self, journal: Journal, what: str) -> None:
        """Go on in a new file, since the old one is not what it was."""
        header = self.setup.header()
        self.journal = journal.successor(what, header, self._events)
        _log.warning(
            "%s %s while its run was going on; all is in %s now and goes on there",
            journal.path,
            what,
            self.journal.path,
        )
        journal.close()

    def ask(self, k: int) -> tuple[Trial, ...]:
        """The first `k` trials that wait, new ones among them if the budget allows.

        The first of new ones is the proposal, unless that waits.
        """
        while (
            len((books := self.books).pending) < k
            and books.has_room
            and not (course := self.course).is_held
        ):
            question = course.question
            question.place.x.flags.writeable = False
            beside = "own" if question.is_proposal else "further"
            self.record(
                {
                    "event": "ask",
                    "id": books.next_id,
                    "x": question.place.x,
                    "why": question.why.name,
                    **({"beside": beside} if books.pending else {}),
                }
            )
        return books.pending[:k]

    def begin_journal(self, path: StrPath | None) -> None:
        """From now on events go into a new file as well; None: there is none."""
        if path is not None:
            self.journal = Journal(path, self.setup.header())

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
        """The first trial that waits at this point, if one does."""
        n = self.setup.x0.size
        x = _check.point("x", x, n, largest=math.inf)
        for trial in self.books.pending:
            if np.array_equal(x, trial.x):
                return trial
        return Trial(None, _check.point("x", x, n))

    def _time(self, t: float | None) -> float:
        """When a reading was taken: as stated, by the clock, or its number."""
        if t is not None:
            return _check.time("t", t)
        if self.setup.clock is not None:
            return _check.time("clock()", self.setup.clock())
        books = self.books
        if not books.is_numbered:
            raise ValueError(
                "t is needed: earlier readings had times of their own, and there is no "
                "clock"
            )
        return float(books.rows)


class Run(Protocol):
    """Whatever has a log of events."""

    _log: EventLog
