"""A study of Optuna as a search: its trials replayed into an `Optimizer`."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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


Event = tuple[tuple[datetime, int, bool], FrozenTrial]  # time, number, is it the end


def events(trials: Iterable[FrozenTrial]) -> list[Event]:
    """Beginnings and ends of trials, in the order of time."""
    found: list[Event] = []
    for trial in trials:
        began, ended = trial.datetime_start, trial.datetime_complete
        known = [moment for moment in (began, ended) if moment is not None]
        if known:
            # Clocks may differ, but nothing ends before it begins.
            found.append(((min(known), trial.number, False), trial))
        if ended is not None:
            found.append(((ended, trial.number, True), trial))
    return sorted(found, key=lambda event: event[0])


class Story:
    """A search that has come through what happened in a study, as it happened.

    A trial depends on nothing that came after its beginning, so that the same points
    are found again by every process and whenever the story is told anew.
    """

    def __init__(self, opt: Optimizer, axes: Sequence[Axis]) -> None:
        self.opt, self.axes = opt, axes
        self._past: list[Any] = []  # moments that it has come through
        self._asked: dict[int, tuple[Trial | None, dict[str, float], bool]] = {}
        self._since: dict[int, int] = {}  # readings when a trial was asked for
        self._readings = 0

    def leads_to(self, events: Sequence[Event]) -> bool:
        """Whether its past is how these began."""
        past = events[: len(self._past)]
        if [moment for moment, _ in past] != self._past:
            return False
        asked = ((self._asked[trial.number], trial) for _, trial in past)
        return all(_is_at(trial, point) == is_at for (_, point, is_at), trial in asked)

    def go_on(self, events: Sequence[Event]) -> None:
        """Come through the rest of these."""
        for moment, trial in events[len(self._past) :]:
            self._past.append(moment)
            if moment[2]:
                self._take(trial)
            else:
                self._ask(trial)

    def next_point(self, trial: FrozenTrial) -> dict[str, float]:
        """Where a trial that has begun is to be measured."""
        stated = trial.system_attrs.get("fixed_params", {})  # by `study.enqueue_trial`
        fixed = {
            a.label: a.to_search(a.nearest(stated[a.name]))
            for a in self.axes
            if a.name in stated
        }
        if self.opt.done or not 0 < len(fixed) < len(self.axes):
            return self._asked[trial.number][1]
        opt = copy.deepcopy(self.opt)
        opt.fix(fixed)
        return self._in_study(opt.ask(len(opt.pending) + 1)[-1].x)

    def _in_study(self, z: Array) -> dict[str, float]:
        return {a.name: a.to_study(v) for a, v in zip(self.axes, z, strict=True)}

    def _ask(self, trial: FrozenTrial) -> None:
        """Ask for a trial as it begins; what was put elsewhere is not waited for."""
        opt, waiting = self.opt, None
        if not opt.done:
            waiting = opt.ask(len(opt.pending) + 1)[-1]
        x = opt.result().x if waiting is None else waiting.x
        point = self._in_study(x)
        is_at = _is_at(trial, point)
        if waiting is not None and is_at:
            self._since[waiting.id or 0] = self._readings
        elif waiting is not None:
            opt.give_up(waiting)
            waiting = None
        self._asked[trial.number] = waiting, point, is_at

    def _take(self, trial: FrozenTrial) -> None:
        """Tell a trial that has ended, as what was asked for or as another reading."""
        waiting = self._asked[trial.number][0]
        if waiting is not None and all(t.id != waiting.id for t in self.opt.pending):
            waiting = None  # given up since
        value = trial.value if trial.state is TrialState.COMPLETE else math.nan
        if value is not None and abs(value) <= LARGEST_READING:
            place = waiting or self._place(trial)
            if place is not None:
                self.opt.tell(place, value, _time(trial), trial.user_attrs.get(SIGMA))
        elif waiting is not None:
            self.opt.tell_failed(waiting, trial.state.name.lower())
        self._readings += 1
        give_up_lost(self.opt, self._since, self._readings)

    def _place(self, trial: FrozenTrial) -> Array | None:
        """Where a trial is in the search; None: it has not all its variables."""
        if any(trial.distributions.get(a.name) != a.distribution for a in self.axes):
            return None
        return np.array([a.to_search(trial.params[a.name]) for a in self.axes])


def _is_at(trial: FrozenTrial, point: Mapping[str, float]) -> bool:
    """Whether a trial is at a point, as far as one knows while it runs."""
    known = trial.params
    if trial.state is TrialState.RUNNING:
        known = {**point, **known}
    return all(known.get(name) == value for name, value in point.items())


def _time(trial: FrozenTrial) -> float:
    """When a trial was measured: as stated, else when it was complete."""
    if TIME in trial.user_attrs:
        return float(trial.user_attrs[TIME])
    return float(trial.datetime_complete.timestamp())


def check_times(trials: Sequence[FrozenTrial]) -> None:
    """Times must be on one clock."""
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    without = [t.number for t in complete if TIME not in t.user_attrs]
    if 0 < len(without) < len(complete):
        raise ValueError(
            f"all complete trials must have the attribute {TIME!r}, or none: trial "
            f"{without[0]} has none"
        )
