"""The answer of a search in the user's variables, units and sign."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .certainty import confidence, suspects_of, weighed
from .eventlog import EventLog
from .remarks import after_reading
from .result import DriftCurve, Result
from .rows import history
from .shown import Rows, answer_rows, point_texts
from .space import Space
from .state import Estimate
from .stuck import stuck
from .surface import UserSurface

_QUICK = ("x", "fun", "fun_std", "drift_rate", "t")


def result_of(log: EventLog) -> Result:
    """All that is known of a run."""
    setup, state = log.course.setup, log.course.state
    space = setup.space
    seen = history(log.course.rows, setup.x0.size)
    best = seen.best(maximize=space.maximize)
    start = space.to_user(setup.task.x0)
    estimate = setup.searcher.estimate(state)
    suspects = suspects_of(space, seen, estimate.doubtful)
    return Result(
        **in_user_terms(space, estimate),
        confidence=confidence(space, estimate),
        suspects=suspects,
        names=list(setup.names),
        units=list(setup.units),
        success=log.status.success,
        status=log.status.code,
        message=log.message,
        nfev=log.books.answered,
        nit=state.iterations,
        nfail=int(seen.failed.sum()),
        x_best_observed=start if best is None else seen.x[best].copy(),
        fun_best_observed=math.nan if best is None else float(seen.value[best]),
        history=weighed(seen, suspects),
        method=str(setup.searcher),
        sensor=stuck(seen.x, seen.value, estimate.noise_std),
    )


def progress_of(log: EventLog) -> Result:
    """The part of it that is cheap."""
    setup, state = log.course.setup, log.course.state
    answer = in_user_terms(setup.space, setup.searcher.estimate(state, quick=True))
    return Result(
        **{key: answer[key] for key in _QUICK},
        names=list(setup.names),
        units=list(setup.units),
        nfev=log.books.answered,
        nit=state.iterations,
    )


def remark(log: EventLog) -> None:
    """Say what there is to be said of the latest reading."""
    course, books = log.course, log.books

    def noise() -> float:
        return log.setup.searcher.estimate(course.state, quick=True).noise_std

    known = books.rows - len(books.blank)
    after_reading(log.setup.space, course.rows, known, noise)


def run_rows(log: EventLog) -> Rows:
    """Where a run stands, for people; at the cost of a look at its progress."""
    books, progress = log.books, progress_of(log)
    limit = "" if books.maxfev is None else f" of {books.maxfev}"
    rows = [("search", log.message), ("trials", f"{books.answered}{limit} answered")]
    for k, trial in enumerate(books.pending):
        at = ", ".join(point_texts(progress, trial.x))
        rows.append(("" if k else "pending", f"trial {trial.id}: {at}"))
    return [*rows, *answer_rows(progress), ("method", str(log.setup.searcher))]


def in_user_terms(space: Space, estimate: Estimate) -> dict[str, Any]:
    """An estimate by its names in a `Result`; arrays are the user's to change."""
    surface = UserSurface(space, estimate.surface)
    if not space.is_plain:
        estimate = _converted(space, estimate)
    active = () if space.is_identity else space.active(estimate.x)
    return {**estimate.fields(), "active": list(active), "surface": surface}


def _converted(space: Space, z: Estimate) -> Estimate:
    """The same in the user's terms; `x` is a point that can be set and is allowed."""
    sign, x_std, x_cov = space.sign, z.x_std, z.x_cov
    if not space.is_identity:
        x_cov = space.cov_to_user(np.nan_to_num(z.x_cov))
        x_cov = 0.5 * x_cov + 0.5 * x_cov.T  # the sum may be beyond all numbers
        # What is fixed is known where all else is not.
        moves = np.diag(np.isnan(z.x_cov.diagonal()).astype(float))
        is_open = space.cov_to_user(moves).diagonal() > 0.0
        x_cov[np.logical_and.outer(is_open, is_open)] = math.nan
        # Rounding may leave less than nothing across an equality.
        x_std = np.sqrt(np.maximum(x_cov.diagonal(), 0.0))
    return replace(
        z,
        x=space.to_user(z.x),
        x_std=x_std,
        x_cov=x_cov,
        fun=space.value_to_user(z.fun),
        jac=space.gradient_to_user(z.jac),
        hess=space.hessian_to_user(z.hess),
        drift_rate=sign * z.drift_rate,
        drift=DriftCurve(z.drift.t, sign * z.drift.value, z.drift.std),
    )
