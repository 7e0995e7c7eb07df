"""The values that travel through a search, all frozen, and what a method is.

Data flows one way: samples -> model -> step (`Proposal`) -> evaluation
(`Observation`) -> verdict (`Verdict`) -> samples (a new `State`).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .polyhedron import Polyhedron
from .result import DriftCurve, Status
from .samples import SampleSet
from .surface import Surface

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
    area: Polyhedron | None = None  # where it may go; x0 is inside; None: anywhere


class Why(Enum):
    """What a point is measured for: a journal has the name, a user sees the text."""

    START = "the start"
    FIRST = "one of the first points around the start"
    START_AGAIN = "the start again: what has changed there is drift"
    STEP = "a step to where the model expects the best reading"
    EXPLORATION = "an exploration, along the way that is known least"
    COMPARISON = "a comparison: a known place once more, beside another"
    RECHECK = "measured again: the reading there is hard to believe"
    ELSEWHERE = "a search from elsewhere (restarts)"
    ON_THE_WAY = "on the way to a place farther away than one move (max_move)"
    SAFE = "back at the safe place: a reading was beyond the limit"


NAMED: Mapping[str, Why] = Why.__members__  # by what a journal has


@dataclass(frozen=True)
class Proposal:
    """The next point to measure."""

    x: Array
    why: Why = Why.STEP


@dataclass(frozen=True)
class Flight:
    """How a trial went out that had others beside it."""

    proposal: Proposal  # what it went out as
    standing: Standing | None  # where the search stood then; None: not kept


@dataclass(frozen=True)
class Observation:
    """One event from the outside: a reading, or a failed attempt at one."""

    x: Array
    t: float
    value: float  # NaN for a failed measurement
    sigma: float = math.nan  # its own standard error, NaN where not stated
    trial: int | None = None  # the trial that it belongs to; None: nobody asked
    answers: bool = False  # that trial was the proposal which is in force now
    flight: Flight | None = None  # of that trial; None: it was alone

    @property
    def asked(self) -> bool:
        return self.trial is not None

    @property
    def failed(self) -> bool:
        return math.isnan(self.value)


@dataclass(frozen=True)
class Verdict:
    """What a method made of an observation."""

    accepted: bool  # it became the centre


class Gauges(NamedTuple):
    """How far a search looks and how well it sees, per scaled variable."""

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
    is_beside: bool = False  # trials have been out together
    failed: tuple[Array, ...] = ()  # where such trials have failed

    @property
    def centre_point(self) -> Array:
        """The incumbent, or the starting point as long as there is none."""
        if self.centre is None:
            return self.task.x0
        return np.asarray(self.samples.points[self.centre])

    @property
    def accepted(self) -> bool:
        """Whether the latest observation became the centre."""
        return self.verdict is not None and self.verdict.accepted


class Doubtful(NamedTuple):
    """A reading that is in no fit."""

    t: float
    value: float
    expected: float  # by all the others
    sigmas: float  # how far off it is, in standard errors


@dataclass(frozen=True)
class Estimate:
    """The answer as the model sees it, at time `t`, in the search's variables."""

    x: Array
    x_std: Array  # NaN where the model has no minimum
    x_cov: Array  # the same as a covariance, (n, n)
    t: float
    fun: float
    fun_std: float
    jac: Array
    hess: Array
    drift_rate: float
    drift_rate_std: float
    drift: DriftCurve
    noise_std: float
    noise_std_std: float = math.nan
    drift_is_local: bool = False
    open_way: Array | None = None  # along which the minimum is not determined
    doubtful: tuple[Doubtful, ...] = ()
    surface: Surface | None = None  # the model itself; None: there is none yet

    def fields(self) -> dict[str, Any]:
        """By name, for a `Result`; arrays are copies that the user may change."""
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
            if name not in ("open_way", "doubtful")
        }


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
        x_cov=np.full((n, n), math.nan),
        fun_std=noise_std,
        jac=np.full(n, math.nan),
        hess=np.full((n, n), math.nan),
        drift_rate=math.nan,
        drift_rate_std=math.nan,
        drift=DriftCurve.none(),
        noise_std=noise_std,
    )


class Standing(Protocol):
    """What is read of a search between two observations, whatever its method."""

    @property
    def status(self) -> Status:
        """Whether the method sees a reason to end."""

    @property
    def iterations(self) -> int: ...

    @property
    def accepted(self) -> bool:
        """Whether the latest observation became the centre."""

    @property
    def centre_point(self) -> Array: ...

    @property
    def gauges(self) -> Gauges: ...


class Method(Protocol):
    """A frozen settings object that can begin a search and read its states."""

    RETIRED: ClassVar[frozenset[str]]
    """Settings that it had once: files may still name them."""

    def needs(self, n: int) -> int:
        """How many readings it asks for before it has a model of `n` variables."""

    def begin(
        self, task: Task
    ) -> Generator[tuple[Proposal, Standing], Observation | None, None]:
        """A search: yields what to measure next and where it stands.

        It is sent every observation, asked for or not, and never returns by itself:
        after a status that ends it, it goes on if it is sent more. None instead of an
        observation says that a search which had been ended from outside goes on, so
        that failures before it count no more. The same proposal as before is the same
        object. All that it does follows from `task` and what it is sent.
        """

    def continued(
        self, task: Task, state: Any
    ) -> Generator[tuple[Proposal, Standing], Observation | None, None] | None:
        """The search that has come to `state`, from now on with another task.

        None if it cannot, as before there is a model: then a new one has to begin.
        """

    def amended(
        self, task: Task, state: Any, place: int, value: float
    ) -> Generator[tuple[Proposal, Standing], Observation | None, None] | None:
        """The search that has come to `state`, once one of its readings is another.

        `place`: its number among all readings that the search was sent, failures not
        counted. `value`: what was read in truth; NaN if that is not known. None as of
        `continued`.
        """

    def further(
        self, state: Any, proposal: Proposal | None, waiting: tuple[Array, ...]
    ) -> Proposal:
        """What is worth most while trials are `waiting` at these points; pure.

        `proposal` is the search's own in this state, None if it is waiting already. To
        give that object back is to ask for it.
        """

    def estimate(self, state: Any, *, quick: bool = False) -> Estimate:
        """What a state of its own says about the answer; pure.

        `quick`: at the cost of an iteration.
        """


class Steps(Protocol[M]):
    """A method as pure functions from state to state."""

    def start(self, task: Task) -> State[M]:
        """The state before the first reading."""

    def propose(self, state: State[M]) -> Proposal:
        """The next point to measure; always finite."""

    def absorb(self, state: State[M], observation: Observation) -> State[M]:
        """The state after an observation of any kind."""


def stepwise(
    method: Steps[M], state: State[M]
) -> Generator[tuple[Proposal, State[M]], Observation | None, None]:
    """The search of a method that is made of pure functions, from a state on."""
    proposal = method.propose(state)
    while True:
        observation = yield proposal, state
        if observation is None:
            state = replace(state, failures=0)
        else:
            state = method.absorb(state, observation)
        following = method.propose(state)
        # To ask for the same point again, before it was read, is the same proposal.
        is_answered = observation is not None and observation.answers
        if is_answered or not np.array_equal(following.x, proposal.x):
            proposal = following
