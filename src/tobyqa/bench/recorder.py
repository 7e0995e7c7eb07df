"""The black box a solver sees: a problem through a channel, with noise and a budget.

The solver gets readings F = phi(f(x), t) + noise; the record keeps latent values f(x).
"""

from __future__ import annotations

import hashlib
import json
import math
import operator

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from tobyqa.bench.chance import stream
from tobyqa.bench.channels import Channel, Context, get_channel
from tobyqa.bench.instruments import QUIET
from tobyqa.bench.problems import Problem
from tobyqa.bench.records import Array, Cell, Record

_RELATIVE_NOISE = 1e-3  # standard deviation over s0, from the paper
_START_EDGE = 0.05  # of a box, where no search begins
_START_DRAWS = 200


def noise_level(f_start: ArrayLike) -> Array:
    """Standard deviation of a reading where f(x0) is `f_start`."""
    return np.asarray(_RELATIVE_NOISE * np.maximum(np.abs(f_start), 1.0))


class BudgetSpent(BaseException):
    """The recorder was asked for more queries than its budget has.

    Not an `Exception`: a solver that shrugs off errors of its objective must not shrug
    this one off, or it would ask for ever.
    """


class Recorder:
    """Readings of `problem` through a channel; remembers what it was asked.

    Call it with a point to get a reading. After `budget` queries every further call
    raises `BudgetSpent`.

    Parameters
    ----------
    problem : Problem
    channel_name : str
        One of `tobyqa.bench.channels.channel_names()`.
    seed : int
        Selects the noise and nothing else. The noise of a query depends only on
        problem, n, channel, seed and the index of the query, so all solvers meet the
        same, and a smaller budget sees the beginning of what a larger one sees.
    budget : int
        Number of queries allowed, at least 1.
    channel : callable, optional
        The channel itself, where its name does not lead to it.

    Attributes
    ----------
    x0 : array (n,)
        Starting point; a copy, the solver may do with it what it likes.
    bounds : scipy.optimize.Bounds or None
        The box, if the problem has one; a reading outside of it is +inf.
    noise : float
        Standard deviation of the noise, 1e-3 max(|f(x0)|, 1) unless the problem has
        its own.
    budget, nfev : int
        Queries allowed and made.

    Examples
    --------
    >>> from tobyqa.bench.problems import get_problem
    >>> recorder = Recorder(get_problem("power", 3), "Static", seed=0, budget=100)
    >>> abs(recorder(recorder.x0) - 14.0) < 6 * recorder.noise
    True
    >>> recorder.nfev
    1
    """

    def __init__(
        self,
        problem: Problem,
        channel_name: str,
        seed: int,
        budget: int,
        channel: Channel | None = None,
    ) -> None:
        seed, budget = operator.index(seed), operator.index(budget)
        if budget < 1:
            raise ValueError(f"budget: {budget}, expected at least 1")
        self._channel = channel or get_channel(channel_name)
        self._problem = problem
        self._shape = (problem.n,)
        start = _start(problem, seed)
        self._f_start = problem.fun(start)
        self._instance = (problem.name, problem.n, channel_name, seed, budget)
        self.x0: Array = start.copy()
        self.noise = _noise(problem, self._f_start)
        self.budget = budget
        self.nfev = 0
        key = _key(problem.name, problem.n, channel_name, seed)
        rng, s0 = stream(key), _scale(problem, self._f_start)
        self._context = Context(start, s0, chance=key)
        # A list: picking one float out of an array would cost more than adding it.
        self._errors: list[float] = (self.noise * rng.standard_normal(budget)).tolist()
        self._improved_at: list[int] = []
        self._improved_to: list[float] = []
        self._best_latent = math.inf
        self._least_reading = math.inf
        self._least_point: Array = start

    @property
    def bounds(self) -> Bounds | None:
        box = self._problem.box
        return None if box is None else Bounds(box.lower.copy(), box.upper.copy())

    def __call__(self, x: ArrayLike) -> float:
        """Reading at `x`, (n,); +inf where the latent value or `x` is not finite."""
        if self.nfev >= self.budget:
            raise BudgetSpent(f"all {self.budget} queries are spent")
        point = np.array(x, dtype=np.float64)
        latent = self._latent(point)  # a point of wrong shape raises, uncounted
        error = self._errors[self.nfev]
        self.nfev += 1
        reading = self._channel(latent, point, self.nfev, self._context) + error
        if latent < self._best_latent:
            self._best_latent = latent
            self._improved_at.append(self.nfev)
            self._improved_to.append(latent)
        if reading < self._least_reading:
            self._least_reading, self._least_point = reading, point
        return reading

    def record(
        self,
        cell: Cell,
        returned_x: ArrayLike | None,
        status: str,
        error: str,
        seconds: float,
    ) -> Record:
        """The record of the run so far.

        A solver that handed back nothing (`returned_x` None: stopped by the budget or
        crashed) is credited with the point of its smallest reading, all it could
        know; without any finite reading that is x0.
        """
        if cell.instance != self._instance:
            raise ValueError(f"cell: {cell} is not the run of {self._instance}")
        returned = self._least_point if returned_x is None else returned_x
        return Record(
            cell=cell,
            status=status,
            error=error,
            nfev=self.nfev,
            f_start=self._f_start,
            f_returned=self._latent(np.array(returned, dtype=np.float64)),
            improved_at=np.array(self._improved_at, dtype=np.int64),
            improved_to=np.array(self._improved_to, dtype=np.float64),
            seconds=seconds,
        )

    def _latent(self, point: Array) -> float:
        if point.shape != self._shape:
            raise ValueError(f"x: shape {point.shape}, expected {self._shape}")
        # Asked of the point itself: a NaN in a null direction leaves f finite.
        if not np.isfinite(point).all():
            return math.inf
        box = self._problem.box
        if box is None:
            return self._problem.fun(point)
        if not box.holds(point):
            return math.inf
        return self._problem.fun(np.clip(point, box.lower, box.upper))


def _start(problem: Problem, seed: int) -> Array:
    """The problem's start; in some boxes it is drawn, not too near the best."""
    box = problem.box
    if box is None or box.scale is None or box.start_losses is None:
        return problem.x0
    low, high = (box.minimum + loss * box.scale for loss in box.start_losses)
    rng = stream(_key(problem.name.removesuffix(QUIET), problem.n, "start", seed))
    for _ in range(_START_DRAWS):
        u = rng.uniform(_START_EDGE, 1.0 - _START_EDGE, problem.n)
        x0 = box.lower + u * (box.upper - box.lower)
        if low <= problem.fun(x0) <= high:
            return x0
    return problem.x0


def _scale(problem: Problem, f_start: float) -> float:
    """s0, by which channels measure."""
    own = None if problem.box is None else problem.box.scale
    return max(abs(f_start), 1.0) if own is None else own


def _noise(problem: Problem, f_start: float) -> float:
    own = None if problem.box is None else problem.box.noise
    if own is None:
        return float(noise_level(f_start))
    return own * _scale(problem, f_start)


def _key(problem: str, n: int, channel: str, seed: int) -> int:
    """A number from named components, none of them the solver or the budget."""
    key = json.dumps({"problem": problem, "n": n, "channel": channel, "seed": seed})
    return int.from_bytes(hashlib.sha256(key.encode()).digest(), "big")
