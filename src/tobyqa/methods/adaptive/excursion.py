"""A second search from elsewhere, once the first one gains nothing any more.

A function may have several minima, and readings that are left over teach nothing more
about the one that was found. So another search begins at a random place near by, with
readings and fits of its own; when that one gains nothing either, the two places are
compared by readings like any others, and the search goes on at the lower one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...result import Status
from ...state import State, Task
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


@dataclass(frozen=True)
class Excursion:
    """The other search and how many readings it may take."""

    state: State[Search]
    longest: int

    @property
    def is_over(self) -> bool:
        """Whether it gains nothing, got lost or has taken as long as the first one."""
        search = self.state.memory
        if search is None:
            return False
        return (
            search.champion.rounds(search.patience) >= _ROUNDS_AWAY
            or self.state.readings >= self.longest
            or self.state.status is not Status.RUNNING
        )

    def found(self, noise: float) -> Find:
        """Where it has come to, its components relative to this unit of noise."""
        search = self.state.memory
        assert search is not None
        _, components = in_unit(noise, search, search.fitted.components)
        return Find(self.state.centre_point, search.B, components)


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
    """Another start, about as far from the best place as the first points from x0."""
    task = state.task
    assert task.radius is not None
    rng = np.random.default_rng([task.seed, state.readings])
    away = task.radius * rng.uniform(*_AWAY) * rng.standard_normal(task.x0.size)
    noise = search.fitted.noise_std if search.noise_is_guessed else task.noise
    return replace(task, x0=search.champion.x + away, noise=noise)
