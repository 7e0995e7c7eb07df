"""Another search from elsewhere, once one gains nothing more: around any method.

A function may have several minima, and readings that are left over teach nothing more
about the one that was found. So another search begins at a random place, with readings
of its own. When that one gains nothing either, the two places are compared by readings
(there, here, there again, so that a steady drift cancels), and the search goes on at
the lower one. Now and then the best place is measured on the way: without that nothing
would tell a drift from a fall. Only with a budget: without one a search ends instead.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..result import Status
from ..state import Estimate, Gauges, Method, Observation, Proposal, Task, Why

Array = NDArray[np.float64]
Asking = Generator[tuple[Proposal, "Restarted"], "Observation | None", Any]

_ROUNDS_AT_HOME = 2  # without a gain, before anyone leaves
_ROUNDS_AWAY = 1
_GAIN = 1.0  # noise levels in a round; less is none
_AWAY = 1.0, 2.0  # first radii, along each coordinate
_MOST_FAILURES = 3  # in a row, elsewhere
_COMPARISONS = 3  # of two places, until one is surely lower
_SURELY = 3.0  # standard errors


@dataclass(frozen=True)
class Restarted:
    """Where the search at home stands; it is not over as long as there are others."""

    home: Any
    accepted: bool = False
    status: Status = Status.RUNNING
    away: Any = None  # the search elsewhere, while that is the one that asks

    @property
    def asking(self) -> Any:
        """The state of the search that asks."""
        return self.home if self.away is None else self.away

    @property
    def iterations(self) -> int:
        return int(self.home.iterations)

    @property
    def centre_point(self) -> Array:
        return np.asarray(self.home.centre_point)

    @property
    def gauges(self) -> Gauges:
        gauges: Gauges = self.home.gauges
        return gauges


@dataclass(frozen=True)
class Restarts:
    """A method whose searches begin anew elsewhere."""

    method: Method

    RETIRED: ClassVar[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        return f"{self.method}, restarts"

    def needs(self, n: int) -> int:
        """As the method itself."""
        return self.method.needs(n)

    def begin(self, task: Task) -> Asking:
        """The search, and those from elsewhere, one after the other."""
        return _searches(_Search(self.method, task, self.method.begin(task)))

    def continued(self, task: Task, state: Restarted) -> Asking | None:
        """The search at the best place with another task; an excursion is over."""
        home = self.method.continued(task, state.home)
        return None if home is None else _searches(_Search(self.method, task, home))

    def amended(self, task: Task, state: Restarted, place: int, value: float) -> None:
        """No: which of the searches has learned of it is not known."""
        return None

    def further(
        self,
        state: Restarted,
        proposal: Proposal | None,
        waiting: tuple[Array, ...],
    ) -> Proposal:
        """As the search that asks would have it."""
        further = self.method.further(state.asking, proposal, waiting)
        if further is proposal or state.away is None:
            return further
        return Proposal(further.x, Why.ELSEWHERE)

    def estimate(self, state: Restarted, *, quick: bool = False) -> Estimate:
        """The answer of the search at the best place."""
        return self.method.estimate(state.home, quick=quick)


@dataclass
class _Search:
    """A search of the method, and how long it has gained nothing."""

    method: Method
    task: Task
    search: Generator[tuple[Proposal, Any], Observation | None, None]
    readings: int = 0
    idle: int = 0  # rounds without a gain
    x: Array | None = None  # the answer when the last round ended
    failures: int = 0  # in a row
    is_away: bool = False
    _own: Any = field(init=False, default=None)  # its proposal, as the method has it

    def __post_init__(self) -> None:
        self._take(*next(self.search))

    def _take(self, proposal: Proposal, state: Any) -> None:
        self.state = state
        if proposal is not self._own:
            self._own = proposal
            elsewhere = Proposal(proposal.x, Why.ELSEWHERE)
            self.proposal = elsewhere if self.is_away else proposal

    @property
    def round(self) -> int:
        """Readings between two looks at what was gained."""
        return self.task.x0.size + 20

    def send(self, observation: Observation | None) -> None:
        self._take(*self.search.send(self._own_flight(observation)))
        if observation is None:
            return
        self.failures = self.failures + 1 if observation.failed else 0
        self.readings += not observation.failed
        if observation.failed or self.readings % self.round:
            return
        now = self.method.estimate(self.state, quick=True)
        gains = self.x is None or _gain(now, self.x) > _GAIN * now.noise_std
        self.idle, self.x = 0 if gains else self.idle + 1, now.x

    def _own_flight(self, observation: Observation | None) -> Observation | None:
        """A reading as this search knows it: one that the other asked for is a guest's.

        Only of trials that were out beside others: a search that ends leaves them.
        """
        if observation is None or observation.flight is None:
            return observation
        flight = observation.flight
        then = flight.standing
        if isinstance(then, Restarted):
            if (then.away is not None) is not self.is_away:
                left = replace(flight, standing=None) if observation.failed else None
                return replace(observation, trial=None, answers=False, flight=left)
            then = then.asking
        return replace(observation, flight=replace(flight, standing=then))

    def overhear(self, observation: Observation) -> None:
        """A reading that this search did not ask for."""
        if not observation.failed:
            seen = replace(observation, trial=None, answers=False, flight=None)
            self.send(seen)

    def is_over(self, rounds: int) -> bool:
        """Whether it has gained nothing for so many rounds, or got lost or stuck."""
        is_stuck = self.failures >= _MOST_FAILURES
        is_ended = self.state.status is not Status.RUNNING
        return self.idle >= rounds or is_stuck or is_ended


def _gain(now: Estimate, before: Array) -> float:
    """How much higher the model is at an earlier answer; NaN if it cannot tell."""
    d = before - now.x
    return float(now.jac @ d + 0.5 * d @ now.hess @ d)


def _searches(home: _Search) -> Asking:
    method, task, readings = home.method, home.task, 0
    accepted = False
    while True:
        is_lost = home.state.status is Status.UNBOUNDED
        status = Status.UNBOUNDED if is_lost else Status.RUNNING
        observation = yield home.proposal, Restarted(home.state, accepted, status)
        home.send(observation)
        accepted = home.state.accepted
        readings += observation is not None
        if is_lost or not (task.has_budget and home.is_over(_ROUNDS_AT_HOME)):
            continue
        answer = method.estimate(home.state, quick=True)
        is_held = task.area is not None and task.area.is_flat
        if answer.drift_is_local or is_held:
            # Every new place would have a drift of its own; or a search that begins
            # there would learn nothing of the variables that stay.
            continue
        elsewhere = _elsewhere(task, answer, readings)
        away = _Search(method, elsewhere, method.begin(elsewhere), is_away=True)
        yield from _excursion(home, away, answer.x, until=readings)
        is_lower = yield from _compared(home, away, answer)
        readings += away.readings
        home = away if is_lower else home
        home.idle, home.is_away = 0, False


def _elsewhere(task: Task, answer: Estimate, readings: int) -> Task:
    """Another start: one or two first radii from the best place in each coordinate.

    On the average, so the distance grows with the root of their number.
    """
    rng = np.random.default_rng([task.seed, readings])
    radius = 2.0 if task.radius is None else task.radius
    away = radius * rng.uniform(*_AWAY) * rng.standard_normal(task.x0.size)
    noise = answer.noise_std if task.noise is None else task.noise
    x0 = answer.x + away
    return replace(
        task, x0=x0 if task.area is None else task.area.nearest(x0), noise=noise
    )


def _excursion(home: _Search, away: _Search, x: Array, until: int) -> Asking:
    """The other search, for `until` readings at the most."""
    since = 0
    while away.readings < until and not away.is_over(_ROUNDS_AWAY):
        if since >= away.round:
            yield from _measured(home, x, (home,))
            since = 0
        standing = Restarted(home.state, away=away.state)
        observation = yield away.proposal, standing
        away.send(observation)
        if observation is not None and not observation.asked:
            home.overhear(observation)
        since += 1


def _measured(home: _Search, x: Array, hearers: tuple[_Search, ...]) -> Asking:
    """A reading at `x`, or None if that failed."""
    proposal = Proposal(x.copy(), Why.COMPARISON)
    while True:
        observation = yield proposal, Restarted(home.state)
        if observation is None:
            continue
        for search in hearers:
            search.overhear(observation)
        if observation.answers:
            return None if observation.failed else observation


def _compared(home: _Search, away: _Search, answer: Estimate) -> Asking:
    """Whether the other search has found a place that is surely lower."""
    there = home.method.estimate(away.state, quick=True)
    noise = float(np.fmax(answer.noise_std, there.noise_std))
    leads: list[float] = []
    variance = 0.0
    for _ in range(_COMPARISONS):
        rows = []
        for x, search in ((answer.x, home), (there.x, away), (answer.x, home)):
            rows.append((yield from _measured(home, x, (search,))))
        if any(row is None for row in rows):
            return False
        lead, share = _lead(rows)
        leads.append(lead)
        variance += noise**2 * share
        mean, error = float(np.mean(leads)), math.sqrt(variance) / len(leads)
        if abs(mean) > _SURELY * error:
            return mean > 0.0
    return False


def _lead(rows: list[Observation]) -> tuple[float, float]:
    """How much lower the middle one reads than the others; its variance over noise^2.

    A steady drift cancels.
    """
    t = np.array([row.t for row in rows])
    span = t[2] - t[0]
    late = (t[1] - t[0]) / span if span != 0.0 else 0.5
    late = min(max(late, 0.0), 1.0)
    expected = (1.0 - late) * rows[0].value + late * rows[2].value
    return expected - rows[1].value, 1.0 + late**2 + (1.0 - late) ** 2
