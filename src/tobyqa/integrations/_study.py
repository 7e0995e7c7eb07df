"""A study of Optuna as a search: its trials replayed into an `Optimizer`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from .. import Optimizer
from .._check import LARGEST_READING
from ..grid import fifteen_digits
from ._ahead import proposed, suppose

TIME = "tobyqa:t"  # attribute of a trial: when it was measured
SIGMA = "tobyqa:sigma"  # the standard error of its value

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
_PATIENCE = 10  # later trials that may be finished while one runs, and 2 per such trial


@dataclass(frozen=True)
class Axis:
    """A float parameter, in the study and as it is searched."""

    name: str
    distribution: FloatDistribution

    @property
    def label(self) -> str:
        """What the search calls it."""
        if self.distribution.log:
            return f"log {self.name}"
        return f"{self.name} - {self._origin:g}" if self._origin else self.name

    @property
    def _origin(self) -> float:
        """Where its grid begins."""
        return float(self.distribution.low) if self.distribution.step else 0.0

    def to_search(self, value: float) -> float:
        if self.distribution.log:
            return math.log(value)
        return fifteen_digits(value - self._origin) if self._origin else value

    def to_study(self, z: float) -> float:
        value = math.exp(z) if self.distribution.log else float(z) + self._origin
        return self.nearest(value)

    @property
    def limits(self) -> tuple[float, float]:
        low, high = self.distribution.low, self.distribution.high
        return self.to_search(low), self.to_search(high)

    def start(self, x0: Mapping[str, float]) -> float:
        """Where the search begins, as it is searched: as stated, or in the middle."""
        z, step = 0.5 * sum(self.limits), self.distribution.step
        if self.name in x0:
            z = self.to_search(self.nearest(x0[self.name]))
        return fifteen_digits(round(z / step) * step) if step else z

    def nearest(self, value: float) -> float:
        """The value within the limits."""
        return float(min(max(value, self.distribution.low), self.distribution.high))


def axis(name: str, distribution: BaseDistribution) -> Axis | None:
    """A parameter that can be searched; None: it is of another kind."""
    is_float = isinstance(distribution, FloatDistribution)
    return Axis(name, distribution) if is_float and not distribution.single() else None


def axes_of(space: Mapping[str, BaseDistribution]) -> list[Axis]:
    """The parameters to be searched."""
    found = (axis(name, distribution) for name, distribution in space.items())
    return [each for each in found if each is not None]


def in_study(axes: Sequence[Axis], z: Iterable[float]) -> dict[str, float]:
    """A point of the search as parameters."""
    return {a.name: a.to_study(v) for a, v in zip(axes, z, strict=True)}


def replay(opt: Optimizer, axes: Sequence[Axis], trials: Sequence[FrozenTrial]) -> None:
    """Let a search come through these trials, in the order in which they were asked.

    One that still runs is taken to have read what is expected there, so that others are
    asked elsewhere; one that many later ones have overtaken is taken to be lost.
    """
    _check_times(trials)
    overtaken = 0
    runs = {trial.number: 0 for trial in trials if trial.state is TrialState.RUNNING}
    for trial in reversed(trials):
        overtaken += trial.state in _FINISHED
        if trial.number in runs:
            runs[trial.number] = overtaken
    for trial in trials:
        if trial.state in _FINISHED:
            _take(opt, axes, trial)
        elif runs.get(trial.number, math.inf) <= _PATIENCE + 2 * len(runs):
            place = _place(opt, axes, trial)
            suppose(opt, proposed(opt) if place is None else place)


def _place(opt: Optimizer, axes: Sequence[Axis], trial: FrozenTrial) -> Any:
    """Where a trial is in the search, bit by bit if it was proposed; None: nowhere."""
    if any(trial.distributions.get(a.name) != a.distribution for a in axes):
        return None
    point = {a.name: trial.params[a.name] for a in axes}
    z = proposed(opt)
    if in_study(axes, z) == point:
        return z
    return np.array([a.to_search(point[a.name]) for a in axes])


def _take(opt: Optimizer, axes: Sequence[Axis], trial: FrozenTrial) -> None:
    """Tell a finished trial, as the answer to what is asked for if it is there."""
    place = _place(opt, axes, trial)
    if place is None:
        return
    is_asked = not opt.done and np.array_equal(place, opt.ask().x)
    value = trial.value if trial.state is TrialState.COMPLETE else math.nan
    if value is not None and abs(value) <= LARGEST_READING:
        sigma = trial.user_attrs.get(SIGMA)
        opt.tell(opt.ask() if is_asked else place, value, _time(trial), sigma)
    elif is_asked:
        opt.tell_failed(opt.ask(), trial.state.name.lower())


def _time(trial: FrozenTrial) -> float:
    """When a trial was measured: as stated, else when it was complete."""
    if TIME in trial.user_attrs:
        return float(trial.user_attrs[TIME])
    return float(trial.datetime_complete.timestamp())


def _check_times(trials: Sequence[FrozenTrial]) -> None:
    """Times must be on one clock."""
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    without = [t.number for t in complete if TIME not in t.user_attrs]
    if 0 < len(without) < len(complete):
        raise ValueError(
            f"all complete trials must have the attribute {TIME!r}, or none: trial "
            f"{without[0]} has none"
        )
