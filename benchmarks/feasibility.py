"""Random boxes and linear constraints: is anything asked that is not allowed?

Each problem is drawn from its own seed: 1 to 6 variables of very different sizes, some
bounds, inequalities and now and then an equality, a grid, a fixed variable; a start
inside, outside or on the edge; drifting readings, some of which fail. Every question is
judged in the user's units, without the package: bounds to the last bit, A @ x <= ub as
evaluated, equalities to 1e-9 of their scale, settings of a grid to 1e-9 of its step.

    python benchmarks/feasibility.py [--problems 10000] [--readings 25] [--first 0]

The exit code is 1 if anything was found; a problem is repeated by ``--first SEED
--problems 1``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint

from tobyqa import Optimizer

Array = NDArray[np.float64]

METHODS = ("adaptive", "paper")
_SHOWN = 5  # findings that are printed in full
_PAUSE = 10.0  # seconds between progress lines


@dataclass(frozen=True)
class Problem:
    """What an optimizer is told, and what it is not: where the minimum lies."""

    seed: int
    x0: Array
    lower: Array
    upper: Array
    A: Array  # (m, n)
    lb: Array  # (m,)
    ub: Array
    resolution: list[float | None]
    fixed: dict[str, float]
    maximize: bool
    size: Array  # of each variable's range
    minimum: Array

    def arguments(self) -> dict[str, Any]:
        """Of `Optimizer`; only what is needed is said."""
        said: dict[str, Any] = {
            "bounds": list(zip(self.lower.tolist(), self.upper.tolist(), strict=True)),
            "x_scale": self.size / 10.0,
            "rng": self.seed,
        }
        if len(self.A):
            said["constraints"] = LinearConstraint(self.A, self.lb, self.ub)
        if any(step is not None for step in self.resolution):
            said["resolution"] = self.resolution
        if self.fixed:
            said["fixed"] = self.fixed
        if np.isfinite(self.upper - self.lower).all() and self.seed % 2:
            del said["x_scale"]  # scales come from the bounds
        return {**said, "maximize": True} if self.maximize else said

    def faults(self, x: Array) -> list[str]:
        """What is wrong with a question."""
        found = []
        if not np.isfinite(x).all():
            return ["not finite"]
        if (x < self.lower).any() or (x > self.upper).any():
            found.append("bounds")
        value = self.A @ x
        equal = self.lb == self.ub
        if (value > self.ub)[~equal].any() or (value < self.lb)[~equal].any():
            found.append("inequality")
        scale = np.maximum(np.abs(self.A) @ np.abs(x), np.abs(self.A) @ self.size)
        if (np.abs(value - self.ub) > 1e-9 * scale)[equal].any():
            found.append("equality")
        steps = np.array([step or math.nan for step in self.resolution])
        off = np.abs(x / steps - np.rint(x / steps)) > 1e-9 * np.maximum(
            1.0, np.abs(x / steps)
        )
        if off[[f"x{i}" not in self.fixed for i in range(x.size)]].any():
            found.append("grid")
        if any(x[int(name[1:])] != value for name, value in self.fixed.items()):
            found.append("fixed")
        return found

    def value(self, x: Array, k: int, rng: np.random.Generator) -> float:
        """A reading: a bowl that drifts, with noise."""
        d = (x - self.minimum) / self.size
        bowl = d @ d + 0.3 * d.sum() ** 2
        return (-1.0 if self.maximize else 1.0) * bowl + 0.02 * k + 0.01 * rng.normal()


def drawn(seed: int) -> Problem:
    """The problem of a seed; it always has an allowed point, mostly with room."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    size = 10.0 ** rng.uniform(-4, 4, n)
    inside = rng.normal(size=n) * size * 10.0 ** rng.uniform(-1, 2, n)
    resolution: list[float | None] = [None] * n
    if rng.random() < 0.2:
        for i in np.flatnonzero(rng.random(n) < 0.5):
            resolution[i] = float(f"{size[i] * 10.0 ** rng.uniform(-3, -1.3):.1g}")
            inside[i] = float(
                f"{round(inside[i] / resolution[i]) * resolution[i]:.15g}"
            )
    room = rng.uniform(0.05, 1.0, (2, n)) * size * (rng.random((2, n)) > 0.1)
    room[:, room.sum(axis=0) == 0.0] = 0.5  # a range of nothing is no search
    lower = np.where(rng.random(n) < 0.75, inside - room[0], -math.inf)
    upper = np.where(rng.random(n) < 0.75, inside + room[1], math.inf)
    A, lb, ub = _rows(rng, inside, size, any(resolution))
    fixed = {}
    if n > 2 and rng.random() < 0.15:
        i = int(rng.integers(n))
        fixed[f"x{i}"] = float(inside[i])
    if len(A) and lb[0] == ub[0]:
        # In a corner an equality may leave one point, which is no search.
        moves = [i for i in np.flatnonzero(A[0]) if f"x{i}" not in fixed][:2]
        lower[moves] = np.minimum(lower, inside - 0.05 * size)[moves]
        upper[moves] = np.maximum(upper, inside + 0.05 * size)[moves]
    return Problem(
        seed=seed,
        x0=_start(rng, inside, lower, upper, size),
        lower=lower,
        upper=upper,
        A=A,
        lb=lb,
        ub=ub,
        resolution=resolution,
        fixed=fixed,
        maximize=bool(rng.random() < 0.3),
        size=size,
        minimum=inside + rng.normal(size=n) * size,
    )


def _rows(
    rng: np.random.Generator, inside: Array, size: Array, has_grid: bool
) -> tuple[Array, Array, Array]:
    """Constraints that the point inside meets; on a grid, no equalities."""
    n = inside.size
    m = int(rng.choice([0, 1, 2, 4], p=[0.35, 0.3, 0.2, 0.15])) if n > 1 else 0
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7) / size
    if rng.random() < 0.3:
        A = np.rint(A * size * 2) / 2 / size
    A = A[(A != 0.0).sum(axis=1) > 1]
    m = len(A)
    at, width = A @ inside, np.abs(A) @ size
    ub = at + rng.uniform(0.02, 0.7, m) * width
    lb = np.where(
        rng.random(m) < 0.4, at - rng.uniform(0.02, 0.7, m) * width, -math.inf
    )
    if m and n > 2 and not has_grid and rng.random() < 0.3:
        lb[0] = ub[0] = at[0]
    return A, lb, ub


def _start(
    rng: np.random.Generator, inside: Array, lower: Array, upper: Array, size: Array
) -> Array:
    """Inside, anywhere near, or on bounds."""
    kind = rng.integers(3)
    if kind == 0:
        return inside
    x0 = inside + rng.normal(size=inside.size) * size
    if kind == 1:
        return x0
    at_lower = np.isfinite(lower) & (rng.random(x0.size) < 0.5)
    x0 = np.clip(np.where(at_lower, lower, x0), lower, upper)
    return np.where(np.isfinite(upper) & ~at_lower, upper, x0)


class Count:
    """What was seen; findings are printed as they come."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.findings = 0

    def found(self, kind: str, problem: Problem, method: str, text: str) -> None:
        self.findings += 1
        self.counts[kind] += 1
        if self.findings <= _SHOWN:
            print(f"{kind}: seed {problem.seed}, {method}: {text}", flush=True)


def search(problem: Problem, method: str, readings: int, count: Count) -> None:
    """One search; every question is judged."""
    rng = np.random.default_rng(problem.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a start that is moved
        opt = Optimizer(
            problem.x0, method=method, maxfev=readings, **problem.arguments()
        )
    while not opt.done:
        trial = opt.ask()
        count.counts["questions"] += 1
        if faults := problem.faults(trial.x):
            text = f"trial {trial.id}: {trial.x.tolist()!r} ({', '.join(faults)})"
            count.found("infeasible", problem, method, text)
        if rng.random() < 0.05:
            opt.tell_failed(trial)
        else:
            opt.tell(trial, problem.value(trial.x, trial.id, rng))
    count.counts["answers"] += 1
    if np.isnan(opt.result().x).any():
        count.found("exception", problem, method, "the answer is NaN")


def guarded(problem: Problem, method: str, readings: int, count: Count) -> None:
    """A search whose exceptions are findings."""
    try:
        search(problem, method, readings, count)
    except Exception as error:  # whatever it is, it is what is looked for
        lines = traceback.format_exc().splitlines()
        where = " ".join(line.strip() for line in lines[-3:-1])
        text = f"{type(error).__name__}: {error} ({where})"
        count.found("exception", problem, method, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--readings", type=int, default=25, help="of each search")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--method", choices=METHODS, action="append", dest="methods")
    args = parser.parse_args()
    count, begin = Count(), time.perf_counter()
    last = begin
    for k in range(args.problems):
        problem = drawn(args.first + k)
        for method in args.methods or METHODS:
            guarded(problem, method, args.readings, count)
        if time.perf_counter() - last > _PAUSE:
            last = time.perf_counter()
            done = f"{k + 1}/{args.problems} problems, {last - begin:.0f} s"
            print(f"{done}, {count.findings} findings", file=sys.stderr, flush=True)
    counts = count.counts
    print(f"problems              {args.problems}")
    print(f"searches that ended   {counts['answers']}")
    print(f"questions             {counts['questions']}")
    print(f"infeasible questions  {counts['infeasible']}")
    print(f"exceptions            {counts['exception']}")
    print(f"seconds               {time.perf_counter() - begin:.0f}")
    return 1 if count.findings else 0


if __name__ == "__main__":
    sys.exit(main())
