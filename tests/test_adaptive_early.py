"""Method `adaptive`: the minimum that was known before a local drift grew large."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tobyqa
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import Recorder
from tobyqa.methods.adaptive.answer import recommended
from tobyqa.methods.adaptive.champion import Champion
from tobyqa.methods.adaptive.early import EarlyMinimum, remembered, still_better
from tobyqa.methods.adaptive.posterior import Components, posterior
from tobyqa.methods.adaptive.window import window_around
from tobyqa.samples import SampleSet


def fit(curvature, *, centre=0.0, spread=1.0, noise=0.1):
    """Fifty readings of curvature |x|^2 / 2 in two variables, around `centre`."""
    rng = np.random.default_rng(0)
    x = np.vstack([np.full(2, centre), centre + spread * rng.normal(size=(49, 2))])
    values = 0.5 * curvature * np.sum(x**2, axis=1) + noise * rng.normal(size=50)
    samples = SampleSet.of(x, np.arange(50.0), values)
    window = window_around(
        samples, 0, np.eye(2), reach=4.0, size=100, noise=noise, spacing=1.0
    )
    fitted = posterior(window, Components(math.log(curvature / noise), 3.0, -6.0), 1.0)
    assert fitted is not None
    return fitted


def kept(known, fitted, place=(0.0, 0.0), loudest=20.0):
    """What is remembered by a search whose best place is `place`."""
    search = SimpleNamespace(
        early=known,
        champion=Champion(np.array(place), np.eye(2)),
        loudest=loudest,
        local=True,
    )
    return remembered(search, fitted)


def test_a_fit_that_does_not_know_its_minimum_is_not_kept():
    flat = fit(1e-3)
    assert kept(None, flat) is None


def test_a_fit_that_explains_nothing_is_not_kept():
    fitted = fit(10.0)
    assert kept(None, fitted) is not None
    assert kept(None, fitted, loudest=0.1 * math.sqrt(fitted.nu)) is None


def test_a_fit_that_was_sure_is_kept_whatever_comes_later():
    sure = kept(None, fit(10.0))
    assert sure is not None
    assert sure.is_sure
    surer = fit(10.0, noise=1e-3)
    assert kept(sure, surer) is sure


def test_a_fit_that_was_not_sure_is_replaced_by_one_that_is_surer_by_half():
    fitted = fit(10.0)
    excess = kept(None, fitted).excess
    noise = fitted.noise_std
    unsure = EarlyMinimum(fitted, max(2.1 * excess, 0.5 * noise))
    better = kept(unsure, fit(10.0))
    assert better is not unsure
    assert better.excess == pytest.approx(excess)
    close = EarlyMinimum(replace(fitted, nu=1e-9 * fitted.nu), 1.9 * excess)
    assert kept(close, fit(10.0)) is close


def test_a_minimum_is_forgotten_once_a_lower_place_beyond_it_is_confirmed():
    """Along a valley fits are sure of minima that are none."""
    sure = kept(None, fit(10.0))
    assert kept(sure, fit(10.0), place=(30.0, 0.0)) is None
    assert kept(sure, fit(10.0), place=(1.5, 0.0)) is sure


def finished(name, n, channel, budget=1500):
    """An optimizer with its budget spent, what was queried, and the problem."""
    problem = get_problem(name, n)
    recorder = Recorder(problem, channel, seed=10, budget=budget)
    opt = tobyqa.Optimizer(
        recorder.x0, method="adaptive", noise=recorder.noise, maxfev=budget, rng=0
    )
    best = math.inf
    while not opt.done:
        trial = opt.ask()
        best = min(best, problem.fun(trial.x))
        opt.tell(trial, recorder(trial.x))
    return opt, lambda x: (problem.fun(x) - best) / recorder.noise


def test_the_answer_under_a_local_drift_is_the_early_one():
    opt, height = finished("dixmaane", 6, "Hetero")
    early, result = opt._state.memory.early, opt.result()
    assert result.drift_is_local
    u = recommended(early.fitted, opt._state.memory.loudest)
    np.testing.assert_array_equal(result.x, early.fitted.window.frame.point(u))
    assert height(result.x) < 0.2
    # It was known long ago; value and drift are those of now.
    assert early.fitted.window.times[-1] < 400.0
    assert result.t == result.drift.t[-1] == 1499.0
    now = 0.01 * opt.result().history.value[0] * 1500.0 * 2.0
    assert result.fun == pytest.approx(now, rel=0.02)
    assert result.noise_std == pytest.approx(opt.setup["noise"], rel=0.3)


def test_a_short_run_is_answered_by_a_fit_of_all_its_readings():
    opt, height = finished("penalty1", 2, "Hetero", 200)
    memory = opt._state.memory
    plain = replace(memory.fitted, components=Components(2.0, 2.0, -6.0))
    assert still_better(memory, plain, 1000) is None
    assert still_better(memory, plain, 1001) is memory.early
    late = replace(opt._state, memory=replace(memory, early=None))
    np.testing.assert_array_equal(opt.result().x, opt.method.estimate(late).x)
    assert height(opt.result().x) < 1.0


def test_without_it_the_search_is_the_same_and_the_answer_the_late_one():
    opt, _ = finished("dixmaana", 3, "Hetero", 150)
    assert opt._state.memory.early is not None
    without = tobyqa.Optimizer(
        opt.setup["x0"],
        method=tobyqa.Adaptive(early=False),
        noise=opt.setup["noise"],
        maxfev=150,
        rng=0,
    )
    history = opt.result().history
    for x, value in zip(history.x, history.value, strict=True):
        trial = without.ask()
        np.testing.assert_array_equal(trial.x, x)
        without.tell(trial, value)
    assert without._state.memory.early is None


def test_a_drift_of_time_alone_leaves_the_answer_to_the_latest_fits():
    opt, _ = finished("dixmaane", 3, "ChaoticDrift", 150)
    assert not opt.result().drift_is_local
    assert opt._state.memory.early is None
