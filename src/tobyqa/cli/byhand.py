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
    """Print what to measure next; the same until it is answered."""
    with Optimizer.resume(args.file) as opt:
        trials = opt.ask(1 if args.k is None else args.k)
        if args.json:
            shown = [trial_facts(opt, trial) for trial in trials]
            say(as_json(shown[0] if args.k is None else shown))
            return 0
        for trial in trials:
            say(f"trial {trial.id}: {point_text(opt, trial.x, full=args.full)}")
            if why := why_text(opt, trial):
                say(f"  {why}")
    return 0


def tell(args: argparse.Namespace) -> int:
    """Take in a reading; one that is out of range is a slip, not a failure."""
    if abs(args.value) > LARGEST_READING:
        raise ValueError(
            f"value must be at most {LARGEST_READING:g} in size, but is {args.value}"
        )
    with Optimizer.resume(args.file) as opt:
        trial = _trial_of(opt, args)
        t = None if args.t is None else as_run_time(opt, args.t)
        if t is None and not is_numbered(opt):
            t = withdrawn_time(journal.read(args.file).events, trial)
        opt.tell(trial, args.value, t, args.sigma)
        if args.t is None and t is not None:
            warn(correction_note(opt))
        if warning := time_warning(opt):
            warn(warning)
        _print_count(opt, args, _taken(opt, trial, several=args.trial is not None))
    return 0


def _taken(opt: Optimizer, trial: Trial, *, several: bool) -> str:
    """What was taken, with its point where a number alone has named it."""
    at = f" for trial {trial.id} at {point_text(opt, trial.x)}" if several else ""
    return f"taken{at}"


def _trial_of(opt: Optimizer, args: argparse.Namespace) -> Trial:
    """The trial that a reading is for; with both, where it really was is recorded."""
    if args.x is None:
        return _waiting(opt, args.trial)
    if args.trial is not None:
        raise ValueError(
            "--trial and --x exclude each other: a reading that was taken elsewhere is "
            "told with --x alone, and its trial is given up or failed"
        )
    return _trial_at(opt, args.x)


def _trial_at(opt: Optimizer, x: tuple[float, ...]) -> Trial:
    """The trial that waits, if one is at this point or is shown so."""
    for trial in opt.pending:
        if x in (tuple(trial.x), tuple(handy(opt, trial.x))):
            return trial
    return Trial(None, np.array(x))


def fail(args: argparse.Namespace) -> int:
    """Take note of a failed measurement."""
    with Optimizer.resume(args.file) as opt:
        trial = _waiting(opt, args.trial)
        opt.tell_failed(trial, args.reason.strip(), t=failure_time(opt))
        _print_count(opt, args, "noted")
    return 0


def give_up(args: argparse.Namespace) -> int:
    """Wait for a trial no more."""
    with Optimizer.resume(args.file) as opt:
        number = args.trial if args.number is None else args.number
        trial = _waiting(opt, number)
        opt.give_up(trial)
        if not args.json:
            say(f"trial {trial.id} at {point_text(opt, trial.x)} is given up")
        _print_count(opt, args, "in the log")
    return 0


def undo(args: argparse.Namespace) -> int:
    """Withdraw the latest reading, failure or change."""
    with Optimizer.resume(args.file) as opt:
        opt.undo()
        what = "the latest reading, failure or change is withdrawn; in the log"
        _print_count(opt, args, what)
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
        raise ImportError(f"{what} needs matplotlib: pip install matplotlib") from None


def _waiting(opt: Optimizer, number: int | None) -> Trial:
    """The trial of that number; the one that waits if none is given."""
    waiting = {trial.id: trial for trial in opt.pending}
    if not waiting:
        raise ValueError(
            "no trial waits for a reading: ask for one first (tobyqa ask), or say "
            "with --x where it was taken"
        )
    numbers = ", ".join(map(str, waiting))
    if number is None and len(waiting) > 1:
        raise ValueError(f"several trials wait: say with --trial which ({numbers})")
    if number is None:
        return opt.pending[0]
    if number not in waiting:
        raise ValueError(
            f"trial {number} does not wait for a reading ({numbers} do); one that "
            "comes late is told with --x"
        )
    return waiting[number]


def _print_count(opt: Optimizer, args: argparse.Namespace, what: str) -> None:
    if args.json:
        say(as_json(facts(opt)))
        return
    history = opt.result().history
    readings = int((~history.failed).sum())
    say(f"{what}: {readings} readings, {len(history) - readings} failures")
    if opt.done:
        say(opt.message)
    else:
        say_next(opt, args.file)


def say_next(opt: Optimizer, path: str) -> None:
    """What waits for a reading, or what to do if nothing does."""
    for trial in opt.pending:
        say(f"waiting: trial {trial.id}: {point_text(opt, trial.x)}")
    if not opt.pending:
        say(f"next: tobyqa ask {path}")
