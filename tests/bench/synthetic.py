"""Records made by hand or by formula, with answers known beforehand."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from tobyqa.bench import published
from tobyqa.bench.records import Cell, Record

BUDGET = 100  # of the small studies


def run(
    solver: str,
    trace: Mapping[int, float],
    *,
    problem: str = "sphere",
    n: int = 2,
    channel: str = "Static",
    seed: int = 0,
    budget: int = BUDGET,
    f_start: float = 1.0,
    f_returned: float | None = None,
    nfev: int | None = None,
    status: str = "ok",
    error: str = "",
) -> Record:
    """A run whose best value became ``trace[k]`` at evaluation ``k``."""
    values = list(trace.values())
    return Record(
        cell=Cell(problem, n, channel, seed, budget, solver),
        status=status,
        error=error,
        nfev=budget if nfev is None else nfev,
        f_start=f_start,
        f_returned=(values or [f_start])[-1] if f_returned is None else f_returned,
        improved_at=np.array(list(trace), dtype=np.int64),
        improved_to=np.array(values, dtype=float),
        seconds=0.1,
    )


def study(
    solvers: Sequence[str] = tuple(published.ROWS),
    *,
    blocks: Sequence[tuple[int, int]] = ((6, 1500), (10, 1500), (20, 1500)),
    channels: Sequence[str] = tuple(published.CHANNELS),
    problems: int = 5,
    seeds: int = 2,
) -> list[Record]:
    """A whole study of random runs, the earlier solvers reaching further."""
    return [
        _random_run(Cell(f"p{p}", n, channel, seed, budget, solver), rank)
        for rank, solver in enumerate(solvers)
        for p in range(problems)
        for n, budget in blocks
        for channel in channels
        for seed in range(seeds)
    ]


def _random_run(cell: Cell, rank: int) -> Record:
    """A geometric descent from 1 towards 0 that stalls at a random depth."""
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    stops_early = rng.random() < 0.1 * rank
    nfev = int(cell.budget * rng.uniform(0.05, 0.9)) if stops_early else cell.budget
    depth = rng.gamma(4.0, 1.6 / (1 + 0.35 * rank))
    steps = min(25, nfev)
    at = np.unique(np.geomspace(1, nfev, steps).astype(np.int64))
    to = 10.0 ** (-depth * np.linspace(0, 1, len(at)) ** 1.5)
    failed = rank >= 4 and rng.random() < 0.02
    return Record(
        cell=cell,
        status="error" if failed else "ok" if stops_early else "budget",
        error="ValueError: step | is <nan> & useless" if failed else "",
        nfev=nfev,
        f_start=1.0,
        f_returned=float(to[-1] * rng.choice([1.0, 1.0, 3.0, 30.0])),
        improved_at=at,
        improved_to=to,
        seconds=0.1,
    )


@st.composite
def traces(draw):
    """A decreasing run of whole values below a start of 1000."""
    values = draw(st.lists(st.integers(0, 999), min_size=1, max_size=6, unique=True))
    at = draw(
        st.lists(
            st.integers(1, BUDGET),
            min_size=len(values),
            max_size=len(values),
            unique=True,
        )
    )
    return dict(zip(sorted(at), sorted(values, reverse=True), strict=True))


@st.composite
def small_studies(draw, solvers=("a", "b", "c")):
    """Every solver on a few problems, all values whole numbers."""
    problems = range(draw(st.integers(1, 4)))
    return [
        run(solver, draw(traces()), problem=f"p{p}", n=2 + p % 2, f_start=1000.0)
        for p in problems
        for solver in solvers
    ]
