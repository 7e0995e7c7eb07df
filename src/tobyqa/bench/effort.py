"""What a solution costs: budget use, evaluations among solved, profiles.

A profile is a distribution function: the fraction of instances solved at a cost of
at most the abscissa. All costs come from `Scores.evaluations`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .records import Array
from .score import Scores, block, dimension


@dataclass(frozen=True, eq=False)
class BudgetUse:
    """Median evaluations used, median share of the budget, share stopping early."""

    evaluations: Array  # (s,)
    share: Array  # (s,)
    early: Array  # (s,)


def budget_use(scores: Scores) -> BudgetUse:
    """How much of its budget each solver used; a run stops early if not all of it."""
    budget = np.array([block(i)[1] for i in scores.instances], float)[:, None]
    return BudgetUse(
        evaluations=np.median(scores.nfev, axis=0),
        share=np.median(scores.nfev / budget, axis=0),
        early=np.mean(scores.nfev < budget, axis=0),
    )


def median_evaluations(scores: Scores, tau: float) -> Array:
    """Median evaluations to the target among the solved instances; nan if none."""
    costs = scores.evaluations(tau)
    solved = [column[np.isfinite(column)] for column in costs.T]
    return np.array([np.median(some) if len(some) else np.nan for some in solved])


def profile(costs: Array, grid: Array) -> Array:
    """Fraction of the k rows of `costs` (k, s) at or below each of `grid`, (g, s)."""
    if not len(costs):
        return np.zeros((len(grid), costs.shape[1]))
    ordered = np.sort(costs, axis=0)
    counts = [np.searchsorted(column, grid, side="right") for column in ordered.T]
    return np.column_stack(counts) / len(costs)


def data_profile(
    scores: Scores, tau: float, grid: Array, *, per_simplex: bool = False
) -> Array:
    """Fraction solved within each number of evaluations in `grid`, (g, s).

    With `per_simplex` the abscissa is evaluations / (n + 1), the number of simplex
    gradients, as in Moré and Wild (2009).
    """
    costs = scores.evaluations(tau)
    if per_simplex:
        n = np.array([dimension(i) for i in scores.instances], float)
        costs = costs / (n[:, None] + 1)
    return profile(costs, grid)


def performance_profile(scores: Scores, tau: float, ratios: Array) -> Array:
    """Fraction solved within each multiple of the fastest solver's cost, (g, s)."""
    costs = scores.evaluations(tau)
    fastest = costs.min(axis=1, keepdims=True)
    # inf / inf would be nan where nobody solved the instance.
    fastest = np.where(np.isfinite(fastest), fastest, 1.0)
    return profile(costs / fastest, ratios)
