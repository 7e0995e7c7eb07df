"""The same search by hand: one command per event, one process per command."""

from __future__ import annotations

import argparse
import sys
import webbrowser

from .. import journal
from .._check import LARGEST_READING
from ..books import Trial
from ..datafile import write_readings
from ..optimizer import Optimizer
from ..runfile import RunSettings
from .run import failure_time, opened
from .show import as_json, facts, point_text, summary, trial_facts


def init(settings: RunSettings, args: argparse.Namespace) -> int:
    """Begin a run in a new file."""
    if journal.holds_run(args.file):
        raise ValueError(f"{args.file} holds a run already; tobyqa status shows it")
    readings = settings.readings()
    with opened(args.file, settings.arguments(readings), readings) as opt:
        text = f"begun: {args.file}; next: tobyqa ask {args.file}"
        print(as_json(facts(opt)) if args.json else text)
    return 0


def ask(args: argparse.Namespace) -> int:
    """Print the point to measure next; the same one until it is answered."""
    with Optimizer.resume(args.file) as opt:
        trial = opt.ask()
        text = f"trial {trial.id}: {point_text(opt, trial.x)}"
        print(as_json(trial_facts(opt, trial)) if args.json else text)
    return 0


def tell(args: argparse.Namespace) -> int:
    """Take in a reading; one that is out of range is a slip, not a failure."""
    if abs(args.value) > LARGEST_READING:
        raise ValueError(
            f"value must be at most {LARGEST_READING:g} in size, but is {args.value}"
        )
    with Optimizer.resume(args.file) as opt:
        trial = _waiting(opt) if args.x is None else args.x
        opt.tell(trial, args.value, args.t, args.sigma)
        _print_count(opt, args, "taken")
    return 0


def fail(args: argparse.Namespace) -> int:
    """Take note of a failed measurement."""
    with Optimizer.resume(args.file) as opt:
        opt.tell_failed(_waiting(opt), args.reason.strip(), t=failure_time(opt))
        _print_count(opt, args, "noted")
    return 0


def undo(args: argparse.Namespace) -> int:
    """Withdraw the latest reading or failure."""
    with Optimizer.resume(args.file) as opt:
        opt.undo()
        _print_count(opt, args, "withdrawn")
    return 0


def status(args: argparse.Namespace) -> int:
    """Show a run without touching it, while another process may be running it."""
    opt = Optimizer.load(args.file)
    print(as_json(facts(opt)) if args.json else summary(opt))
    return 0


def export(args: argparse.Namespace) -> int:
    """Write the readings as a table."""
    opt = Optimizer.load(args.file)
    if args.output is None:
        write_readings(opt, sys.stdout)
        return 0
    with open(args.output, "w", newline="", encoding="utf-8") as file:
        write_readings(opt, file)
    return 0


def report(args: argparse.Namespace) -> int:
    """Write a page about a run."""
    _need_matplotlib("a report")
    from ..report import write

    path = write(args.file, args.output)
    print(path)
    if args.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def plot(args: argparse.Namespace) -> int:
    """Draw a run."""
    _need_matplotlib("a plot")
    from ..plots import overview

    overview(args.file).savefig(args.output)
    print(args.output)
    return 0


def _need_matplotlib(what: str) -> None:
    try:
        import matplotlib  # noqa: F401 - asked for first, to say it plainly
    except ImportError:
        raise ImportError(
            f"{what} needs matplotlib: pip install 'tobyqa[plot]'"
        ) from None


def _waiting(opt: Optimizer) -> Trial:
    if opt.pending is None:
        raise ValueError(
            "no trial waits for a reading: ask for one first (tobyqa ask), or say "
            "with --x where it was taken"
        )
    return opt.pending


def _print_count(opt: Optimizer, args: argparse.Namespace, what: str) -> None:
    if args.json:
        print(as_json(facts(opt)))
        return
    history = opt.result().history
    readings = int((~history.failed).sum())
    print(f"{what}: {readings} readings, {len(history) - readings} failures")
    if opt.done:
        print(opt.message)
    elif opt.pending is not None:
        print(f"waiting: trial {opt.pending.id}: {point_text(opt, opt.pending.x)}")
    else:
        print(f"next: tobyqa ask {args.file}")
