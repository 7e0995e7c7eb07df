"""The search of a run: what its method makes of the events, one after the other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from . import waiting
from ._threads import Search
from .border import Allowed, Border, Question
from .changed_setup import held, is_seen, without
from .changes import AMENDMENTS, CHANGES, fixed_after
from .counting import READINGS, Event
from .frozen import replace
from .places import Places
from .rows import Row, amended, values_at
from .sent import Sent, Told
from .setup import Setup
from .state import NAMED, Flight, Observation, Proposal, Standing, Why
from .waiting import Out

Array = NDArray[np.float64]

_ATTEMPTS = 8  # at a further point that nobody is measuring yet
_REPEATS = (Why.START_AGAIN, Why.COMPARISON, Why.RECHECK)  # on purpose
_ON_THE_WAY = (Why.ON_THE_WAY, Why.SAFE)  # which the method does not ask for


class Course:
    """A search as far as the events have taken it; it only goes on, never back.

    Events and rows are in the user's variables, the search has its own: this is the
    border.
    """

    setup: Setup  # as it is now
    proposal: Proposal
    state: Standing
    _search: Search
    _places: Places  # those measured

    def __init__(self, setup: Setup) -> None:
        self._first = setup
        self._fixed: dict[str, float] = {}  # since then
        self._border = Border(Allowed(setup.space, setup.guard), setup.space)
        self._waiting: dict[int, Out] = {}
        self._trial: int | None = None  # in which the proposal went out
        self._next: Question | None = None  # where the proposal is, once it is asked
        self._heard: set[int] = set()  # rows of all readings that it is to learn of
        self._sent = Sent()  # to this search, in its variables
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
            self._ask(event)
        elif drops := event.get("drops"):
            self._waiting = waiting.without(self._waiting, drops)
        if kind in CHANGES and is_heard:
            self._change(event)

    # -- questions -------------------------------------------------------------------

    @property
    def question(self) -> Question:
        """Where to measure next, and what for."""
        own = self._question
        if not self._waiting:
            return own
        proposal = None if self._trial in self._waiting else self.proposal
        if self._border.alarms > 0 or (proposal is not None and not own.is_own):
            return own  # nothing else until somebody is there
        taken = tuple(out.z for out in self._waiting.values())
        for _ in range(_ATTEMPTS):
            further = self.setup.searcher.further(self.state, proposal, taken)
            if further is proposal:
                return own
            beside = self._border.further(further.x, further.why)
            is_repeat = further.why in _REPEATS
            if is_repeat or not waiting.is_taken(self._waiting, beside.place.x):
                break
            taken = (*taken, further.x)  # where it was set to is: look elsewhere
        return beside

    @property
    def is_held(self) -> bool:
        """Whether nothing is asked until a reading at the safe place is in."""
        alarms = self._border.alarms
        if alarms == 0:
            return False
        return waiting.going_back(self._waiting, self._border.allowed.safe.x) >= alarms

    @property
    def is_exhausted(self) -> bool:
        """Whether the knobs' steps allow nothing new; elsewhere they may."""
        return not self.setup.restarts and self._question.is_exhausted

    @property
    def _question(self) -> Question:
        if self._next is None:
            self._next = self._border.question(self.proposal.x, self.proposal.why)
        return self._next

    def _ask(self, event: Event) -> None:
        """A trial goes out."""
        x, (place, is_own, *_) = event["x"], self._question
        x0, is_further = self.setup.task.x0, event.get("beside") == "further"
        is_there = x is place.x or np.array_equal(x, place.x)
        z = place.z if is_there else self._z(x, event)
        is_there = is_there or waiting.is_same_place(z, place.z, x0)
        is_next = is_there and not is_further
        if not is_further:
            self._trial = event["id"] if is_next and is_own else None
        proposal = self.proposal
        if not (is_next and is_own):
            why = NAMED.get(str(event.get("why")), Why.STEP)
            is_own = not is_next and why not in _ON_THE_WAY
            proposal = Proposal(z, why)
        flight, is_back = Flight(proposal, self.state), self._border.alarms > 0
        out = Out(event["id"], x, z, is_own, flight, is_back=is_back)
        self._waiting[out.id] = out
        if len(self._waiting) > 1:
            self._waiting = waiting.in_company(self._waiting)
        self._border, self._next = self._border.asked(x), None

    def _z(self, x: Array, event: Event) -> Array:
        """z of a trial; of one beside others that of its place, if that is known."""
        known = self._places.z(x) if "beside" in event else None
        return self.setup.space.to_search(x) if known is None else known

    def _recognise(self) -> None:
        """See whether the proposal is what a trial beside others measures already."""
        if any(out.has_company for out in self._waiting.values()):
            place, is_own, *_ = self._question
            out = waiting.at(self._waiting, place.x) if is_own else None
            if out is not None:
                self._trial = out.id
                self._waiting[out.id] = out._replace(z=place.z)

    # -- readings --------------------------------------------------------------------

    def _read(self, event: Event, *, is_heard: bool) -> None:
        at = None if event["id"] is None else self._waiting[event["id"]]
        answers = at is not None and (
            at.id == self._trial or waiting.is_beside(self._waiting, at, self._trial)
        )
        if at is not None:
            del self._waiting[at.id]
        sigma = event.get("sigma")
        seen = Observation(
            x=event["x"] if at is None else at.x,
            t=event["t"],
            value=event.get("value", math.nan),
            sigma=math.nan if sigma is None else sigma,
            trial=event["id"],
            answers=answers,
        )
        row = len(self.rows)
        is_sent = is_heard and self._hear(seen, at, row)
        accepted = is_sent and self.state.accepted
        self.rows.append(Row(seen, accepted, self._centre(), self.state.gauges))
        if not seen.failed:
            if is_heard:
                self._heard.add(row)
            if self.setup.guard is not None:
                is_one_more = at is not None and at.has_company and not at.is_back
                border = self._border.read(seen.x, seen.value, is_one_more=is_one_more)
                self._move_border(border, is_heard=is_heard)

    def _hear(self, seen: Observation, at: Out | None, row: int) -> bool:
        """Let the method know of a row of the history, if it is one for it.

        On the way to a place, or at the safe one, it is one that the method did not
        ask for. A failure on the way says that there is no way; one at the safe place
        is none of the method's.
        """
        if at is not None and not at.is_own:
            if seen.failed and at.is_back:
                return False
            seen = replace(seen, trial=None)
        first, now, space = self._first, self.setup, self.setup.space
        if space is not first.space and not is_seen(first, now, seen.x):
            return False
        # The z of a trial, not of its x: a place that is measured again is the same
        # one, bit by bit.
        z = space.to_search(seen.x) if at is None else at.z
        self._places.add(z, seen.x)
        value = space.value_to_search(seen.value)
        flight = at.flight if at is not None and at.has_company else None
        self._send(replace(seen, x=z, value=value, flight=flight), row)
        return True

    def _centre(self) -> Array:
        """The centre in the user's variables: the point measured, if it is one."""
        z = self.state.centre_point
        x = self._places.x(z)
        # A copy: a row of the table would keep that whole table alive.
        return self.setup.space.unrounded(z) if x is None else x.copy()

    def _send(self, observation: Observation | None, row: int | None = None) -> None:
        self._sent.add(Told(observation, row, self.proposal.x))
        proposal, self.state = self._search.send(observation)
        if proposal is not self.proposal:
            self.proposal, self._trial, self._next = proposal, None, None
            if self._waiting:
                self._recognise()

    # -- changes ---------------------------------------------------------------------

    def _change(self, event: Event) -> None:
        """Go on as the user has come to want it."""
        if event["event"] == "set":
            task = replace(self.setup.task, noise=event["noise"])
            setup = replace(self.setup, task=task)
            if not self._continue(setup):
                self._repeat(setup)
        elif event["event"] in AMENDMENTS:
            self._amend(event["row"], event.get("value", math.nan))
        elif event["event"] in ("fix", "free"):
            self._fix(fixed_after(self._fixed, event))

    def _fix(self, fixed: dict[str, float]) -> None:
        """Keep the model, if the method can; else it is a search of the others only."""
        self._fixed = fixed
        centre = self._centre()
        setup = held(self._first, self.setup, self._fixed)
        if setup is None or not self._continue(setup):
            self._begin_anew(without(self._first, self._fixed, centre))

    def _amend(self, row: int, value: float) -> None:
        """With another value in a row of the history; NaN: it is withdrawn."""
        self.rows[row] = amended(self.rows[row], value)
        if row not in self._heard:
            return
        if self.rows[row].seen.failed:
            self._heard.remove(row)
        value = self.setup.space.value_to_search(value)
        self._sent.amend(row, value)
        x = self.rows[row].seen.x
        is_latest = all(later.seen.failed for later in self.rows[row + 1 :])
        there = values_at(self.rows, x)
        border = self._border.amended(x, there, is_there=is_latest)
        self._move_border(border, is_heard=True)
        if (place := self._sent.place_of(row)) is not None:
            setup, border = self._bordered(self.setup)
            search = setup.searcher.amended(setup.task, self.state, place, value)
            if not self._go_on(setup, border, search):
                self._repeat(setup)

    def _move_border(self, border: Border, *, is_heard: bool) -> None:
        """Within what a reading beyond the limit has left, or a better one has given
        back; without a model, from the safe place on.
        """
        is_other = border.allowed is not self._border.allowed
        self._border, self._next = border, None
        if is_heard and is_other and not self._continue(self.setup):
            task = replace(self.setup.task, x0=self._border.allowed.safe.z)
            self._begin_anew(replace(self.setup, task=task))

    def _continue(self, setup: Setup) -> bool:
        """Go on from where the search is, if its method can."""
        setup, border = self._bordered(setup)
        search = setup.searcher.continued(setup.task, self.state)
        return self._go_on(setup, border, search)

    def _go_on(self, setup: Setup, border: Border, search: Search | None) -> bool:
        """Go on with this search, if there is one."""
        if search is None:
            return False
        self._border = border
        self._start(setup, search)
        self._recognise()
        return True

    def _repeat(self, setup: Setup) -> None:
        """Begin again, and send all that was sent, as it is known by now.

        Where the search has come to ask for something else, a reading is no answer.
        """
        sent, places = self._sent.as_amended(), self._places
        self._begin(setup)
        self._places = places
        for seen, row, wanted in sent:
            if seen is not None and seen.answers:
                is_it = waiting.is_same_place(wanted, self.proposal.x, setup.task.x0)
                seen = replace(seen, answers=is_it)
            self._send(seen, row)

    def _begin_anew(self, setup: Setup) -> None:
        """Begin again, in other variables; what was read is known from the start."""
        setup, self._border = self._bordered(setup)
        self._begin(setup)
        for row in sorted(self._heard):
            seen = replace(self.rows[row].seen, trial=None, answers=False)
            self._hear(seen, None, row)
        self._waiting = {
            key: out.anew(setup.space.to_search(out.x))
            for key, out in self._waiting.items()
        }

    def _bordered(self, setup: Setup) -> tuple[Setup, Border]:
        """The setup within all that is not allowed any more."""
        border = self._border.within(setup.space)
        task = replace(setup.task, area=border.allowed.area)
        return replace(setup, task=task), border

    def _begin(self, setup: Setup) -> None:
        z0 = setup.task.x0
        self._places = Places()
        self._places.add(z0, setup.space.to_user(z0))
        self._sent = Sent()
        self._start(setup, setup.searcher.begin(setup.task))

    def _start(self, setup: Setup, search: Search) -> None:
        self.setup, self._search = setup, search
        self.proposal, self.state = next(search)
        self._trial = self._next = None
