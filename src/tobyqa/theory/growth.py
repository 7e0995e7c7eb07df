"""The number of evaluations, Theorem 4.10, its noise floor and Assumption 4.3.

=========  ===============================================================
symbol     meaning
=========  ===============================================================
epsilon    accuracy, |grad f(x_k)| <= epsilon
N          evaluations until it is reached
zeta       max(delta_k, sigma_eps / delta_k)
kappa_eg   |g_k - grad f(x_k)| <= kappa_eg zeta_k with probability 1 - p
=========  ===============================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..methods.paper import Paper
from .check import Check, Row, at_most, fact
from .runs import Kind, Run

Array = NDArray[np.float64]

ACCURACIES = 10.0 ** -np.arange(0.25, 4.01, 0.25)  # of the first gradient
_C_0 = 8.0  # as the proof asks for
_P = 0.4  # of Assumption 4.3, below 1/2
_REACHED = 0.75  # of the runs have to reach an accuracy that is above their floor


@dataclass(frozen=True)
class Growth:
    """Evaluations of the runs on one landscape through one channel."""

    epsilon: Array  # of the first gradient, falling, (k,)
    evaluations: Array  # their median, (k,)
    exponent: float  # of 1/epsilon, by least squares
    steepest: float  # the same between neighbours, the largest
    constant: float  # largest N epsilon^2 / (L_g (f(x0) - f_low))


def constant_of_the_proof() -> float:
    """Factor of L_g (f(x0) - f_low) / epsilon^2, with c = 1 / (32 sqrt(gamma_2)).

    Accepted iterations, the rejected ones with them (Proposition 4.9), and twice that
    for those without an accurate gradient.
    """
    method = Paper()
    per_accepted = 1.0 + math.log(method.gamma_1) / math.log(method.gamma_2)
    return 2.0 * per_accepted * 32.0 * math.sqrt(method.gamma_2)


def evaluations(run: Run, epsilon: float) -> float:
    """N, infinite if the run never reaches it."""
    part = run.trace.until(epsilon)
    if len(part.steps) == len(run.trace.steps):
        return math.inf
    return float(run.trace.steps[len(part.steps)].readings - 1)


def growth(runs: Sequence[Run]) -> Growth:
    """Median evaluations over the accuracies that most runs reach."""
    table = np.array(
        [[evaluations(run, a * run.first_gradient) for a in ACCURACIES] for run in runs]
    )
    is_reached = np.mean(np.isfinite(table), axis=0) >= _REACHED
    above = int(np.argmin(is_reached)) if not is_reached.all() else is_reached.size
    assert above >= 2, "runs so short that they reach nothing"
    table, epsilon = table[:, :above], ACCURACIES[:above]
    median = np.median(table, axis=0)
    x, y = -np.log(epsilon), np.log(median)
    scale = [(r.first_gradient**2, r.landscape(r.landscape.x0)) for r in runs]
    L_g = runs[0].landscape.lipschitz
    constant = max(
        float(np.max(row[np.isfinite(row)] * epsilon[np.isfinite(row)] ** 2))
        * g
        / f
        / L_g
        for row, (g, f) in zip(table, scale, strict=True)
    )
    return Growth(
        epsilon=epsilon,
        evaluations=median,
        exponent=float(np.polyfit(x, y, 1)[0]),
        steepest=float(np.max(np.diff(y) / np.diff(x))),
        constant=constant,
    )


def accuracy_constant(run: Run, p: float = _P) -> float:
    """The smallest kappa_eg for which Assumption 4.3 holds in a share 1 - p."""
    delta = np.maximum(run.trace.column("radius"), 1e-300)
    zeta = np.maximum(delta, run.noise / delta)
    return float(np.quantile(run.trace.column("gradient_error") / zeta, 1.0 - p))


def floor(run: Run) -> float:
    """(noise-floor) with the run's own radii and kappa_eg, by its first gradient."""
    radii = run.trace.until(0.1 * run.first_gradient).column("radius")
    scale = max(radii.max(), run.noise / radii.min())
    return _C_0 * accuracy_constant(run) * float(scale) / run.first_gradient


def by_landscape(runs: Sequence[Run]) -> list[Growth]:
    """One for each function."""
    names = dict.fromkeys(run.landscape.name for run in runs)
    return [growth([r for r in runs if r.landscape.name == name]) for name in names]


def complexity(runs: list[Kind]) -> Check:
    """Theorem 4.10 in real runs."""
    rows: list[Row] = []
    allowed = constant_of_the_proof()
    for kind in runs:
        found = by_landscape(kind.runs)
        floors = np.array([floor(run) for run in kind.runs])
        name, lowest = kind.name, [float(g.epsilon[-1]) for g in found]
        rows += [
            at_most(name, "largest exponent", max(g.exponent for g in found), 2.0),
            fact(name, "steepest piece", max(g.steepest for g in found)),
            at_most(name, "largest constant", max(g.constant for g in found), allowed),
            fact(name, "smallest eps, best function", min(lowest)),
            fact(name, "worst", max(lowest)),
            fact(name, "median floor", float(np.median(floors))),
            fact(name, "floor above 1", float(np.mean(floors >= 1.0))),
        ]  # fmt: skip
    return Check(
        title="Evaluations against accuracy",
        result="Theorem 4.10, Assumption 4.3",
        claim="above the floor C_0 kappa_eg max(delta_hi, sigma_eps / delta_lo) the "
        "expected number N of evaluations is O(L_g (f(x0) - f_low) / eps^2)",
        setting="N by 1/eps for each function, down to the smallest eps that three "
        "quarters of its runs reach; eps and floor in units of the first gradient; "
        "constant: N eps^2 / (L_g f(x0)), beside that of the proof; floor: C_0 = 8, "
        "kappa_eg for p = 0.4, radii up to a tenth of the first gradient",
        rows=rows,
        finding=_finding(rows),
    )


def _finding(rows: Sequence[Row]) -> str:
    exponents = [r.measured for r in rows if r.quantity == "largest exponent"]
    steepest = max(r.measured for r in rows if r.quantity == "steepest piece")
    vacuous = float(
        np.mean([r.measured for r in rows if r.quantity == "floor above 1"])
    )
    return (
        f"N grows with a power of 1/eps of at most {max(exponents):.2f}; single "
        f"pieces, close to where runs end, are steeper (up to {steepest:.1f}). The "
        f"theorem's own floor is above the gradient at the start in {vacuous:.0%} of "
        "the runs: of these it says nothing."
    )
