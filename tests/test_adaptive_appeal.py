"""Method `adaptive`: a step that a local drift has turned down, and what it leaves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import Recorder
from tobyqa.methods.adaptive.belief import BELIEVED, GUESSED, Belief, Place
from tobyqa.methods.adaptive.comparison import Ruler
from tobyqa.methods.adaptive.search import appeal
from tobyqa.methods.adaptive.window import window_around
from tobyqa.samples import SampleSet
from tobyqa.state import Observation

HERE, THERE = np.zeros(2), np.array([3.0, 0.0])
TIMES = [(HERE, t) for t in (0, 6, 8, 10, 11, 13)] + [(THERE, t) for t in (7, 9, 12)]
NOISE = 0.5
ALL = tobyqa.Adaptive(repeats=1.0)  # appeals whenever they are due


def lines(value, order=None):
    """The two places as straight lines, from readings of `value(x, t)`."""
    samples = SampleSet.empty(2)
    taken = sorted(TIMES, key=lambda pair: pair[1])
    for x, t in taken if order is None else [taken[k] for k in order]:
        samples = samples.append(x, float(t), value(x, t), np.nan)
    found = Ruler(NOISE, 0.0, 1.0).lines(samples, HERE, THERE)
    assert found is not None
    return found


level = st.floats(-1e3, 1e3)


@given(level, level, level, level)
def test_lines_of_two_places_are_exact(here, rate, there, other_rate):
    def value(x, t):
        return here + rate * t if x[0] == 0.0 else there + other_rate * t

    found = lines(value)
    assert found.ahead[0] == pytest.approx((there - here) / NOISE, abs=1e-6)
    assert found.misfit < 1e-6
    part = abs(other_rate - rate) / NOISE
    if part < 0.1 or part > 10.0:
        assert found.drift_apart(1.0, 4.5) == (part > 10.0)


@given(st.integers(0, 2**32 - 1), level, level)
def test_places_drift_apart_or_not_whatever_they_drift_by_together(seed, start, rate):
    rng = np.random.default_rng(seed)
    own = {(x[0], t): float(rng.normal() + 0.3 * x[0] * t) for x, t in TIMES}
    found = lines(lambda x, t: own[x[0], t])
    moved = lines(lambda x, t: own[x[0], t] + start + rate * t)
    np.testing.assert_allclose(moved.ahead, found.ahead, atol=1e-6)
    assert moved.misfit == pytest.approx(found.misfit, abs=1e-6)


@given(st.permutations(range(1, len(TIMES))))
def test_the_order_of_readings_is_of_no_account(rest):
    def value(x, t):
        return 3.0 * x[0] + math.sin(t) + 0.2 * x[0] * t

    found, other = lines(value), lines(value, order=[0, *rest])
    np.testing.assert_allclose(other.ahead, found.ahead)
    assert other.misfit == pytest.approx(found.misfit)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("drift", "apart"),
    [
        (lambda x, t: 0.0, False),
        (lambda x, t: 30.0 * t, False),
        (lambda x, t: (30.0 + x[0]) * t, True),
        (lambda x, t: 30.0 * math.sin(0.3 * t), False),
        (lambda x, t: (30.0 + 5.0 * x[0]) * math.sin(0.3 * t), False),
        (lambda x, t: 0.2 * t**2, False),
    ],
    ids=["none", "affine", "of place", "restless", "both", "bent"],
)
def test_only_steady_drifts_of_their_own_are_found_apart(drift, apart, seed):
    rng = np.random.default_rng(seed)

    def value(x, t):
        return 9.0 * x[0] + drift(x, t) + NOISE * rng.normal()

    assert lines(value).drift_apart(1.0, 4.5) == apart


def turned_down(spread=BELIEVED):
    """A search whose newest reading, a step, is to be compared with the origin."""
    opt = tobyqa.Optimizer(np.zeros(2), noise=0.2, rng=0)
    while not isinstance(opt._state, Belief):
        trial = opt.ask()
        opt.tell(trial, float(trial.x @ trial.x))
    opt.tell(THERE, 9.0)
    b = opt._state
    noise = replace(b.noise, spread=spread)
    return replace(b, best=Place(HERE, np.eye(2)), noise=noise)


def heard(b, reading, failing=()):
    """The places that an appeal asks for, and its outcome."""
    asking = appeal(b, ALL)
    (plan, b), places = next(asking), []
    for k in range(99):
        places.append(plan.x)
        t = float(b.samples.times[-1] + 1.0)
        value = math.nan if k in failing else reading(plan.x, t)
        try:
            plan, b = asking.send(Observation(plan.x, t, value, trial=k, answers=True))
        except StopIteration as end:
            return np.array(places), *end.value
    raise AssertionError("it never ends")


@pytest.mark.parametrize(("spread", "rounds"), [(BELIEVED, 2), (GUESSED, 3)])
def test_an_appeal_compares_the_step_with_the_best_place_several_times(spread, rounds):
    """More often where the readings must tell the noise as well."""
    b = turned_down(spread)
    places, after, way = heard(b, lambda x, t: float(x @ x))
    np.testing.assert_array_equal(places, [HERE, THERE, HERE] * rounds)
    assert after.repeats == b.repeats + 3 * rounds
    np.testing.assert_array_equal(after.best.x, HERE)
    assert way is None
    assert not after.local


def test_an_appeal_ends_where_another_place_is_read():
    """The step cannot be measured again, and what was heard decides nothing."""
    b = turned_down()
    places, after, way = heard(b, lambda x, t: float(x @ x), failing=(1, 2))
    np.testing.assert_array_equal(places, [HERE, THERE, THERE, 0.5 * THERE])
    np.testing.assert_array_equal(after.best.x, HERE)
    assert way is None
    assert not after.local_is_known


@pytest.mark.parametrize("is_lower", [True, False])
def test_what_counts_for_a_step_that_drifts_apart_is_how_it_was_at_the_start(is_lower):
    """The best place so far is put aside if the step was lower than it."""
    b = turned_down()
    start = float(b.samples.times[0])

    def reading(x, t):
        at_first = (-20.0 if is_lower else 5.0) if x[0] > 0.0 else 0.0
        return at_first + 4.0 * x[0] * (t - start)

    values = b.samples.values.copy()
    values[-1] = reading(THERE, float(b.samples.times[-1]))
    samples = SampleSet.of(b.samples.points, b.samples.times, values)
    _, after, way = heard(replace(b, samples=samples), reading)
    assert after.local
    assert after.local_is_known
    np.testing.assert_array_equal(after.best.x, THERE if is_lower else HERE)
    assert (way is None) == (not is_lower)
    assert (after.aside is None) == (not is_lower)


def test_a_place_aside_is_in_no_fit():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    points[[0, 7, 21, 29]] = 0.0
    samples = SampleSet.of(points, np.arange(30.0), rng.normal(size=30))
    window = window_around(
        samples, 3, np.eye(2), reach=4.0, size=50, noise=1.0, spacing=1.0, aside=HERE
    )
    assert set(window.rows) == set(range(30)) - {0, 7, 21, 29}


def well(x, t, least, rate):
    """Least at `least` in each direction; the start is a hole that grows with time."""
    hole = rate * t * (1.0 + math.tanh(math.hypot(*x)))
    return float(np.sum((x - least) ** 2)) + hole


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise_is_stated", [True, False])
@pytest.mark.parametrize(("n", "least", "rate"), [(4, 1.5, 0.03), (10, 2.0, 0.02)])
def test_a_start_that_drifts_in_its_own_way_is_left(
    n, least, rate, noise_is_stated, seed
):
    """Its first steps read higher than the start, which they are not."""
    f0, rng = n * least**2, np.random.default_rng(seed)
    noise = 1e-3 * f0
    stated = noise if noise_is_stated else None
    opt = tobyqa.Optimizer(
        np.zeros(n), method=ALL, noise=stated, maxfev=40 * n, rng=seed
    )
    for t in range(40 * n):
        trial = opt.ask()
        reading = well(trial.x, t, least, rate * f0) + noise * rng.normal()
        opt.tell(trial, reading, t=float(t))
    assert opt.result().drift_is_local
    # Without it the readings must tell the noise as well, and there are few.
    assert well(opt.result().x, 0, least, rate) < (noise if stated else 0.1 * f0)


@pytest.mark.parametrize("name", ["fletchcr", "tridia"])
def test_a_first_step_that_the_drift_turned_down_is_taken(name):
    """Else the search shrinks around a start that seems to be a minimum."""
    problem, share = get_problem(name, 20), {}
    for may_appeal in (True, False):
        share[may_appeal] = []
        for seed in (10, 11, 12):
            run = Recorder(problem, "Hetero", seed=seed, budget=200)
            method = tobyqa.Adaptive(appeal=may_appeal)
            opt = tobyqa.Optimizer(
                run.x0, method=method, noise=run.noise, maxfev=200, rng=0
            )
            for _ in range(200):
                trial = opt.ask()
                opt.tell(trial, run(trial.x))
            left = problem.fun(opt.result().x) / problem.fun(run.x0)
            share[may_appeal].append(left)
    assert np.median(share[True]) < 0.3
    assert max(share[True]) < 0.5
    assert min(share[False]) > 0.6


def test_a_failed_appeal_costs_readings_but_no_answer():
    """A first step into a wall is turned down rightly."""

    def walled(x):
        return float(np.sum((x - 1.0) ** 2)) + 1e3 * max(0.0, x[0] - 1.1) ** 2

    left, appeals = [], 0
    for seed in range(7):
        rng = np.random.default_rng(seed)
        opt = tobyqa.Optimizer(
            np.zeros(4), method=ALL, noise=1e-3, maxfev=200, rng=seed
        )
        for k in range(200):
            trial = opt.ask()
            opt.tell(trial, walled(trial.x) + 1e-3 * rng.normal())
            if k == 21:
                appeals += opt._state.repeats >= 6
        assert not opt.result().drift_is_local
        left.append(walled(opt.result().x))
    assert appeals >= 4
    assert np.median(left) < 1e-3
    assert np.mean(np.array(left) < 1e-3) > 0.8
    assert max(left) < 3e-3


def test_under_a_local_drift_only_a_confirmed_place_far_away_is_trusted():
    """Readings say where it is lower now, not where it was at the start."""
    rng = np.random.default_rng(0)
    opt = tobyqa.Optimizer(np.zeros(4), method=ALL, noise=0.02, maxfev=400, rng=0)
    for t in range(160):
        trial = opt.ask()
        reading = well(trial.x, t, 2.0, 0.8) + 0.02 * rng.normal()
        opt.tell(trial, reading, t=float(t))
    b = opt._state
    assert b.local
    corner = b.samples.points[3]  # of the probe
    confirmed = replace(b, best=Place(corner, 0.5 * np.eye(4)))
    for local in (True, False):
        x = ALL.estimate(replace(confirmed, local=local)).x
        assert (np.linalg.norm(x - corner) <= 0.5) == local
