"""A sampler for Optuna's studies: its storage, its dashboard, its command line.

Needs the package optuna. ::

    import optuna
    from tobyqa.integrations.optuna import TobyqaSampler

    sampler = TobyqaSampler()
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=60)
    print(sampler.best_params(study))

`study.best_params` is the luckiest trial's, by noise and drift; `best_params` of the
sampler are what all readings together say.
"""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from .. import Optimizer
from ._study import Axis, Story, axes_of, axis, check_times, events


class TobyqaSampler(BaseSampler):  # type: ignore[misc]
    """Search the float parameters of a study; others are left to another sampler.

    Parameters are searched within their limits, those with ``log=True`` by their
    logarithms, those with a step on their grid. All that the sampler knows it has from
    the study: any storage and any number of processes will do, and a study can be
    continued. Failed and pruned trials are failed measurements. Where others are still
    running, the next point is one that tells most beside them.

    A reading is dated by the attribute ``"tobyqa:t"`` of its trial, if it has one, else
    by when the trial was complete; its standard error is ``"tobyqa:sigma"``, where that
    is known to differ from `noise`. Set them with `trial.set_user_attr`.

    Parameters
    ----------
    x0 : dict, optional
        Where to start, by name; the middle of the limits by default.
    method, noise, initial_radius, options, restarts
        As in `tobyqa.minimize`; a radius is one of logarithms where ``log=True``.
    seed : int
        Source of randomness; the same one in all processes of a study.
    independent_sampler : optuna.samplers.BaseSampler, optional
        For integers, categories and parameters that not all trials have; random by
        default.
    """

    def __init__(
        self,
        x0: Mapping[str, float] | None = None,
        *,
        method: Any = "adaptive",
        noise: float | None = None,
        initial_radius: float | None = None,
        options: Mapping[str, Any] | None = None,
        restarts: bool = False,
        seed: int = 0,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        self._x0 = dict(x0 or {})
        self._told: deque[Story] = deque(maxlen=1)
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._arguments = {
            "method": method,
            "noise": noise,
            "initial_radius": initial_radius,
            "options": options,
            "restarts": restarts,
            "rng": seed,
            # It is the study that ends.
            "maxfev": sys.maxsize,
            "max_failures": sys.maxsize,
        }
        Optimizer([0.0], **self._arguments)  # what is wrong is said here

    def optimizer(self, study: Study) -> Optimizer:
        """The search that the trials so far have led to, for pictures and reports.

        A logarithm is searched as such, and a parameter on a grid from where that
        begins; the names of the variables say so.
        """
        with self._story(study) as story:
            return copy.deepcopy(story.opt)

    def best_params(self, study: Study) -> dict[str, float]:
        """The parameters to use: where all readings together expect the best value."""
        with self._story(study) as story:
            best = zip(story.axes, story.opt.result().x, strict=True)
        return {a.name: a.to_study(v) for a, v in best}

    @contextmanager
    def _story(
        self,
        study: Study,
        space: Mapping[str, BaseDistribution] | None = None,
        until: FrozenTrial | None = None,
    ) -> Iterator[Story]:
        """What has happened in a study; up to the moment when a trial begins.

        The latest one is kept, since a study goes on from there. As long as a thread
        has it, others find none and tell it anew.
        """
        if space is None:
            space = self.infer_relative_search_space(study)
        axes, trials = axes_of(space), study.get_trials(deepcopy=False)
        if not axes:
            raise ValueError("study has no complete trial with a float parameter")
        check_times(trials)
        past = events(trials)
        if until is not None:
            end = until.datetime_start, until.number, False
            past = [event for event in past if event[0] <= end]
        try:
            story = self._told.pop()
        except IndexError:
            story = None
        if story is None or story.axes != axes or not story.leads_to(past):
            story = Story(self._begun(study, axes), axes)
        story.go_on(past)
        yield story
        self._told.append(story)

    def _begun(self, study: Study, axes: Sequence[Axis]) -> Optimizer:
        """The search before its first trial."""
        trials = study.get_trials(deepcopy=False)
        seen = set().union(*(trial.distributions for trial in trials))
        if unknown := self._x0.keys() - seen:
            raise ValueError(
                f"x0 names {sorted(unknown)}, which are no parameters of the study; it "
                f"has {sorted(seen)}"
            )
        return Optimizer(
            [a.start(self._x0) for a in axes],
            names=[a.label for a in axes],
            bounds=[a.limits for a in axes],
            resolution=[a.distribution.step for a in axes],
            maximize=study.direction is StudyDirection.MAXIMIZE,
            **self._arguments,
        )

    # -- what Optuna calls -----------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial | None = None
    ) -> dict[str, BaseDistribution]:
        """The float parameters that all complete trials have."""
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        space = intersection_search_space(complete)
        return {a.name: a.distribution for a in axes_of(space)}

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """The next point, given all trials that are finished or still run."""
        _check_single(study)
        point: dict[str, Any] = {}
        if axes_of(search_space):
            with self._story(study, search_space, until=trial) as story:
                point = story.next_point(trial)
        for name in search_space.keys() - point.keys():
            point[name] = self._independent.sample_independent(
                study, trial, name, search_space[name]
            )
        return point

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """The start, in the first trial; else what the other sampler says."""
        _check_single(study)
        searched = axis(param_name, param_distribution)
        if searched is not None and trial.number == 0:
            return searched.to_study(searched.start(self._x0))
        return self._independent.sample_independent(
            study, trial, param_name, param_distribution
        )

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._independent.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()


def _check_single(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"study must have one objective, but has {len(study.directions)}"
        )
