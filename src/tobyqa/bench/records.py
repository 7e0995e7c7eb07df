"""What the parts of the benchmark share: the cell to run and the record of it.

Planning makes cells, running turns each cell into a record, scoring and drawing
read records; no part knows another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class Cell:
    """One run: a solver on a problem, seen through a channel, with one noise seed."""

    problem: str
    n: int
    channel: str
    seed: int
    budget: int
    solver: str

    @property
    def instance(self) -> tuple[str, int, str, int, int]:
        """Everything but the solver: solvers are compared on equal instances."""
        return self.problem, self.n, self.channel, self.seed, self.budget


@dataclass(frozen=True)
class Record:
    """What one cell left behind; latent values, never readings, are stored.

    ``improved_at[j]`` is the 1-based query index at which the best latent value so
    far became ``improved_to[j]``; both grow monotonically, so the whole run is in
    these two short arrays. ``f_returned`` is the latent value of the point the
    solver handed back.
    """

    cell: Cell
    status: str  # "ok", "budget" (stopped by the recorder), "error", "crash"
    error: str  # exception type and text when status is "error" or "crash"
    nfev: int
    f_start: float  # latent f(x0)
    f_returned: float
    improved_at: NDArray[np.int64]
    improved_to: Array
    seconds: float  # wall time of the whole run, objective included

    def best(self, nfev: int | None = None) -> float:
        """Best latent value within the first `nfev` queries (all by default)."""
        if nfev is None:
            return float(self.improved_to[-1]) if len(self.improved_to) else np.inf
        k = int(np.searchsorted(self.improved_at, nfev, side="right"))
        return float(self.improved_to[k - 1]) if k else np.inf

    def evaluations_to(self, target: float) -> float:
        """Queries needed to reach a latent value <= `target`; inf if never."""
        # improved_to is decreasing: the first entry <= target.
        k = int(np.searchsorted(-self.improved_to, -target, side="left"))
        return float(self.improved_at[k]) if k < len(self.improved_at) else np.inf
