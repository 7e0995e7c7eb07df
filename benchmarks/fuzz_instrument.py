"""What the fuzzer's runs measure: readings, times and errors of any legal size."""

from __future__ import annotations

import math

import numpy as np


def size(rng: np.random.Generator, low: float, high: float) -> float:
    """10 to the power of something in between, of either sign."""
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(low, high))


class Instrument:
    """What is read, when, and with which error: one of several kinds."""

    def __init__(self, n: int, rng: np.random.Generator, x0: np.ndarray, r: float):
        self._rng, self.x0, self.radius = rng, x0, r
        self.kind = rng.choice(
            ["bowl", "slope", "valley", "flat", "steps", "wild", "exp", "asleep"],
            p=[0.3, 0.1, 0.15, 0.05, 0.1, 0.15, 0.1, 0.05],
        )
        self.unit = rng.choice(
            [1.0, abs(size(rng, -200, 90)), 2.0**-660], p=[0.5, 0.4, 0.1]
        )
        self.clock = rng.choice(
            ["none", "steady", "extreme", "still"], p=[0.4, 0.2, 0.3, 0.1]
        )
        self.errors = rng.choice(["none", "some", "extreme"], p=[0.6, 0.2, 0.2])
        self._weights = 10.0 ** rng.uniform(-2, 2, n)
        self._target = rng.normal(size=n)
        self._t = size(rng, -3, 9)
        self._asleep = 1 + 4 * n  # readings; longer than a method's first points

    def value(self, x: np.ndarray) -> float:
        """A reading; never beyond 1e100 in size."""
        rng = self._rng
        u = np.clip((x - self.x0) / self.radius, -1e30, 1e30)
        d = u - self._target
        if self.kind == "wild":
            return size(rng, -320, 100)
        if self.kind == "asleep":  # nothing or next to it, and then as much as can be
            self._asleep -= 1
            is_awake = self._asleep < 0 and rng.random() < 0.5
            return size(rng, 60, 100) if is_awake else size(rng, -330, -200)
        clean = {
            "bowl": float(self._weights @ d**2) + 0.01 * rng.normal(),
            "slope": float(self._weights @ d),
            "valley": float(np.sum(10 * (d[1:] - d[:-1] ** 2) ** 2) + d[0] ** 2),
            "flat": 1.0,
            "steps": math.floor(float(d @ d)),
            "exp": -math.exp(min(float(np.abs(u).max()), 50.0)),
        }[str(self.kind)]
        return float(np.clip(clean * self.unit, -1e100, 1e100))

    def time(self) -> float | None:
        if self.clock == "none":
            return None
        if self.clock == "extreme":
            return self._rng.choice(
                [0.0, size(self._rng, -323, 100), size(self._rng, -3, 3)]
            )
        if self.clock == "steady":
            self._t += abs(size(self._rng, -1, 1))
        return self._t

    def error(self) -> float | None:
        if self.errors == "none" or self._rng.random() < 0.5:
            return None
        if self.errors == "extreme":
            return abs(self._rng.choice([0.0, size(self._rng, -323, 100)]))
        return float(0.01 * self.unit * self._rng.uniform(0.5, 2.0))
