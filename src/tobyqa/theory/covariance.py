"""The fit as statistics: Propositions 3.2 and 3.9, Corollary 3.4, and (pnorm-def).

=========  ============================================================  =======
symbol     meaning                                                       shape
=========  ============================================================  =======
D          displacements from the centre                                 (m, n)
X          [1, D, theta], the constraint block                           (m, n+2)
A          Powell's kernel of D                                          (m, m)
K          A + I/rho                                                     (m, m)
tau        scale of the random curvature; rho = tau^2 / R_obs            scalar
Pi         recovery operator                                             (n+2, m)
=========  ============================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ..kernels import powell
from ..model import fit
from ..samples import SampleSet
from .check import Check, Effort, Row, at_most, fact, verdict
from .drift import sample_set
from .runs import Kind

Array = NDArray[np.float64]

LEVELS = (0.68, 0.95)
_ERRORS = 4.0  # standard errors of a share that count as agreement


def quantile(level: float, n: int) -> float:
    """Of the chi-squared distribution with n degrees of freedom."""
    return 2.0 * float(gammaincinv(0.5 * n, level))


def agrees(share: float, level: float, draws: int) -> bool:
    """Whether a share can be chance about a level."""
    return abs(share - level) <= _ERRORS * math.sqrt(level * (1.0 - level) / draws)


def probe_set(n: int, radius: float = 2.0) -> SampleSet:
    """The first 2n + 1 points of Algorithm 1 around the origin; values are zero."""
    steps = np.stack([radius * np.eye(n), -radius * np.eye(n)], axis=1).reshape(-1, n)
    points = np.vstack([np.zeros(n), steps])
    return SampleSet.of(points, np.arange(2.0 * n + 1.0), 0.0)


def with_values(samples: SampleSet, values: Array) -> SampleSet:
    """The same places and times with other readings."""
    return SampleSet.of(samples.points, samples.times, values)


def random_hessian(n: int, rng: np.random.Generator) -> Array:
    """Rotation-invariant, E[H_ab H_cd] = d_ac d_bd + d_ad d_bc  (goe-prior)."""
    G = rng.normal(size=(n, n))
    return np.asarray((G + G.T) / math.sqrt(2.0))


def scores(
    samples: SampleSet, noise: float, tau: float, draws: int, seed: int
) -> Array:
    """Squared errors of the gradient by its covariance, chi-squared if that is right.

    Readings are a random plane, a random quadratic of scale `tau` and noise. With
    tau = 0 the covariance is R_obs Pi Pi' (pnorm-def), else tau^2 Pi K Pi'.
    """
    rng = np.random.default_rng(seed)
    n = samples.points.shape[1]
    x, t = samples.points[0], float(samples.times[0])
    D = samples.points - x
    ridge = noise**2 / (tau or 1.0) ** 2
    Pi = fit(samples, x, t, ridge=ridge).recovery[1 : n + 1]
    covariance = noise**2 * (Pi @ Pi.T) + tau**2 * (Pi @ powell(D) @ Pi.T)
    L = np.linalg.cholesky(covariance)
    found = np.empty(draws)
    for k in range(draws):
        slope, H = rng.normal(size=n), tau * random_hessian(n, rng)
        values = D @ slope + 0.5 * np.einsum("ij,jk,ik->i", D, H, D)
        values += noise * rng.normal(size=len(D))
        g = fit(with_values(samples, values), x, t, ridge=ridge).g
        found[k] = np.sum(np.linalg.solve(L, g - slope) ** 2)
    return found


def kernel_deviation(n: int, draws: int, seed: int = 0) -> float:
    """Proposition 3.9: covariances of q_i = d_i'Hd_i / 2 against A, in their errors."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(2 * n + 1, n))
    q = np.empty((draws, len(D)))
    for k in range(draws):
        q[k] = 0.5 * np.einsum("ij,jk,ik->i", D, random_hessian(n, rng), D)
    A = powell(D)
    # Of a product of normal variables: A_ii A_jj + A_ij^2 per draw.
    error = np.sqrt((np.outer(np.diag(A), np.diag(A)) + A**2) / draws)
    return float(np.abs((q.T @ q / draws - A) / error).max())


def left_inverse_error(samples: SampleSet, ridge: float) -> float:
    """The largest entry of Pi X - I (left-inverse), in units of the set's extent."""
    x, t = samples.points[0], float(samples.times[0])
    D, theta = samples.points - x, samples.times - t
    X = np.column_stack([np.ones(len(samples)), D, theta])
    error = fit(samples, x, t, ridge=ridge).recovery @ X - np.eye(X.shape[1])
    units = np.abs(X).max(axis=0)
    return float(np.abs(units[:, None] * error / units).max())


def solvability(effort: Effort, runs: list[Kind]) -> Check:
    """Proposition 3.2, Corollary 3.4 and Proposition 3.9."""
    rng = np.random.default_rng(0)
    sets = [sample_set(effort.n, rng) for _ in range(100)]
    worst = max(left_inverse_error(s, ridge) for s in sets for ridge in (1e-14, 1e-2))
    probes = [probe_set(n) for n in (1, 2, 5, 10, 20)]
    at_first = max(left_inverse_error(s, 1e-6) for s in probes)
    draws = 10 * effort.draws
    rows = [
        at_most("random sets", "largest entry of Pi X - I",
                worst, 1e-9),
        at_most("first points", "largest entry of Pi X - I",
                at_first, 1e-9),
        at_most("random curvature", "largest |Cov(q) - tau^2 A| in standard errors",
                kernel_deviation(effort.n, draws), 5.0),
    ]  # fmt: skip
    lost, sets_seen = 0, 0
    for kind in runs:
        determined = kind.column("determined")
        rows.append(Row(kind.name, "sets of full rank", float(determined.mean()), 1.0,
                        bool(determined.all())))  # fmt: skip
        lost += int(determined.size - determined.sum())
        sets_seen += determined.size
    return Check(
        title="The system has a solution, and its kernel is a covariance",
        result="Propositions 3.2 and 3.9, Corollary 3.4",
        claim="Pi X = I where X has full column rank, as the first points have; A is "
        "the covariance of quadratic forms of random curvature",
        setting="100 random sets (rho 100 and 1e14), the first points (n = 1 to 20), "
        f"{draws} random Hessians, all runs; 1e-9 stands for zero",
        rows=rows,
        finding=(
            f"Sets without full rank do occur: {lost} of {sets_seen} in the runs."
            if lost
            else "Every set that a run came to had full rank."
        ),
    )


def coverage(effort: Effort, runs: list[Kind]) -> Check:
    """How often the gradient is within its stated error."""
    rows: list[Row] = []
    random = sample_set(effort.n, np.random.default_rng(1))
    places = {"first points": probe_set(effort.n), "a random set": random}
    for tau, cause in ((0.0, "noise alone"), (1.0, "noise and random curvature")):
        for place, samples in places.items():
            found = scores(samples, 0.1, tau, effort.draws, seed=2)
            for level in LEVELS:
                share = float(np.mean(found <= quantile(level, effort.n)))
                holds = agrees(share, level, effort.draws)
                rows.append(Row(f"{cause}, {place}", f"within {level:.0%} region",
                                share, level, holds))  # fmt: skip
    finding = verdict(rows, "The covariance is right under its premises")
    noisy = [kind for kind in runs if kind.relative_noise > 0.0]
    kept = []
    for kind in noisy:
        share = float(np.mean(kind.column("score") <= quantile(0.95, effort.n)))
        within = kind.column("gradient_error") ** 2 <= 9.0 * kind.column("trace")
        rows.append(Row(kind.name, "within 95% region", share, 0.95, share >= 0.95))
        rows.append(fact(kind.name, "|g - grad f| <= 3 sqrt(tr)", float(within.mean())))
        kept.append(share)
    return Check(
        title="The gradient's stated error",
        result="section 2.2 (posterior covariance), Proposition 3.9",
        claim="Cov(g) = R_obs [P_norm]_gg if noise is the only error; tau^2 Pi K Pi' "
        "under random curvature",
        setting=f"{effort.draws} draws on a fixed set; then every iteration of the "
        "noisy runs, the true gradient against the first of the two",
        rows=rows,
        finding=f"{finding} In runs the true gradient is inside the 95 % region in "
        f"{min(kept):.1%} to {max(kept):.1%} of the iterations: noise is not the only "
        "error there, and the stopping rule takes it for the only one.",
    )
