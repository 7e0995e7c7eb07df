"""The runs that several checks look at: every landscape through every channel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .check import Effort
from .landscapes import LANDSCAPES, Landscape
from .trace import Drift, Trace, no_drift, run

Array = NDArray[np.float64]

CHANNELS = ("static", "affine", "periodic")
NOISES = (0.0, 1e-3)  # of s_0; the second is the paper's


@dataclass(frozen=True)
class Run:
    """One run, and what it ran on."""

    landscape: Landscape
    channel: str
    relative_noise: float
    trace: Trace

    @property
    def noise(self) -> float:
        """Standard deviation of a reading."""
        return self.relative_noise * self.landscape.size

    @property
    def first_gradient(self) -> float:
        """|grad f(x0)|."""
        return float(np.linalg.norm(self.landscape.gradient(self.landscape.x0)))

    @property
    def reached(self) -> float:
        """The smallest true gradient of a centre."""
        return float(self.trace.column("true_gradient").min())


@dataclass(frozen=True)
class Kind:
    """All runs through one channel at one noise level."""

    channel: str
    relative_noise: float
    runs: Sequence[Run]

    @property
    def name(self) -> str:
        noise = (
            f"noise {self.relative_noise:g} s_0" if self.relative_noise else "no noise"
        )
        return f"{self.channel}, {noise}"

    @property
    def early(self) -> Kind:
        """The runs while |grad f| is more than a tenth of what it was at the start."""
        parts = [
            replace(run, trace=run.trace.until(0.1 * run.first_gradient))
            for run in self.runs
        ]
        return replace(self, runs=parts)

    def column(self, name: str) -> Array:
        """One quantity over all steps of all runs."""
        return np.concatenate([run.trace.column(name) for run in self.runs])


def drift(channel: str, size: float) -> Drift:
    """The paper's Static, LinearDrift or PeriodicAdd."""
    if channel == "affine":
        return lambda t: 0.01 * size * t
    if channel == "periodic":
        return lambda t: 0.05 * size * math.sin(2.0 * math.pi * t / 50.0)
    return no_drift


def kinds(effort: Effort) -> list[Kind]:
    """Every channel with and without noise."""
    return [
        Kind(channel, noise, tuple(_runs(channel, noise, effort)))
        for noise in NOISES
        for channel in CHANNELS
    ]


def _runs(channel: str, noise: float, effort: Effort) -> Iterator[Run]:
    for make in LANDSCAPES:
        for seed in range(effort.seeds):
            f = make(effort.n, seed)
            trace = run(
                f, noise=noise * f.size, drift=drift(channel, f.size),
                readings=effort.readings, seed=seed,
            )  # fmt: skip
            yield Run(f, channel, noise, trace)
