"""The drift-compensated reduction, Proposition 3.10, and Assumption 4.4 about it.

Ared = Delta f + E_drift + E_noise, and for a drift beta t, E_drift is
gamma_stat (t_new - t_old): nothing of beta is left.
"""

from __future__ import annotations

import numpy as np

from .check import Check, Effort, Row, at_most, fact, verdict
from .drift import RATES
from .landscapes import bowl
from .runs import Kind
from .trace import Trace, run

ROUNDING = 1e-9  # of the largest reading


def residues(trace: Trace) -> tuple[float, float]:
    """How far the two sides of (ared-three-terms) and (ared-affine-residual) differ."""
    noise = trace.column("old_noise") - trace.column("new_noise")
    parts = trace.column("fall") + trace.column("drift_error") + noise
    left = trace.column("gamma_stat") * trace.column("elapsed")
    return (
        float(np.abs(trace.column("achieved") - parts).max()),
        float(np.abs(trace.column("drift_error") - left).max()),
    )


def affine_run(beta: float, effort: Effort) -> Trace:
    """A noisy run on the bowl under the drift beta s_0 t."""
    f = bowl(effort.n)
    return run(
        f, noise=1e-3 * f.size, drift=lambda t: beta * f.size * t,
        readings=min(effort.readings, 300),
    )  # fmt: skip


def decomposition(effort: Effort, runs: list[Kind]) -> Check:
    """Proposition 3.10 in real runs; how large what is left is beside Pred."""
    rows: list[Row] = []
    size = bowl(effort.n).size
    for beta in RATES:
        trace = affine_run(beta, effort)
        largest = beta * size * len(trace.steps)
        three, affine = residues(trace)
        case = f"rate {beta:g} s_0"
        rows.append(at_most(case, "|Ared - its three terms| / largest reading",
                            three / largest, ROUNDING))  # fmt: skip
        rows.append(at_most(case, "|E_drift - gamma_stat dt| / largest reading",
                            affine / largest, ROUNDING))  # fmt: skip
    finding = verdict(rows, "The decomposition is exact")
    for kind in (kind.early for kind in runs):
        predicted = kind.column("predicted")
        left = np.abs(kind.column("drift_error"))
        within = np.abs(kind.column("bias")) <= 0.25 * predicted
        quantity = "iterations with |b_k| <= Pred_k / 4"
        holds = bool(within.all())
        rows.append(Row(kind.name, quantity, float(within.mean()), 1.0, holds))
        moving = predicted > 0.0
        ratio = float(np.median(left[moving] / predicted[moving]))
        rows.append(fact(kind.name, "median |E_drift| / Pred_k", ratio))
    shares = [row.measured for row in rows if row.bound == 1.0]
    return Check(
        title="What is left of the drift in a reduction",
        result="Proposition 3.10, Assumption 4.4",
        claim="Ared = Delta f + E_drift + E_noise; for beta t, E_drift = gamma_stat "
        "dt; assumed: |b_k| <= Pred_k / 4",
        setting="the bowl, one noisy run for each rate; then all runs before a "
        "tenth of the first gradient is reached, in which b_k is E_drift plus the "
        "noise of the centre's reading, which is known by then",
        rows=rows,
        finding=f"{finding} The assumption holds in {min(shares):.0%} to "
        f"{max(shares):.0%} of the iterations.",
    )
