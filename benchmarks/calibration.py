"""Are the error bars true? How often nominal 95 % intervals hold what they should.

    python benchmarks/calibration.py [--runs 200] [--problems bowl,rosenbrock] [--n 3,6]

Five functions, n = 3 and 6, 20n and 40n readings, the noise told and not told, a slow
drift. Each interval is the estimate plus or minus 1.96 standard errors: of every
coordinate of the minimum, of `fun`, of the drift's rate, and of the noise where the
result has an error of it. A figure is the share of intervals that hold the truth, and
behind it the share of runs that give one; outside of 90 to 99 % it is marked.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tobyqa

Array = NDArray[np.float64]
Z = 1.959963984540054  # of a normal distribution, 95 %
_AMPLITUDE, _PERIOD = 2.0, 200.0  # of the drift, in noise levels and readings
_NOISE_ERRORS = ("noise_std_std", "noise_std_error")  # names of the noise's own error


@dataclass(frozen=True)
class Problem:
    """A function of v = x - c, the minimum at v = 0 with value 0; noise and start."""

    fun: Callable[[Array], float]
    noise: float
    away: float = 1.0  # of the start, per variable
    low: float = -4.0
    high: float = 4.0


def _bowl(v: Array) -> float:
    q = np.cumsum(v)
    return float(v @ v + q @ q)


def _rosenbrock(v: Array) -> float:
    x = v + 1.0
    steps = 100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2
    return float(np.sum(steps))


def _peak(v: Array) -> float:
    return 1.0 - math.exp(-0.15 * _bowl(v) / v.size)


def _quartic(v: Array) -> float:
    return _bowl(v) + float(np.sum(v**3) / 4.0 + np.sum(v**4))


def _spot(v: Array) -> float:
    return math.sqrt(1.0 + 4.0 * _bowl(v)) - 1.0


PROBLEMS = {
    "bowl": Problem(_bowl, 0.1),
    "rosenbrock": Problem(_rosenbrock, 0.1),
    "peak": Problem(_peak, 0.01),
    "quartic": Problem(_quartic, 0.1),
    "spot": Problem(_spot, 0.05),
}
KINDS = ("x", "fun", "drift rate", "noise")


@dataclass(frozen=True)
class Interval:
    """How many there are, and how many hold the truth; `is_given`: there is one."""

    count: int
    hits: int
    is_given: bool
    ratio: float  # error over standard error, root mean square


def interval(error: Any, std: Any) -> Interval:
    """Of errors and their standard errors; none where one is not finite."""
    e, s = (
        np.atleast_1d(np.asarray(error, float)),
        np.atleast_1d(np.asarray(std, float)),
    )
    if not np.isfinite(s).all() or not np.isfinite(e).all():
        return Interval(0, 0, False, math.nan)
    hits = int(np.sum(np.abs(e) <= Z * s))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.sqrt(np.mean((e / s) ** 2)))
    return Interval(e.size, hits, True, ratio)


def drift(t: float, noise: float) -> float:
    return _AMPLITUDE * noise * math.sin(2.0 * math.pi * t / _PERIOD)


def drift_rate(t: float, noise: float) -> float:
    turn = 2.0 * math.pi / _PERIOD
    return _AMPLITUDE * noise * turn * math.cos(turn * t)


def run(name: str, n: int, readings: int, is_told: bool, seed: int) -> list[Interval]:
    """One search, and its four kinds of intervals."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng([n, readings, seed])
    c = rng.uniform(-1.0, 1.0, n)
    t = itertools.count()

    def fun(x: Array) -> float:
        baseline = drift(float(next(t)), problem.noise)
        return problem.fun(x - c) + baseline + problem.noise * rng.normal()

    res = tobyqa.minimize(
        fun,
        c + problem.away * rng.choice([-1.0, 1.0], n),
        bounds=[(ci + problem.low, ci + problem.high) for ci in c],
        noise=problem.noise if is_told else None,
        maxfev=readings,
        rng=seed,
    )
    value = problem.fun(res.x - c) + drift(res.t, problem.noise)
    noise_std = next(
        (getattr(res, key) for key in _NOISE_ERRORS if hasattr(res, key)), math.nan
    )
    return [
        interval(res.x - c, res.x_std),
        interval(res.fun - value, res.fun_std),
        interval(res.drift_rate - drift_rate(res.t, problem.noise), res.drift_rate_std),
        interval(res.noise_std - problem.noise, noise_std),
    ]


def cell(found: list[Interval]) -> str:
    """Coverage, runs with an interval, and typical error over standard error."""
    count = sum(one.count for one in found)
    given = 100 * np.mean([one.is_given for one in found])
    if not count:
        return f"- ({given:.0f})"
    share = 100 * sum(one.hits for one in found) / count
    mark = "" if 90.0 <= share <= 99.0 else "!"
    ratio = np.median([one.ratio for one in found if one.is_given])
    return f"{share:.1f}{mark} ({given:.0f}; {ratio:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--n", default="3,6")
    parser.add_argument("--readings", default="20,40", help="per variable")
    parser.add_argument("--told", default="yes,no")
    args = parser.parse_args()
    print("coverage % (runs with an interval %; median of error / standard error)")
    print("| function | n | readings | told | " + " | ".join(KINDS) + " |")
    print("|---|---|---|---|" + "---|" * len(KINDS))
    begin = time.perf_counter()
    for name, n, per, told in itertools.product(
        args.problems.split(","),
        map(int, args.n.split(",")),
        map(int, args.readings.split(",")),
        args.told.split(","),
    ):
        seeds = range(args.first, args.first + args.runs)
        runs = [run(name, n, per * n, told == "yes", seed) for seed in seeds]
        cells = [cell(list(found)) for found in zip(*runs, strict=True)]
        row = " | ".join([name, str(n), str(per * n), told, *cells])
        print(f"| {row} |", flush=True)
    print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
