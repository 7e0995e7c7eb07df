"""What a returned point leaves to be gained, where the least value is known.

The regret of a run is

    r  =  (f(x) - f*) / (f(x0) - f*),

x the point that it returned and f* the least value in the box: 1 for a run that comes
back with nothing, 0 for the minimum itself. Budgets are told apart by their multiple of
n, so that problems of several dimensions can be pooled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .catalogue import known_minimum
from .records import Array, Record
from .score import Estimate

_LEAST, _MOST = 1e-6, 1e2  # of regrets that are averaged as logarithms
_RESAMPLES = 2000


@dataclass(frozen=True)
class Regrets:
    """A set of runs: how many, and what they left."""

    runs: int
    median: float
    worst_tenth: float  # nine of ten runs are no worse
    mean_log10: float
    no_better: float  # share of runs whose point is no better than x0


def regret(record: Record) -> float:
    """The regret of a run; infinite if its point is outside of the box."""
    cell = record.cell
    least = known_minimum(cell.problem, cell.n)
    if least is None:
        raise ValueError(f"problem {cell.problem!r}: its least value is not known")
    return (record.f_returned - least) / (record.f_start - least)


def logs(regrets: ArrayLike) -> Array:
    """log10 of regrets, those far below any noise or above any use being cut."""
    r = np.nan_to_num(np.asarray(regrets, dtype=float), nan=_MOST)
    return np.asarray(np.log10(np.clip(r, _LEAST, _MOST)))


def summary(regrets: ArrayLike) -> Regrets:
    """
    >>> summary([0.01, 0.1, 1.0]).median
    0.1
    """
    r = np.nan_to_num(np.asarray(regrets, dtype=float), nan=np.inf)
    worst = float(np.sort(r)[int(np.ceil(0.9 * r.size)) - 1])
    return Regrets(
        runs=r.size,
        median=float(np.median(r)),
        worst_tenth=worst,
        mean_log10=float(np.mean(logs(r))),
        no_better=float(np.mean(r >= 1.0)),
    )


def budget_name(n: int, budget: int) -> str:
    """The budget as a multiple of n where it is one of the usual.

    >>> budget_name(4, 17), budget_name(4, 40), budget_name(4, 30)
    ('3n+5', '10n', '30')
    """
    usual = {
        3 * n + 5: "3n+5",
        5 * n: "5n",
        10 * n: "10n",
        20 * n: "20n",
        40 * n: "40n",
    }
    return usual.get(budget, str(budget))


def difference(
    first: Mapping[object, float], other: Mapping[object, float]
) -> Estimate:
    """Mean log10 of `first` minus that of `other`, on the instances of both.

    The interval is the bootstrap's, of instances taken as independent.
    """
    common = sorted(first.keys() & other.keys(), key=repr)
    if not common:
        raise ValueError("the two have no instance in common")
    gaps = logs([first[key] for key in common]) - logs([other[key] for key in common])
    rng = np.random.default_rng(0)
    drawn = rng.integers(gaps.size, size=(_RESAMPLES, gaps.size))
    low, high = np.quantile(gaps[drawn].mean(axis=1), [0.025, 0.975])
    return Estimate(float(gaps.mean()), float(low), float(high))
