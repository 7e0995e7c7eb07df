"""What may be asked next: the method's proposal, a place on the way to it, or the safe
one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _check
from .polyhedron import Polyhedron
from .setpoints import Place, Setpoints
from .space import Space
from .state import Why
from .within import nearer_to, on_the_way

Array = NDArray[np.float64]


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
    why: Why | None = None  # if not for the method's own reasons
    is_proposal: bool = True  # not a further point beside it


@dataclass(frozen=True)
class Border:
    """Between what a method proposes and what is asked."""

    allowed: Allowed
    everywhere: Space  # with no variable fixed since the search began
    last: Array | None = None  # the latest point that was asked for
    is_alarmed: bool = False  # the way leads to the safe place

    def question(self, z: Array) -> Question:
        """What to ask if the method proposes z."""
        goal = self.allowed.safe if self.is_alarmed else self.allowed.place(z)
        x = goal.x
        if self.last is not None and not np.isinf(self._most).all():
            x = on_the_way(self.everywhere.setpoints, self.last, goal.x, self._most)
        if x is not goal.x:
            place = Place(x, self.allowed.space.to_search(x))
            return Question(place, False, Why.ON_THE_WAY)
        return (
            Question(goal, False, Why.SAFE) if self.is_alarmed else Question(goal, True)
        )

    @cached_property
    def _most(self) -> Array:
        moves = [v.max_move for v in self.everywhere.variables]
        return np.array([math.inf if move is None else move for move in moves])

    def asked(self, x: Array) -> Border:
        return replace(self, last=x)

    def read(self, x: Array, value: float) -> Border:
        """After a reading: beyond the limit, less is allowed than before."""
        guard, allowed = self.allowed.guard, self.allowed
        if guard is None:
            return self
        if guard.is_beyond(value, maximize=self.everywhere.maximize):
            less = replace(allowed, beyond=(*allowed.beyond, x))
            return replace(self, allowed=less, is_alarmed=True)
        is_back = self.is_alarmed and np.array_equal(x, allowed.safe.x)
        return replace(self, is_alarmed=False) if is_back else self

    def within(self, space: Space) -> Border:
        """With other variables fixed."""
        return replace(self, allowed=replace(self.allowed, space=space))
