"""Windows for the tests of fits: all readings of a set, around its first one."""

from __future__ import annotations

import numpy as np

from tobyqa.samples import SampleSet
from tobyqa.spacetime.window import FARTHEST, window_around


def window_of(samples, *, B=None, noise=0.1, spacing=1.0, centre=0):
    """All readings within twenty regions, around one of them."""
    return window_around(
        samples,
        centre,
        np.eye(samples.points.shape[1]) if B is None else B,
        reach=FARTHEST,
        size=len(samples),
        noise=noise,
        spacing=spacing,
    )


def one_each(points, values):
    """A window with one reading at each point, at t = 0, 1, ..."""
    return window_of(SampleSet.of(points, np.arange(float(len(points))), values))


class Readings:
    """Of a cubic under a restless drift, the first one at the origin."""

    def __init__(self, seed=0, m=24, n=2, *, stated=False):
        rng = np.random.default_rng(seed)
        self.points = rng.normal(size=(m, n))
        self.points[0] = 0.0
        self.times = np.sort(rng.uniform(0.0, m, size=m))
        A = rng.normal(size=(n, n))
        bowl = 0.5 * np.sum((self.points @ A) ** 2, axis=1)
        self.values = bowl + self.points @ rng.normal(size=n)
        self.values += 0.1 * self.points[:, 0] ** 3 + np.sin(self.times / 5.0)
        self.values += 0.1 * rng.normal(size=m)
        self.sigmas = np.full(m, np.nan)
        if stated:
            self.sigmas = rng.uniform(0.05, 0.3, size=m)

    def samples(self, rows=slice(None), **changed):
        """The readings as a set, with some of their columns replaced."""
        parts = {name: changed.get(name, getattr(self, name)) for name in vars(self)}
        return SampleSet.of(**{name: part[rows] for name, part in parts.items()})
