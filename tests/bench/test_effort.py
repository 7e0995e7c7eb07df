"""Budget use and profiles of records whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import BUDGET, run, small_studies

from tobyqa.bench.effort import (
    budget_use,
    data_profile,
    median_evaluations,
    performance_profile,
)
from tobyqa.bench.score import TOLERANCES, score, solve_rates


@given(small_studies(), st.sampled_from(TOLERANCES))
def test_data_profile_ends_at_the_solve_rate(records, tau):
    scores = score(records)
    grid = np.arange(BUDGET + 1.0)
    profile = data_profile(scores, tau, grid)
    assert np.all(profile[0] == 0)
    assert np.all(np.diff(profile, axis=0) >= 0)
    assert np.array_equal(profile[-1], solve_rates(scores, tau))
    per_simplex = data_profile(scores, tau, grid / 3, per_simplex=True)
    assert np.array_equal(per_simplex[-1], profile[-1])


def test_simplex_gradients_are_n_plus_one_evaluations():
    scores = score([run("a", {30: 0.0}, n=9)])
    grid = np.array([2.9, 3.0])
    profile = data_profile(scores, 0.1, grid, per_simplex=True)
    assert profile.ravel().tolist() == [0, 1]


def test_performance_profile_counts_ratios_to_the_fastest():
    records = [run("a", {10: 0.0}, seed=0), run("b", {30: 0.0}, seed=0)]
    records += [run("a", {50: 0.5}, seed=1), run("b", {10: 0.0}, seed=1)]
    profile = performance_profile(score(records), 1e-3, np.array([1.0, 2.9, 3.0]))
    assert profile.tolist() == [[0.5, 0.5], [0.5, 0.5], [0.5, 1.0]]


def test_performance_profile_where_nobody_solves():
    records = [run("a", {1: 0.5}), run("b", {1: 0.0})]
    scores = score(records, reference_solvers=["b"], solvers=["a"])
    assert performance_profile(scores, 0.1, np.array([1e9])).tolist() == [[0.0]]


def test_budget_use():
    records = [run("a", {1: 0.0}, seed=s, nfev=nfev) for s, nfev in enumerate([20, 40])]
    records += [run("a", {1: 0.0}, seed=2)]
    use = budget_use(score(records))
    assert use.evaluations.tolist() == [40]
    assert use.share.tolist() == [0.4]
    assert use.early == pytest.approx([2 / 3])


def test_median_evaluations_among_solved():
    records = [run("a", {k: 0.0}, seed=k) for k in (10, 20, 90)]
    records += [run("b", {k: 0.9}, seed=k) for k in (10, 20, 90)]
    medians = median_evaluations(score(records), 1e-3)
    assert medians[0] == 20
    assert np.isnan(medians[1])
