"""Readings that go wrong: what does it cost, and is it said?

    python benchmarks/stress.py [--seeds 20] [--only outliers,stuck] [--solvers "a;b"]

A bowl with a quartic part in a box, n = 2, 4 and 8, with 60, 60 and 120 readings of
noise 0.1, is searched while something is wrong with the readings; nothing drifts unless
the row says so. Figures are the true gap f(x) - f* of the returned point: median and
worst tenth over all n and seeds, and the median over that of clean readings. Then:
whether one mistyped reading is among `suspects`, how many clean readings are, and
whether a stuck sensor is said.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds

import tobyqa
from tobyqa.bench.solvers import get_solver

Array = NDArray[np.float64]
NOISE = 0.1
BUDGETS = {2: 60, 4: 60, 8: 120}
SOLVERS = ("adaptive", "adaptive:noise=unknown", "cobyqa", "nelder-mead", "cma")
_WORDS = ("stuck", "same value", "saturated")  # one of them says it


@dataclass
class Sensor:
    """A bowl and its readings; `k` counts them from 0."""

    n: int
    seed: int
    row: str
    k: int = 0
    times: list[float] = field(default_factory=list)
    level: float = math.nan  # of a sensor that is stuck
    drawn: Array = field(init=False)  # (budget, 3): noise, and two numbers in 0..1
    wrong_at: int = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.n, self.seed])
        self.centre = rng.uniform(-1.5, 1.5, self.n)
        self.x0 = np.clip(self.centre + rng.choice([-2.0, 2.0], self.n), -4.0, 4.0)
        self.weights = np.geomspace(1.0, 10.0, self.n)
        self.axes = np.linalg.qr(rng.normal(size=(self.n, self.n)))[0]
        budget = BUDGETS[self.n]
        normal, uniform = rng.normal(size=(budget, 1)), rng.random((budget, 2))
        self.drawn = np.hstack([normal, uniform])
        self.wrong_at = int(rng.integers(budget // 4, budget - budget // 6))
        self.walk = np.zeros(budget)
        for k in range(1, budget):
            self.walk[k] = 0.9 * self.walk[k - 1] + 0.19**0.5 * self.drawn[k, 0]

    @property
    def budget(self) -> int:
        return BUDGETS[self.n]

    def true(self, x: Array) -> float:
        v = self.axes @ (np.asarray(x) - self.centre)
        return float(self.weights @ (v * v) + 0.05 * np.sum(v**4))

    def read(self, x: Array) -> float:
        """A reading with all that is wrong with it; NaN for none."""
        k, value = self.k, self.true(x)
        self.k += 1
        reading = value + NOISE * float(self.drawn[k, 0])
        return ROWS[self.row](self, k, value, reading)

    def time(self) -> float:
        """The time of reading `k`, for rows whose clock matters."""
        if self.row == "pauses":
            return float(self.k + 200 * (self.k // 20))
        if self.row == "clock":
            return 7.0 * self.k + 5.0 * math.sin(3.0 * self.k)  # it also goes back
        return float(self.k)


Row = Callable[[Sensor, int, float, float], float]


def _clean(s: Sensor, k: int, value: float, reading: float) -> float:
    return reading


def _nan(s: Sensor, k: int, value: float, reading: float) -> float:
    return math.nan if s.drawn[k, 1] < 0.1 else reading


def _outliers(s: Sensor, k: int, value: float, reading: float) -> float:
    sign = 1.0 if s.drawn[k, 2] < 0.5 else -1.0
    return reading + sign * 100 * NOISE if s.drawn[k, 1] < 0.05 else reading


def _flattering(s: Sensor, k: int, value: float, reading: float) -> float:
    return reading - 100 * NOISE if s.drawn[k, 1] < 0.05 else reading


def _mistyped(add: float, times: float) -> Row:
    def row(s: Sensor, k: int, value: float, reading: float) -> float:
        return times * reading + add if k == s.wrong_at else reading

    return row


def _stuck(s: Sensor, k: int, value: float, reading: float) -> float:
    first = s.budget // 4
    if k == first:
        s.level = reading
    return s.level if first <= k < first + 30 else reading


def _quantised(s: Sensor, k: int, value: float, reading: float) -> float:
    return 5 * NOISE * round(reading / (5 * NOISE))


def _step(s: Sensor, k: int, value: float, reading: float) -> float:
    return reading + (1000 * NOISE if k >= s.budget // 2 else 0.0)


def _proportional(s: Sensor, k: int, value: float, reading: float) -> float:
    return reading + 0.05 * value * float(s.drawn[k, 0])


def _correlated(s: Sensor, k: int, value: float, reading: float) -> float:
    return value + NOISE * float(s.walk[k])


def _straight(s: Sensor, k: int, value: float, reading: float) -> float:
    return reading + 0.2 * s.times[k]


ROWS: dict[str, Row] = {
    "clean": _clean,
    "nan": _nan,
    "outliers": _outliers,
    "flattering": _flattering,
    "mistyped -100": _mistyped(-100.0, 1.0),
    "mistyped +100": _mistyped(100.0, 1.0),
    "mistyped x10": _mistyped(0.0, 10.0),
    "stuck": _stuck,
    "quantised": _quantised,
    "step": _step,
    "proportional": _proportional,
    "correlated": _correlated,
    "told 10 times": _clean,
    "told a tenth": _clean,
    "pauses": _straight,  # the drift goes on in pauses, of which the clock knows
    "clock": _straight,
}
_TOLD = {"told 10 times": 10.0, "told a tenth": 0.1}


@dataclass(frozen=True)
class Outcome:
    gap: float
    is_named: bool = False  # the mistyped reading is a suspect
    others: int = 0  # readings that are suspects though nothing is wrong with them
    is_said: bool = False  # that the sensor is stuck


def search(row: str, n: int, seed: int, solver: str) -> Outcome:
    sensor = Sensor(n, seed, row)
    bounds = Bounds(np.full(n, -5.0), np.full(n, 5.0))
    if solver.partition(":")[0] == "adaptive":
        return _own(sensor, bounds, is_told="unknown" not in solver)

    def fun(x: Array) -> float:
        sensor.times.append(sensor.time())
        reading = sensor.read(x)
        return math.inf if math.isnan(reading) else reading

    solve: Any = get_solver(solver).solve
    x = solve(fun, sensor.x0, budget=sensor.budget, noise=NOISE, bounds=bounds)
    return Outcome(sensor.true(x))


def _own(sensor: Sensor, bounds: Bounds, *, is_told: bool) -> Outcome:
    def fun(x: Array) -> tobyqa.Measurement:
        t = sensor.time()
        sensor.times.append(t)
        return tobyqa.Measurement(sensor.read(x), t)

    res = tobyqa.minimize(
        fun,
        sensor.x0,
        bounds=bounds,
        noise=NOISE * _TOLD.get(sensor.row, 1.0) if is_told else None,
        maxfev=sensor.budget,
        max_failures=sensor.budget,
        rng=0,
    )
    rows = [_row(suspect) for suspect in getattr(res, "suspects", None) or ()]
    is_wrong = sensor.row.startswith("mistyped")
    return Outcome(
        sensor.true(res.x),
        is_named=is_wrong and sensor.wrong_at in rows,
        others=sum(row != sensor.wrong_at or not is_wrong for row in rows),
        is_said=any(word in _texts(res) for word in _WORDS),
    )


def _row(suspect: Any) -> int:
    """The row of a suspect, an object, a mapping or a tuple that begins with it."""
    if isinstance(suspect, dict):
        return int(suspect["row"])
    return int(suspect.row if hasattr(suspect, "row") else suspect[0])


def _texts(res: Any) -> str:
    """What the result says in words."""
    names = ("message", "confidence", "warnings", "sensor", "notes")
    return " ".join(str(getattr(res, name, "")) for name in names).lower()


def _tenth(values: list[float]) -> float:
    return float(np.sort(values)[math.ceil(0.9 * len(values)) - 1])


def table(outcomes: dict[tuple[str, str], list[Outcome]], solvers: list[str]) -> None:
    """A line for each row: median, worst tenth and cost of each solver."""
    print("| what | " + " | ".join(solvers) + " | lost to |")
    print("|---|" + "---|" * (len(solvers) + 1))
    clean = {
        s: float(np.median([o.gap for o in outcomes["clean", s]])) for s in solvers
    }
    for row in dict.fromkeys(key[0] for key in outcomes):
        gaps = {s: [o.gap for o in outcomes[row, s]] for s in solvers}
        medians = {s: float(np.median(gaps[s])) for s in solvers}
        cells = [
            f"{medians[s]:.3g} / {_tenth(gaps[s]):.3g} (x {medians[s] / clean[s]:.1f})"
            for s in solvers
        ]
        own = [medians[s] for s in solvers if s.startswith("adaptive")]
        peers = {s: medians[s] for s in solvers if not s.startswith("adaptive")}
        lost = [s for s in peers if own and peers[s] < max(own)]
        print(f"| {row} | " + " | ".join(cells) + f" | {', '.join(lost)} |")


def names_table(
    outcomes: dict[tuple[str, str], list[Outcome]], solvers: list[str]
) -> None:
    """What was said of wrong readings."""
    for solver in (s for s in solvers if s.startswith("adaptive")):
        print(f"\n{solver}:")
        for (row, name), own in outcomes.items():
            if name != solver:
                continue
            if row.startswith("mistyped"):
                share = 100 * np.mean([o.is_named for o in own])
                print(f"  {row}: named in {share:.0f} % of the runs")
            elif row in ("clean", "quantised"):
                runs = 100 * np.mean([o.others > 0 for o in own])
                print(f"  {row}: {runs:.1f} % of the runs have false suspects")
                said = 100 * np.mean([o.is_said for o in own])
                print(f"  {row}: {said:.1f} % of the runs speak of a stuck sensor")
            elif row == "stuck":
                share = 100 * np.mean([o.is_said for o in own])
                print(f"  stuck: said in {share:.0f} % of the runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first runs")
    parser.add_argument("--dimensions", default="2,4,8")
    parser.add_argument("--only", help=f"rows, of {', '.join(ROWS)}")
    parser.add_argument("--solvers", default=";".join(SOLVERS), help="separated by ;")
    args = parser.parse_args()
    solvers, begin = args.solvers.split(";"), time.perf_counter()
    wanted = ["clean", *(args.only.split(",") if args.only else ROWS)]
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for row in (r for r in ROWS if any(r.startswith(w) for w in wanted)):
        for solver in solvers:
            outcomes[row, solver] = [
                search(row, n, seed, solver)
                for n in map(int, args.dimensions.split(","))
                for seed in range(args.first, args.first + args.seeds)
            ]
        seconds = time.perf_counter() - begin
        print(f"{row}, {seconds:.0f} s", file=sys.stderr, flush=True)
    table(outcomes, solvers)
    names_table(outcomes, solvers)


if __name__ == "__main__":
    main()
