"""A study of Optuna as a search: its trials replayed into an `Optimizer`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from .. import Optimizer, Trial
from .._check import LARGEST_READING
from ..grid import fifteen_digits
from ._lost import give_up_lost

Array = NDArray[np.float64]

TIME = "tobyqa:t"  # attribute of a trial: when it was measured
SIGMA = "tobyqa:sigma"  # the standard error of its value


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


def next_point(opt: Optimizer) -> tuple[Trial | None, Array]:
    """A new trial and its point; of a search that has ended, its answer once more."""
    if opt.done:
        return None, opt.result().x
    trial = opt.ask(len(opt.pending) + 1)[-1]
    return trial, trial.x


def replay(
    opt: Optimizer,
    axes: Sequence[Axis],
    trials: Sequence[FrozenTrial],
    before: FrozenTrial | None = None,
) -> None:
    """Let a search come through what has happened in a study, as it happened.

    Up to the moment when the trial `before` began, so that its point depends on nothing
    else and is found again by every later replay.
    """
    _check_times(trials)
    asked: dict[int, Trial | None] = {}
    since: dict[int, int] = {}
    readings = 0
    for moment, trial in _events(trials):
        if before is not None and moment >= (before.datetime_start, before.number, 0):
            break
        if trial.number in asked:
            _take(opt, axes, trial, asked[trial.number])
            readings += 1
            give_up_lost(opt, since, readings)
        else:
            asked[trial.number] = waiting = _asked(opt, axes, trial)
            if waiting is not None and waiting.id is not None:
                since[waiting.id] = readings


def _events(trials: Iterable[FrozenTrial]) -> list[tuple[Any, FrozenTrial]]:
    """Beginnings and ends of trials, in the order of time."""
    events = []
    for trial in trials:
        began, ended = trial.datetime_start, trial.datetime_complete
        if began is not None or ended is not None:
            events.append(((began or ended, trial.number, 0), trial))
        if ended is not None:
            events.append(((ended, trial.number, 1), trial))
    return sorted(events, key=lambda event: event[0])


def _asked(opt: Optimizer, axes: Sequence[Axis], trial: FrozenTrial) -> Trial | None:
    """What was asked for when a trial began; None: it was put elsewhere."""
    waiting, x = next_point(opt)
    point = in_study(axes, x)
    seen = point | trial.params if trial.state is TrialState.RUNNING else trial.params
    if all(seen.get(name) == value for name, value in point.items()):
        return waiting
    if waiting is not None:
        opt.give_up(waiting)
    return None


def _take(
    opt: Optimizer, axes: Sequence[Axis], trial: FrozenTrial, waiting: Trial | None
) -> None:
    """Tell a finished trial: the answer to what was asked for, or another reading."""
    waits = waiting is not None and any(each.id == waiting.id for each in opt.pending)
    value = trial.value if trial.state is TrialState.COMPLETE else math.nan
    assert value is not None
    if abs(value) <= LARGEST_READING:
        if all(trial.distributions.get(a.name) == a.distribution for a in axes):
            x = np.array([a.to_search(trial.params[a.name]) for a in axes])
            sigma = trial.user_attrs.get(SIGMA)
            opt.tell(waiting if waits else x, value, _time(trial), sigma)
    elif waits:
        assert waiting is not None
        opt.tell_failed(waiting, trial.state.name.lower())


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
