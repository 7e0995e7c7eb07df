"""Method `adaptive`: blind to affine drift, never worse than where it began."""

from __future__ import annotations

import numpy as np
import pytest

import tobyqa
from test_optimizer import assert_same
from tobyqa import Adaptive, Optimizer, Status
from tobyqa.bench.channels import channel_names
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import Recorder
from tobyqa.demo import BUDGET, NOISE, START, Instrument, latent


def bowl(x):
    return float(np.sum((x - 1) ** 2))


def test_affine_drift_changes_no_proposed_point(tmp_path):
    """For the same data set: points are prescribed, so that rounding cannot add up."""
    rng = np.random.default_rng(0)
    points = 1.5 * rng.normal(size=(40, 4))
    still = np.array([bowl(x * [1, 2, 3, 4]) for x in points])
    # Whole numbers would be taken for rounded ones, and drift changes their steps.
    errors = 0.05 * rng.normal(size=6)
    still += 0.05 * rng.normal(size=40)

    def proposals(beta):
        opt = Optimizer(np.zeros(4), method="adaptive", noise=0.05, rng=3)
        for k in range(6):  # the probe
            trial = opt.ask()
            opt.tell(trial, bowl(trial.x * [1, 2, 3, 4]) + errors[k] + beta * k)
        seen = []
        for k, (x, value) in enumerate(zip(points, still, strict=True), start=6):
            opt.tell(x, value + beta * k)
            opt.save(tmp_path / f"{beta} {k}")  # asking it would fix the next point
            fresh = Optimizer.load(tmp_path / f"{beta} {k}")
            seen.append(fresh.ask().x)
        return np.array(seen)

    np.testing.assert_allclose(proposals(16.0), proposals(0.0), atol=1e-5)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    ("size", "unit", "origin", "length"),
    [
        (2.0**40, 1.0, 0.0, 1.0),
        (2.0**-40, 1.0, 0.0, 1.0),
        (1.0, 2.0**40, 0.0, 1.0),
        (1.0, 2.0**-40, 0.0, 1.0),
        (1.0, 1.0, 2.0**30, 1.0),
        (1.0, 1.0, 0.0, 2.0**20),
        (1.0, 1.0, 0.0, 2.0**-20),
        (2.0**-7, 2.0**5, -(2.0**20), 2.0**3),
    ],
)
def test_units_and_the_origin_of_time_change_no_digit(size, unit, origin, length, n):
    """Of readings, of time, of the variables: powers of two are exact."""

    def run(size, unit, origin, length):
        rng = np.random.default_rng(0)
        opt = Optimizer(
            np.zeros(n),
            noise=size * 0.125,
            initial_radius=2.0 * length,
            maxfev=100,
            rng=1,
        )
        for k in range(100):
            trial = opt.ask()
            value = rosenbrock(np.append(0.5, trial.x / length)) + np.sin(0.1 * k)
            value += 0.125 * rng.standard_normal()
            opt.tell(trial, size * value, t=unit * (k + origin))
        res = opt.result()
        return [
            res.history.x / length,
            res.history.centre / length,
            res.x / length,
            res.fun / size,
            res.noise_std / size,
            res.drift_rate / size * unit,
        ]

    plain, other = run(1.0, 1.0, 0.0, 1.0), run(size, unit, origin, length)
    for expected, seen in zip(plain, other, strict=True):
        np.testing.assert_array_equal(seen, expected)


def test_demo_is_solved_ten_times_better_than_by_the_paper():
    def gap(method):
        return latent(
            tobyqa.minimize(
                Instrument(0), START, method=method, noise=NOISE, maxfev=BUDGET, rng=0
            ).x
        )

    assert gap("adaptive") < 0.1 * gap("paper")


@pytest.mark.parametrize(
    ("problem", "n", "channel"),
    [
        ("brybnd", 2, "Static"),
        ("brybnd", 2, "LinearDrift"),
        ("edensch", 2, "Static"),
        ("penalty1", 2, "PeriodicAdd"),
        ("tquartic", 3, "Static"),
    ],
)
def test_few_variables_never_run_away(problem, n, channel):
    """These ran to values of 1e50 and more while drift was taken at its word."""
    recorder = Recorder(get_problem(problem, n), channel, 11, 100)
    f_start = get_problem(problem, n)(recorder.x0)
    res = tobyqa.minimize(
        recorder,
        recorder.x0,
        method="adaptive",
        noise=recorder.noise,
        maxfev=100,
        rng=0,
    )
    assert get_problem(problem, n)(res.x) <= f_start + 5 * recorder.noise


@pytest.mark.parametrize("seed", [0, 6, 10])
@pytest.mark.parametrize("channel", channel_names())
def test_where_no_fit_holds_only_what_was_measured_is_recommended(channel, seed):
    """scosine oscillates far faster than any region that the search looks at."""
    recorder = Recorder(get_problem("scosine", 4), channel, 0, 300)
    opt = Optimizer(
        recorder.x0, noise=recorder.noise, initial_radius=2.0, maxfev=300, rng=seed
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))
    fun = get_problem("scosine", 4).fun
    assert fun(opt.result().x) <= fun(recorder.x0) + recorder.noise


def test_estimates_are_close_and_know_their_error():
    rng, clock = np.random.default_rng(0), iter(range(1000))
    res = tobyqa.minimize(
        lambda x: bowl(x) + 0.3 * next(clock) + 0.05 * rng.normal(),
        np.zeros(4),
        method="adaptive",
        noise=0.05,
        maxfev=120,
        rng=0,
    )
    assert bowl(res.x) < 0.01
    assert np.all(np.abs(res.x - 1) < 5 * res.x_std)
    assert abs(res.fun - 0.3 * res.t) < 5 * res.fun_std
    assert abs(res.drift_rate - 0.3) < 5 * res.drift_rate_std
    assert 0.02 < res.noise_std < 0.1
    np.testing.assert_allclose(res.hess, 2 * np.eye(4), atol=1.0)


def test_replay_is_exact(tmp_path):
    straight = Optimizer(np.zeros(3), method="adaptive", noise=0.05, rng=5)
    hopping = Optimizer(np.zeros(3), method="adaptive", noise=0.05, rng=5)
    for k in range(24):
        for opt in (straight, hopping):
            trial = opt.ask()
            if k % 7 == 5:
                opt.tell_failed(trial)
            else:
                opt.tell(trial, bowl(trial.x) + 0.1 * np.sin(k))
        if k % 6 == 0:
            hopping.save(tmp_path / "run")
            hopping = Optimizer.load(tmp_path / "run")
    assert_same(straight.result(), hopping.result())


@pytest.mark.parametrize(
    ("fun", "n", "kwargs"),
    [
        (bowl, 1, {"noise": 0.0}),
        (bowl, 3, {"noise": None}),
        (lambda x: 7.0, 3, {"noise": 0.1}),
        (lambda x: (x[0] - 1) ** 2, 4, {"noise": 0.01}),  # variables without effect
        (lambda x: np.exp(np.sum(x**4)), 2, {"noise": 0.1}),  # overflows further out
    ],
)
def test_hard_cases_are_survived(fun, n, kwargs):
    with np.errstate(over="ignore"):
        res = tobyqa.minimize(
            fun, np.zeros(n), method=Adaptive(), maxfev=60, rng=0, **kwargs
        )
        assert np.isfinite(res.x).all()
        assert fun(res.x) <= fun(np.zeros(n)) + 3.0 * (kwargs["noise"] or 0.1)


def test_the_drift_curve_follows_the_drift_within_its_band():
    """Over seeds: the true curve, relative to now, in units of the stated error."""
    squares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def drift(t):
            return 0.3 * t + 5.0 * np.sin(t / 40.0)

        opt = Optimizer(np.zeros(3), noise=0.1, maxfev=150, rng=seed)
        while not opt.done:
            trial = opt.ask()
            t = float(opt.nfev)
            noise = 0.1 * rng.standard_normal()
            opt.tell(trial, float(np.sum((trial.x - 1) ** 2)) + drift(t) + noise)
        curve = opt.result().drift
        true = drift(curve.t) - drift(curve.t[-1])
        squares.append(np.mean(((curve.value - true)[:-1] / curve.std[:-1]) ** 2))
        assert curve.value[-1] == pytest.approx(0.0, abs=1e-9)
    assert np.mean(squares) < 2.0


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def until_settled(fun, n, seed, limit, **kwargs):
    """A search without a budget, on a drifting instrument of noise 0.1."""
    rng = np.random.default_rng(seed)
    opt = Optimizer(np.zeros(n), method=Adaptive(**kwargs), noise=0.1, rng=seed)
    while not opt.done and opt.nfev < limit:
        trial, k = opt.ask(), opt.nfev
        noise = 0.1 * rng.standard_normal()
        opt.tell(trial, fun(trial.x) + 0.2 * k + np.sin(k / 30) + noise)
    return opt


def test_success_means_that_little_is_left_to_gain():
    """In a curved valley single fits are sure of a minimum that is none."""
    settled = []
    for seed in range(6):
        for fun, n in ((rosenbrock, 2), (bowl, 3)):
            opt = until_settled(fun, n, seed, 300, ftol=0.1)
            res = opt.result()
            assert res.success == (opt.status is Status.SETTLED)
            if res.success:
                settled.append(fun(res.x))
    assert len(settled) >= 6
    assert np.mean(settled) < 0.1


def test_without_a_budget_the_noise_decides_when_to_stop():
    opt = until_settled(bowl, 3, 0, 300)
    assert opt.status is Status.SETTLED
    assert opt.result().success


def test_with_a_budget_nothing_stops_early():
    res = tobyqa.minimize(bowl, np.zeros(2), noise=0.1, maxfev=150, rng=0)
    assert (res.nfev, res.success) == (150, False)


def test_a_valley_is_not_left_for_a_wall():
    """The region grew a hundredfold here while every step ended on a wall."""
    opt = until_settled(rosenbrock, 2, 7, 1200, ftol=1e-9)
    assert opt.nfev == 1200
    assert rosenbrock(opt.result().x) < 0.3
    assert opt.result().history.radius[-1] < 10.0


@pytest.mark.parametrize("seed", [27, 31])
def test_an_answer_does_not_go_where_nothing_was_measured(seed):
    """It went several noise levels up the wall, to an edge that seemed lower."""
    recorder = Recorder(get_problem("arglinc", 6), "PeriodicAdd", seed, 400)
    opt = Optimizer(
        recorder.x0, noise=recorder.noise, initial_radius=2.0, maxfev=400, rng=0
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))
    fun = get_problem("arglinc", 6).fun
    best = min(fun(x) for x in opt.result().history.x)
    assert fun(opt.result().x) < best + 2.0 * recorder.noise


@pytest.mark.parametrize("channel", ["Static", "LinearDrift", "Hetero"])
def test_a_reading_is_accepted_if_and_only_if_the_centre_is_there(channel):
    """Also one that repeats the centre, or leads back to an earlier place."""
    recorder = Recorder(get_problem("brybnd", 4), channel, 3, 120)
    opt = Optimizer(recorder.x0, noise=recorder.noise, maxfev=120, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))
    history = opt.result().history
    is_there = (history.centre == history.x).all(axis=1)
    np.testing.assert_array_equal(history.accepted, is_there)


def test_the_quick_look_agrees_with_the_answer():
    rng = np.random.default_rng(0)
    opt = Optimizer(np.zeros(3), noise=0.05, maxfev=80, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x) + 0.1 * opt.nfev + 0.05 * rng.standard_normal())
    assert bowl(opt.progress().x) < 0.1
    assert bowl(opt.result().x) < 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"drift": "straight"},
        {"length": "infinite"},
        {"likelihood": False},
        {"explore": False},
        {"reshape": False},
        {"compare": False},
        {"shuffle": False},
    ],
    ids=str,
)
def test_every_ablation_is_a_search_of_its_own(change):
    """Each part changes what is asked, and without it a bowl is still solved."""
    method = Adaptive(**change)
    (name, value), *_ = change.items()
    assert str(method) == f"adaptive:{name}={value}"
    rng = np.random.default_rng(0)

    def run(method):
        noise = np.random.default_rng(0)
        opt = Optimizer(rng_start, method=method, noise=0.05, maxfev=120, rng=3)
        while not opt.done:
            trial = opt.ask()
            wave = 2.0 * np.sin(opt.nfev / 7.0)
            value = rosenbrock(trial.x) + wave + 0.05 * noise.standard_normal()
            opt.tell(trial, value)
        return opt.result()

    rng_start = rng.normal(size=3)
    plain, changed = run(Adaptive()), run(method)
    assert not np.array_equal(plain.history.x, changed.history.x)
    assert rosenbrock(changed.x) < rosenbrock(rng_start)


@pytest.mark.parametrize(
    ("stated", "is_denied"), [(1.0, False), (0.1, True), (10.0, True)]
)
def test_a_stated_noise_is_doubted_only_if_the_readings_deny_it(stated, is_denied):
    """Else the method is the same with and without doubt, to the last bit."""
    asked = []
    for doubt in (True, False):
        rng = np.random.default_rng(1)
        method = Adaptive(doubt=doubt)
        opt = Optimizer(
            np.zeros(3),
            method=method,
            noise=stated,
            initial_radius=2.0,
            maxfev=120,
            rng=0,
        )
        while not opt.done:
            trial = opt.ask()
            opt.tell(trial, 100.0 * bowl(trial.x) + 0.3 * opt.nfev + rng.normal())
        asked.append(opt.result().history.x)
        if doubt:
            assert 0.7 < opt.result().noise_std < 1.4
    assert np.array_equal(*asked) == (not is_denied)


@pytest.mark.parametrize("beta", [0.0, 1.0, 100.0])
def test_without_noise_a_bowl_is_solved_under_any_steady_drift(beta):
    for n, budget in ((2, 100), (6, 200)):
        clock = iter(range(budget))
        res = tobyqa.minimize(
            lambda x, clock=clock: bowl(x) + beta * next(clock),
            np.zeros(n),
            noise=0.0,
            maxfev=budget,
            rng=0,
        )
        assert bowl(res.x) < 1e-6
        assert res.drift_rate == pytest.approx(beta, abs=1e-3)


def test_a_chaotic_drift_does_not_lead_the_search_astray():
    """Once a low place is found, the centre stays about as low."""
    problem, astray = get_problem("brownal", 10), []
    for seed in (12, 13, 14, 15):
        recorder = Recorder(problem, "ChaoticDrift", seed, 700)
        opt = Optimizer(recorder.x0, noise=recorder.noise, maxfev=700, rng=0)
        while not opt.done:
            trial = opt.ask()
            opt.tell(trial, recorder(trial.x))
        history = opt.result().history
        lowest = np.minimum.accumulate([problem.fun(x) for x in history.x])
        above = np.array([problem.fun(x) for x in history.centre]) - lowest
        astray.append(np.mean(above[350:] > 5.0 * recorder.noise))
    assert np.median(astray) < 0.2


@pytest.mark.parametrize("seed", range(8))
def test_after_the_first_points_slope_and_drift_are_known(seed):
    """A plane and a straight drift are through as many readings, whatever they are.

    The curvature is not known yet, and so there is no error of a minimum.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    slope, rate = rng.normal(size=n), 100.0 * rng.normal()
    opt = Optimizer(np.zeros(n), maxfev=n + 2, noise=0.01, rng=seed)
    while not opt.done:
        assert np.isnan(opt.result().jac).all()
        trial = opt.ask()
        opt.tell(trial, float(slope @ trial.x) + rate * opt.nfev)
    res = opt.result()
    np.testing.assert_allclose(res.jac, slope, atol=1e-6)
    assert res.drift_rate == pytest.approx(rate)
    assert np.isnan(res.x_std).all()
    moved = res.history.x[1:-1] != 0.0
    assert (moved.sum(axis=0) == 1).all()
    assert (moved.sum(axis=1) == 1).all()
    assert not res.history.x[[0, -1]].any()
