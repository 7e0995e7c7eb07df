"""A set of time-stamped readings, immutable: changes return a new set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampleSet:
    """Readings as rows, in the order of their arrival; read-only.

    They live in one table with columns x_1 ... x_n, t, value, sigma, so that taking one
    out and putting one in is a single copy.
    """

    table: Array  # (m, n + 3)

    @staticmethod
    def of(points: Any, times: Any, values: Any, sigmas: Any = np.nan) -> SampleSet:
        """A set from its parts; `sigmas` are stated standard errors, NaN where none."""
        points = np.asarray(points, dtype=np.float64)
        m, n = points.shape
        table = np.empty((m, n + 3))
        table[:, :n] = points
        table[:, n], table[:, n + 1], table[:, n + 2] = times, values, sigmas
        return _frozen(table)

    @staticmethod
    def empty(n: int) -> SampleSet:
        return _frozen(np.empty((0, n + 3)))

    @property
    def points(self) -> Array:
        """Where the readings were taken, (m, n)."""
        return self.table[:, :-3]

    @property
    def times(self) -> Array:
        """When, (m,)."""
        return self.table[:, -3]

    @property
    def values(self) -> Array:
        """What was read, (m,)."""
        return self.table[:, -2]

    @property
    def sigmas(self) -> Array:
        """The standard errors stated with the readings, NaN where none was, (m,)."""
        return self.table[:, -1]

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def ages(self, now: float) -> Array:
        """How long ago each reading was taken."""
        return np.asarray(now - self.times)

    def distances(self, x: Array) -> Array:
        """Euclidean distance of each point to `x`."""
        d = self.points - x
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", d, d)))

    def oldest(self, keep: int | None = None) -> int:
        """Row of the reading with the smallest time, never row `keep`."""
        if keep is None:
            return int(self.times.argmin())
        order = self.times.copy()
        order[keep] = np.inf
        return int(order.argmin())

    def append(self, x: Array, t: float, value: float, sigma: float) -> SampleSet:
        """The set with one more reading."""
        return self.replace(None, x, t, value, sigma)

    def replace(
        self, row: int | None, x: Array, t: float, value: float, sigma: float
    ) -> SampleSet:
        """The set without `row` (if not None), and with one more reading at the end."""
        m, width = self.table.shape
        cut = m if row is None else row
        table = np.empty((m + (row is None), width))
        table[:cut] = self.table[:cut]
        table[cut:-1] = self.table[cut + 1 :]
        table[-1, :-3] = x
        table[-1, -3:] = t, value, sigma
        return _frozen(table)

    def newest(self, count: int, keep: int) -> tuple[SampleSet, int]:
        """The `count` most recent readings and row `keep`, with that row's new index.

        Time decides; among equal times, arrival.
        """
        order = self.times.copy()
        order[keep] = np.inf
        rows = np.sort(np.argsort(order, kind="stable")[-count:])
        return _frozen(self.table[rows]), int(np.searchsorted(rows, keep))


def _frozen(table: Array) -> SampleSet:
    table.flags.writeable = False
    return SampleSet(table)
