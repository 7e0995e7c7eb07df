"""Curves of the figures: which solvers are drawn, in which colour, with which band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .beside import TAU, in_order
from .effort import data_profile
from .records import Array
from .score import Scores, block, solve_rates, wilson

MOST = 8  # curves in a panel; the tables have all solvers

# Okabe and Ito (2008), without the yellow that is too faint for a line on white, and
# a dark red. Solvers that are in most studies have a colour of their own.
_COLOURS = {
    "adaptive": "#0072B2",
    "paper": "#D55E00",
    "cma": "#E69F00",
    "pybobyqa": "#CC79A7",
    "newuoa-pdfo": "#009E73",
    "cobyqa": "#56B4E9",
    "nelder-mead": "#000000",
    "bobyqa-pdfo": "#882255",
}
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_MARKERS = "os^DvPX*"


@dataclass(frozen=True)
class Curve:
    """One solver's line in one panel, in percent, with its 95 % band."""

    solver: str
    x: Array
    y: Array
    low: Array
    high: Array


def drawn(scores: Scores) -> tuple[str, ...]:
    """The solvers that figures show: those that solve most, variants of one last.

    ``paper:sigma_rule=frozen`` is a variant of ``paper``.
    """
    rates = dict(zip(scores.solvers, solve_rates(scores, TAU), strict=True))

    def key(solver: str) -> tuple[bool, float, str]:
        base, _, settings = solver.partition(":")
        return bool(settings) and base in rates, -rates[solver], solver

    chosen = sorted(scores.solvers, key=key)[:MOST]
    return tuple(in_order(chosen))


def styles(solvers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour of its own, a line and a marker per solver, the same in all figures."""
    slots = list(_COLOURS)
    free = [j for j, name in enumerate(slots) if name not in solvers]
    # In an order of their own: the same whatever the order in which they are given.
    own = {s: slots.index(s) if s in slots else free.pop(0) for s in in_order(solvers)}
    return {
        solver: {
            "color": _COLOURS[slots[j]],
            "linestyle": _DASHES[j % len(_DASHES)],
            "marker": _MARKERS[j],
        }
        for solver, j in own.items()
    }


def profiles(
    scores: Scores, tau: float, solvers: Sequence[str], *, per_simplex: bool
) -> list[Curve]:
    """The data profiles of these solvers."""
    grid = abscissae(scores, per_simplex=per_simplex)
    rates = data_profile(scores, tau, grid, per_simplex=per_simplex)
    return _curves(scores, grid, rates, solvers)


def by_tolerance(scores: Scores, taus: Array, solvers: Sequence[str]) -> list[Curve]:
    """The solve rates of these solvers at each tolerance."""
    rates = np.array([solve_rates(scores, tau) for tau in taus])
    return _curves(scores, taus, rates, solvers)


def abscissae(scores: Scores, *, per_simplex: bool) -> Array:
    """At most 201 numbers of evaluations, or of n + 1 of them, up to the budget."""
    blocks = [block(instance) for instance in scores.instances]
    ends = [budget / (n + 1) if per_simplex else budget for n, budget in blocks]
    grid = np.linspace(0, max(ends, default=1), 201)
    return grid if per_simplex else np.unique(np.round(grid))


def _curves(
    scores: Scores, x: Array, rates: Array, solvers: Sequence[str]
) -> list[Curve]:
    """In the order of their ends, those that end together by the way there."""
    low, high = _band(rates, len(scores.instances))
    columns: Mapping[str, int] = {s: j for j, s in enumerate(scores.solvers)}
    curves = [
        Curve(s, x, *(100 * part[:, columns[s]] for part in (rates, low, high)))
        for s in solvers
    ]
    return sorted(curves, key=lambda curve: (*(-curve.y[::-1]), curve.solver))


def _band(rates: Array, trials: int) -> tuple[Array, Array]:
    """The ends of Wilson's intervals, point by point."""
    table = [wilson(k, trials) for k in range(trials + 1)]
    low, high = np.array([(e.low, e.high) for e in table]).T
    counts = np.rint(rates * trials).astype(int)
    return low[counts], high[counts]
