"""Few readings in a box: what the returned point leaves, by channel and budget.

    python benchmarks/short.py --solvers adaptive --told no --budgets 30,60
    python benchmarks/short.py --seeds 20-24 --save new.json --against OTHER_SRC
    python benchmarks/short.py --seeds 20-24 --against old.json

Regrets of the returned point, (f(x) - f*) / (f(x0) - f*), on the instruments of the
study `short`: median, worst tenth (nine of ten runs are no worse), mean log10, and the
share of runs that are no better than x0. With ``--against``, the `src` folder of
another checkout (it runs the same cells in a process of its own) or a file of
``--save``, the difference in mean log10 follows, paired, with a 95 % bootstrap
interval; less is better.

Seeds 0 to 4 are those of the study and confirm; develop on 20 and above.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tobyqa.bench.instruments import INSTRUMENTS, QUIET
from tobyqa.bench.records import Cell, Record
from tobyqa.bench.regret import Regrets, difference, regret, summary
from tobyqa.bench.run import run_cell

CHANNELS = ("Static", "LinearDrift", "SlowWave", "RandomWalk", "WarmUp", "Steps")
TOLD = {"yes": "", "no": "noise=unknown"}
NOISE = {"1": "", "0.1": QUIET}
OWN = ("adaptive", "paper")


def budget(text: str, n: int) -> int:
    """Readings, from texts such as ``30``, ``10n`` and ``3n+5``."""
    factor, has_n, more = text.partition("n")
    return int(factor) * n + int(more or 0) if has_n else int(text)


def seeds(text: str) -> list[int]:
    """``20-22,30`` as 20, 21, 22, 30."""
    ranges = (part.partition("-") for part in text.split(","))
    return [s for a, _, b in ranges for s in range(int(a), int(b or a) + 1)]


def solver_names(args: argparse.Namespace) -> list[str]:
    """Every solver as it is told the noise; that makes no difference to peers."""
    names = []
    for solver in args.solvers.split(";"):
        for told in args.told.split(","):
            is_own = solver.partition(":")[0] in OWN
            extra = TOLD[told] if is_own else ""
            joint = "," if ":" in solver else ":"
            names.append(solver + (joint + extra if extra else ""))
    return list(dict.fromkeys(names))


def cells(args: argparse.Namespace) -> list[tuple[str, Cell]]:
    """All runs, each with the budget as it was named."""
    chosen = [
        name
        for name, made in INSTRUMENTS.items()
        if (not args.problems or name in args.problems.split(","))
        and (not args.dimensions or str(made.n) in args.dimensions.split(","))
    ]
    grid = itertools.product(
        seeds(args.seeds),
        chosen,
        args.noise.split(","),
        args.channels.split(","),
        args.budgets.split(","),
        solver_names(args),
    )
    found = []
    for seed, name, noise, channel, text, solver in grid:
        n = INSTRUMENTS[name].n
        cell = Cell(name + NOISE[noise], n, channel, seed, budget(text, n), solver)
        found.append((text, cell))
    return found


Results = dict[tuple[str, ...], float]


def run(args: argparse.Namespace) -> Results:
    """Regrets by instance; keys are solver, channel, budget, problem, seed."""
    todo, results, begin = cells(args), {}, time.perf_counter()
    shown = begin
    errors: dict[str, str] = {}
    for k, (text, cell) in enumerate(todo):
        record: Record = run_cell(cell)
        if record.error:
            errors[cell.solver] = f"{cell}: {record.error}"
        key = (cell.solver, cell.channel, text, cell.problem, str(cell.seed))
        results[key] = regret(record)
        if time.perf_counter() - shown > 15.0:
            shown = time.perf_counter()
            done = f"{k + 1}/{len(todo)} runs, {shown - begin:.0f} s"
            print(done, file=sys.stderr, flush=True)
    for text in errors.values():
        print(f"error: {text}", file=sys.stderr)
    seconds = time.perf_counter() - begin
    print(f"{len(todo)} runs, {seconds:.0f} s", file=sys.stderr)
    return results


def line(regrets: Regrets) -> str:
    return (
        f"{regrets.runs:5d} {100 * regrets.median:8.2f} "
        f"{100 * regrets.worst_tenth:8.1f} {regrets.mean_log10:7.3f} "
        f"{100 * regrets.no_better:6.1f}"
    )


def table(results: Results, other: Results | None) -> str:
    """A line for each solver, budget and channel, and one for all channels."""
    head = f"{'channel':12s} {'budget':>6s} {'runs':>5s} {'median%':>8s} "
    head += f"{'tenth%':>8s} {'log10':>7s} {'>=x0%':>6s}"
    lines = []
    for solver in dict.fromkeys(key[0] for key in results):
        lines += ["", solver, head + ("   difference" if other else "")]
        own = {key: r for key, r in results.items() if key[0] == solver}
        for text in dict.fromkeys(key[2] for key in own):
            here = {key: r for key, r in own.items() if key[2] == text}
            for channel in (*dict.fromkeys(key[1] for key in here), "all"):
                part = {k: r for k, r in here.items() if channel in (k[1], "all")}
                row = f"{channel:12s} {text:>6s} {line(summary(list(part.values())))}"
                lines.append(row + _against(part, other))
    return "\n".join(lines)


def _against(part: Results, other: Results | None) -> str:
    if other is None or not part.keys() & other.keys():
        return ""
    gap = difference(part, other)
    mark = "*" if gap.low > 0 or gap.high < 0 else ""
    return f"   {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]{mark}"


def save(results: Results, path: Path) -> None:
    path.write_text(json.dumps([[*key, r] for key, r in results.items()]))


def load(path: Path) -> Results:
    return {tuple(row[:-1]): row[-1] for row in json.loads(path.read_text())}


def elsewhere(source: Path) -> Results:
    """The same cells, run by the package in `source`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "other.json"
        given = _without(sys.argv[1:], "--against", "--save")
        subprocess.run(
            [sys.executable, __file__, *given, "--save", str(file), "--quiet"],
            env={**os.environ, "PYTHONPATH": str(source)},
            check=True,
        )
        return load(file)


def _without(arguments: list[str], *names: str) -> list[str]:
    """Arguments without some options and their values."""
    kept, skip = [], False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if skip or name in names:
            skip = not skip and not equals
            continue
        kept.append(argument)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", default="adaptive", help="separated by ;")
    parser.add_argument("--told", default="no", help="the noise: yes, no or yes,no")
    parser.add_argument("--budgets", default="30,60", help="30, 10n, 3n+5, ...")
    parser.add_argument("--seeds", default="20-22")
    parser.add_argument("--noise", default="1", help="%% of the range: 1, 0.1 or both")
    parser.add_argument("--channels", default=",".join(CHANNELS))
    parser.add_argument("--problems", help=f"of {', '.join(INSTRUMENTS)}")
    parser.add_argument("--dimensions", help="of 2, 3, 4, 6, 8")
    parser.add_argument("--against", type=Path, help="a src folder, or a saved file")
    parser.add_argument("--save", type=Path, help="keep the regrets in this file")
    parser.add_argument("--quiet", action="store_true", help="no table")
    args = parser.parse_args()
    other = None
    if args.against:
        is_folder = args.against.is_dir()
        other = elsewhere(args.against) if is_folder else load(args.against)
    results = run(args)
    if args.save:
        save(results, args.save)
    if not args.quiet:
        print(table(results, other))


if __name__ == "__main__":
    main()
