"""Trials that wait for their readings, as a search knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .state import Flight

Array = NDArray[np.float64]

_ROUNDING = 1e-6  # of the distance from x0, by which a replay may differ elsewhere


class Out(NamedTuple):
    """A trial that went out and has not come back."""

    id: int
    x: Array
    z: Array
    is_own: bool  # the method counts it among its own
    flight: Flight | None  # None: of a search that has been begun anew since
    has_company: bool = False  # others have been out at the same time
    is_back: bool = False  # on the way to the safe place, or there

    def anew(self, z: Array) -> Out:
        """The same for a search that did not ask for it."""
        is_own = self.is_own and not self.has_company
        return self._replace(z=z, flight=None, is_own=is_own)


Waiting = Mapping[int, Out]


def in_company(waiting: Waiting) -> dict[int, Out]:
    """All of them, each of which is company for the others."""
    return {out.id: out._replace(has_company=True) for out in waiting.values()}


def without(waiting: Waiting, trials: Iterable[int]) -> dict[int, Out]:
    """Those that are left."""
    gone = set(trials)
    return {key: out for key, out in waiting.items() if key not in gone}


def at(waiting: Waiting, x: Array) -> Out | None:
    """The first of those with company that is at a point, as the user sets it."""
    for out in waiting.values():
        if out.has_company and out.is_own and np.array_equal(out.x, x):
            return out
    return None


def is_beside(waiting: Waiting, trial: Out, proposal: int | None) -> bool:
    """Whether a trial measures the same place as the proposal, beside it."""
    own = None if proposal is None else waiting.get(proposal)
    return own is not None and trial.has_company and np.array_equal(trial.x, own.x)


def is_taken(waiting: Waiting, x: Array) -> bool:
    """Whether any of them is at a point."""
    return any(np.array_equal(out.x, x) for out in waiting.values())


def going_back(waiting: Waiting, safe: Array) -> int:
    """How many of them are at the safe place because of an alarm."""
    return sum(out.is_back and np.array_equal(out.x, safe) for out in waiting.values())


def is_same_place(x: Array, y: Array, x0: Array) -> bool:
    """Whether a trial in the log is what the method proposes now.

    On another machine a replay differs by rounding. Another version of the method may
    propose something else altogether, which the trial's reading is no answer to.
    """
    if np.array_equal(x, y):
        return True
    return bool(np.abs(x - y).max() <= _ROUNDING * np.abs(x - x0).max())
