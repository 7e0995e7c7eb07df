"""``tobyqa run``: optimize any program."""

from __future__ import annotations

import contextlib
import math
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .. import journal
from ..books import Trial
from ..datafile import Readings
from ..minimize import EVALUATIONS_PER_VARIABLE
from ..optimizer import Optimizer
from ..program import Program, ProgramError
from ..result import Status
from ..runfile import RunSettings
from .show import as_json, facts, is_date, progress_line, summary

INTERRUPTED = 130  # what shells expect after Ctrl-C
_PLAIN_PAUSE = 10.0  # seconds between progress lines where they cannot be rewritten


def run(settings: RunSettings, argv: Sequence[str], *, json: bool, quiet: bool) -> int:
    """Run a search to its end; `argv` is what to repeat to continue it."""
    readings = settings.readings()
    arguments = settings.arguments(readings)
    if settings.maxfev is None:
        arguments["maxfev"] = EVALUATIONS_PER_VARIABLE * len(arguments["x0"])
    names = Optimizer(**arguments).names  # all that can be wrong is said before it runs
    program = Program(settings.program, tuple(names), settings.timeout)
    progress = Progress(quiet=quiet)
    with opened(settings.journal, arguments, readings) as opt, _terminable():
        try:
            while not opt.done:
                _measure(opt, program, settings.retries, progress)
                progress.show(opt)
        except KeyboardInterrupt:
            opt.stop()
        progress.clear()
        print(as_json(facts(opt)) if json else summary(opt))
        if opt.status is Status.STOPPED:
            print(_how_to_continue(settings, argv), file=sys.stderr)
            return INTERRUPTED
        return 1 if opt.status is Status.FAILURES else 0


def opened(
    path: str | None, arguments: dict[str, Any], readings: Readings | None
) -> Optimizer:
    """The run in the journal if there is one, else a new one with the old readings."""
    if readings is None:
        return Optimizer.open(path, **arguments)
    for note in readings.notes:
        print(f"tobyqa: {note}", file=sys.stderr)
    if path is None or not journal.holds_run(path):
        return Optimizer.from_data(
            readings.x,
            readings.t,
            readings.value,
            sigma=readings.sigma,
            journal=path,
            **arguments,
        )
    opt = Optimizer.open(path, **arguments)
    readings.tell_rest(opt)
    return opt


def _measure(
    opt: Optimizer, program: Program, retries: int, progress: Progress
) -> None:
    """One trial: started, waited for, told; again if it fails and may be retried."""
    trial = opt.ask()
    for attempt in range(retries + 1):
        try:
            _tell_reading(opt, program, trial)
            return
        except ProgramError as error:
            reason = str(error)
            count = f", attempt {attempt + 1} of {retries + 1}" if retries else ""
            progress.say(f"trial {trial.id} failed{count}: {reason}")
    opt.tell_failed(trial, reason, t=failure_time(opt))


def failure_time(opt: Optimizer) -> float | None:
    """Now, if the readings have such times; None: that of the latest reading."""
    latest = opt.progress().t
    clock_rules = math.isnan(latest) or is_date(opt, latest)
    return time.time() if opt.clock is time.time and clock_rules else None


def _tell_reading(opt: Optimizer, program: Program, trial: Trial) -> None:
    reading = program.measure(trial)
    try:
        opt.tell(trial, reading.value, reading.t, reading.sigma)
    except ValueError as error:  # e.g. a time for some readings and none for others
        raise ProgramError(str(error)) from None


def _how_to_continue(settings: RunSettings, argv: Sequence[str]) -> str:
    if settings.journal is None:
        return "stopped; nothing was kept, since there is no --journal"
    return f"stopped; to continue: {shlex.join(['tobyqa', *argv])}"


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) stop the search as Ctrl-C does."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


class Progress:
    """Lines on standard error: one that is rewritten, or on no terminal, some."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._rewrites = sys.stderr.isatty()
        self._last = time.monotonic()

    def show(self, opt: Optimizer) -> None:
        """Where the search stands."""
        now = time.monotonic()
        if self._quiet or (not self._rewrites and now - self._last < _PLAIN_PAUSE):
            return
        self._last = now
        line = progress_line(opt)
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        """Something that stays."""
        self.clear()
        print(f"tobyqa: {line}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for other output."""
        if self._rewrites and not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
