"""Solvers of several runs on the same instances, paired: rates and their differences.

    python benchmarks/versions.py new=RUN:adaptive old=OTHER:adaptive [--by n]

A name stands for the records of one solver in a run's directory or packed file; the
first is compared with each of the others. f_L is the lowest value that any of them
found. Two versions of the package run the study `benchmarks/versions.toml`, each with
its own `src` in PYTHONPATH and a directory of its own, and meet here.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tobyqa.bench.packed import load
from tobyqa.bench.paired import compare
from tobyqa.bench.records import Record
from tobyqa.bench.score import Scores, channel, dimension, score, split

LOOKS = (("queried", 1e-3), ("queried", 1e-5), ("returned", 1e-3))


def records(spec: str) -> list[Record]:
    """Those of ``name=run:solver``, under that name."""
    name, _, place = spec.partition("=")
    run, _, solver = place.partition(":")
    found = [r for r in load(run).records if r.cell.solver == solver]
    if not found:
        raise SystemExit(f"{spec}: {run} has no record of {solver}")
    return [replace(r, cell=replace(r.cell, solver=name)) for r in found]


def shared(groups: list[list[Record]]) -> list[Record]:
    """Those on instances that all solvers have run."""
    common = set.intersection(*({r.cell.instance for r in group} for group in groups))
    return [r for group in groups for r in group if r.cell.instance in common]


def line(scores: Scores, first: str, other: str) -> str:
    cells = []
    for point, tau in LOOKS:
        judged = scores.judged_by(point)
        pair = compare(judged, first, other, tau)
        n = len(judged.instances)
        rate = 100.0 * (pair.both + pair.only_solver) / n
        low, high = 100.0 * pair.difference.low, 100.0 * pair.difference.high
        gain = 100.0 * pair.difference.value
        cells.append(f"{rate:5.1f} {gain:+5.1f} [{low:+5.1f}, {high:+5.1f}]")
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN:SOLVER")
    parser.add_argument("--by", choices=("n", "channel"), help="a row for each")
    args = parser.parse_args()
    if len(args.runs) < 2:
        parser.error("at least two are needed")
    names = [spec.partition("=")[0] for spec in args.runs]
    scores = score(shared([records(spec) for spec in args.runs]))
    label = {"n": dimension, "channel": channel, None: lambda instance: "all"}[args.by]
    print(
        f"| {names[0]} against | on | instances | "
        + " | ".join(f"{point} {tau:g}" for point, tau in LOOKS)
        + " |"
    )
    print("|---|---|---:|" + "---|" * len(LOOKS))
    for other in names[1:]:
        for key, part in split(scores, label).items():
            row = line(part, names[0], other)
            print(f"| {other} | {key} | {len(part.instances)} | {row} |")


if __name__ == "__main__":
    main()
