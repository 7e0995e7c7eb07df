"""The best place so far, and the readings that decide whether it still is.

Fits with few readings near their centre can lead the search astray, each of them
content with itself. So now and then the centre is compared with the best place that
came before it, by readings: there, here, and there again, so that a steady drift
cancels.

=========  ==============================================================
symbol     meaning
=========  ==============================================================
y          the three readings
b, c       time between them, in spacings
q          restlessness of the drift, see `likelihood`
=========  ==============================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet

Array = NDArray[np.float64]

_APART = 0.3  # regions; nearer, there is nothing to compare
_READINGS = 3  # of a comparison


@dataclass(frozen=True)
class Champion:
    """The best place, with the region it had; a comparison that is under way."""

    x: Array
    B: Array
    waited: int = 0  # iterations since the last comparison
    rival: Array | None = None
    rows: tuple[int, ...] = ()  # readings of the comparison so far

    @property
    def next_point(self) -> Array | None:
        """Where the comparison is to be measured next, if it is."""
        if self.rival is None or len(self.rows) == _READINGS:
            return None
        return self.rival if len(self.rows) == 1 else self.x

    def challenged(self, centre: Array, B: Array) -> Champion:
        """One iteration later: the centre is a rival once it has come some way."""
        if self.rival is not None:
            return self
        if self.waited < centre.size + 20:
            return replace(self, waited=self.waited + 1)
        u = np.linalg.solve(B, centre - self.x)
        return replace(self, rival=centre) if u @ u > _APART**2 else self

    def heard(self, samples: SampleSet, row: int) -> Champion:
        """After a reading; one at another place, as after a failure, ends it all."""
        place = self.next_point
        if place is None:
            return self
        if not np.array_equal(samples.points[row], place):
            return Champion(self.x, self.B)
        return replace(self, rows=(*self.rows, row))

    def lead(
        self, samples: SampleSet, *, noise: float, q: float, spacing: float
    ) -> float | None:
        """By how many standard errors it reads lower than the rival; None: not yet."""
        if len(self.rows) < _READINGS:
            return None
        y, t = samples.values[list(self.rows)], samples.times[list(self.rows)]
        b, c = np.maximum(np.diff(t) / spacing, 1e-9)
        early, late = c / (b + c), b / (b + c)
        ahead = float(y[1] - early * y[0] - late * y[2]) / noise
        # How far an integrated Wiener process strays from its chord.
        stray = q**2 * b**2 * c**2 / (3.0 * (b + c))
        return ahead / math.sqrt(1.0 + early**2 + late**2 + stray)


def latest_at(samples: SampleSet, x: Array) -> int:
    """Row of the latest reading at a place that has been measured."""
    return int(np.flatnonzero((samples.points == x).all(axis=1))[-1])
