"""The search of a run: what its method makes of the events, one after the other."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._threads import Search
from .books import READINGS, Event
from .border import Allowed, Border, Question
from .changed_setup import held, is_seen, without
from .changes import CHANGES, fixed_after
from .rows import Row, observation
from .setpoints import Place
from .setup import Setup
from .state import Observation, Proposal, Standing, Why

Array = NDArray[np.float64]
_log = logging.getLogger(__name__)

_ROUNDING = 1e-6  # of the distance from x0, by which a replay may differ elsewhere
_PAUSE = 1.0  # seconds between two words about a long replay


class _Asked(NamedTuple):
    """The point of a trial, and whether the method counts it among its own."""

    x: Array
    z: Array
    is_own: bool


class Course:
    """A search as far as the events have taken it; it only goes on, never back.

    Events and rows are in the user's variables, the search has its own: this is the
    border.
    """

    setup: Setup  # as it is now
    proposal: Proposal
    state: Standing
    _search: Search
    _points: dict[bytes, Array]  # those measured, by their z

    def __init__(self, setup: Setup) -> None:
        self._first = setup
        self._fixed: dict[str, float] = {}  # since then
        self._border = Border(Allowed(setup.space, setup.guard), setup.space)
        self._asked: _Asked | None = None  # the latest trial
        self._trial: int | None = None  # in which the proposal went out
        self._next: Question | None = None  # where the proposal is, once it is asked
        self._heard: list[Observation] = []  # all readings that it is to learn of
        self._sent: list[Observation | None] = []  # to this search, in its variables
        self.rows: list[Row] = []
        self.taken = 0  # events of the log that it has come through, withdrawn or not
        self._begin(setup)

    def take(self, event: Event, *, is_heard: bool = True) -> None:
        """Go on by an event; the method learns of it if it `is_heard`."""
        kind = event["event"]
        if kind in READINGS:
            self._read(event, is_heard=is_heard)
        elif kind == "continue" and is_heard:
            self._send(None)
        elif kind == "ask":
            x, (place, is_own, *_) = event["x"], self._question
            is_exact = np.array_equal(x, place.x)
            z = place.z if is_exact else self.setup.space.to_search(x)
            is_next = _is_same_place(z, place.z, self.setup.task.x0)
            self._trial = event["id"] if is_next and is_own else None
            self._asked = _Asked(x, z, is_own or not is_next)
            self._border, self._next = self._border.asked(x), None
        elif kind in CHANGES and is_heard:
            self._change(event)

    @property
    def place(self) -> Place:
        """Where to measure next."""
        return self._question.place

    @property
    def why(self) -> Why:
        """What for."""
        return self._question.why or self.proposal.why

    @property
    def is_exhausted(self) -> bool:
        """Whether the knobs' steps allow nothing new; elsewhere they may."""
        return not self.setup.restarts and self._question.is_exhausted

    @property
    def _question(self) -> Question:
        if self._next is None:
            self._next = self._border.question(self.proposal.x, self.proposal.why)
        return self._next

    # -- readings --------------------------------------------------------------------

    def _read(self, event: Event, *, is_heard: bool) -> None:
        answers = event["id"] is not None and event["id"] == self._trial
        at = None if event["id"] is None else self._asked
        seen = observation(event, None if at is None else at.x, answers)
        is_sent = is_heard and self._hear(seen, at)
        accepted = is_sent and self.state.accepted
        self.rows.append(Row(seen, accepted, self._centre(), self.state.gauges))
        if not seen.failed:
            self._heard += [seen] * is_heard
            allowed = self._border.allowed
            self._border, self._next = self._border.read(seen.x, seen.value), None
            if is_heard and self._border.allowed is not allowed:
                self._narrow()

    def _hear(self, seen: Observation, at: _Asked | None) -> bool:
        """Let the method know of a reading, if it is one for it.

        On the way to a place, or at the safe one, it is one that the method did not
        ask for. A failure on the way says that there is no way; one at the safe place
        is none of the method's.
        """
        if at is not None and not at.is_own:
            if seen.failed and self._border.is_alarmed:
                return False
            seen = replace(seen, trial=None)
        if not is_seen(self._first, self.setup, seen.x):
            return False
        # The z of a trial, not of its x: a place that is measured again is the same
        # one, bit by bit.
        z = self.setup.space.to_search(seen.x) if at is None else at.z
        self._points[z.tobytes()] = seen.x
        value = self.setup.space.value_to_search(seen.value)
        self._send(replace(seen, x=z, value=value))
        return True

    def _centre(self) -> Array:
        """The centre in the user's variables: the point measured, if it is one."""
        z = self.state.centre_point
        x = self._points.get(z.tobytes())
        # A copy: a row of the table would keep that whole table alive.
        return self.setup.space.unrounded(z) if x is None else x.copy()

    def _send(self, observation: Observation | None) -> None:
        self._sent.append(observation)
        proposal, self.state = self._search.send(observation)
        if proposal is not self.proposal:
            self.proposal, self._trial, self._next = proposal, None, None

    # -- changes ---------------------------------------------------------------------

    def _change(self, event: Event) -> None:
        """Go on as the user has come to want it."""
        if event["event"] == "set":
            setup, sent, points = self.setup, self._sent, self._points
            setup = replace(setup, task=replace(setup.task, noise=event["noise"]))
            if not self._continue(setup):
                self._begin(setup)
                self._points = points
                for observation in sent:
                    self._send(observation)
        elif event["event"] in ("fix", "free"):
            self._fixed = fixed_after(self._fixed, event)
            self._fix()

    def _fix(self) -> None:
        """Keep the model, if the method can; else it is a search of the others only."""
        centre = self._centre()
        setup = held(self._first, self.setup, self._fixed)
        if setup is None or not self._continue(setup):
            self._begin_anew(without(self._first, self._fixed, centre))

    def _narrow(self) -> None:
        """Within what a reading beyond the limit has left; without a model, from the
        safe place on.
        """
        if not self._continue(self.setup):
            task = replace(self.setup.task, x0=self._border.allowed.safe.z)
            self._begin_anew(replace(self.setup, task=task))

    def _continue(self, setup: Setup) -> bool:
        """Go on from where the search is, if its method can."""
        setup, border = self._bordered(setup)
        search = setup.searcher.continued(setup.task, self.state)
        if search is not None:
            self._border = border
            self._start(setup, search)
        return search is not None

    def _begin_anew(self, setup: Setup) -> None:
        """Begin again, in other variables; what was read is known from the start."""
        setup, self._border = self._bordered(setup)
        self._begin(setup)
        for seen in self._heard:
            self._hear(replace(seen, trial=None, answers=False), None)
        if self._asked is not None:  # it may still wait for its reading
            z = setup.space.to_search(self._asked.x)
            self._asked = self._asked._replace(z=z)

    def _bordered(self, setup: Setup) -> tuple[Setup, Border]:
        """The setup within all that is not allowed any more."""
        border = self._border.within(setup.space)
        return replace(
            setup, task=replace(setup.task, area=border.allowed.area)
        ), border

    def _begin(self, setup: Setup) -> None:
        z0 = setup.task.x0
        self._points = {z0.tobytes(): setup.space.to_user(z0)}
        self._sent = []
        self._start(setup, setup.searcher.begin(setup.task))

    def _start(self, setup: Setup, search: Search) -> None:
        self.setup, self._search = setup, search
        self.proposal, self.state = next(search)
        self._trial = self._next = None


def replayed(setup: Setup, live: Sequence[Event]) -> Course:
    """The search after all these events, from its beginning.

    What its method cannot take in, it is not told: the reading stays in the history,
    and a warning says so. Where that happens follows from the events, so every replay
    makes the same of them.
    """
    unheard: set[int] = set()
    while True:
        course, place = Course(setup), 0
        words = _Words(len(live))
        try:
            for place, event in enumerate(live):
                course.take(event, is_heard=place not in unheard)
                words.say(place)
        except MemoryError:
            raise
        except Exception as error:
            if place in unheard:
                raise
            unheard.add(place)
            event = live[place]
            _log.warning(
                "the method cannot take in %s, which is left out: %s: %s",
                f"the change {event['event']!r}"
                if event["event"] in CHANGES
                else f"the reading of trial {event.get('id')}",
                type(error).__name__,
                error,
            )
        else:
            return course


class _Words:
    """What is said of a replay that takes long."""

    def __init__(self, total: int) -> None:
        self._total, self._last = total, time.monotonic()

    def say(self, place: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            _log.info("reopening the run: %d of %d events", place + 1, self._total)


def _is_same_place(x: Array, y: Array, x0: Array) -> bool:
    """Whether a trial in the log is what the method proposes now.

    On another machine a replay differs by rounding. Another version of the method may
    propose something else altogether, which the trial's reading is no answer to.
    """
    if x is y or np.array_equal(x, y):
        return True
    return bool(np.abs(x - y).max() <= _ROUNDING * np.abs(x - x0).max())
