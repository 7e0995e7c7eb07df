"""The best place so far, and the readings that decide whether it still is.

Fits with few readings near their centre can lead the search astray, each of them
content with itself. So now and then the centre is compared with the best place that
came before it, by readings: there, here, and there again, so that a steady drift
cancels. The first comparison is repeated until it is known whether the drift depends
on the place; see `comparison`. If one of the first steps is turned down, it may be for
that reason: it is compared as well. So is what a search from elsewhere finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet
from ...state import State
from .posterior import Components

Array = NDArray[np.float64]

_APART = 0.3  # regions; nearer, there is nothing to compare
_READINGS = 3  # of a comparison


@dataclass(frozen=True)
class Find:
    """What a search from elsewhere found: a place, and how to go on from there."""

    x: Array
    B: Array
    components: Components
    state: State[Any]  # of that search


@dataclass(frozen=True)
class Champion:
    """The best place, with the region it had; a comparison that is under way."""

    x: Array
    B: Array
    waited: int = 0  # iterations since the last comparison
    idle: int = 0  # comparisons in a row that showed no gain
    rival: Array | None = None
    rows: tuple[int, ...] = ()  # readings of the comparison so far
    earlier: tuple[tuple[int, ...], ...] = ()  # of those before it, same two places
    is_appeal: bool = False  # the rival is a step that was turned down, no centre
    found: Find | None = None  # the rival is what another search found

    @property
    def is_complete(self) -> bool:
        return len(self.rows) == _READINGS

    def next_point(self, patience: int) -> Array | None:
        """Where the comparison is to be measured next, if it is."""
        if self.rival is None or self.is_complete or self._rests(patience):
            return None
        return self.rival if len(self.rows) == 1 else self.x

    def _rests(self, patience: int) -> bool:
        is_urgent = self.is_appeal or self.found is not None
        return not self.rows and not is_urgent and self.waited < patience

    def rounds(self, patience: int) -> int:
        """How many times in a row nothing was gained, or nothing was to be compared."""
        return self.idle + max(self.waited - 1, 0) // patience

    def challenged(self, centre: Array, B: Array, patience: int) -> Champion:
        """One iteration later: the centre is a rival once it has come some way."""
        if self._rests(patience):
            return replace(self, waited=self.waited + 1)
        if self.rival is not None:
            return self
        u = np.linalg.solve(B, centre - self.x)
        if u @ u > _APART**2:
            return replace(self, rival=centre)
        return replace(self, waited=self.waited + 1)

    def appealed(self, step: Array) -> Champion:
        """A step that was turned down is compared too, and at once."""
        return Champion(self.x, self.B, rival=step, is_appeal=True)

    def challenged_from_afar(self, found: Find) -> Champion:
        """What another search found is compared at once."""
        return Champion(self.x, self.B, rival=found.x, found=found)

    def unchallenged(self) -> Champion:
        """The same place, as if it had just been confirmed."""
        return Champion(self.x, self.B)

    def heard(self, samples: SampleSet, row: int, patience: int) -> Champion:
        """After a reading; one at another place, as after failures, ends it."""
        place = self.next_point(patience)
        if place is None:
            return self
        if not np.array_equal(samples.points[row], place):
            if not self.earlier:
                return Champion(self.x, self.B, idle=self.idle)
            return replace(self, rows=(), waited=0)
        return replace(self, rows=(*self.rows, row))

    def again(self) -> Champion:
        """The same comparison once more, later."""
        return replace(self, rows=(), earlier=(*self.earlier, self.rows), waited=0)
