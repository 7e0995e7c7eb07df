"""The figures printed in the paper's five tables, so that ours can stand beside them.

Everything is in percent except evaluations. The setting: 65 problems, 7 channels,
5 seeds, budget 1500. Rows bear the paper's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

BUDGET = 1500
DIMENSIONS = (6, 10, 20)

# In the order of the paper's columns, which shorten ChaoticDrift and LinearDrift.
CHANNELS = (
    "ChaoticDrift",
    "Hetero",
    "LinearDrift",
    "MultCoupling",
    "PeriodicAdd",
    "PeriodicMult",
    "Static",
)

# Our solver name -> the paper's row name, in the paper's row order.
PEERS: Mapping[str, str] = {
    "paper": "TOBYQA",
    "newuoa-pdfo": "NEWUOA",
    "bobyqa-pdfo": "BOBYQA",
    "dfols": "DFO-LS",
    "nelder-mead": "Nelder–Mead",
    "bfgs-fd": "BFGS (FD)",
}
VARIANTS: Mapping[str, str] = {
    "paper": "TOBYQA",
    "paper:hessian=interpolated": "+ interpolated H",
    "paper:drift_compensation=False": "– drift compensation",
    "paper:curvature_kernel=False": "– curvature kernel A",
    "paper:hessian=interpolated,curvature_prior=carried": "+ Powell update",
    "paper:sigma_rule=frozen": "frozen sigma",
}
CURVATURES: Mapping[str, str] = {
    "paper": "TOBYQA",
    "paper:hessian=interpolated": "+ interpolated H",
}
ROWS: Mapping[str, str] = {**PEERS, **VARIANTS}


class BudgetRow(NamedTuple):
    """A row of the paper's table on budget use."""

    evaluations: float
    share: float
    early: float


def _by_tolerance_and_dimension(*rates: float) -> dict[tuple[float, int], float]:
    columns = [(tau, n) for tau in (1e-1, 1e-3, 1e-5, 1e-7) for n in DIMENSIONS]
    return dict(zip(columns, rates, strict=True))


def _by_channel(*rates: float) -> dict[str, float]:
    return dict(zip(CHANNELS, rates, strict=True))


def _by_block(*rates: float) -> dict[tuple[int, int, float], float]:
    blocks = [(6, 1500), (10, 1500), (20, 1500), (6, 450), (20, 5000)]
    columns = [(n, budget, tau) for n, budget in blocks for tau in (1e-3, 1e-5)]
    return dict(zip(columns, rates, strict=True))


# "Solve rates (%). Budget: 1500 evaluations per instance."
SOLVE_RATES: Mapping[str, Mapping[tuple[float, int], float]] = {
    "TOBYQA": _by_tolerance_and_dimension(
        *(91.7, 88.7, 87.4, 71.0, 60.8, 41.9, 37.6, 33.2, 26.4, 31.4, 29.0, 24.3)
    ),
    "NEWUOA": _by_tolerance_and_dimension(
        *(71.6, 61.1, 56.5, 20.7, 18.5, 14.9, 8.5, 11.3, 10.4, 5.2, 7.1, 8.7)
    ),
    "BOBYQA": _by_tolerance_and_dimension(
        *(61.9, 58.2, 51.6, 18.6, 16.1, 10.8, 7.7, 10.2, 8.4, 4.2, 6.7, 6.6)
    ),
    "DFO-LS": _by_tolerance_and_dimension(
        *(70.2, 58.7, 38.9, 25.1, 8.8, 4.9, 8.4, 4.8, 3.8, 5.3, 3.2, 3.3)
    ),
    "Nelder–Mead": _by_tolerance_and_dimension(
        *(34.5, 20.0, 11.9, 8.6, 3.7, 3.2, 3.7, 2.2, 2.9, 2.0, 1.1, 1.4)
    ),
    "BFGS (FD)": _by_tolerance_and_dimension(
        *(14.0, 10.4, 1.3, 1.2, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7)
    ),
}

# "Solve rates (%) at tau = 1e-3 broken down by drift regime."
CHANNEL_RATES: Mapping[str, Mapping[str, float]] = {
    "TOBYQA": _by_channel(56.6, 50.1, 65.0, 57.6, 57.2, 59.7, 59.3),
    "NEWUOA": _by_channel(10.8, 12.0, 10.2, 30.4, 15.2, 21.0, 26.6),
    "BOBYQA": _by_channel(12.4, 9.4, 9.9, 21.9, 12.6, 17.8, 22.1),
    "DFO-LS": _by_channel(13.1, 2.6, 2.7, 22.1, 8.8, 18.7, 22.8),
    "Nelder–Mead": _by_channel(1.5, 0.0, 0.6, 12.8, 3.1, 6.6, 11.5),
    "BFGS (FD)": _by_channel(1.9, 0.6, 1.5, 0.3, 0.8, 0.8, 0.3),
}

# "Budget utilization."
BUDGET_USE: Mapping[str, BudgetRow] = {
    "TOBYQA": BudgetRow(1500, 100.0, 8.5),
    "NEWUOA": BudgetRow(185, 12.3, 99.0),
    "BOBYQA": BudgetRow(147, 9.8, 99.8),
    "DFO-LS": BudgetRow(1500, 100.0, 25.0),
    "Nelder–Mead": BudgetRow(1500, 100.0, 0.0),
    "BFGS (FD)": BudgetRow(180, 12.0, 99.6),
}

# "Ablation of TOBYQA components: solve rates (%) at tau = 1e-3 by drift regime."
ABLATION: Mapping[str, Mapping[str, float]] = {
    "TOBYQA": _by_channel(56.6, 50.1, 65.0, 57.6, 57.2, 59.7, 59.3),
    "+ interpolated H": _by_channel(48.4, 55.3, 66.5, 62.7, 51.5, 65.1, 61.2),
    "– drift compensation": _by_channel(9.7, 7.3, 8.5, 57.9, 12.8, 47.2, 59.7),
    "– curvature kernel A": _by_channel(29.1, 30.2, 40.1, 37.7, 35.0, 38.3, 36.2),
    "+ Powell update": _by_channel(12.2, 19.0, 16.9, 14.5, 13.9, 14.8, 15.1),
    "frozen sigma": _by_channel(39.1, 36.4, 38.4, 37.9, 38.5, 36.3, 36.8),
}

# "Solve rates (%) of the Zero-Hessian default versus the interpolated Hessian."
HESSIAN: Mapping[str, Mapping[tuple[int, int, float], float]] = {
    "TOBYQA": _by_block(71.0, 37.6, 60.8, 33.2, 41.9, 26.4, 83.3, 64.3, 67.1, 45.9),
    "+ interpolated H": _by_block(
        *(63.6, 26.4, 61.2, 31.6, 51.3, 39.4, 67.3, 44.9, 70.8, 59.7)
    ),
}
