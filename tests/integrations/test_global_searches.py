"""`scipy_method` as the local search of SciPy's global ones, on noisy readings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import basinhopping, dual_annealing, minimize

import tobyqa

NOISE = 0.01
HOW = {
    "method": tobyqa.scipy_method,
    "tol": 2 * NOISE,
    "options": {"noise": NOISE, "maxfev": 300, "initial_radius": 0.1, "rng": 0},
}
BOUNDS = [(-2.5, 2.5)] * 2
START = np.array([1.1, -1.9])


def true(x):
    """A dip near every whole number, the deepest one at (0, 0)."""
    return float(np.sum(x**2 + 3.0 * (1.0 - np.cos(2.0 * np.pi * x))))


def noisy(seed, asked=None):
    rng = np.random.default_rng(seed)

    def fun(x):
        if asked is not None:
            asked.append(x.copy())
        return true(x) + NOISE * rng.normal()

    return fun


def check_dip(x):
    """That it is the bottom of a dip."""
    bottom = minimize(true, x, method="BFGS").x
    np.testing.assert_allclose(x, bottom, atol=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_basin_hopping_keeps_what_the_local_searches_find(seed):
    found = basinhopping(
        noisy(seed), START, niter=6, stepsize=1.0, minimizer_kwargs=HOW, rng=seed
    )
    assert found.minimization_failures == 0
    assert found.lowest_optimization_result.success
    check_dip(found.x)
    assert true(found.x) <= true(minimize(true, START).x) + 3 * NOISE


def test_a_spent_budget_is_no_success_there_either():
    how = {**HOW, "options": {**HOW["options"], "maxfev": 10}}
    found = basinhopping(noisy(0), START, niter=2, minimizer_kwargs=how, rng=0)
    assert found.minimization_failures == 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dual_annealing_within_bounds(seed):
    asked: list[np.ndarray] = []
    found = dual_annealing(
        noisy(seed, asked),
        BOUNDS,
        maxiter=40,
        minimizer_kwargs={**HOW, "bounds": BOUNDS},
        rng=seed,
    )
    check_dip(found.x)
    assert np.abs(asked).max() <= 2.5
