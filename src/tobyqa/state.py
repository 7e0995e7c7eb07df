"""The values that travel through a search, all frozen.

Data flows one way: samples -> model -> step (`Proposal`) -> evaluation
(`Observation`) -> verdict (`Verdict`) -> samples (a new `State`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .result import DriftCurve, Status
from .samples import SampleSet

Array = NDArray[np.float64]
M = TypeVar("M")


@dataclass(frozen=True)
class Task:
    """What the user said before the search began."""

    x0: Array
    noise: float | None = None  # standard deviation of a reading; None: not known
    radius: float | None = None  # distance of the first points; None: the method's own
    seed: int = 0
    has_budget: bool = True  # the search will be ended from outside


@dataclass(frozen=True)
class Proposal:
    """The next point to measure."""

    x: Array


@dataclass(frozen=True)
class Observation:
    """One event from the outside: a reading, or a failed attempt at one."""

    x: Array
    t: float
    value: float  # NaN for a failed measurement
    sigma: float = math.nan  # its own standard error, NaN where not stated
    asked: bool = True  # False for a point that the method did not propose

    @property
    def failed(self) -> bool:
        return math.isnan(self.value)


@dataclass(frozen=True)
class Verdict:
    """What a method made of an observation."""

    accepted: bool  # it became the centre


class Gauges(NamedTuple):
    """How far a search looks and how well it sees, in the user's units."""

    radius: float = math.nan  # size of the region, or length of the next step
    gradient: float = math.nan  # norm of the gradient at the centre
    gradient_std: float = math.nan  # its standard error


_NO_GAUGES = Gauges()  # until there is a model


@dataclass(frozen=True)
class State(Generic[M]):
    """A search between two observations: what all methods share, and their own part."""

    task: Task
    samples: SampleSet
    centre: int | None = None  # row of the incumbent in `samples`
    readings: int = 0  # proposals answered with a value
    failures: int = 0  # failed measurements since the last value
    iterations: int = 0
    verdict: Verdict | None = None  # on the latest observation
    status: Status = Status.RUNNING
    gauges: Gauges = _NO_GAUGES
    memory: M | None = None  # the method's own part, absent until its model exists

    @property
    def centre_point(self) -> Array:
        """The incumbent, or the starting point as long as there is none."""
        if self.centre is None:
            return self.task.x0
        return np.asarray(self.samples.points[self.centre])


@dataclass(frozen=True)
class Estimate:
    """The answer as the model sees it, at time `t`."""

    x: Array
    x_std: Array  # NaN where the model has no minimum
    t: float
    fun: float
    fun_std: float
    jac: Array
    hess: Array
    drift_rate: float
    drift_rate_std: float
    drift: DriftCurve
    noise_std: float
    drift_is_local: bool = False


def with_reading(samples: SampleSet, reading: Observation) -> SampleSet:
    """The set with an observation that was no failure."""
    return samples.append(
        reading.x, reading.t, reading.value, reading.sigma, reading.asked
    )


def first_readings(state: State[Any]) -> Estimate:
    """The lowest reading, as long as there is no model."""
    n = state.task.x0.size
    samples, noise = state.samples, state.task.noise
    has_reading = len(samples) > 0
    best = int(samples.values.argmin()) if has_reading else 0
    noise_std = math.nan if noise is None else noise
    return Estimate(
        x=samples.points[best] if has_reading else state.task.x0,
        t=float(samples.times[best]) if has_reading else math.nan,
        fun=float(samples.values[best]) if has_reading else math.nan,
        x_std=np.full(n, math.nan),
        fun_std=noise_std,
        jac=np.full(n, math.nan),
        hess=np.full((n, n), math.nan),
        drift_rate=math.nan,
        drift_rate_std=math.nan,
        drift=DriftCurve.none(),
        noise_std=noise_std,
    )


class Method(Protocol):
    """A frozen settings object with pure functions from state to state."""

    def start(self, task: Task) -> State[Any]:
        """The state before the first reading."""

    def propose(self, state: State[Any]) -> Proposal:
        """The next point to measure; always finite."""

    def absorb(self, state: State[Any], observation: Observation) -> State[Any]:
        """The state after an observation of any kind."""

    def estimate(self, state: State[Any], *, quick: bool = False) -> Estimate:
        """What is known about the answer; `quick`: at the cost of an iteration."""
