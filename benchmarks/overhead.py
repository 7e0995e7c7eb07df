"""Overhead per evaluation: run time minus the objective's, beside other solvers'.

Chained Rosenbrock with a little noise; every solver gets the same budget, on one BLAS
thread. Processor time, so that a busy machine matters less; it still depends on the
machine, so ratios within one run are what to look at.

    python benchmarks/overhead.py [--repeat 3] [--n 6 10 20] [--budget 1500]
    python benchmarks/overhead.py --solvers paper adaptive --against SRC

SRC is the `src` folder of another checkout. Its solvers run in a process of their own,
in turn with those here, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from tobyqa.bench.solvers import get_solver

NOISE = 1e-3
SOLVERS = ["paper", "adaptive", "newuoa-nlopt", "cobyqa", "pybobyqa", "dfols", "cma"]
DIMENSIONS = [6, 10, 20, 50, 100]


class Objective:
    """Chained Rosenbrock with noise, which knows how long it took."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0
        self._rng = np.random.default_rng(0)

    def __call__(self, x: np.ndarray) -> float:
        start = time.process_time()
        value = float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
        value += NOISE * self._rng.standard_normal()
        self.calls += 1
        self.seconds += time.process_time() - start
        return value


def overhead(solve: Callable[..., np.ndarray], n: int, budget: int) -> float:
    """Seconds per evaluation spent in the solver."""
    fun = Objective()
    start = time.process_time()
    solve(fun, np.full(n, -1.0), budget=budget, noise=NOISE)
    return (time.process_time() - start - fun.seconds) / max(fun.calls, 1)


class Elsewhere:
    """Another checkout's solvers, in a process that answers one question at a time."""

    def __init__(self, src: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--answer"],
            env={**os.environ, "PYTHONPATH": src},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def overhead(self, solver: str, n: int, budget: int) -> float:
        print(solver, n, budget, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def answer() -> None:
    """Be the other process: lines of solver, n and budget in, seconds out."""
    for line in sys.stdin:
        name, n, budget = line.split()
        print(overhead(get_solver(name).solve, int(n), int(budget)), flush=True)


def budget_for(n: int) -> int:
    """Enough to leave the start-up behind, not so much that COBYQA takes minutes."""
    return {6: 400, 10: 400, 20: 300, 50: 250, 100: 350}.get(n, 10 * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="best of so many runs")
    parser.add_argument("--n", type=int, nargs="+", default=DIMENSIONS)
    parser.add_argument("--budget", type=int, help="evaluations, else 250 to 400")
    parser.add_argument("--solvers", nargs="+", default=SOLVERS)
    parser.add_argument("--against", metavar="SRC", help="another checkout's folder")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.answer:
        return answer()
    there = Elsewhere(args.against) if args.against else None

    solvers = [get_solver(name) for name in args.solvers]
    for solver in solvers:
        if solver.why_not():
            print(f"skipping {solver.name}: {solver.why_not()}")
    solvers = [s for s in solvers if not s.why_not()]
    print("microseconds per evaluation (ratio to `paper`), best of", args.repeat)
    other = f"{'there':>8} {'here/there':>11}" if there else ""
    print(f"{'n':>5}" + "".join(f"{s.name:>22}{other}" for s in solvers))
    for n in args.n:
        cells, ours = "", float("nan")
        budget = args.budget or budget_for(n)
        for solver in solvers:
            best = theirs = float("inf")
            for _ in range(args.repeat):
                best = min(best, overhead(solver.solve, n, budget))
                if there:
                    theirs = min(theirs, there.overhead(solver.name, n, budget))
            ours = best if solver.name == "paper" else ours
            cells += f"{1e6 * best:12.0f} ({best / ours:7.2f})"
            cells += f"{1e6 * theirs:8.0f} {best / theirs:11.2f}" if there else ""
        print(f"{n:5}{cells}", flush=True)
    print(
        f"floor: {floor():.0f} us at n = 10, the LAPACK calls of one fit alone; the\n"
        "rest is the interpreter and numpy's calls on arrays of a few dozen entries.\n"
        "pybobyqa under noise begins with (n + 1)(n + 2) / 2 points: at n >= 50 that\n"
        "is all it does here."
    )


def floor(n: int = 10) -> float:
    """Microseconds of the five LAPACK calls that one fit cannot do without."""
    from scipy.linalg import lapack

    rng = np.random.default_rng(0)
    m, p = 2 * n + 1, n + 2
    K = np.eye(m, order="F") * m + rng.random((m, m))
    K = np.asfortranarray(K + K.T)
    X = np.asfortranarray(rng.random((m, p)))
    best = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(100):
            L, _ = lapack.dpotrf(K, lower=1)
            Y, _ = lapack.dtrtrs(L, X, lower=1)
            QR, tau, _, _ = lapack.dgeqrf(Y)
            Q, _, _ = lapack.dorgqr(QR, tau)
            W, _ = lapack.dtrtrs(QR[:p], Q.T)
            lapack.dtrtrs(L, W.T, lower=1, trans=1)
        best = min(best, (time.process_time() - start) / 100)
    return 1e6 * best


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
