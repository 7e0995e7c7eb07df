"""Boxes for the 65 problems that cut the unconstrained minimiser off.

    python benchmarks/boxes.py            # writes src/tobyqa/bench/boxes.json

In half of the variables (rounded up), those that have farthest to go, a wall stands
half-way between the start and the minimiser; if there is hardly a way, the wall and
then the start are moved away from the minimiser. All other walls are as far behind both
as these are apart, and at least 1. The least value in the box is the best of many local
searches, by gradients and without.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, minimize

from tobyqa.bench.problems import Problem, get_problem, min_dimension, problem_names

FILE = Path(__file__).resolve().parents[1] / "src/tobyqa/bench/boxes.json"
DIMENSIONS = (2, 3, 6, 10)
_NEAR = 0.2  # a way that is too short to be cut in half
_FAR = 10.0  # minimisers farther away count as being there
_STARTS = {2: 60, 3: 60, 6: 50, 10: 40}


def rounded(values: np.ndarray, digits: int) -> list[float]:
    return [float(f"{v:.{digits}g}") for v in values]


def free_minimiser(problem: Problem) -> np.ndarray:
    """Where a search from the start ends, without walls but not far away."""
    near = Bounds(problem.x0 - _FAR, problem.x0 + _FAR)
    best = local_search(problem, problem.x0, near)
    return polished(problem, best, near)


def box_of(problem: Problem, target: np.ndarray) -> tuple[np.ndarray, ...]:
    """Lower, upper and start."""
    x0 = problem.x0.copy()
    way = target - x0
    room = np.maximum(np.abs(way), 1.0)
    lower, upper = np.minimum(x0, target) - room, np.maximum(x0, target) + room
    order = np.argsort(-np.round(np.abs(way), 6), kind="stable")
    for i in order[: (problem.n + 1) // 2]:
        if abs(way[i]) < _NEAR:
            lower[i], x0[i] = target[i] + 0.5, target[i] + 1.0
            upper[i] = x0[i] + 1.0
        elif way[i] > 0.0:
            upper[i] = x0[i] + 0.5 * way[i]
        else:
            lower[i] = x0[i] + 0.5 * way[i]
    return tuple(np.array(rounded(side, 6)) for side in (lower, upper, x0))


def local_search(problem: Problem, x: np.ndarray, bounds: Bounds) -> np.ndarray:
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000, "maxfun": 200_000}
    found = minimize(
        lambda x: min(problem.fun(x), 1e200),
        np.clip(x, bounds.lb, bounds.ub),
        jac="3-point",
        method="L-BFGS-B",
        bounds=bounds,
        options=options,
    )
    return np.clip(found.x, bounds.lb, bounds.ub)


def polished(problem: Problem, x: np.ndarray, bounds: Bounds) -> np.ndarray:
    """The better of `x` and what searches without gradients make of it."""
    best = x
    for method, options in (
        ("SLSQP", {"ftol": 1e-16, "maxiter": 500}),
        ("COBYQA", {"initial_tr_radius": 1e-2, "final_tr_radius": 1e-11}),
        ("Nelder-Mead", {"xatol": 1e-12, "fatol": 1e-16, "maxfev": 3000}),
        ("COBYQA", {"initial_tr_radius": 1e-4, "final_tr_radius": 1e-12}),
    ):
        found = minimize(
            problem.fun, best, method=method, bounds=bounds, options=options
        )
        there = np.clip(found.x, bounds.lb, bounds.ub)
        if problem.fun(there) < problem.fun(best):
            best = there
    return best


def least(problem: Problem, bounds: Bounds, x0: np.ndarray) -> np.ndarray:
    """The best place of many searches."""
    rng = np.random.default_rng(problem.n)
    width = bounds.ub - bounds.lb
    drawn = bounds.lb + rng.random((_STARTS[problem.n], problem.n)) * width
    starts = [x0, bounds.lb + 0.5 * width, *drawn]
    ends = sorted((local_search(problem, s, bounds) for s in starts), key=problem.fun)
    return min((polished(problem, x, bounds) for x in ends[:3]), key=problem.fun)


def entry(name: str, n: int) -> dict[str, object]:
    problem = get_problem(name, n)
    target = np.round(free_minimiser(problem), 4)
    lower, upper, x0 = box_of(problem, target)
    best = np.clip(least(problem, Bounds(lower, upper), x0), lower, upper)
    return {
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "x0": x0.tolist(),
        "free": rounded(target, 6),
        "best": best.tolist(),
        "minimum": problem.fun(best),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=problem_names())
    parser.add_argument("--out", type=Path, default=FILE)
    args = parser.parse_args()
    made: dict[str, dict[str, object]] = {}
    begin = time.perf_counter()
    for name in args.problems:
        with np.errstate(all="ignore"):
            sizes = [n for n in DIMENSIONS if n >= min_dimension(name)]
            made[name] = {str(n): entry(name, n) for n in sizes}
        print(
            f"{name} {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True
        )
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(n)}: {json.dumps(box)}" for n, box in of.items())
        + "\n}"
        for name, of in made.items()
    ]
    args.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
