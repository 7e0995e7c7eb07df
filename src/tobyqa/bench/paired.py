"""Two solvers on the same instances: exact tests and an interval for the difference.

The intervals and p-values treat instances as independent. Seeds of one problem are
not quite, so read them as a guide to noise rather than as proof.

References
----------
R. G. Newcombe, Improved confidence intervals for the difference between binomial
proportions based on paired data, Statist. Med. 17 (1998), 2635-2650, method 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .score import Estimate, Scores, wilson


@dataclass(frozen=True)
class Paired:
    """`solver` against `other`; rates and their difference are fractions."""

    solver: str
    other: str
    both: int
    only_solver: int
    only_other: int
    neither: int
    difference: Estimate  # solve rate of `solver` minus that of `other`
    p_solved: float  # exact McNemar test on the discordant instances
    wins: int  # instances on which `solver` found the lower value
    losses: int
    ties: int
    p_wins: float  # exact sign test on wins and losses


def compare(scores: Scores, solver: str, other: str, tau: float) -> Paired:
    """Compare two solvers by what they solved and by who got lower."""
    for name in (solver, other):
        if name not in scores.solvers:
            raise ValueError(f"solver {name!r} is not among {list(scores.solvers)}")
    i, j = scores.solvers.index(solver), scores.solvers.index(other)
    solved = scores.solved(tau)
    first, second = solved[:, i], solved[:, j]
    both, neither = int(np.sum(first & second)), int(np.sum(~first & ~second))
    only_solver, only_other = int(np.sum(first & ~second)), int(np.sum(~first & second))
    value = scores.best if scores.point == "queried" else scores.returned
    wins = int(np.sum(value[:, i] < value[:, j]))
    losses = int(np.sum(value[:, i] > value[:, j]))
    return Paired(
        solver=solver,
        other=other,
        both=both,
        only_solver=only_solver,
        only_other=only_other,
        neither=neither,
        difference=paired_difference(both, only_solver, only_other, neither),
        p_solved=even_odds(only_solver, only_other),
        wins=wins,
        losses=losses,
        ties=len(value) - wins - losses,
        p_wins=even_odds(wins, losses),
    )


def even_odds(one: int, two: int) -> float:
    """Two-sided exact p-value of counts `one` and `two` under even odds."""
    if one + two == 0:
        return 1.0
    return float(stats.binomtest(one, one + two).pvalue)


def paired_difference(
    both: int, only_first: int, only_second: int, neither: int
) -> Estimate:
    """Difference of two paired rates with Newcombe's (1998) interval, method 10.

    Examples
    --------
    >>> estimate = paired_difference(20, 12, 2, 16)
    >>> round(estimate.value, 4), round(estimate.low, 4), round(estimate.high, 4)
    (0.2, 0.0562, 0.3292)
    """
    total = both + only_first + only_second + neither
    first, second = wilson(both + only_first, total), wilson(both + only_second, total)
    phi = _correlation(both, only_first, only_second, neither)

    def margin(one: float, two: float) -> float:
        return math.sqrt(max(one**2 - 2 * phi * one * two + two**2, 0.0))

    difference = first.value - second.value
    below = margin(first.value - first.low, second.high - second.value)
    above = margin(first.high - first.value, second.value - second.low)
    return Estimate(difference, difference - below, difference + above)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Newcombe's continuity-corrected phi coefficient of the 2 x 2 table."""
    first, second = both + only_first, both + only_second
    total = first + only_second + neither
    spread = first * (total - first) * second * (total - second)
    if spread == 0:
        return 0.0
    cross = float(both * neither - only_first * only_second)
    if cross > 0:
        cross = max(cross - total / 2, 0.0)
    return cross / math.sqrt(spread)
