"""The same search by hand: one command per event, one process per command."""

from __future__ import annotations

import argparse
import io
import sys
import webbrowser
from pathlib import Path

import numpy as np

from .. import journal
from .._check import LARGEST_READING
from ..books import Trial
from ..datafile import write_readings
from ..optimizer import Optimizer
from ..runfile import RunSettings
from .digits import handy
from .run import failure_time, opened
from .show import (
    as_json,
    facts,
    point_text,
    say,
    summary,
    trial_facts,
    warn,
    why_text,
)
from .times import (
    as_run_time,
    correction_note,
    is_numbered,
    time_warning,
    withdrawn_time,
)


def init(settings: RunSettings, args: argparse.Namespace) -> int:
    """Begin a run in a new file."""
    if journal.holds_run(args.file):
        raise ValueError(f"{args.file} holds a run already; tobyqa status shows it")
    readings = settings.readings()
    with opened(args.file, settings.arguments(readings), readings) as opt:
        text = f"begun: {args.file}; next: tobyqa ask {args.file}"
        say(as_json(facts(opt)) if args.json else text)
    return 0


def ask(args: argparse.Namespace) -> int:
    """Print the point to measure next; the same one until it is answered."""
    with Optimizer.resume(args.file) as opt:
        trial = opt.ask()
        text = f"trial {trial.id}: {point_text(opt, trial.x, full=args.full)}"
        if why := why_text(opt, trial):
            text += f"\n  {why}"
        say(as_json(trial_facts(opt, trial)) if args.json else text)
    return 0


def tell(args: argparse.Namespace) -> int:
    """Take in a reading; one that is out of range is a slip, not a failure."""
    if abs(args.value) > LARGEST_READING:
        raise ValueError(
            f"value must be at most {LARGEST_READING:g} in size, but is {args.value}"
        )
    with Optimizer.resume(args.file) as opt:
        trial = _waiting(opt) if args.x is None else _trial_at(opt, args.x)
        t = None if args.t is None else as_run_time(opt, args.t)
        if t is None and not is_numbered(opt):
            t = withdrawn_time(journal.read(args.file).events, trial)
        opt.tell(trial, args.value, t, args.sigma)
        if args.t is None and t is not None:
            warn(correction_note(opt))
        if warning := time_warning(opt):
            warn(warning)
        _print_count(opt, args, "taken")
    return 0


def _trial_at(opt: Optimizer, x: tuple[float, ...]) -> Trial:
    """The trial that waits, if it is at this point or is shown so."""
    pending = opt.pending
    if pending is not None and x in (tuple(pending.x), tuple(handy(opt, pending.x))):
        return pending
    return Trial(None, np.array(x))


def fail(args: argparse.Namespace) -> int:
    """Take note of a failed measurement."""
    with Optimizer.resume(args.file) as opt:
        opt.tell_failed(_waiting(opt), args.reason.strip(), t=failure_time(opt))
        _print_count(opt, args, "noted")
    return 0


def undo(args: argparse.Namespace) -> int:
    """Withdraw the latest reading, failure or change."""
    with Optimizer.resume(args.file) as opt:
        opt.undo()
        _print_count(opt, args, "withdrawn")
    return 0


def status(args: argparse.Namespace) -> int:
    """Show a run without touching it, while another process may be running it."""
    opt = Optimizer.load(args.file)
    say(as_json(facts(opt)) if args.json else summary(opt, args.file))
    return 0


def export(args: argparse.Namespace) -> int:
    """Write the readings as a table."""
    opt = Optimizer.load(args.file)
    if args.output is None:
        write_readings(opt, sys.stdout)
        return 0
    table = io.StringIO(newline="")
    write_readings(opt, table)
    journal.write_output(args.output, table.getvalue().encode())
    return 0


def report(args: argparse.Namespace) -> int:
    """Write a page about a run."""
    _need_matplotlib("a report")
    from ..report import write

    path = write(args.file, args.output)
    say(str(path))
    if args.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def plot(args: argparse.Namespace) -> int:
    """Draw a run."""
    _need_matplotlib("a plot")
    from ..plots import overview

    figure, picture = overview(args.file), io.BytesIO()
    path = Path(args.output)
    if not path.suffix:
        path = path.with_suffix(f".{figure.canvas.get_default_filetype()}")
    figure.savefig(picture, format=path.suffix[1:])
    journal.write_output(path, picture.getvalue())
    say(str(path))
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
        say(as_json(facts(opt)))
        return
    history = opt.result().history
    readings = int((~history.failed).sum())
    say(f"{what}: {readings} readings, {len(history) - readings} failures")
    if opt.done:
        say(opt.message)
    elif opt.pending is not None:
        say(f"waiting: trial {opt.pending.id}: {point_text(opt, opt.pending.x)}")
    else:
        say(f"next: tobyqa ask {args.file}")
