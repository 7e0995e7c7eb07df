"""Rejected iterations, Proposition 4.9, and the confinement of sigma and radius.

=========  =============================================================
symbol     meaning
=========  =============================================================
S, U       numbers of accepted and rejected iterations
epsilon    accuracy: iterations count while |grad f| >= epsilon
sigma_max  gamma_2 max(sigma_0, 8 L_g^2 / epsilon), Assumption 4.8
=========  =============================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..methods.paper import Paper
from .check import Check, Row, at_most, fact
from .runs import Kind, Run

_PAPER = Paper()


@dataclass(frozen=True)
class Counts:
    """A run up to an accuracy."""

    accepted: int
    rejected: int
    good: int  # accepted ones after which sigma fell
    sigma: float  # largest one, in units of sigma_max
    bound: float  # of `rejected`

    @property
    def share(self) -> float:
        return self.rejected / self.bound


def counts(run: Run, accuracy: float) -> Counts:
    """(rejected-count) and (sigma-max) for the part of a run before `accuracy`."""
    part, L_g = run.trace.until(accuracy), run.landscape.lipschitz
    sigma_max = _PAPER.gamma_2 * max(part.sigma_0, 8.0 * L_g**2 / accuracy)
    accepted = int(part.column("accepted").sum())
    grows = math.log(_PAPER.gamma_2)
    bound = math.log(_PAPER.gamma_1) / grows * accepted
    bound += math.log(sigma_max / part.sigma_0) / grows
    return Counts(
        accepted=accepted,
        rejected=len(part.steps) - accepted,
        good=int(part.column("good").sum()),
        sigma=max([part.last_sigma, *part.column("sigma")]) / sigma_max,
        bound=bound,
    )


def accuracies(run: Run) -> tuple[float, float]:
    """A tenth of the first gradient, and the best that the run came to."""
    return max(0.1 * run.first_gradient, run.reached), run.reached


def unsuccessful(runs: list[Kind]) -> Check:
    """Proposition 4.9 and Assumptions 4.8 and 4.2 in real runs."""
    rows: list[Row] = []
    for kind in runs:
        at_a_tenth = [counts(run, accuracies(run)[0]) for run in kind.runs]
        at_the_best = [counts(run, accuracies(run)[1]) for run in kind.runs]
        radii = [run.trace.column("radius") for run in kind.runs]
        span = float(np.median([r.max() / r.min() for r in radii]))
        share = max(c.share for c in at_a_tenth + at_the_best)
        rows += [
            fact(kind.name, "median S", median([c.accepted for c in at_the_best])),
            fact(kind.name, "median U", median([c.rejected for c in at_the_best])),
            at_most(kind.name, "largest U / bound", share, 1.0),
            at_most(kind.name, "sigma / sigma_max to a tenth",
                    max(c.sigma for c in at_a_tenth), 1.0),
            at_most(kind.name, "to the best", max(c.sigma for c in at_the_best), 1.0),
            fact(kind.name, "median delta_hi / delta_lo", span),
        ]  # fmt: skip
    return Check(
        title="Rejected iterations",
        result="Proposition 4.9, Assumptions 4.8 and 4.2",
        claim="U <= (S log gamma_1 + log(sigma_max / sigma_0)) / log gamma_2; "
        "assumed: sigma_k <= sigma_max, and delta_k between two constants",
        setting="all runs, up to a tenth of the first gradient and up to the smallest "
        "gradient that the run reached (the best, S and U there); largest over the "
        "runs where not said otherwise; delta over the whole run",
        rows=rows,
        finding=_finding(rows),
    )


def _finding(rows: list[Row]) -> str:
    shares = [r.measured for r in rows if r.quantity == "largest U / bound"]
    spans = [r.measured for r in rows if r.quantity.startswith("median delta")]
    beyond = [r for r in rows if r.holds is False and r.quantity == "to the best"]
    names = "; ".join(f"{row.case}: {row.measured:.2g} times" for row in beyond)
    confined = f"does not stay below sigma_max ({names})" if beyond else "is confined"
    return (
        f"U comes to at most {max(shares):.0%} of its bound. sigma {confined}. The "
        f"sample radius changes by a factor of {min(spans):.2g} to {max(spans):.2g} "
        "within a run, most where there is no noise."
    )
