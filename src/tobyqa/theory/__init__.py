"""The paper's theorems, lemmas and assumptions checked, each beside its bound.

Run ``tobyqa theory``, ``tobyqa theory --markdown`` or ``tobyqa theory --json``.
"""

from __future__ import annotations

import argparse
from typing import Any

from .._threads import one_thread
from .check import Check, Effort
from .counts import unsuccessful
from .covariance import coverage, solvability
from .drift import affine, nonlinear
from .growth import complexity
from .output import as_json, as_markdown, as_text
from .reduction import decomposition
from .reliable import rejection
from .runs import kinds

__all__ = ["add_arguments", "checks", "main"]


def checks(effort: Effort | None = None) -> list[Check]:
    """All of them, in the order of the paper."""
    effort = effort or Effort()
    runs = kinds(effort)
    return [
        solvability(effort, runs),
        affine(effort),
        nonlinear(effort),
        coverage(effort, runs),
        decomposition(effort, runs),
        rejection(effort, runs),
        unsuccessful(runs),
        complexity(runs),
    ]


def add_arguments(command: Any) -> None:
    """The options of ``tobyqa theory``."""
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, figures in full")
    form.add_argument(
        "--markdown", action="store_true", help="print a page in Markdown"
    )
    command.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Print all checks in the form that was asked for."""
    form = as_json if args.json else as_markdown if args.markdown else as_text
    with one_thread:
        found = checks()
    print(form(found))
    return 0
