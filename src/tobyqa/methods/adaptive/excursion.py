"""A second search from elsewhere, once the first one gains nothing any more.

A function may have several minima, and readings that are left over teach nothing more
about the one that was found. So another search begins at a random place, with readings
and fits of its own; when that one gains nothing either, the two places are compared by
readings like any others, and the search goes on at the lower one. Now and then the best
place is measured on the way: without that nothing would tell a drift from a fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...result import Status
from ...state import Observation, State, Task
from .answer import expected_excess
from .champion import Find
from .posterior import Posterior
from .search import Search
from .unit import in_unit

_ROUNDS_AT_HOME = 2  # without a gain, before anyone leaves a minimum
_ROUNDS_IN_DOUBT = 6  # and a place of which it is not known that it is one
_ROUNDS_AWAY = 1
_NOTHING = 0.3  # noise levels that are left to gain at a minimum
_AWAY = 1.0, 2.0  # first regions, along each coordinate
_MOST_FAILURES = 3  # in a row


@dataclass(frozen=True)
class Excursion:
    """The other search, and when it has to be over."""

    state: State[Search]
    until: int  # readings of both searches
    since: int = 0  # readings since the best place at home was measured
    is_anchored: bool = False  # whether that was after it had begun

    def next_is_home(self) -> bool:
        """Whether the best place at home is to be measured next."""
        search = self.state.memory
        return search is not None and self.since >= search.patience

    def anchored(self, observation: Observation) -> Excursion:
        """After an attempt to measure at home; one that failed is not repeated."""
        is_anchored = self.is_anchored or not observation.failed
        return replace(self, since=0, is_anchored=is_anchored)

    def moved(self, state: State[Search]) -> Excursion:
        """After an observation of its own."""
        return replace(self, state=state, since=self.since + 1)

    def is_over(self, readings: int) -> bool:
        """Whether it gains nothing, got lost or stuck, or has taken its time.

        `readings`: of both searches by now.
        """
        search = self.state.memory
        is_late = readings >= self.until or self.state.failures >= _MOST_FAILURES
        if search is None:
            return is_late
        gains_nothing = search.champion.rounds(search.patience) >= _ROUNDS_AWAY
        return is_late or gains_nothing or self.state.status is not Status.RUNNING

    def found(self, home: Search) -> Find | None:
        """Where it has come to, if anywhere, in the units of the search at home."""
        search = self.state.memory
        if search is None:
            return None
        components = search.fitted.components
        # The variance of the wandering grows with the cube of time.
        pace = 1.5 * math.log(home.spacing / search.spacing)
        components = replace(components, log_q=components.log_q + pace)
        _, components = in_unit(home.noise, search, components)
        return Find(self.state.centre_point, search.B, components, self.state)


def is_due(search: Search, fitted: Posterior) -> bool:
    """Whether the search has gained nothing for a while.

    Along a valley that is no proof: noise hides a gain that is slow. Not where the
    drift depends on the place: every new place would have its own.
    """
    champion = search.champion
    rounds = champion.rounds(search.patience)
    drifts_alike = search.local_is_known and not search.local
    if champion.rival is not None or rounds < _ROUNDS_AT_HOME or not drifts_alike:
        return False
    if rounds >= _ROUNDS_IN_DOUBT:
        return True
    return expected_excess(fitted) < _NOTHING * fitted.noise_std


def destination(state: State[Search], search: Search) -> Task:
    """Another start: one or two first regions from the best place in each coordinate.

    On the average, so the distance grows with the root of their number.
    """
    task = state.task
    assert task.radius is not None
    rng = np.random.default_rng([task.seed, state.readings])
    away = task.radius * rng.uniform(*_AWAY) * rng.standard_normal(task.x0.size)
    noise = search.fitted.noise_std if search.noise_is_guessed else task.noise
    return replace(task, x0=search.champion.x + away, noise=noise)


def unfinished(search: Search) -> State[Search] | None:
    """A search elsewhere on which nothing has been decided yet, but may be.

    Only if the best place at home was measured after it had begun: no fit can tell a
    step of the drift from a fall of the function.
    """
    if search.champion.found is not None and search.champion.rows:
        return search.champion.found.state
    if search.excursion is not None and search.excursion.is_anchored:
        return search.excursion.state
    return None
