"""The error of a minimum: by slopes of the whole fit, and none where there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from tobyqa.kernels import (
    damped_powell,
    damped_powell_curvatures,
    damped_powell_slope_covariance,
    damped_powell_slopes,
    damping,
)
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.drift import Jump
from tobyqa.spacetime.face import lowest
from tobyqa.spacetime.fit import fit
from tobyqa.spacetime.likelihood import bounded, finest, improve, limits
from tobyqa.spacetime.precision import precision, refined
from windows import Readings, one_each, window_of

seeds = st.integers(0, 2**32 - 1)


def kernel(U, V, length):
    near, far = (damping(np.sum(W**2, axis=1), length) for W in (U, V))
    return damped_powell(U @ V.T, near, far, length)


@given(seed=seeds, n=st.integers(1, 4), length=st.floats(0.8, 20.0))
def test_slopes_and_curvatures_of_the_kernel_are_its_derivatives(seed, n, length):
    rng = np.random.default_rng(seed)
    u, V, w = rng.normal(size=n), rng.normal(size=(6, n)), rng.normal(size=6)
    far = damping(np.sum(V**2, axis=1), length)
    h, E = 1e-4, np.eye(n)
    plus, minus = u + h * E, u - h * E
    slopes = (kernel(plus, V, length) - kernel(minus, V, length)) / (2.0 * h)
    np.testing.assert_allclose(
        damped_powell_slopes(u, V, far, length), slopes, rtol=1e-5, atol=1e-6
    )
    steps = [damped_powell_slopes(x, V, far, length) @ w for x in (*plus, *minus)]
    curvatures = (np.array(steps[:n]) - np.array(steps[n:])) / (2.0 * h)
    np.testing.assert_allclose(
        damped_powell_curvatures(u, V, w * far, length),
        curvatures,
        rtol=1e-5,
        atol=1e-5,
    )
    # The covariance of two slopes is the derivative in both places.
    there = [
        damped_powell_slopes(
            u, x[None], damping(np.sum(x[None] ** 2, axis=1), length), length
        )
        for x in (*plus, *minus)
    ]
    mixed = np.hstack(there[:n]) - np.hstack(there[n:])
    np.testing.assert_allclose(
        damped_powell_slope_covariance(u, length),
        mixed / (2.0 * h),
        rtol=1e-4,
        atol=1e-5,
    )


@given(seed=seeds, walks=st.booleans())
def test_the_slope_of_a_fit_is_that_of_its_falls(seed, walks):
    window = window_of(Readings(seed % 1000).samples())
    chosen = Components(2.0, 1.0, -1.0, walks=walks, jumps=(Jump(8.0, 3.0),))
    fitted = fit(window, chosen, 1.0)
    u, h = np.array([0.3, -0.2]), 1e-5
    ends = np.array([u + h * e for e in np.eye(2)] + [u - h * e for e in np.eye(2)])
    falls = fitted.falls(ends)
    slope = -(falls[:2] - falls[2:]) / (2.0 * h)
    np.testing.assert_allclose(fitted.slope_at(u), slope, rtol=1e-5, atol=1e-5)
    at_centre = np.zeros(2)
    np.testing.assert_allclose(fitted.slope_at(at_centre), fitted.g, atol=1e-9)
    np.testing.assert_allclose(
        fitted.slope_covariance(at_centre), fitted.gradient_covariance, atol=1e-9
    )
    np.testing.assert_allclose(
        fitted.curvature_at(at_centre), fitted.hessian, atol=1e-9
    )
    e = np.linalg.eigvalsh(fitted.slope_covariance(u))
    assert e[0] > -1e-9 * e[-1]


def around(fun, seed, size=2.5):
    """The face of a fit of readings around the minimum of a function."""
    rng = np.random.default_rng(seed)
    points = np.vstack([np.zeros(2), rng.uniform(-1.5, 1.5, size=(60, 2))])
    values = np.array([fun(*x) for x in points]) + 0.1 * rng.normal(size=61)
    fitted = fit(one_each(points, values), Components(size, 1.0, -4.0), 1.0)
    return lowest(fitted, None)


@pytest.mark.parametrize("seed", range(4))
def test_an_error_is_wider_where_the_function_is_flatter_than_its_quadratic(seed):
    bowl = around(lambda x, y: x * x + y * y, seed)
    known = precision(bowl.fitted, None, 1.0)
    assert np.isfinite(known.covariance).all()
    assert np.sqrt(known.covariance.diagonal()).max() < 0.1

    def skewed(x, y):
        return (np.exp(0.6 * x) - 0.6 * x) / 0.18 + y * y

    def bent(x, y):
        return 9.0 * (y - x * x) ** 2 + 0.02 * x * x

    wider = np.sqrt(precision(around(skewed, seed).fitted, None, 1.0).covariance[0, 0])
    assert wider > 1.1 * np.sqrt(known.covariance[0, 0])
    assert np.isnan(precision(around(bent, seed).fitted, None, 1.0).covariance[0, 0])


def test_no_error_where_the_minima_of_earlier_fits_are_elsewhere():
    bowl = around(lambda x, y: x * x + y * y, 0).fitted
    known = precision(bowl, None, 1.0)
    u, std = known.u, np.sqrt(np.trace(known.covariance))
    for away, is_given in ((1.5, True), (2.5, False)):
        minima = [bowl.window.frame.point(u + np.array([away * std, 0.0]))]
        cov = precision(bowl, None, 1.0, minima).covariance
        assert np.isfinite(cov).all() == is_given


@given(seed=seeds)
def test_what_is_said_of_the_noise_hangs_on_no_coarse_step(seed):
    """Searches in steps of 0.7 end up to half of that beside the likeliest size."""
    window, within = (
        window_of(Readings(seed % 1000).samples()),
        limits("smooth", "fitted"),
    )
    first = improve(
        fit(window, Components(2.0, 1.0, -1.0), 1.0), 1.0, 3, within, local=False
    )
    if first.components.walks:
        return
    sizes = first.components.log_a + np.array([-0.35, 0.0, 0.35])
    beside = [fit(window, replace(first.components, log_a=a), 1.0) for a in sizes]
    fine = [finest(start, 1.0, within) for start in beside]
    # The likelihood is flat where it is highest, and has a bend here and there.
    spread = np.ptp([np.log(one.noise_std) for one in fine])
    assert spread < fine[1].noise_error(1.0) / fine[1].noise_std


@given(seed=seeds)
def test_finer_steps_stay_within_the_limits(seed):
    window = window_of(Readings(seed % 1000).samples())
    for drift, length in (("straight", "fitted"), ("smooth", "infinite")):
        within = limits(drift, length)
        start = fit(window, bounded(Components(2.0, 1.0, -1.0), within), 1.0)
        fine = finest(start, 1.0, within)
        assert bounded(fine.components, within) == fine.components


@given(seed=seeds, m=st.integers(8, 30))
def test_what_is_said_of_the_noise_is_the_information_of_its_likelihood(seed, m):
    """Of two variance components, the second one marginal: tr(PAPB) / 2, by hand."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m, 2))
    window = one_each(points, rng.normal(size=m))
    solution = fit(window, Components(1.0, 1.0, -1.0), 1.0).solution
    K = np.tril(solution.L) @ np.tril(solution.L).T
    X = np.tril(solution.L) @ solution.X_w
    inverse = np.linalg.inv(K)
    P = inverse - inverse @ X @ np.linalg.pinv(X.T @ inverse @ X) @ X.T @ inverse
    N = np.diag(window.variances)
    parts = [N, K - N]
    F = np.array([[0.5 * np.trace(P @ A @ P @ B) for A in parts] for B in parts])
    marginal = F[0, 0] - F[0, 1] ** 2 / F[1, 1]
    np.testing.assert_allclose(
        solution.information_of_noise(window.variances), marginal, rtol=1e-4, atol=1e-6
    )


def test_where_a_valley_bends_no_error_is_given_that_is_far_too_small():
    """Rosenbrock's: single fits are sure of a minimum that is none."""
    given = 0
    for seed in range(20, 32):
        rng = np.random.default_rng(seed)

        def valley(x, rng=rng):
            value = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
            return value + 0.1 * rng.normal()

        res = tobyqa.minimize(valley, [-0.5, 1.0], noise=0.1, maxfev=60, rng=seed)
        if np.isfinite(res.x_std).all():
            given += (np.abs(res.x - 1.0) > 5.0 * res.x_std).any()
        else:
            assert res.confidence.startswith(("valley", "not yet"))
    assert given <= 1


def test_along_a_valley_the_error_is_large_or_there_is_none():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        res = tobyqa.minimize(
            lambda x, rng=rng: 9.0 * (x[0] + x[1]) ** 2 + 0.1 * rng.normal(),
            [1.0, 1.0],
            noise=0.1,
            maxfev=60,
            rng=seed,
        )
        if np.isnan(res.x_std).all():
            assert res.confidence.startswith(("valley", "not yet"))
            assert res.confidence in repr(res)
        else:
            assert res.x_std.min() > 0.5


def test_a_bowl_is_determined_to_about_the_error_that_is_said():
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        res = tobyqa.minimize(
            lambda x, rng=rng: float(np.sum((x - 0.7) ** 2)) + 0.1 * rng.normal(),
            np.zeros(3),
            noise=0.1,
            maxfev=80,
            rng=seed,
        )
        assert res.confidence == "determined"
        ratios.extend((res.x - 0.7) / res.x_std)
    assert np.sqrt(np.mean(np.square(ratios))) < 1.6
    assert np.sqrt(np.mean(np.square(ratios))) > 0.3


@pytest.mark.parametrize("noise", [0.5, None])
def test_the_noise_has_an_error_of_its_own(noise):
    rng = np.random.default_rng(0)
    res = tobyqa.minimize(
        lambda x: float(x @ x) + 0.5 * rng.normal(),
        [2.0, 1.0],
        noise=noise,
        maxfev=80,
        rng=0,
    )
    assert 0.0 < res.noise_std_std < 0.3
    assert abs(res.noise_std - 0.5) < 4.0 * res.noise_std_std
    assert math.isnan(
        tobyqa.minimize(
            lambda x: float(x @ x), [1.0], maxfev=9, method="paper"
        ).noise_std_std
    )


@pytest.mark.parametrize("least", [5e-324, 1e-300, 1e-9])
def test_a_curvature_next_to_nothing_leads_nowhere(least):
    """And no number overflows, which the fuzzer once saw."""
    fitted = SimpleNamespace(
        slope_at=lambda u: np.array([1.0, 0.1]) + np.diag([least, 1.0]) @ u,
        curvature_at=lambda u: np.diag([least, 1.0]),
    )
    for Z in (np.eye(2), np.eye(2)[:, :1]):
        face = SimpleNamespace(fitted=fitted, Z=Z, u=np.zeros(2))
        assert refined(face, None) is face.u
