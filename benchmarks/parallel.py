r"""How much sooner the answer is there with k evaluations in flight.

    python benchmarks/parallel.py                    # n = 6, some minutes
    python benchmarks/parallel.py --full             # n = 6 and 10, as in the docs
    python benchmarks/parallel.py --clock real --unit 0.2 --solvers tobyqa --k 1,4,8
    python benchmarks/parallel.py --out runs/parallel.jsonl   # goes on where it was

The page in docs/results/parallel is made, from what is kept beside it and what is not
there yet, by

    python benchmarks/parallel.py --full --report docs/results/parallel/README.md \
        --out docs/results/parallel/records/parallel.jsonl

An evaluation takes 0.5 to 1.5 units, one of twenty ten times as long. The instrument
drifts with time, by a wave and a slope, and has noise of the size of the target: the
value at the answer is to be within 1e-3 of the minimum, where the start is about 2
above. Time is that of the first answer which is, in units; it holds what the solver
computes in between, at `--unit` seconds a unit (processor time, so that other work on
the machine does not count). The clock `simulated` goes through the same schedule
without waiting; `real` sleeps in threads.

Of ``tobyqa`` the answer is what it recommends. Peers are credited with the best of all
points that they have asked for so far, by the true function, which nobody knows.

- ``cma``: pycma, a population of k or its default, if that is larger; a generation is
  told when all of it is back.
- ``optuna``: Optuna's CMA-ES sampler, k trials in flight, a new one as soon as one is
  back (needs optuna and cmaes).
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import tobyqa

TARGET = NOISE = 1e-3
STRAGGLERS, SLOWER = 0.05, 10.0
MOST = 1500  # readings
DISTANCE = 3.0  # of the minimum from the start
IN_FLIGHT = (1, 2, 4, 8, 16, 32)
SEEDS = {"tobyqa": 61, "cma": 9, "optuna": 9}  # with --full
DRAWS = 1000  # of seeds, for an interval


@dataclass(frozen=True)
class Instrument:
    """A bowl that is no quadratic, turned and moved at random."""

    n: int
    seed: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.n, self.seed])
        Q, _ = np.linalg.qr(rng.standard_normal((self.n, self.n)))
        best = rng.standard_normal(self.n)
        object.__setattr__(self, "A", (Q * np.geomspace(0.1, 1.0, self.n)) @ Q.T)
        object.__setattr__(self, "best", DISTANCE * best / np.linalg.norm(best))

    def value(self, x: np.ndarray) -> float:
        """Above the minimum, without drift and noise."""
        d = x - self.best  # type: ignore[attr-defined]
        return float(0.5 * d @ self.A @ d + 0.02 * np.sum(d**4))  # type: ignore[attr-defined]

    def reading(self, x: np.ndarray, t: float, k: int) -> float:
        error = np.random.default_rng([self.seed, k, 6]).standard_normal()
        drift = 0.02 * math.sin(t / 25.0) + 0.002 * t
        return self.value(x) + drift + NOISE * error

    def duration(self, k: int) -> float:
        """Of the k-th evaluation, in units."""
        rng = np.random.default_rng([self.seed, k, 5])
        slow = SLOWER if rng.random() < STRAGGLERS else 1.0
        return float(rng.uniform(0.5, 1.5) * slow)


# Solvers -----------------------------------------------------------------------------

Asked = tuple[Any, np.ndarray]


class Solver(Protocol):
    """Asks for points and is told readings, in any order."""

    def more(self, out: int) -> list[Asked]:
        """What is to be evaluated besides the `out` evaluations in flight."""

    def tell(self, key: Any, value: float, t: float) -> None: ...

    def answer(self) -> np.ndarray | None:
        """What it recommends; None: judge it by the best that it has asked for."""


class Tobyqa:
    def __init__(self, n: int, k: int, seed: int) -> None:
        self.k, self.asked = k, set()
        self.opt = tobyqa.Optimizer(
            np.zeros(n), noise=NOISE, rng=seed, initial_radius=1.0, maxfev=MOST + k
        )

    def more(self, out: int) -> list[Asked]:
        fresh = [t for t in self.opt.ask(self.k) if t.id not in self.asked]
        self.asked |= {trial.id for trial in fresh}
        return [(trial, trial.x) for trial in fresh]

    def tell(self, key: Any, value: float, t: float) -> None:
        self.opt.tell(key, value, t=t)

    def answer(self) -> np.ndarray | None:
        return self.opt.progress().x


class Cma:
    def __init__(self, n: int, k: int, seed: int) -> None:
        import cma

        default = 4 + int(3 * math.log(n))
        settings = {"seed": seed + 1, "verbose": -9, "popsize": max(k, default)}
        self.es = cma.CMAEvolutionStrategy(n * [0.0], 1.0, settings)
        self.k = k
        self._begin()

    def _begin(self) -> None:
        self.points = self.es.ask()
        self.values: dict[int, float] = {}
        self.next = 0

    def more(self, out: int) -> list[Asked]:
        keys = range(self.next, min(self.next + self.k - out, len(self.points)))
        self.next = keys.stop if len(keys) else self.next
        return [(key, np.asarray(self.points[key])) for key in keys]

    def tell(self, key: Any, value: float, t: float) -> None:
        self.values[key] = value
        if len(self.values) == len(self.points):
            self.es.tell(self.points, [self.values[i] for i in range(len(self.points))])
            self._begin()

    def answer(self) -> np.ndarray | None:
        return None


class Optuna:
    def __init__(self, n: int, k: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.k = k
        self.names = [f"x{i}" for i in range(n)]
        space = optuna.distributions.FloatDistribution(-6.0, 6.0)
        self.space = dict.fromkeys(self.names, space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # where it begins
            sampler = optuna.samplers.CmaEsSampler(
                x0=dict.fromkeys(self.names, 0.0), sigma0=1.0, seed=seed
            )
        self.study = optuna.create_study(sampler=sampler)

    def more(self, out: int) -> list[Asked]:
        trials = [self.study.ask(self.space) for _ in range(self.k - out)]
        return [(t, np.array([t.params[name] for name in self.names])) for t in trials]

    def tell(self, key: Any, value: float, t: float) -> None:
        self.study.tell(key, value)

    def answer(self) -> np.ndarray | None:
        return None


SOLVERS: dict[str, Callable[[int, int, int], Solver]] = {
    "tobyqa": Tobyqa,
    "cma": Cma,
    "optuna": Optuna,
}


# Clocks ------------------------------------------------------------------------------


class Simulated:
    """Who evaluates next is looked up; only computing takes time."""

    def __init__(self, unit: float) -> None:
        self.unit, self.waited = unit, 0.0
        self._begin, self._free = time.process_time(), 0.0
        self._out: list[tuple[float, int, Any]] = []

    def now(self) -> float:
        return self.waited + (time.process_time() - self._begin) / self.unit

    def start(self, duration: float, number: int, what: Any) -> None:
        heapq.heappush(self._out, (self.now() + duration, number, what))

    def next(self) -> tuple[float, Any]:
        """When the first one is back, and what."""
        end, _, what = heapq.heappop(self._out)
        self.waited += max(end - self.now(), 0.0)
        return end, what

    def __len__(self) -> int:
        return len(self._out)


class Real:
    """Threads that sleep."""

    def __init__(self, unit: float) -> None:
        self.unit, self._begin = unit, time.monotonic()
        self._pool = ThreadPoolExecutor(64)
        self._out: dict[Any, Any] = {}

    def now(self) -> float:
        return (time.monotonic() - self._begin) / self.unit

    def _wait(self, duration: float) -> float:
        time.sleep(duration * self.unit)
        return self.now()

    def start(self, duration: float, number: int, what: Any) -> None:
        self._out[self._pool.submit(self._wait, duration)] = what

    def next(self) -> tuple[float, Any]:
        done, _ = wait(self._out, return_when=FIRST_COMPLETED)
        first = min(done, key=lambda future: future.result())
        return first.result(), self._out.pop(first)

    def __len__(self) -> int:
        return len(self._out)


# Cells -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    solver: str
    n: int
    k: int
    seed: int
    clock: str
    unit: float


def run(cell: Cell) -> dict[str, Any]:
    """Time and readings until the answer is good, NaN if it never was."""
    instrument = Instrument(cell.n, cell.seed)
    solver = SOLVERS[cell.solver](cell.n, cell.k, cell.seed)
    clock = {"simulated": Simulated, "real": Real}[cell.clock](cell.unit)
    numbers, readings, best = itertools.count(), 0, math.inf
    while readings < MOST:
        for key, x in solver.more(len(clock)):
            number = next(numbers)
            clock.start(instrument.duration(number), number, (key, x, number))
        t, (key, x, number) = clock.next()
        solver.tell(key, instrument.reading(x, t, number), t)
        readings += 1
        now = clock.now()
        answer = solver.answer()
        best = min(best, instrument.value(x))
        if (best if answer is None else instrument.value(answer)) < TARGET:
            return {"time": now, "readings": readings}
    return {"time": math.nan, "readings": readings}


def kept(out: Path | None) -> dict[Cell, Any]:
    """Results in a file, none if there is none."""
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {Cell(**row["cell"]): row["result"] for row in rows}


def results(cells: list[Cell], out: Path | None) -> Iterator[tuple[Cell, Any]]:
    """Of each cell, from the file if it is there, else run and written at once."""
    known = kept(out)
    for cell in cells:
        if cell not in known:
            known[cell] = run(cell)
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                with out.open("a") as file:
                    row = {"cell": asdict(cell), "result": known[cell]}
                    file.write(json.dumps(row) + "\n")
        yield cell, known[cell]


# What came of it ---------------------------------------------------------------------

HEAD = """\
# Time to the answer with several evaluations in flight

Made by `benchmarks/parallel.py`.

Medians over seeds: {seeds}. Time is in units of a usual evaluation, on a
simulated clock; `of k` is the gain over one in flight divided by the number in flight,
with a 95 % bootstrap interval, `reached` the share of runs that came within 1e-3 of the
minimum in {most} readings. The peers are credited with the best of all points that they
have asked for, by the true function.
"""
COLUMNS = {
    "tobyqa": ("time", "gain", "of k", "readings", "reached"),
    "cma": ("time", "reached"),
    "optuna": ("time", "reached"),
}


def report(found: dict[Cell, Any]) -> str:
    """Markdown with a table for each number of variables."""
    counts = {cell.solver: 0 for cell in found}
    for cell in found:
        counts[cell.solver] = max(counts[cell.solver], cell.seed + 1)
    seeds = ", ".join(f"{count} of {name}" for name, count in counts.items())
    parts = [HEAD.format(seeds=seeds, most=MOST)]
    for n in sorted({cell.n for cell in found}):
        parts.append(f"## n = {n}\n\n{table(found, n)}\n")
    return "\n".join(parts)


def table(found: dict[Cell, Any], n: int) -> str:
    """A row for each number in flight, and columns for each solver."""
    cells = [cell for cell in found if cell.n == n]
    solvers = [name for name in SOLVERS if any(c.solver == name for c in cells)]
    named = [f"{name}: {column}" for name in solvers for column in COLUMNS[name]]
    rows = [["in flight", *named]]
    for k in sorted({cell.k for cell in cells}):
        row = [str(k)]
        for name in solvers:
            summary = summed_up(found, name, n, k)
            row += [summary.get(column, "") for column in COLUMNS[name]]
        rows.append(row)
    return as_markdown(rows)


def summed_up(found: dict[Cell, Any], solver: str, n: int, k: int) -> dict[str, str]:
    """Medians of a solver, by column."""
    ran = of(found, solver, n, k)
    if not ran:
        return {}
    alone = of(found, solver, n, 1)
    time, gain = median_time(ran), gained(alone, ran)
    low, high = interval(alone, ran)
    arrived = np.mean([not math.isnan(result["time"]) for result in ran])
    return {
        "time": f"{time:.1f}" if math.isfinite(time) else "never",
        "gain": f"{gain:.1f}",
        "of k": "" if k == 1 else f"{gain / k:.2f} [{low / k:.2f}, {high / k:.2f}]",
        "readings": f"{np.median([result['readings'] for result in ran]):.0f}",
        "reached": f"{100.0 * arrived:.0f} %",
    }


def of(found: dict[Cell, Any], solver: str, n: int, k: int) -> list[Any]:
    """Results of a solver, seed by seed."""
    return [r for c, r in found.items() if (c.solver, c.n, c.k) == (solver, n, k)]


def gained(alone: list[Any], ran: list[Any]) -> float:
    """How much sooner the answer is there, by medians."""
    time, time_alone = median_time(ran), median_time(alone)
    return time_alone / time if math.isfinite(time_alone) else math.nan


def interval(alone: list[Any], ran: list[Any]) -> tuple[float, float]:
    """Of that gain, by drawing seeds anew; NaN where they are not the same."""
    if len(alone) != len(ran):
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(DRAWS):
        drawn = rng.integers(len(ran), size=len(ran))
        gains.append(gained([alone[i] for i in drawn], [ran[i] for i in drawn]))
    low, high = np.quantile(gains, [0.025, 0.975])
    return float(low), float(high)


def median_time(ran: list[Any]) -> float:
    """One that never arrives is later than any other; NaN if nothing has been run."""
    times = np.array([result["time"] for result in ran])
    if not times.size:
        return math.nan
    return float(np.median(np.where(np.isnan(times), np.inf, times)))


def as_markdown(rows: list[list[str]]) -> str:
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        " | ".join(text.rjust(w) for text, w in zip(row, widths, strict=True))
        for row in rows
    ]
    dashes = " | ".join("-" * (w - 1) + ":" for w in widths)
    return "\n".join(f"| {line} |" for line in (lines[0], dashes, *lines[1:]))


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="n = 6 and 10, more seeds")
    parser.add_argument("--n", type=numbers)
    parser.add_argument("--k", type=numbers, help="1, 2, 4, 8, 16, 32 and n by default")
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--clock", choices=("simulated", "real"), default="simulated")
    parser.add_argument("--unit", type=float, default=60.0, help="seconds")
    parser.add_argument("--out", type=Path, help="keep results here, and go on")
    parser.add_argument("--kept", action="store_true", help="run nothing, only show")
    parser.add_argument("--report", type=Path, help="write the page to this file")
    args = parser.parse_args()
    cells = [
        Cell(solver, n, k, seed, args.clock, args.unit)
        for n in args.n or ([6, 10] if args.full else [6])
        for k in args.k or sorted({*IN_FLIGHT, n})
        for solver in args.solvers.split(",")
        for seed in range(args.seeds or (SEEDS[solver] if args.full else 5))
    ]
    if args.kept:
        known = kept(args.out)
        cells = [cell for cell in cells if cell in known]
    page = report(dict(results(cells, args.out)))
    print(page)
    if args.report:
        args.report.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
