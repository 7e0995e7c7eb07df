"""Method `paper`: Algorithm 1 against a plain retelling, and its invariances."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tobyqa
from oracle_plain import tobyqa_plain
from tobyqa import Paper, Status

Optimizer = partial(tobyqa.Optimizer, method="paper")


def trajectory(fun, x0, *, budget, noise=0.0, method=None, radius=None):
    """All points queried when `fun(x, t)` is seen at times 0, 1, 2, ..."""
    opt = Optimizer(
        x0,
        method=method or Paper(),
        noise=noise,
        maxfev=budget,
        initial_radius=radius,
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, fun(trial.x, opt.nfev))
    return opt.result().history.x


def noisy(f, n, noise, drift=0.0, size=2000):
    """f seen through linear drift and reproducible noise."""
    errors = noise * np.random.default_rng(n).normal(size=size)
    return lambda x, t: float(f(x) + drift * t + errors[t])


def bowl(x):
    weights = np.arange(1, len(x) + 1)
    return float(np.sum(weights * (x - 0.3 * weights) ** 2))


def valley(x):
    return float(np.sum(10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


ABLATIONS = [
    (Paper(), set()),
    (Paper(drift_compensation=False), {"no compensation"}),
    (Paper(curvature_kernel=False), {"no kernel"}),
    (Paper(curvature_prior="carried"), {"carried"}),
    (Paper(sigma_rule="frozen"), {"frozen"}),
]


@pytest.mark.parametrize(("method", "flags"), ABLATIONS, ids=lambda v: str(v))
@pytest.mark.parametrize(("f", "n"), [(bowl, 4), (bowl, 6), (valley, 4)])
def test_points_are_those_of_algorithm_1(f, n, method, flags):
    """Differential test against the dense, unscaled oracle."""
    fun = noisy(f, n, noise=0.05, drift=0.3)
    expected = tobyqa_plain(fun, np.zeros(n), 0.05, budget=36, flags=flags)
    ours = trajectory(fun, np.zeros(n), budget=36, noise=0.05, method=method)
    assert len(ours) == len(expected)
    np.testing.assert_allclose(ours, expected, atol=1e-5, rtol=1e-5)


def test_probe_order():
    points = trajectory(lambda x, t: bowl(x), [1.0, 1.0], budget=5)
    expected = [[1, 1], [3, 1], [-1, 1], [1, 3], [1, -1]]
    np.testing.assert_array_equal(points, expected)


@pytest.mark.parametrize("beta", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("n", [6, 10])
def test_noise_free_quadratic_with_drift_is_minimised(n, beta):
    H = np.diag(np.linspace(1, 5, n))
    target = np.linspace(-1, 1, n)
    clock = iter(range(10**6))

    def fun(x):
        return 0.5 * (x - target) @ H @ (x - target) + beta * next(clock)

    res = tobyqa.minimize(fun, np.zeros(n), method="paper", noise=0.0, maxfev=1500)
    gap = 0.5 * (res.x - target) @ H @ (res.x - target)
    assert gap < 1e-6
    assert res.drift_rate == pytest.approx(beta, abs=1e-6)


@pytest.mark.parametrize("method", [m for m, _ in ABLATIONS], ids=str)
def test_scaling_by_powers_of_two_scales_the_trajectory_exactly(method):
    """Readings by 2^4, distances by 2^-3, times by 2^5: bit for bit, since the
    algorithm's absolute constants (1e-8, 1e-16, clipping of rho) are not reached."""
    fun = noisy(valley, 3, noise=0.01, drift=0.2)
    base = trajectory(fun, np.ones(3), budget=60, noise=0.01, method=method, radius=0.5)

    opt = Optimizer(
        np.ones(3) / 8,
        method=method,
        noise=0.01 * 16,
        maxfev=60,
        initial_radius=0.5 / 8,
    )
    while not opt.done:
        trial = opt.ask()
        k = opt.nfev
        opt.tell(trial, 16 * fun(8 * trial.x, k), t=32.0 * k)
    np.testing.assert_array_equal(8 * opt.result().history.x, base)


@settings(max_examples=20)
@given(offset=st.sampled_from([-64.0, 1024.0]), origin=st.integers(0, 2**31))
def test_invariance_to_offset_and_time_origin(offset, origin):
    """Whole-number stamps up to 2^31 cost nothing; an offset costs rounding only."""
    fun = noisy(bowl, 3, noise=0.01, drift=0.25)
    base = trajectory(fun, np.zeros(3), budget=25, noise=0.01)
    opt = Optimizer(np.zeros(3), noise=0.01, maxfev=25)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, fun(trial.x, opt.nfev) + offset, t=origin + opt.nfev)
    np.testing.assert_allclose(opt.result().history.x, base, atol=1e-7)


def test_invariance_to_affine_drift():
    """Theorem "exact decoupling" carried through the whole algorithm."""
    still = trajectory(noisy(bowl, 4, 0.01), np.zeros(4), budget=40, noise=0.01)
    moved = trajectory(noisy(bowl, 4, 0.01, 8.0), np.zeros(4), budget=40, noise=0.01)
    # s_F, and with it sigma_0 and rho, sees the drift; give both the same scales.
    assert not np.allclose(still[9:], moved[9:])
    span = 2 * 4 + 1

    def staircase(x, t):  # drift begins when the probe is over, slope kept exact
        return noisy(bowl, 4, 0.01)(x, t) + 8.0 * max(0, t - span)

    later = trajectory(staircase, np.zeros(4), budget=span + 1, noise=0.01)
    np.testing.assert_array_equal(later, still[: span + 1])


def test_invariance_to_permuting_variables():
    """Up to the first step; later the oldest sample is another one by construction."""
    order = np.array([2, 0, 3, 1])
    x0, weights = np.array([0.5, -1.0, 2.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0])

    def first_step(f, start):
        opt = Optimizer(start, noise=0.01)
        while opt.nfev < 9:
            trial = opt.ask()
            opt.tell(trial, f(trial.x), t=0.0)
        return opt.ask().x

    base = first_step(lambda x: float(weights @ x**2), x0)
    swapped = first_step(lambda x: float(weights[order] @ x**2), x0[order])
    np.testing.assert_allclose(swapped, base[order], atol=1e-12)


def test_labels_name_the_ablations():
    assert [str(method) for method, _ in ABLATIONS] == [
        "paper",
        "paper:drift_compensation=False",
        "paper:curvature_kernel=False",
        "paper:curvature_prior=carried",
        "paper:sigma_rule=frozen",
    ]


def test_interpolated_hessian_helps_in_a_valley():
    """In the median over starts: a single path hangs on its rounding errors."""
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 100.0])
    starts = np.random.default_rng(0).standard_normal((11, 6))

    def evaluations(method, x0):
        opt = Optimizer(x0, method=method, noise=0.0, maxfev=1500)
        while not opt.done:
            trial = opt.ask()
            value = float(weights @ (trial.x - 1.0) ** 2)
            opt.tell(trial, value)
            if value < 1e-3:
                break
        return opt.nfev

    curved = [evaluations(Paper(hessian="interpolated"), x0) for x0 in starts]
    plain = [evaluations(Paper(), x0) for x0 in starts]
    assert np.median(curved) < np.median(plain)


def test_drift_compensation_matters_under_drift():
    def gap(method):
        points = trajectory(
            noisy(bowl, 4, 0.01, drift=5.0),
            np.zeros(4),
            budget=200,
            noise=0.01,
            method=method,
        )
        return bowl(points[-1])

    assert gap(Paper()) < 0.01 * gap(Paper(drift_compensation=False))


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_published_stopping_rule_is_named_and_claims_no_success(radius):
    rng = np.random.default_rng(0)
    res = tobyqa.minimize(
        lambda x: bowl(x) + rng.normal(),
        np.zeros(3),
        method="paper",
        noise=1.0,
        initial_radius=radius,
        maxfev=2000,
    )
    assert (res.status, res.success) == (Status.UNRESOLVED.code, False)
    assert "gradient is below its standard error" in res.message
    assert res.history.gradient[-1] < 3.0 * res.history.gradient_std[-1]
    assert res.nfev < 2000
    # Three standard errors of the gradient at the radius of the samples.
    assert bowl(res.x) < 30


def test_stagnation_and_constant_functions_end_the_search():
    res = tobyqa.minimize(lambda x: 1.0, [0.0, 0.0], method="paper", noise=0.0)
    assert (res.status, res.nfev, res.success) == (Status.STAGNATED.code, 5, False)


def test_unbounded_functions_end_the_search_without_overflow():
    res = tobyqa.minimize(lambda x: -math.exp(min(x[0], 700)), [0.0], method="paper")
    assert np.isfinite(res.history.x).all()
    line = tobyqa.minimize(
        lambda x: x[0] - x[1], [0.0, 0.0], method="paper", noise=0, maxfev=5000
    )
    assert np.isfinite(line.history.x).all()
    assert line.status in (Status.UNBOUNDED.code, Status.MAXFEV.code)


def test_stated_errors_weigh_readings():
    """A reading declared worthless does not move the answer."""

    def run(sigma):
        opt = Optimizer([0.0, 0.0], noise=0.01, maxfev=60)
        rng = np.random.default_rng(3)
        while not opt.done:
            trial = opt.ask()
            lie = 2000.0 if opt.nfev == 3 else 0.0
            value = bowl(trial.x) + 0.01 * rng.normal() + lie
            opt.tell(trial, value, sigma=sigma if lie else None)
            if opt.nfev == 5:
                return opt.result().jac
        raise AssertionError("ended early")

    honest = np.array([-0.6, -2.4])  # gradient of bowl at 0
    assert np.abs(run(1e6) - honest).max() < 0.01 * np.abs(run(None) - honest).max()


@pytest.mark.parametrize(("f", "n", "noise"), [(bowl, 8, 0.5), (valley, 6, 0.1)])
def test_unknown_noise_costs_little_under_noise(f, n, noise):
    def gap(stated):
        gaps = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            res = tobyqa.minimize(
                lambda x, rng=rng: f(x) + noise * rng.normal(),
                np.zeros(n),
                method="paper",
                noise=stated,
                maxfev=150 * n,
            )
            gaps.append(f(res.x))
        return np.median(gaps)

    assert gap(None) < 3 * gap(noise)


@pytest.mark.parametrize("n", [2, 3, 25])
def test_any_dimension(n):
    rng = np.random.default_rng(n)
    res = tobyqa.minimize(
        lambda x: bowl(x) + 1e-3 * rng.normal(),
        np.zeros(n),
        method="paper",
        noise=1e-3,
        maxfev=60 * n,
    )
    assert bowl(res.x) < 0.05 * bowl(np.zeros(n))


def test_steps_are_capped_at_chi_sample_radii():
    """Down a slope every step is taken and the next one longer, until the cap."""
    slope = np.array([3.0, 1.0])

    def points(chi):
        return trajectory(
            lambda x, t: float(slope @ x), [0.0, 0.0], budget=60, method=Paper(chi=chi)
        )

    def ratios(p):
        return [
            np.linalg.norm(p[k] - p[k - 1])
            / np.linalg.norm(p[k - 5 : k] - p[k - 1], axis=1).max()
            for k in range(12, 60)
        ]

    assert max(ratios(points(1.0))) <= 1.0 + 1e-9
    np.testing.assert_array_equal(points(1e6), points(1e9))  # far away it does nothing
