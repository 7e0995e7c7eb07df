"""Moré–Wild scoring: who solved which instance, and after how many evaluations.

An instance is solved at tolerance ``tau`` by a run whose latent value satisfies

    f  <=  f_L + tau (f(x0) - f_L),

where ``f_L`` is the least value there is or, where that is not known, the lowest latent
value any reference solver queried on it.

=============  ==================================================  ======
symbol         meaning                                             shape
=============  ==================================================  ======
k, s           number of instances, number of solvers
``f_start``    f(x0)                                               (k,)
``f_low``      f_L                                                 (k,)
``best``       lowest latent value a run queried                   (k, s)
``returned``   latent value of the point a run handed back         (k, s)
``nfev``       evaluations a run used                              (k, s)
=============  ==================================================  ======

References
----------
J. J. Moré and S. M. Wild, Benchmarking derivative-free optimization algorithms,
SIAM J. Optim. 20 (2009), 172-191, section 2.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .catalogue import known_minimum
from .records import Array, Record

Instance = tuple[str, int, str, int, int]
Point = Literal["queried", "returned"]
Mask = NDArray[np.bool_]
Label = TypeVar("Label", int, str, tuple[int, int])

TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)


def dimension(instance: Instance) -> int:
    return instance[1]


def channel(instance: Instance) -> str:
    return instance[2]


def block(instance: Instance) -> tuple[int, int]:
    """Dimension and budget."""
    return instance[1], instance[4]


@dataclass(frozen=True, eq=False)
class Scores:
    """Every compared solver's run on every instance that counts.

    ``incomplete`` instances were left out because some solver has not run them,
    ``unimproved`` ones because no reference solver went below f(x0), those
    ``set_aside`` because `one_budget` chose another budget.
    """

    instances: tuple[Instance, ...]
    solvers: tuple[str, ...]
    runs: NDArray[np.object_]
    f_start: Array
    f_low: Array
    best: Array
    returned: Array
    nfev: Array
    point: Point
    incomplete: int
    unimproved: int
    set_aside: int

    def keep(self, chosen: Mask) -> Scores:
        """The scores of the chosen instances alone."""
        rows = np.flatnonzero(chosen)
        return replace(
            self,
            instances=tuple(self.instances[i] for i in rows),
            runs=self.runs[rows],
            f_start=self.f_start[rows],
            f_low=self.f_low[rows],
            best=self.best[rows],
            returned=self.returned[rows],
            nfev=self.nfev[rows],
        )

    def judged_by(self, point: Point) -> Scores:
        """The same runs judged by all queried points or by the returned one."""
        return replace(self, point=point)

    def targets(self, tau: float) -> Array:
        return self.f_low + tau * (self.f_start - self.f_low)

    def solved(self, tau: float) -> Mask:
        """Which runs solved which instances, (k, s)."""
        value = self.best if self.point == "queried" else self.returned
        return np.asarray(value <= self.targets(tau)[:, None])

    def evaluations(self, tau: float) -> Array:
        """Evaluations until the target was met, (k, s); inf where it never was.

        A returned point is known only when the run ends, so it costs all of it.
        """
        if self.point == "returned":
            return np.where(self.solved(tau), self.nfev, np.inf)
        rows = zip(self.runs, self.targets(tau), strict=True)
        costs = [[run.evaluations_to(target) for run in row] for row, target in rows]
        return np.array(costs, dtype=float).reshape(self.best.shape)


def score(
    records: Sequence[Record],
    reference_solvers: Collection[str] | None = None,
    point: Point = "queried",
    *,
    solvers: Collection[str] | None = None,
) -> Scores:
    """Line up the runs of the compared solvers and find f_L of each instance.

    Parameters
    ----------
    records : sequence of Record
        Any order; at most one per cell.
    reference_solvers : collection of str, optional
        The solvers that define f_L; all in `records` by default.
    point : {"queried", "returned"}
        Judge a run by the best point it queried or by the one it returned. The
        target is the same for both.
    solvers : collection of str, optional
        The solvers to compare; all in `records` by default.

    Returns
    -------
    Scores
        Over the instances that every compared solver ran, and that every reference
        solver active at that dimension and budget ran, so that f_L means the same
        throughout.
    """
    runs = _runs_by_instance(records)
    present = {record.cell.solver for record in records}
    compared = present if solvers is None else _known(solvers, present, "solvers")
    referees = present if reference_solvers is None else set(reference_solvers)
    if records and not referees & present:
        raise ValueError(
            f"reference_solvers: none of {sorted(referees)} is in the records, "
            f"which hold {sorted(present)}"
        )
    active: dict[tuple[int, int], set[str]] = defaultdict(set)
    for instance, by_solver in runs.items():
        active[block(instance)] |= by_solver.keys() & referees

    attempted = sorted(i for i in runs if runs[i].keys() & compared)
    complete = [i for i in attempted if runs[i].keys() >= compared | active[block(i)]]
    low = [_least(i, [runs[i][s].best() for s in active[block(i)]]) for i in complete]
    scores = _align([runs[i] for i in complete], complete, sorted(compared), low)
    scores = replace(scores, point=point, incomplete=len(attempted) - len(complete))
    # A latent value of -inf leaves no target to reach.
    improved = (scores.f_low < scores.f_start) & np.isfinite(scores.f_low)
    return replace(scores.keep(improved), unimproved=int(np.sum(~improved)))


def _least(instance: Instance, found: Sequence[float]) -> float:
    """f_L, where `found` is what the reference solvers found."""
    known = known_minimum(instance[0], instance[1])
    return min(found, default=np.inf) if known is None else known


def _known(chosen: Collection[str], present: set[str], argument: str) -> set[str]:
    """`chosen` as a set, provided all of it is present."""
    if unknown := sorted(set(chosen) - present):
        raise ValueError(f"{argument}: {unknown} not among {sorted(present)}")
    return set(chosen)


def _runs_by_instance(
    records: Iterable[Record],
) -> dict[Instance, dict[str, Record]]:
    """Records by instance and solver; a cell may occur once."""
    runs: dict[Instance, dict[str, Record]] = defaultdict(dict)
    for record in records:
        if record.cell.solver in runs[record.cell.instance]:
            raise ValueError(f"records: more than one for {record.cell}")
        runs[record.cell.instance][record.cell.solver] = record
    return dict(runs)


def _align(
    runs: Sequence[dict[str, Record]],
    instances: Sequence[Instance],
    solvers: Sequence[str],
    low: Sequence[float],
) -> Scores:
    """Arrays of the compared runs, one row per instance, one column per solver."""
    shape = (len(instances), len(solvers))
    grid = np.empty(shape, dtype=object)
    for i, j in np.ndindex(shape):
        grid[i, j] = runs[i][solvers[j]]

    def matrix(value: Callable[[Record], float]) -> Array:
        return np.array([value(run) for run in grid.flat], float).reshape(shape)

    start = [by_solver[min(by_solver)].f_start for by_solver in runs]
    return Scores(
        instances=tuple(instances),
        solvers=tuple(solvers),
        runs=grid,
        f_start=np.array(start, float),
        f_low=np.array(low, float),
        best=matrix(Record.best),
        returned=matrix(lambda run: run.f_returned),
        nfev=matrix(lambda run: run.nfev),
        point="queried",
        incomplete=0,
        unimproved=0,
        set_aside=0,
    )


def split(scores: Scores, label: Callable[[Instance], Label]) -> dict[Label, Scores]:
    """Scores by `dimension`, `channel` or `block`, in the order of the labels."""
    labels = [label(instance) for instance in scores.instances]
    names = sorted(set(labels))
    return {n: scores.keep(np.array([other == n for other in labels])) for n in names}


def one_budget(scores: Scores) -> Scores:
    """Keep one budget per dimension, the commonest, so that pooling means something.

    Cells with another budget are a comparison of their own.
    """
    common = Counter(budget for _, budget in map(block, scores.instances))
    main: dict[int, int] = {}
    for n, budget in sorted({block(instance) for instance in scores.instances}):
        held = main.get(n, budget)
        main[n] = max(held, budget, key=lambda b: (common[b], b))
    blocks = map(block, scores.instances)
    chosen = np.array([main[n] == budget for n, budget in blocks], dtype=bool)
    return replace(scores.keep(chosen), set_aside=int(np.sum(~chosen)))


def solve_rates(scores: Scores, tau: float) -> Array:
    """Fraction of instances each solver solved, (s,); nan without instances."""
    if not scores.instances:
        return np.full(len(scores.solvers), np.nan)
    return np.asarray(scores.solved(tau).mean(axis=0))


@dataclass(frozen=True)
class Estimate:
    """A number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, trials: int) -> Estimate:
    """A rate with its Wilson score interval.

    Examples
    --------
    >>> estimate = wilson(5, 10)
    >>> round(estimate.low, 4), round(estimate.high, 4)
    (0.2366, 0.7634)
    """
    if trials <= 0:
        return Estimate(np.nan, 0.0, 1.0)
    z2 = float(special.ndtri(0.975)) ** 2
    rate = successes / trials
    centre = (successes + z2 / 2) / (trials + z2)
    half = math.sqrt(z2 * (successes * (1 - rate) + z2 / 4)) / (trials + z2)
    # Rounding must not push the rates 0 and 1 out of their own intervals.
    return Estimate(rate, min(rate, centre - half), max(rate, centre + half))


def solve_intervals(scores: Scores, tau: float) -> tuple[Estimate, ...]:
    """Each solver's solve rate with its Wilson interval."""
    counts = scores.solved(tau).sum(axis=0)
    return tuple(wilson(int(count), len(scores.instances)) for count in counts)


def failures(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """How the runs of each solver ended: counts of the statuses."""
    statuses: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        statuses[record.cell.solver][record.status] += 1
    return dict(sorted(statuses.items()))
