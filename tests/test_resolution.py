"""Knobs that move in steps: what is asked for, how often, and when a search ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobyqa import Optimizer, Status
from tobyqa.space_arguments import checked_space
from tobyqa.state import Why

METHODS = ["adaptive", "paper"]
OF_PAPER = [Status.UNRESOLVED]
KNOWN = (Why.START, Why.START_AGAIN, Why.COMPARISON, Why.RECHECK)


def searched(opt, target, rng, noise, most):
    """How often each setting was asked for, those aside that are measured again."""
    asked = Counter()
    while not opt.done and opt.nfev < most:
        trial = opt.ask()
        asked[tuple(trial.x)] += trial.why not in KNOWN
        opt.tell(trial, float((trial.x - target) @ (trial.x - target)) + noise(rng))
    return asked


@settings(max_examples=12)
@given(
    method=st.sampled_from(METHODS),
    n=st.integers(1, 3),
    step=st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0]),
    noise=st.sampled_from([0.0, 0.05, 1.0]),
    constraint=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_setting_is_asked_for_a_third_time_for_want_of_a_finer_step(
    method, n, step, noise, constraint, seed
):
    rng = np.random.default_rng(seed)
    target = rng.uniform(0.0, 2.0, n)
    total = " + ".join(f"x{i}" for i in range(n))
    opt = Optimizer(
        np.zeros(n),
        bounds=[(0.0, 2.0)] * n,
        constraints=f"{total} <= 2" if constraint else (),
        resolution=step,
        method=method,
        rng=seed,
        noise=noise,
    )
    asked = searched(opt, target, rng, lambda rng: noise * rng.normal(), 40)
    assert max(asked.values()) <= 2
    settings_ = np.array(list(asked))
    np.testing.assert_allclose(settings_ / step, np.rint(settings_ / step), atol=1e-9)
    assert settings_.min() >= 0.0
    assert settings_.max() <= 2.0


@pytest.mark.parametrize("method", METHODS)
def test_the_search_ends_when_the_grid_is_exhausted(method):
    """It used to ask for one setting hundreds of times, or only for the start."""
    rng = np.random.default_rng(5)
    opt = Optimizer([0, 0], bounds=[(0, 2), (0, 2)], resolution=0.5, method=method)
    searched(opt, np.array([1.3, 0.7]), rng, lambda rng: 0.05 * rng.normal(), 400)
    ends = {"adaptive": [Status.EXHAUSTED], "paper": [*OF_PAPER, Status.EXHAUSTED]}
    assert opt.status in ends[method]
    assert not opt.result().success
    assert opt.nfev <= 2 * 5**2 + 10  # each setting twice, and some comparisons
    x = opt.result().history.x[opt.result().history.asked]
    assert len(np.unique(x, axis=0)) >= 5


def test_adaptive_finds_the_best_setting_of_a_coarse_grid():
    """A step beyond the region has made it smaller than a step: it held no other."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        opt = Optimizer([0, 0], bounds=[(0, 2), (0, 2)], resolution=0.5, rng=seed)
        searched(opt, np.array([1.4, 0.6]), rng, lambda rng: 0.05 * rng.normal(), 400)
        assert opt.result().x.tolist() == [1.5, 0.5]


def test_one_knob_with_two_settings_is_measured_at_both():
    opt = Optimizer([0.0, 0.3], bounds=[(0, 1), (0, 1)], resolution=[1, None], noise=0)
    searched(opt, np.array([1.0, 0.6]), None, lambda rng: 0.0, 20)
    res = opt.result()
    assert set(res.history.x[:, 0]) == {0.0, 1.0}
    assert res.x[0] == 1.0
    assert abs(res.x[1] - 0.6) < 0.05


def test_a_search_along_an_equality_ends_too():
    opt = Optimizer(
        [0, 4], bounds=[(0, 4), (0, 4)], constraints="x0 + x1 == 4", resolution=1
    )
    rng = np.random.default_rng(0)
    asked = searched(opt, np.array([3, 1]), rng, lambda rng: 0.1 * rng.normal(), 200)
    assert opt.status is Status.EXHAUSTED
    assert all(sum(x) == 4.0 for x in asked)
    assert opt.result().x.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({"bounds": [(0, 2), (0, 40)]}, [0.5, 6.0]),  # 15 %, or a step
        ({"bounds": [(0, 2), (0, 40)], "initial_radius": [0.1, 5.0]}, [0.5, 5.0]),
        ({"bounds": None}, [2.0, 2.0]),
        ({"bounds": None, "initial_radius": 0.1}, [0.5, 0.1]),
        ({"bounds": None, "x_scale": [0.1, 1.0]}, [0.5, 5.0]),
        ({"bounds": None, "fixed": {0: 1.0}}, [None, 2.0]),
    ],
)
def test_first_points_are_a_step_away_at_least(arguments, first):
    space = checked_space(2, resolution=[0.5, None], **arguments)
    radius = 2.0 if space.radius is None else space.radius
    for variable, expected in zip(space.variables, first, strict=True):
        if expected is not None:
            assert radius * variable.scale == pytest.approx(expected)


def test_an_exhausted_search_is_restored_as_it_was(tmp_path):
    path = tmp_path / "run.jsonl"
    rng = np.random.default_rng(1)
    arguments = {"bounds": [(0, 2), (0, 2)], "resolution": 0.5, "rng": 0}
    with Optimizer([1, 1], journal=path, **arguments) as opt:
        searched(opt, np.array([1.3, 0.7]), rng, lambda rng: 0.1 * rng.normal(), 400)
        done, x = opt.nfev, opt.result().x
    with Optimizer.resume(path) as again:
        assert (again.status, again.nfev) == (Status.EXHAUSTED, done)
        np.testing.assert_array_equal(again.result().x, x)
        again.undo()
        assert again.status is Status.RUNNING
        assert again.pending
    assert Optimizer.load(path).pending


def test_searches_from_elsewhere_go_on_where_one_is_exhausted():
    opt = Optimizer(
        [1, 1], bounds=[(0, 2)] * 2, resolution=0.5, restarts=True, maxfev=150, rng=0
    )
    rng = np.random.default_rng(1)
    searched(opt, np.array([1.3, 0.7]), rng, lambda rng: 0.1 * rng.normal(), 400)
    assert opt.status is Status.MAXFEV
