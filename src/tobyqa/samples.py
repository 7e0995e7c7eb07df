"""A set of time-stamped readings, immutable: changes return a new set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampleSet:
    """Readings as rows, oldest first by arrival; all arrays are read-only.

    ``sigmas`` holds the standard error stated with a reading, NaN where none was.
    """

    points: Array  # (m, n)
    times: Array  # (m,)
    values: Array  # (m,)
    sigmas: Array  # (m,)

    @staticmethod
    def empty(n: int) -> SampleSet:
        return _frozen(np.empty((0, n)), np.empty(0), np.empty(0), np.empty(0))

    def __len__(self) -> int:
        return int(self.times.shape[0])

    def ages(self, now: float) -> Array:
        """How long ago each reading was taken."""
        return now - self.times

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
        m = len(self)
        cut = m if row is None else row
        size = m + 1 if row is None else m
        points = np.empty((size, self.points.shape[1]))
        rest = np.empty((3, size))
        for new, old in zip(
            (points, *rest),
            (self.points, self.times, self.values, self.sigmas),
            strict=True,
        ):
            new[:cut] = old[:cut]
            new[cut:-1] = old[cut + 1 :]
        points[-1] = x
        rest[:, -1] = t, value, sigma
        return _frozen(points, *rest)

    def newest(self, count: int, keep: int) -> tuple[SampleSet, int]:
        """The `count` most recent readings and row `keep`, with that row's new index.

        Time decides; among equal times, arrival.
        """
        order = self.times.copy()
        order[keep] = np.inf
        rows = np.sort(np.argsort(order, kind="stable")[-count:])
        kept = _frozen(
            self.points[rows], self.times[rows], self.values[rows], self.sigmas[rows]
        )
        return kept, int(np.searchsorted(rows, keep))


def _frozen(points: Array, times: Array, values: Array, sigmas: Array) -> SampleSet:
    for array in (points, times, values, sigmas):
        array.flags.writeable = False
    return SampleSet(points, times, values, sigmas)
