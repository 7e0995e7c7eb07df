"""A set of time-stamped readings, immutable: changes return a new set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .frozen import cached_property

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampleSet:
    """Readings as rows, in the order of their arrival; read-only.

    They live in one table with columns x_1 ... x_n, t, value, sigma, asked, so that
    taking some out and putting one in is a single copy. How many are special is
    counted along, since nearly always the answer is none.
    """

    table: Array  # (m, n + 4)
    guests: int = 0  # readings at points that the method did not propose
    stated: int = 0  # readings that came with a standard error of their own

    @staticmethod
    def of(points: Any, times: Any, values: Any, sigmas: Any = np.nan) -> SampleSet:
        """A set from its parts; `sigmas` are stated standard errors, NaN where none."""
        points = np.asarray(points, dtype=np.float64)
        m, n = points.shape
        table = np.ones((m, n + 4))
        table[:, :n] = points
        table[:, n], table[:, n + 1], table[:, n + 2] = times, values, sigmas
        return _frozen(table, 0, int(np.count_nonzero(~np.isnan(table[:, n + 2]))))

    @staticmethod
    def empty(n: int) -> SampleSet:
        return _frozen(np.empty((0, n + 4)), 0, 0)

    @cached_property
    def points(self) -> Array:
        """Where the readings were taken, (m, n)."""
        return self.table[:, :-4]

    @cached_property
    def times(self) -> Array:
        """When, (m,)."""
        return self.table[:, -4]

    @cached_property
    def values(self) -> Array:
        """What was read, (m,)."""
        return self.table[:, -3]

    @cached_property
    def sigmas(self) -> Array:
        """The standard errors stated with the readings, NaN where none was, (m,)."""
        return self.table[:, -2]

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Which points the method had proposed, (m,)."""
        return np.asarray(self.table[:, -1] == 1.0)

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def rows_at(self, x: Array) -> NDArray[np.int64]:
        """Rows of the readings at exactly this place."""
        return np.flatnonzero((self.points == x).all(axis=1))

    def append(
        self, x: Array, t: float, value: float, sigma: float, asked: bool = True
    ) -> SampleSet:
        """The set with one more reading."""
        m, width = self.table.shape
        table = np.empty((m + 1, width))
        table[:-1] = self.table
        table[-1, :-4] = x
        table[-1, -4:] = t, value, sigma, asked
        return _frozen(
            table, self.guests + (not asked), self.stated + (not math.isnan(sigma))
        )

    def revalued(self, row: int, value: float) -> SampleSet:
        """The set with another value in a row."""
        table = self.table.copy()
        table[row, -3] = value
        return _frozen(table, self.guests, self.stated)

    def without(self, row: int) -> SampleSet:
        """The set with one reading less."""
        table = np.empty((len(self) - 1, self.table.shape[1]))
        table[:row] = self.table[:row]
        table[row:] = self.table[row + 1 :]
        guests, stated = self.guests, self.stated
        if guests:
            guests -= self.table[row, -1] == 0.0
        if stated:
            stated -= not math.isnan(self.table[row, -2])
        return _frozen(table, int(guests), int(stated))

    def trimmed(self, size: int, keep: int) -> tuple[SampleSet, int]:
        """Drop the oldest readings, never row `keep`, down to `size` asked for.

        Readings that were not asked for come on top, `size` of them at the most: they
        take no place away from those that the method chose. Age is order of arrival,
        not time stamp, since clocks can be set back. Also returns where `keep` is now.
        """
        samples = self
        while len(samples) - samples.guests > size or samples.guests > size:
            victim = 1 if keep == 0 else 0
            guest_must_go = len(samples) - samples.guests <= size
            if guest_must_go:
                rows = np.flatnonzero(~samples.asked)
                victim = int(rows[1] if rows[0] == keep else rows[0])
            samples, keep = samples.without(victim), keep - (victim < keep)
        return samples, keep


def _frozen(table: Array, guests: int, stated: int) -> SampleSet:
    table.flags.writeable = False
    return SampleSet(table, guests, stated)
