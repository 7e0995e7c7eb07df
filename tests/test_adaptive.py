"""Method `adaptive`: blind to affine drift, never worse than where it began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from test_optimizer import assert_same
from tobyqa import Adaptive, Optimizer, Status
from tobyqa.bench.channels import channel_names
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import Recorder
from tobyqa.demo import BUDGET, NOISE, START, Instrument, latent
from tobyqa.kernels import (
    damped_linear,
    damped_linear_variance,
    damped_powell,
    damped_powell_variance,
    damping,
    integrated_wiener,
    powell,
    wiener_between,
)
from tobyqa.methods.adaptive.answer import recommended, safer
from tobyqa.methods.adaptive.components import Components
from tobyqa.methods.adaptive.fit import fit
from tobyqa.methods.adaptive.noise import Noise
from tobyqa.methods.adaptive.window import Frame, Window
from tobyqa.samples import SampleSet


def bowl(x):
    return float(np.sum((x - 1) ** 2))


def of_all_pairs(kernel, U, length):
    """A damped kernel of each row of U with each."""
    e = damping(np.sum(U**2, axis=1), length)
    return kernel(U @ U.T, e, e, length)


def test_damped_kernel_is_powells_for_long_lengths():
    U = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_allclose(
        of_all_pairs(damped_powell, U, 1e3), powell(U), rtol=1e-3, atol=1e-5
    )


def test_damped_linear_kernel_is_the_inner_product_for_long_lengths():
    U = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_allclose(
        of_all_pairs(damped_linear, U, 1e4), U @ U.T, rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("length", [1.0, 3.0, 30.0])
def test_kernels_are_positive_semidefinite(length):
    rng = np.random.default_rng(1)
    U = rng.normal(size=(20, 3))
    K = of_all_pairs(damped_powell, U, length)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    assert K.diagonal().max() <= length**4
    W = integrated_wiener(np.sort(rng.uniform(0, 50, 20)))
    assert np.linalg.eigvalsh(W).min() > -1e-10 * W.max()


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(1e-3, 20.0),
    length=st.floats(1.0, 30.0),
)
def test_kernels_with_themselves_are_the_variances(seed, size, length):
    """What two formulas say of one number; both are exact near the centre and far."""
    U = size * np.random.default_rng(seed).normal(size=(10, 3))
    squares = np.sum(U**2, axis=1)
    for kernel, variance in (
        (damped_powell, damped_powell_variance),
        (damped_linear, damped_linear_variance),
    ):
        own = of_all_pairs(kernel, U, length).diagonal()
        bound = length**4 if kernel is damped_powell else length**2
        np.testing.assert_allclose(
            variance(squares, length), own, rtol=1e-6, atol=1e-13 * bound
        )


@given(t=st.lists(st.floats(0.0, 1e3), min_size=1, max_size=10))
def test_wandering_with_itself_has_the_variance_of_its_time(t):
    t = np.array(t)
    W = integrated_wiener(t)
    np.testing.assert_allclose(W.diagonal(), t**3 / 3.0, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(wiener_between(t, t[:1])[:, 0], W[:, 0], rtol=1e-12)


def test_integrated_wiener_is_the_covariance_of_summed_sums():
    """Of a fine random walk's integral, up to the step of the walk."""
    steps = 2000
    t = np.arange(1, steps + 1) / steps
    # The integral at t_i is sum_j (t_i - s_j)_+ dW_j.
    weights = np.maximum(t[:, None] - (t - 0.5 / steps), 0.0) / np.sqrt(steps)
    pick = [200, 900, 1999]
    exact = integrated_wiener(t[pick])
    np.testing.assert_allclose(
        (weights @ weights.T)[np.ix_(pick, pick)], exact, rtol=5e-3
    )


def test_affine_drift_changes_no_proposed_point(tmp_path):
    """For the same data set: points are prescribed, so that rounding cannot add up."""
    rng = np.random.default_rng(0)
    points = 1.5 * rng.normal(size=(40, 4))
    still = np.array([bowl(x * [1, 2, 3, 4]) for x in points])
    still += 0.05 * rng.normal(size=40)

    def proposals(beta):
        opt = Optimizer(np.zeros(4), method="adaptive", noise=0.05, rng=3)
        for k in range(10):  # the probe
            trial = opt.ask()
            opt.tell(trial, bowl(trial.x * [1, 2, 3, 4]) + beta * k)
        seen = []
        for k, (x, value) in enumerate(zip(points, still, strict=True), start=10):
            opt.tell(x, value + beta * k)
            opt.save(tmp_path / f"{beta} {k}")  # asking it would fix the next point
            fresh = Optimizer.load(tmp_path / f"{beta} {k}")
            seen.append(fresh.ask().x)
        return np.array(seen)

    np.testing.assert_allclose(proposals(16.0), proposals(0.0), atol=1e-5)


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


@pytest.mark.parametrize("channel", channel_names())
def test_where_no_fit_holds_only_what_was_measured_is_recommended(channel):
    """scosine oscillates far faster than any region that the search looks at."""
    recorder = Recorder(get_problem("scosine", 4), channel, 0, 300)
    opt = Optimizer(recorder.x0, noise=recorder.noise, maxfev=300)
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


def window_of(points, times, values, variances, noise=0.1):
    """All readings, around the first one."""
    frame = Frame(
        x=points[0],
        B=np.eye(points.shape[1]),
        now=times[-1],
        first=times.min(),
        start=times.min(),
        spacing=1.0,
        level=values[0],
        noise=noise,
    )
    return Window(
        frame=frame,
        rows=np.arange(len(points)),
        centre=0,
        U=frame.u(points),
        times=times,
        t=frame.t(times),
        y=frame.y(values),
        variances=variances,
    )


either_drift = pytest.mark.parametrize(
    "components",
    [Components(2.0, 1.5, -1.0), Components(2.0, 1.5, -1.0, -2.0, 0.5)],
    ids=["of time alone", "of place too"],
)


def some_readings():
    rng = np.random.default_rng(0)
    points, times = rng.normal(size=(20, 2)), np.arange(20.0)
    return points, times, np.array([bowl(x) for x in points])


def test_a_reading_of_enormous_error_is_as_good_as_none():
    points, times, values = some_readings()
    values[7] += 50.0

    def expected(rows, variances):
        window = window_of(points[rows], times[rows], values[rows], variances)
        fitted = fit(window, Components(2.0, 1.5, -3.0), spread=1e-6)
        value, variance = fitted.predicted(np.array([0.5, 0.5]), 20.0)
        return 0.1 * value + window.frame.level, variance

    everyone, others = np.arange(20), np.delete(np.arange(20), 7)
    doubted = expected(everyone, np.where(everyone == 7, 1e10, 1.0))
    np.testing.assert_allclose(doubted, expected(others, np.ones(19)), rtol=1e-5)


def assert_same_fit(one, other):
    """The solutions, and what they say of the function and of the readings."""
    pairs = [(one.solution, other.solution, ("beta", "lam", "nu", "criterion"))]
    pairs += [(one, other, ("hessian", "steady", "smooth"))]
    for a, b, names in pairs:
        for name in names:
            np.testing.assert_allclose(
                getattr(a, name), getattr(b, name), rtol=1e-7, atol=1e-7
            )


@either_drift
def test_extending_a_fit_equals_fitting_anew(components):
    points, times, values = some_readings()
    rows = slice(0, 19)
    part = window_of(points[rows], times[rows], values[rows], np.ones(19))
    sigmas = np.full(20, np.nan)
    sigmas[19] = 0.2
    window = part.plus_newest(SampleSet.of(points, times, values, sigmas))
    extended = fit(part, components, spread=1.0).extended(window, spread=1.0)
    anew = fit(window, components, spread=1.0)
    assert_same_fit(extended, anew)


def test_extending_an_exact_fit_keeps_its_digits():
    """As curved as can be over a long length: the variance must not cancel."""
    points, times, _ = some_readings()
    points = np.vstack([np.zeros(2), 0.1 * points[1:]])
    values = 1e4 * points[:, 0] ** 2
    components = Components(14.0, np.log(30.0), -6.0)
    part = window_of(points[:19], times[:19], values[:19], np.ones(19))
    window = part.plus_newest(SampleSet.of(points, times, values, np.full(20, np.nan)))
    extended = fit(part, components, spread=1.0).extended(window, spread=1.0)
    anew = fit(window, components, spread=1.0)
    np.testing.assert_allclose(extended.g, anew.g, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(extended.nu, anew.nu, rtol=1e-4)


@either_drift
@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_resized_fit_is_that_of_the_other_region(factor, components):
    points, times, values = some_readings()
    window = window_of(points, times, values, np.ones(20))
    there = components.rescaled(factor)
    resized = fit(window, components, spread=1.0).resized(factor, there)
    anew = fit(window.resized(factor), there, spread=1.0)
    assert_same_fit(resized, anew)
    Q = np.eye(2)
    np.testing.assert_allclose(
        resized.curvature_variances(Q), anew.curvature_variances(Q), rtol=1e-6
    )


def test_the_drift_curve_follows_the_drift_within_its_band():
    """Over seeds: the true curve, relative to now, in units of the stated error."""
    squares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def drift(t):
            return 0.3 * t + 5.0 * np.sin(t / 40.0)

        opt = Optimizer(np.zeros(3), method="adaptive", noise=0.1, maxfev=150)
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


@either_drift
def test_the_expected_fall_is_the_difference_of_two_predictions_for_the_start(
    components,
):
    points, times, values = some_readings()
    window = window_of(points, times, values, np.ones(20))
    fitted = fit(window, components, spread=1.0)
    U = np.random.default_rng(1).normal(size=(5, 2))
    start = window.frame.start
    here = fitted.predicted(np.zeros(2), start)[0]
    falls = [here - fitted.predicted(u, start)[0] for u in U]
    np.testing.assert_allclose(fitted.falls(U), falls, rtol=1e-6, atol=1e-6)


@either_drift
def test_the_error_of_a_fall_is_that_of_a_vague_prior_on_the_plane(components):
    """Unpenalised coefficients are those with a normal prior of endless variance."""
    points, times, values = some_readings()
    window = window_of(points, times, values, np.ones(20))
    fitted = fit(window, components, spread=1.0)
    u, a2, length, vague = np.array([0.7, -0.4]), np.exp(4.0), np.exp(1.5), 1e7

    U = np.vstack([window.U, u])
    curved = a2 * of_all_pairs(damped_powell, U, length)
    X = np.column_stack([np.ones(20), window.U, window.theta])
    K = curved[:-1, :-1] + np.exp(-2.0) * integrated_wiener(window.t) + np.eye(20)
    if components.interacts:
        age = np.exp(components.log_b) * window.age
        local = of_all_pairs(damped_linear, window.U, np.exp(components.log_s))
        K += np.outer(age, age) * local
    K += vague * X @ X.T
    k = curved[-1, :-1] + vague * window.U @ u
    expected = curved[-1, -1] + vague * u @ u - k @ np.linalg.solve(K, k)

    variances = fitted.fall_variances(np.array([u, np.zeros(2)]))
    np.testing.assert_allclose(variances[0], expected, rtol=1e-3)
    assert variances[1] == pytest.approx(0.0, abs=1e-9)


@either_drift
def test_far_places_do_not_overflow(components):
    points, times, values = some_readings()
    fitted = fit(window_of(points, times, values, np.ones(20)), components, spread=1.0)
    far = np.array([[1e4, 0.0], [-1e6, 1e6], [0.1, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(fitted.falls(far)).all()
        assert np.isfinite(fitted.fall_variances(far)).all()


@pytest.mark.parametrize(
    ("minimum", "curvatures", "is_believed"),
    [
        ([0.3, 0.2], [20.0, 10.0], True),
        ([0.7, 0.2], [20.0, 10.0], False),  # it is too far out
        ([0.3, 0.2], [20.0, -10.0], False),  # it is none
    ],
)
def test_a_minimum_is_recommended_if_it_is_well_inside(
    minimum, curvatures, is_believed
):
    points = np.vstack([np.zeros(2), np.random.default_rng(0).normal(size=(40, 2))])
    values = (points - minimum) ** 2 @ curvatures
    window = window_of(points, np.arange(41.0), values, np.ones(41))
    fitted = fit(window, Components(5.0, 3.0, -6.0), spread=1.0)
    expected = minimum if is_believed else np.zeros(2)
    noise = Noise(1.0, 1.0, spread=1.0, loudest=20.0)
    np.testing.assert_allclose(recommended(fitted, noise), expected, atol=0.01)


@pytest.mark.parametrize("seed", [27, 31])
def test_an_answer_does_not_go_where_nothing_was_measured(seed):
    """It went several noise levels up the wall, to an edge that seemed lower."""
    recorder = Recorder(get_problem("arglinc", 6), "PeriodicAdd", seed, 400)
    opt = Optimizer(recorder.x0, noise=recorder.noise, maxfev=400, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))
    fun = get_problem("arglinc", 6).fun
    best = min(fun(x) for x in opt.result().history.x)
    assert fun(opt.result().x) < best + 2.0 * recorder.noise


def test_the_safer_answer_is_the_lower_one_if_both_are_known_alike():
    points, times, _ = some_readings()
    values = np.sum((points - [0.5, 0.0]) ** 2, axis=1) * 20.0
    window = window_of(points, times, values, np.ones(20))
    fitted = fit(window, Components(3.0, 2.0, -4.0), spread=1.0)
    low, high = np.array([0.5, 0.0]), np.array([-0.5, 0.0])
    for answers in ([(fitted, low), (fitted, high)], [(fitted, high), (fitted, low)]):
        assert safer(fitted, answers)[1] is low


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
    opt = Optimizer(np.zeros(3), noise=0.05, maxfev=80)
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
        {"focus": False},
        {"reshape": False},
        {"caution": False},
        {"home": False},
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
    acts_on_occasion_only = name == "focus"
    if not acts_on_occasion_only:
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
        opt = Optimizer(np.zeros(3), method=method, noise=stated, maxfev=120, rng=0)
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
