"""Kernels: positive semidefinite, of known limits, one number by every formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobyqa.kernels import (
    damped_linear,
    damped_linear_variance,
    damped_powell,
    damped_powell_variance,
    damping,
    integrated_wiener,
    powell,
    wiener_between,
    wiener_times,
)

seeds = st.integers(0, 2**32 - 1)


def of_all_pairs(kernel, U, length):
    """A damped kernel of each row of U with each."""
    e = damping(np.sum(U**2, axis=1), length)
    return kernel(U @ U.T, e, e, length)


@pytest.mark.parametrize(
    ("kernel", "limit"),
    [(damped_powell, powell), (damped_linear, lambda U: U @ U.T)],
    ids=["powell", "linear"],
)
def test_damped_kernels_are_the_plain_ones_for_long_lengths(kernel, limit):
    U = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_allclose(
        of_all_pairs(kernel, U, 1e3), limit(U), rtol=1e-3, atol=1e-5
    )


@given(seed=seeds, length=st.floats(1.0, 30.0))
def test_kernels_are_positive_semidefinite(seed, length):
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(20, 3))
    covariances = [
        of_all_pairs(damped_powell, U, length),
        of_all_pairs(damped_linear, U, length),
        integrated_wiener(rng.uniform(0, 50, 20)),
    ]
    for K in covariances:
        assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    assert covariances[0].diagonal().max() <= length**4
    assert covariances[1].diagonal().max() <= length**2


@given(seed=seeds, size=st.floats(1e-3, 20.0), length=st.floats(1.0, 30.0))
def test_kernels_with_themselves_are_the_variances(seed, size, length):
    """What two formulas say of one number; both are exact near the centre and far."""
    U = np.random.default_rng(seed).normal(size=(10, 3))
    U *= size / np.linalg.norm(U, axis=1).max()  # no window reaches beyond twenty
    squares = np.sum(U**2, axis=1)
    for kernel, variance, bound in (
        (damped_powell, damped_powell_variance, length**4),
        (damped_linear, damped_linear_variance, length**2),
    ):
        own = of_all_pairs(kernel, U, length).diagonal()
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


@given(t=st.lists(st.floats(0.0, 1e3), min_size=1, max_size=20), seed=seeds)
def test_running_sums_are_the_product_with_the_matrix(t, seed):
    """At any times, in any order, some of them the same."""
    t = np.array(t)
    weights = np.random.default_rng(seed).normal(size=t.size)
    K = integrated_wiener(t)
    size = np.abs(K).max() * np.abs(weights).sum()
    np.testing.assert_allclose(
        wiener_times(t, weights), K @ weights, rtol=0.0, atol=1e-13 * size
    )
