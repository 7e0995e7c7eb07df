"""The command line: ``tobyqa bench run | status | report | pack | list``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from tobyqa.bench.listing import columns, show_all
from tobyqa.bench.only import chosen
from tobyqa.bench.packed import SUFFIX, Bundle, load, pack
from tobyqa.bench.progress import FAILURES
from tobyqa.bench.records import Record
from tobyqa.bench.run import run_study
from tobyqa.bench.store import Store

_ABOUT = "Benchmark solvers on drifting, noisy test problems."
_INTERRUPTED = 130  # what shells expect after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m tobyqa.bench``; returns the exit code."""
    parser = argparse.ArgumentParser("python -m tobyqa.bench", description=_ABOUT)
    _add_commands(parser)
    args = parser.parse_args(argv)
    return int(args.func(args))


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add ``bench`` to the subcommands of a larger parser.

    ``args.func(args)`` then runs the command and gives the exit code.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bench", help="benchmark solvers", description=_ABOUT
    )
    _add_commands(parser)
    return parser


def _add_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="command", required=True)

    def add(name: str, function: Callable[..., int], text: str, *examples: str) -> Any:
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog="\n".join(["example:", *(f"  tobyqa bench {e}" for e in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(func=partial(_guarded, function))
        return command

    run = add(
        "run",
        _run,
        "run a study, or go on with it",
        "run smoke --out runs/smoke",
        "run paper --out runs/paper --workers 8 --only 'solver=paper*,n=6|10'",
        "run paper --out runs/paper --dask tcp://10.0.0.1:8786",
    )
    run.add_argument("study", help="a name from `tobyqa bench list`, or a TOML file")
    run.add_argument("--out", required=True, metavar="DIR", help="where records go")
    run.add_argument(
        "--workers", type=_count, metavar="N", help="processes; one per core by default"
    )
    run.add_argument("--dask", metavar="ADDRESS", help="run on this Dask cluster")
    _add_only(run)
    run.add_argument(
        "--retry-failed", action="store_true", help="run failed cells again"
    )
    run.add_argument("--quiet", action="store_true", help="no progress bar")

    status = add("status", _status, "show how far a run is", "status runs/paper")
    status.add_argument("dir", help="the directory given to run as --out")

    report = add(
        "report",
        _report,
        "write and print the results of runs",
        "report runs/paper --out reports/paper",
        "report runs/paper runs/hessian --out reports/paper --only 'seed=0|1'",
        "report runs/mine kept/peers.jsonl.xz --out reports/mine",
    )
    report.add_argument(
        "runs", nargs="+", help="directories given to run as --out, or packed files"
    )
    report.add_argument("--out", required=True, metavar="OUT", help="where files go")
    report.add_argument(
        "--units",
        choices=("evaluations", "simplex"),
        default="evaluations",
        help="of profiles: evaluations, or n + 1 of them (simplex gradients)",
    )
    _add_only(report)

    pack = add(
        "pack",
        _pack,
        "write the records of a run into one small file that report reads",
        "pack runs/peers --out kept/peers.jsonl.xz",
        "pack runs/paper --out kept/paper-seed-0.jsonl.xz --only seed=0",
    )
    pack.add_argument("run", help="the directory given to run as --out")
    pack.add_argument(
        "--out", required=True, metavar="FILE", help=f"ends with {SUFFIX}"
    )
    _add_only(pack)

    add("list", show_all, "show problems, channels, solvers and studies", "list")


def _add_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        action="append",
        metavar="KEY=VALUE,...",
        help="some cells: keys problem, n, channel, seed, budget, solver; "
        "values a|b and wildcards; may be repeated",
    )


def _guarded(function: Callable[..., int], args: argparse.Namespace) -> int:
    """Errors of the user's as one line; a traceback would only hide it."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            return function(args)
        except (ValueError, OSError, ImportError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except RuntimeError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return _INTERRUPTED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


# Commands ----------------------------------------------------------------------------


def _run(args: argparse.Namespace) -> int:
    # So that a study can name module.function of the folder one works in.
    sys.path.insert(0, os.getcwd())
    summary = run_study(
        args.study,
        args.out,
        workers=args.workers,
        dask=args.dask,
        only=args.only,
        retry_failed=args.retry_failed,
        progress=not args.quiet,
    )
    print(summary)
    return 0


def _status(args: argparse.Namespace) -> int:
    with Store(args.dir) as store:
        statuses = dict(store.statuses())
        study = store.study
    cells = study.cells()
    total = Counter((c.solver, c.n, c.budget) for c in cells)
    done = Counter((c.solver, c.n, c.budget) for c in statuses)
    failed = Counter(
        (c.solver, c.n, c.budget)
        for c, status in statuses.items()
        if status in FAILURES
    )
    rows = [(*key, f"{done[key]}/{total[key]}", failed[key]) for key in total]
    print(f"{study.name}, version {study.version}: {len(statuses)}/{len(cells)} cells")
    print(columns([("solver", "n", "budget", "done", "failed"), *rows]))
    return 0


def _report(args: argparse.Namespace) -> int:
    try:
        import matplotlib  # noqa: F401 - asked for now, not after a minute of scoring
    except ImportError:
        raise ImportError(
            "a report needs matplotlib (pip install matplotlib)"
        ) from None
    from tobyqa.bench.report import summary_text, write_report

    records, about = gathered(args.runs, args.only)
    per_simplex = args.units == "simplex"
    files = write_report(records, args.out, **about, per_simplex=per_simplex)
    print(summary_text(records, about["reference_solvers"]))
    print("\n".join(map(str, files)))
    return 0


def gathered(
    runs: Sequence[str], only: Sequence[str] | None
) -> tuple[list[Record], dict[str, Any]]:
    """The chosen records of some runs, and what a report says about them."""
    bundles = [load(run) for run in runs]
    cells = [bundle.study.cells() for bundle in bundles]
    # Of all of them together: not every run has every solver.
    wanted = set(chosen(list(dict.fromkeys(chain(*cells))), only))
    records: list[Record] = []
    facts: dict[str, str] = {}
    for bundle, own in zip(bundles, cells, strict=True):
        kept = [record for record in bundle.records if record.cell in wanted]
        records += kept
        facts |= _facts(bundle, kept, sum(cell in wanted for cell in own))
    if not records:
        raise ValueError(f"{' '.join(runs)}: no records yet")
    _check_distinct(records)
    studies = [bundle.study for bundle in bundles]
    names = dict.fromkeys(study.name for study in studies)
    referees = dict.fromkeys(s for study in studies for s in study.reference_solvers)
    return records, {
        "title": f"Study {' and '.join(names)}",
        "reference_solvers": tuple(referees),
        "about": facts,
    }


def _check_distinct(records: Sequence[Record]) -> None:
    """One record per cell: two would count twice."""
    counts = Counter(record.cell for record in records)
    cell, most = counts.most_common(1)[0]
    if most > 1:
        raise ValueError(f"{cell} is in several of the runs; leave one out")


def _facts(bundle: Bundle, records: Sequence[Record], wanted: int) -> dict[str, str]:
    """What a reader must know about one run."""
    study, name = bundle.study, bundle.name
    seeds = sorted({record.cell.seed for record in records})
    solvers = dict.fromkeys(record.cell.solver for record in records)
    versions = ", ".join(f"{k} {v}" for k, v in bundle.environment.items())
    return {
        f"study {study.name}": f"version {study.version}: {study.description}",
        f"seeds in {name}": ", ".join(map(str, seeds)),
        f"solvers in {name}": ", ".join(solvers),
        f"cells in {name}": f"{len(records)} of {wanted}",
        f"versions in {name}": versions,
    }


def _pack(args: argparse.Namespace) -> int:
    bundle = load(args.run)
    wanted = set(chosen([record.cell for record in bundle.records], args.only))
    kept = tuple(record for record in bundle.records if record.cell in wanted)
    pack(replace(bundle, records=kept), args.out)
    size = Path(args.out).stat().st_size
    print(f"{args.out}: {len(kept)} of {len(bundle.records)} records, {size:,} bytes")
    return 0
