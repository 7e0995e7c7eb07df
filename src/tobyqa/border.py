"""What may be asked next: the method's proposal, a place on the way to it, or the safe
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _check
from .frozen import cached_property, replace
from .polyhedron import Polyhedron
from .setpoints import Place, Setpoints
from .space import Space
from .space_arguments import DEFAULT_RADIUS
from .state import Why
from .untried import OFTEN, Counts, is_on_grid, key, nearest_untried
from .within import nearer_to, on_the_way

Array = NDArray[np.float64]

# What is measured again because it is known.
_KNOWN_PLACES = (Why.START, Why.START_AGAIN, Why.COMPARISON, Why.RECHECK)


@dataclass(frozen=True)
class Guard:
    """A place to go back to once a reading is beyond a limit, both as measured."""

    safe: Array
    limit: float

    @staticmethod
    def checked(safe: Any, limit: Any, space: Space) -> Guard | None:
        """What a user said, or an error that names the argument."""
        if safe is None and limit is None:
            return None
        if safe is None or limit is None:
            given, missing = ("limit", "safe") if safe is None else ("safe", "limit")
            raise ValueError(f"{given} needs {missing}: only both together are a rule")
        start = space.start(_check.point("safe", safe, len(space.variables)))
        if start.violated:
            raise ValueError(
                f"safe must be a point that is allowed, but {list(safe)} does not meet "
                f"{', '.join(start.violated)}"
            )
        return Guard(start.x, _check.finite("limit", limit))

    def is_beyond(self, value: float, *, maximize: bool) -> bool:
        return value < self.limit if maximize else value > self.limit


@dataclass(frozen=True)
class Allowed:
    """What may be asked for, wherever the last question was."""

    space: Space
    guard: Guard | None
    beyond: tuple[Array, ...] = ()  # where readings were beyond the limit

    @cached_property
    def safe(self) -> Place:
        """The safe place; variables that are fixed stay fixed even there."""
        assert self.guard is not None
        return self.space.place(self.space.to_search(self.guard.safe))

    @cached_property
    def _points(self) -> Setpoints:
        others = [self.space.to_search(x) for x in self.beyond]
        return nearer_to(self.space.setpoints, self.safe, others)

    def place(self, z: Array) -> Place:
        """The point to be measured for z."""
        return self._points.place(z) if self.beyond else self.space.place(z)

    def untried(self, goal: Place, counts: Counts, often: int) -> Place | None:
        """The setting next to `goal` that was not asked for often, if it is near.

        That is no farther than the first points are from each other.
        """
        radius = DEFAULT_RADIUS if self.space.radius is None else self.space.radius
        was_often = {x for x, count in counts.items() if count >= often}
        return nearest_untried(goal, self.place, self._grid, was_often, 2.0 * radius)

    @cached_property
    def is_on_grid(self) -> bool:
        """Whether settings can be counted."""
        return not self.space.is_identity and is_on_grid(self._grid)

    @property
    def _grid(self) -> Setpoints:
        return self._points if self.beyond else self.space.setpoints

    @property
    def area(self) -> Polyhedron | None:
        """The same for a method, None if it is everywhere."""
        if self.beyond:
            return self._points.area
        area = None if self.space.is_identity else self.space.polyhedron
        return area if area is not None and area.b.size else None


class Question(NamedTuple):
    """Where to measure, and whether that is what the method wants to know."""

    place: Place
    is_own: bool
    why: Why
    is_exhausted: bool = False  # all settings near by were measured often enough
    is_proposal: bool = True  # not a further point beside it


@dataclass(frozen=True)
class Border:
    """Between what a method proposes and what is asked."""

    allowed: Allowed
    everywhere: Space  # with no variable fixed since the search began
    last: Array | None = None  # the latest point asked for, if moves are limited
    alarms: int = 0  # readings beyond the limit, after which nobody is back yet
    counts: Counts = field(default_factory=dict)  # of settings that can be counted

    def question(self, z: Array, why: Why) -> Question:
        """What to ask if the method proposes z."""
        is_alarmed = self.alarms > 0
        goal = self.allowed.safe if is_alarmed else self.allowed.place(z)
        is_exhausted = False
        if self.counts and not is_alarmed and why not in _KNOWN_PLACES:
            # First points that coincide would tell nothing of a curvature.
            often = 1 if why is Why.FIRST else OFTEN
            untried = self._untried(goal, often)
            is_exhausted = untried is None and why is not Why.FIRST
            goal = untried or goal
        place = self._within_one_move(goal)
        if place is not goal:
            return Question(place, False, Why.ON_THE_WAY)
        if is_alarmed:
            return Question(goal, False, Why.SAFE)
        return Question(goal, True, why, is_exhausted)

    def further(self, z: Array, why: Why) -> Question:
        """What to ask beside it if the method would have z measured as well."""
        goal = self.allowed.place(z)
        place = self._within_one_move(goal)
        is_there = place is goal
        why = why if is_there else Why.ON_THE_WAY
        return Question(place, is_there, why, is_proposal=False)

    def _within_one_move(self, goal: Place) -> Place:
        """The goal, or a place on the way to it from the latest that was asked for."""
        most = self.everywhere.max_move
        if self.last is None or most is None:
            return goal
        x = on_the_way(self.everywhere.setpoints, self.last, goal.x, most)
        return goal if x is goal.x else Place(x, self.allowed.space.to_search(x))

    def _untried(self, goal: Place, often: int) -> Place | None:
        """The goal, or what is next to it if it was asked for often enough."""
        if self.counts.get(key(goal.x), 0) < often:
            return goal
        return self.allowed.untried(goal, self.counts, often)

    def asked(self, x: Array) -> Border:
        """Once x was asked for, as far as later questions depend on it."""
        counts, is_counted = self.counts, self.allowed.is_on_grid
        if not is_counted and self.everywhere.max_move is None:
            return self
        if is_counted:
            counts = {**counts, key(x): counts.get(key(x), 0) + 1}
        return replace(self, last=x, counts=counts)

    def read(self, x: Array, value: float, *, is_one_more: bool = False) -> Border:
        """After a reading: beyond the limit, less is allowed than before.

        `is_one_more`: of an instrument that was not on its way back, of several.
        """
        guard, allowed = self.allowed.guard, self.allowed
        if guard is None:
            return self
        if guard.is_beyond(value, maximize=self.everywhere.maximize):
            alarms = self.alarms + 1 if is_one_more else max(self.alarms, 1)
            return replace(self, alarms=alarms)._forbidding(x)
        is_back = self.alarms > 0 and np.array_equal(x, allowed.safe.x)
        return replace(self, alarms=self.alarms - 1) if is_back else self

    def amended(self, x: Array, values: Iterable[float], *, is_there: bool) -> Border:
        """With all that is by now known to have been read at a point.

        Unless the instrument `is_there`, it need not go back: it has been elsewhere
        since.
        """
        guard, beyond = self.allowed.guard, self.allowed.beyond
        if guard is None:
            return self
        largest = self.everywhere.maximize
        is_bad = any(guard.is_beyond(value, maximize=largest) for value in values)
        was_bad = any(np.array_equal(x, y) for y in beyond)
        if is_bad and is_there:
            return replace(self, alarms=max(self.alarms, 1))._forbidding(x)
        if is_bad == was_bad:
            return self
        return self._forbidding(x) if is_bad else self._without(x)

    def _forbidding(self, x: Array) -> Border:
        """With a point that readings beyond the limit were taken at."""
        less = replace(self.allowed, beyond=(*self.allowed.beyond, x))
        return replace(self, allowed=less)

    def _without(self, x: Array) -> Border:
        """Without a point after all."""
        others = tuple(y for y in self.allowed.beyond if not np.array_equal(x, y))
        return replace(self, allowed=replace(self.allowed, beyond=others))

    def within(self, space: Space) -> Border:
        """With other variables fixed."""
        return replace(self, allowed=replace(self.allowed, space=space))
