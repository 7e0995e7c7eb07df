"""The model's theorems: solvability, decoupling, nonlinear drift, kernel, exactness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle_plain import kkt_matrix
from tobyqa.kernels import powell
from tobyqa.model import fit
from tobyqa.samples import SampleSet
from tobyqa.theory.drift import decoupling, eightfold, sample_set, with_drift

make_set = SampleSet.of


def random_set(n, m, seed, size=1.0):
    rng = np.random.default_rng(seed)
    points = size * rng.normal(size=(m, n))
    return make_set(points, np.arange(m), rng.normal(size=m))


def constraint_block(samples, x, t):
    return np.column_stack(
        [np.ones(len(samples)), samples.points - x, samples.times - t]
    )


cases = given(n=st.integers(1, 8), extra=st.integers(0, 12), seed=st.integers(0, 10**6))


@cases
def test_solvability_block_solution_equals_dense_kkt_solve(n, extra, seed):
    """Proposition "solvability" (iii)."""
    samples = random_set(n, n + 2 + extra, seed)
    x, t = samples.points[0], 0.0
    M, _, _ = kkt_matrix(samples.points - x, samples.times - t, rho=1e4)
    dense = np.linalg.solve(M, np.concatenate([samples.values, np.zeros(n + 2)]))
    model = fit(samples, x, t, ridge=1e-4)
    # Both solves may lose what the condition of M takes, no more.
    tolerance = 1e-14 * np.linalg.cond(M) * max(1.0, np.abs(dense).max())
    np.testing.assert_allclose(
        model.coefficients, dense[len(samples) :], atol=tolerance, rtol=0
    )
    # The multipliers are residuals times |K^-1| = 1e4.
    np.testing.assert_allclose(
        model.multipliers, dense[: len(samples)], atol=tolerance + 1e-10, rtol=0
    )


@cases
def test_solvability_k_and_s_are_positive_definite(n, extra, seed):
    """Proposition "solvability" (i), (ii)."""
    samples = random_set(n, n + 2 + extra, seed)
    _, K, X = kkt_matrix(samples.points, samples.times, rho=1e4)
    assert np.linalg.eigvalsh(K).min() > 0
    S = X.T @ np.linalg.solve(K, X)
    d = 1 / np.sqrt(S.diagonal())
    assert np.linalg.eigvalsh(S * np.outer(d, d)).min() > 0


@pytest.mark.parametrize("ridge", [1e-14, 1e-8, 1e-2, 1e2])
@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0, 1e8])
@pytest.mark.parametrize("origin", [0.0, 1.7e9])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_solvability_recovery_operator_is_a_left_inverse(n, ridge, size, origin):
    """Pi X_aug = I (left-inverse), at extreme ridges, sizes and time stamps."""
    still = random_set(n, 2 * n + 1 + (n == 1), seed=n, size=size)
    samples = make_set(still.points, origin + 60.0 * still.times, still.values)
    x, t = samples.points[0], float(samples.times[3])
    model = fit(samples, x, t, ridge=ridge)
    X = constraint_block(samples, x, t)
    # Compare in units in which each column of X has size one.
    units = np.abs(X).max(axis=0)
    product = (model.recovery @ X) * units[:, None] / units
    np.testing.assert_allclose(product, np.eye(n + 2), atol=2e-7)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_multipliers_are_orthogonal_to_the_constraint_block(size):
    """(stat-c), (stat-g), (stat-gamma)."""
    samples = random_set(5, 11, seed=1, size=size)
    model = fit(samples, samples.points[0], 0.0, ridge=1e-6 * size**4)
    X = constraint_block(samples, samples.points[0], 0.0)
    lam = model.multipliers
    scale = np.abs(lam).max() * np.abs(X).max(axis=0)
    assert np.abs(X.T @ lam / scale).max() < 1e-9


def test_p_norm_is_the_covariance_of_the_recovered_parameters():
    """P_norm = S^-1 (X'K^-2 X) S^-1 (pnorm-def), formed literally."""
    samples = random_set(4, 9, seed=3)
    x = samples.points[2]
    _, K, X = kkt_matrix(samples.points - x, samples.times - 2.0, rho=1e3)
    Ki = np.linalg.inv(K)
    Si = np.linalg.inv(X.T @ Ki @ X)
    expected = Si @ (X.T @ Ki @ Ki @ X) @ Si
    model = fit(samples, x, 2.0, ridge=1e-3)
    np.testing.assert_allclose(
        model.recovery @ model.recovery.T, expected, rtol=1e-8, atol=1e-12
    )
    assert model.trace == pytest.approx(np.trace(expected))
    gradient_block = np.trace(expected[1:-1, 1:-1])
    assert model.gradient_std(0.5) ** 2 == pytest.approx(0.25 * gradient_block)
    stds = np.linspace(0.3, 1.4, 9)
    Pi = Si @ X.T @ Ki
    unequal = Pi @ np.diag(stds**2) @ Pi.T
    W = np.random.default_rng(0).normal(size=(3, 6))  # of c, g r and gamma T
    V = W * [1.0, *[model.radius] * 4, model.period]
    np.testing.assert_allclose(
        model.stds_of(W, stds) ** 2, (V @ unequal @ V.T).diagonal(), rtol=1e-8
    )
    assert model.gradient_std(stds) ** 2 == pytest.approx(np.trace(unequal[1:-1, 1:-1]))


@pytest.mark.parametrize("beta", [1.0, 1e3, 1e6])
def test_exact_decoupling_at_least_as_exact_as_published(beta):
    """Theorem "exact decoupling"; the paper reports 1.5e-13 and 5.5e-8."""
    worst = decoupling(beta)
    published = {1.0: 1.5e-13, 1e3: 1.5e-10, 1e6: 5.5e-8}[beta]
    assert worst.gradient_difference <= published
    assert worst.gamma_error <= 1e-10


@given(
    beta=st.floats(-1e6, 1e6),
    n=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    ridge=st.sampled_from([1e-14, 1e-6, 1.0]),
)
def test_exact_decoupling_for_any_set_and_rate(beta, n, seed, ridge):
    samples = random_set(n, 2 * n + 3, seed)
    x, t = samples.points[1], 1.0
    still = fit(samples, x, t, ridge=ridge)
    moved = fit(with_drift(samples, beta * samples.times), x, t, ridge=ridge)
    # Rounding of the readings themselves, amplified by Pi.
    noise = 1e-14 * (1 + abs(beta)) * len(samples) * np.abs(still.recovery).max()
    assert np.abs(moved.g - still.g).max() <= 20 * noise
    assert abs(moved.gamma - still.gamma - beta) <= 20 * noise
    assert abs(moved.c - still.c - beta * t) <= 20 * noise


def test_nonlinear_drift_bias_is_linear_in_the_span():
    """Theorem "nonlinear drift": r > 0.998 over an eightfold variation."""
    found = eightfold()
    spans = np.array([bias.span for bias in found])
    biases = np.array([bias.rate for bias in found])
    assert spans.max() / spans.min() == pytest.approx(8.0)
    assert np.corrcoef(spans, biases)[0, 1] > 0.998
    assert biases.min() > 0


def test_nonlinear_drift_gradient_bias_is_quadratic_in_the_span():
    curvature, biases = 1e-3, []
    for span in (1.0, 2.0, 4.0, 8.0):
        still = sample_set(5, np.random.default_rng(7), span)
        moved = with_drift(still, 0.5 * curvature * still.times**2)
        x = still.points[0]
        a, b = fit(still, x, 0.0, ridge=1e-4), fit(moved, x, 0.0, ridge=1e-4)
        biases.append(np.linalg.norm(b.g - a.g))
    ratios = np.array(biases[1:]) / np.array(biases[:-1])
    np.testing.assert_allclose(ratios, 4.0, rtol=1e-6)


@given(
    n=st.integers(1, 12),
    gaps=st.lists(st.floats(1e-3, 1e3), min_size=24, max_size=24),
)
def test_axis_probe_has_full_rank(n, gaps):
    """Corollary "axis-rank": any strictly increasing times will do."""
    points = np.zeros((2 * n + 1, n))
    for j in range(n):
        points[2 * j + 1, j], points[2 * j + 2, j] = 2.0, -2.0
    times = np.cumsum([0.0, *gaps])[: 2 * n + 1]
    X = np.column_stack([np.ones(2 * n + 1), points, times - times[0]])
    X /= np.abs(X).max(axis=0)
    assert np.linalg.matrix_rank(X, tol=1e-12) == n + 2
    assert fit(make_set(points, times, times), points[0], times[0], ridge=1e-4)


def test_kernel_is_the_covariance_of_random_quadratic_forms():
    """Proposition "kernel", by Monte Carlo."""
    rng = np.random.default_rng(0)
    n, m, draws = 4, 6, 200_000
    U = rng.normal(size=(m, n))
    Z = rng.normal(size=(draws, n, n))
    H = (Z + Z.transpose(0, 2, 1)) / np.sqrt(2)  # E[H_ab H_cd] as in (goe-prior)
    q = 0.5 * np.einsum("ia,dab,ib->di", U, H, U, optimize=True)
    A = powell(U)
    empirical = q.T @ q / draws
    standard_error = np.sqrt((np.outer(A.diagonal(), A.diagonal()) + A**2) / draws)
    assert np.all(np.abs(empirical - A) < 5 * standard_error)


@given(n=st.integers(1, 4), seed=st.integers(0, 10**5), beta=st.floats(-1e3, 1e3))
def test_exact_recovery_of_a_quadratic_plus_affine_drift(n, seed, beta):
    """A set that determines the quadratic gives it back, however strong the drift."""
    rng = np.random.default_rng(seed)
    m = (n + 1) * (n + 2) // 2 + n + 4
    points, times = rng.uniform(-1, 1, (m, n)), np.sort(rng.uniform(0, 10, m))
    H = rng.normal(size=(n, n))
    H = H + H.T
    g, x = rng.normal(size=n), rng.uniform(-1, 1, n)
    D = points - x
    values = 3 + D @ g + 0.5 * np.einsum("ij,jk,ik->i", D, H, D) + beta * times
    # No noise: the smallest ridge that keeps six digits of K apart from rounding.
    model = fit(make_set(points, times, values), x, 5.0, ridge=1e-9)
    tolerance = 1e-4 * (1 + np.abs(H).max()) * max(1.0, np.abs(model.recovery).max())
    np.testing.assert_allclose(model.g, g, atol=tolerance)
    np.testing.assert_allclose(model.hessian, H, atol=10 * tolerance)
    assert model.gamma == pytest.approx(beta, abs=tolerance)
    assert model.c == pytest.approx(3 + 5 * beta, abs=tolerance)


def test_hessian_prior_is_kept_where_the_readings_say_nothing():
    """Powell's update: a perfect prior leaves no multipliers."""
    rng = np.random.default_rng(5)
    H = np.diag([1.0, 2.0, 3.0])
    points = rng.normal(size=(7, 3))
    values = 0.5 * np.einsum("ij,jk,ik->i", points, H, points) + points @ [1, 2, 3]
    samples = make_set(points, np.arange(7), values)
    model = fit(samples, np.zeros(3), 0.0, ridge=1e-6, hessian_prior=H)
    np.testing.assert_allclose(model.hessian, H, atol=1e-9)
    np.testing.assert_allclose(model.g, [1, 2, 3], atol=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_polynomial_drift_is_decoupled_by_as_many_time_columns(degree):
    samples = random_set(3, 12, seed=degree)
    powers = np.arange(1, degree + 1)
    drift = (samples.times[:, None] ** powers) @ (10.0 / powers)
    x = samples.points[0]
    still = fit(samples, x, 0.0, ridge=1e-3, degree=degree)
    moved = fit(with_drift(samples, drift), x, 0.0, ridge=1e-3, degree=degree)
    np.testing.assert_allclose(moved.g, still.g, atol=1e-8)
    np.testing.assert_allclose(moved.drift - still.drift, 10.0 / powers, atol=1e-8)
    assert moved.drift_change(0.0, 2.0) - still.drift_change(0.0, 2.0) == pytest.approx(
        float(np.sum(10.0 / powers * 2.0**powers))
    )


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((5, 2)),  # all in one place
        np.outer(np.arange(5), [1.0, 2.0]),  # on a line
        np.ones((1, 2)),  # fewer than coefficients
        np.outer([0.0, 1e-300, 1e-200, 1, 1e90], [1.0, -1.0]),
    ],
)
@pytest.mark.parametrize("still_clock", [False, True])
def test_degenerate_sets_take_the_fallback_and_say_so(points, still_clock):
    m = len(points)
    times = np.zeros(m) if still_clock else np.arange(m)
    samples = make_set(points, times, np.arange(m) ** 2)
    model = fit(samples, points[0], float(times[0]), ridge=1e-8)
    assert np.isfinite(model.coefficients).all()
    assert np.isfinite(model.recovery).all()
    assert np.isfinite(model.hessian).all()
    assert "rank" in model.fallback


def test_equal_times_give_no_drift():
    samples = random_set(3, 9, seed=0)
    samples = make_set(samples.points, np.full(9, 4.0), samples.values)
    model = fit(samples, samples.points[0], 4.0, ridge=1e-4)
    without = fit(samples, samples.points[0], 4.0, ridge=1e-4, degree=0)
    assert model.gamma == 0.0
    np.testing.assert_allclose(model.g, without.g, atol=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), shift=st.floats(-1e3, 1e3))
def test_invariance_to_constants_and_permutations(seed, shift):
    samples = random_set(4, 11, seed)
    x = samples.points[0]
    base = fit(samples, x, 0.0, ridge=1e-4)
    lifted = fit(with_drift(samples, np.full(11, shift)), x, 0.0, ridge=1e-4)
    np.testing.assert_allclose(lifted.g, base.g, atol=1e-8)
    assert lifted.c - base.c == pytest.approx(shift, abs=1e-8)
    order = np.random.default_rng(seed).permutation(4)
    swapped = make_set(samples.points[:, order], samples.times, samples.values)
    model = fit(swapped, x[order], 0.0, ridge=1e-4)
    np.testing.assert_allclose(model.g, base.g[order], atol=1e-8)


def test_noise_is_unbiased_when_the_model_holds():
    """Quadratic forms drawn from the prior plus noise: the estimate is tau^2 / rho."""
    rng = np.random.default_rng(1)
    n, m, tau, sigma = 4, 30, 2.0, 0.1
    points, times = rng.normal(size=(m, n)), np.arange(m)
    K = tau**2 * powell(points) + sigma**2 * np.eye(m)
    root = np.linalg.cholesky(K)
    estimates = []
    for _ in range(400):
        values = root @ rng.normal(size=m)
        model = fit(
            make_set(points, times, values), np.zeros(n), 0.0, ridge=(sigma / tau) ** 2
        )
        estimates.append(model.noise_std**2)
    standard_error = sigma**2 * np.sqrt(2 / (m - n - 2) / 400)
    assert abs(np.mean(estimates) - sigma**2) < 4 * standard_error
