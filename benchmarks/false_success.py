"""How much an end by a method's own test is worth, without a budget.

    python benchmarks/false_success.py            # minutes
    python benchmarks/false_success.py --method adaptive --seeds 20

Bowls and curved valleys of 2 and 4 variables, drifting, with noise of standard
deviation 1, which is told unless ``--untold``, read through honest and through faulty
sensors until the method ends or 150 readings per variable are taken. An end is *false*
if the point returned is worse than the minimum by more than that noise. Then bowls of 8
variables: how often does the test end the search within 100 readings per variable? One
row per method and sensor, printed as soon as it is known. ``paper`` never claims
success: its test says that no slope was seen.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tobyqa import Optimizer, Status

Array = NDArray[np.float64]
Readings = Callable[[float], float]
Sensor = Callable[[np.random.Generator], Readings]

METHODS = ("adaptive", "paper")
PER_VARIABLE = 150  # readings at the most
MANY = 8  # variables, of the runs that ask whether the test ends them at all
PER_ONE_OF_MANY = 100
OUTLIERS, HOW_FAR = 0.05, (10.0, 50.0)  # share, and size in standard deviations
STUCK_FOR = 30  # readings
COARSE = 6.0  # last digit, in standard deviations
STEP = 20.0  # of the baseline, in standard deviations


@dataclass(frozen=True)
class Problem:
    """f = d'Ad, or that of a bent d; the minimum is 0, the noise 1."""

    A: Array
    x_star: Array
    bend: float

    def gap(self, x: Array) -> float:
        d = x - self.x_star
        d = np.append(d[:1], d[1:] - self.bend * d[:-1] ** 2)
        return float(d @ self.A @ d)


def drawn(n: int, rng: np.random.Generator, *, is_bent: bool) -> Problem:
    """A problem whose start, 0, lies some tens of noise levels above the minimum."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = Q @ np.diag(10.0 ** rng.uniform(-1.0, 1.0, n)) @ Q.T
    x_star = rng.normal(size=n)
    x_star *= 2.0 / np.linalg.norm(x_star)
    problem = Problem(A, x_star, 0.5 if is_bent else 0.0)
    height = 10.0 ** rng.uniform(1.5, 2.5)
    return Problem(A * height / problem.gap(np.zeros(n)), x_star, problem.bend)


# -- sensors: a clean value becomes a reading ----------------------------------------


def honest(rng: np.random.Generator) -> Readings:
    rate = rng.normal() * 0.2
    times = iter(range(10**9))
    return lambda value: value + rate * next(times) + rng.normal()


def outliers(rng: np.random.Generator) -> Readings:
    sound = honest(rng)

    def read(value: float) -> float:
        wrong = rng.choice([-1, 1]) * rng.uniform(*HOW_FAR)
        return sound(value) + wrong * (rng.random() < OUTLIERS)

    return read


def stuck(rng: np.random.Generator) -> Readings:
    """From some moment on the same number again and again, for a while."""
    sound, begin, held = honest(rng), rng.integers(10, 60), [0.0]
    numbers = iter(range(10**9))

    def read(value: float) -> float:
        k, now = next(numbers), sound(value)
        if not begin <= k < begin + STUCK_FOR:
            held[0] = now
        return held[0]

    return read


def step(rng: np.random.Generator) -> Readings:
    sound, begin = honest(rng), rng.integers(10, 60)
    height, numbers = STEP * rng.choice([-1, 1]), iter(range(10**9))
    return lambda value: sound(value) + height * (next(numbers) >= begin)


def failing(rng: np.random.Generator) -> Readings:
    sound = honest(rng)
    return lambda value: math.nan if rng.random() < 0.1 else sound(value)


def quantised(rng: np.random.Generator, digit: float = 2.0) -> Readings:
    """With a last digit of two standard deviations of the noise."""
    sound = honest(rng)
    return lambda value: digit * round(sound(value) / digit)


def coarse(rng: np.random.Generator) -> Readings:
    return quantised(rng, COARSE)


# -- runs ----------------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """How one search ended."""

    status: Status
    is_false: bool
    nfev: int
    noise_std: float

    @property
    def is_own(self) -> bool:
        """By the method's own test."""
        return self.status in (Status.SETTLED, Status.UNRESOLVED)


@dataclass(frozen=True)
class Plan:
    """Which searches are made."""

    method: str
    noise: float | None  # as it is told

    def search(self, problem: Problem, read: Readings, most: int, seed: int) -> End:
        """One search without a budget, given up after `most` readings."""
        x0 = np.zeros(problem.x_star.size)
        opt = Optimizer(x0, method=self.method, noise=self.noise, rng=seed)
        while not opt.done and opt.nfev < most:
            trial = opt.ask()
            opt.tell(trial, read(problem.gap(trial.x)))
        result = opt.result()
        return End(opt.status, problem.gap(result.x) > 1.0, opt.nfev, result.noise_std)

    def of_few(self, sensor: Sensor, seeds: int) -> Iterator[End]:
        for seed in range(seeds):
            rng, n = np.random.default_rng(seed), 2 + 2 * (seed % 2)
            problem = drawn(n, rng, is_bent=seed % 4 >= 2)
            yield self.search(problem, sensor(rng), PER_VARIABLE * n, seed)

    def of_many(self, sensor: Sensor, seeds: int) -> Iterator[End]:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            problem = drawn(MANY, rng, is_bent=False)
            yield self.search(problem, sensor(rng), PER_ONE_OF_MANY * MANY, seed)


ROWS = (
    ("honest", Plan.of_few, honest),
    ("5 % outliers", Plan.of_few, outliers),
    (f"stuck for {STUCK_FOR} readings", Plan.of_few, stuck),
    ("step of the baseline", Plan.of_few, step),
    ("quantised", Plan.of_few, quantised),
    ("quantised coarsely", Plan.of_few, coarse),
    (f"n = {MANY}, honest", Plan.of_many, honest),
    (f"n = {MANY}, 10 % NaN", Plan.of_many, failing),
    (f"n = {MANY}, quantised", Plan.of_many, quantised),
)
TITLES = (
    "| method | sensor | runs | ended | false | success | false | readings | noise |"
)


def row(method: str, text: str, ends: list[End]) -> str:
    """Counts of one method and sensor; medians of readings and of `noise_std`."""
    own = [end for end in ends if end.is_own]
    sure = [end for end in ends if end.status.success]
    counts = [len(ends), len(own), sum(end.is_false for end in own)]
    counts += [len(sure), sum(end.is_false for end in sure)]
    nfev = np.median([end.nfev for end in own]) if own else math.nan
    noise = np.array([end.noise_std for end in ends])
    spread = f"{np.median(noise):.2f} ({noise.min():.2g} to {noise.max():.2g})"
    cells = [method, text, *map(str, counts), f"{nfev:.0f}", spread]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=METHODS, help="one only")
    parser.add_argument("--seeds", type=int, default=60, help="runs of each sensor")
    parser.add_argument("--many", type=int, default=20, help="runs of eight variables")
    parser.add_argument("--untold", action="store_true", help="the noise is not told")
    args = parser.parse_args()
    noise = None if args.untold else 1.0
    start = time.monotonic()
    print(TITLES, "| --- | --- |" + " ---: |" * 7, sep="\n", flush=True)
    for method in [args.method] if args.method else METHODS:
        for text, runs, sensor in ROWS:
            count = args.seeds if runs is Plan.of_few else args.many
            ends = list(runs(Plan(method, noise), sensor, count))
            print(row(method, text, ends), flush=True)
    print(f"\n{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
