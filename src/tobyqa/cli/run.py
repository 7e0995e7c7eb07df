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
from pathlib import Path
from typing import Any

from .. import journal
from ..books import Trial
from ..child import GRACE
from ..datafile import Readings
from ..minimize import EVALUATIONS_PER_VARIABLE
from ..optimizer import Optimizer
from ..program import Program, ProgramError
from ..result import Status
from ..runfile import RunSettings
from ..running import Notes
from ..text import one_line
from .parallel import measure_side_by_side, say_left
from .show import as_json, facts, is_date, progress_line, say, summary, warn

INTERRUPTED = 130  # what shells expect after Ctrl-C
_PLAIN_PAUSE = 10.0  # seconds between progress lines where they cannot be rewritten


def run(settings: RunSettings, argv: Sequence[str], *, json: bool, quiet: bool) -> int:
    """Run a search to its end; `argv` is what to repeat to continue it."""
    readings = settings.readings()
    arguments = settings.arguments(readings)
    if settings.maxfev is None:
        arguments["maxfev"] = EVALUATIONS_PER_VARIABLE * len(arguments["x0"])
    names = Optimizer(**arguments).names  # all that can be wrong is said before it runs
    is_parallel = settings.parallel is not None or settings.dask is not None
    program = Program(
        settings.program,
        tuple(names),
        settings.timeout,
        settings.max_output,
        settings.stderr_lines,
        Notes.beside(settings.journal),
        has_slots=is_parallel,
    )
    progress = Progress(quiet=quiet)
    with opened(settings.journal, arguments, readings) as opt, _terminable():
        try:
            _end_what_is_left(program.notes, progress)
            if is_parallel:
                say_left(opt)
                measure_side_by_side(
                    opt,
                    program,
                    settings,
                    say=progress.say,
                    after=lambda: progress.show(opt),
                    failed_at=failure_time,
                )
            while not opt.done:
                _measure(opt, program, settings.retries, progress)
                progress.show(opt)
        except KeyboardInterrupt:
            opt.stop()
        progress.clear()
        say(as_json(facts(opt)) if json else summary(opt))
        if opt.status is Status.STOPPED:
            say(_how_to_continue(settings.journal, opt, argv), sys.stderr)
            return INTERRUPTED
        return 1 if opt.status is Status.FAILURES or _has_failed(opt) else 0


def _has_failed(opt: Optimizer) -> bool:
    """Whether not one trial gave a reading."""
    history = opt.result().history
    return bool(opt.nfev) and bool(history.failed[history.asked].all())


def _end_what_is_left(notes: Notes | None, progress: Progress) -> None:
    """No program of an earlier run may still turn the knobs."""
    for pid in [] if notes is None else notes.end_what_is_left(GRACE):
        progress.say(f"ended process {pid}, which an earlier run had left running")


def opened(
    path: str | None, arguments: dict[str, Any], readings: Readings | None
) -> Optimizer:
    """The run in the journal if there is one, else a new one with the old readings."""
    if readings is None:
        return Optimizer.open(path, **arguments)
    for note in readings.notes:
        warn(note)
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


def _how_to_continue(path: str | None, opt: Optimizer, argv: Sequence[str]) -> str:
    if path is None:
        return "stopped; nothing was kept, since there is no --journal"
    if opt.journal != Path(path):
        argv = _in_journal(argv, str(opt.journal))
    return f"stopped; to continue: {shlex.join(['tobyqa', *argv])}"


def _in_journal(argv: Sequence[str], path: str) -> list[str]:
    """The same command with another journal, since the first one was lost."""
    end = argv.index("--") if "--" in argv else len(argv)
    flags = list(argv[:end])
    places = [k for k, flag in enumerate(flags) if flag == "--journal"]
    for place in places:
        flags[place + 1] = path
    # Named otherwise, as in a file of settings: the last flag overrides it.
    return [*flags, *([] if places else ["--journal", path]), *argv[end:]]


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let all requests to end stop the search as Ctrl-C does.

    Those that are ignored, as by nohup, stay so.
    """

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with contextlib.ExitStack() as at_last:
        for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name, None)  # Windows has but the first
            if number is None or signal.getsignal(number) is signal.SIG_IGN:
                continue
            at_last.callback(signal.signal, number, signal.signal(number, interrupt))
        yield


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
        line = one_line(progress_line(opt))
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            _rewrite(line[:width])
        else:
            say(line, sys.stderr)

    def say(self, line: str) -> None:
        """Something that stays."""
        self.clear()
        warn(one_line(line))

    def clear(self) -> None:
        """Make room for other output."""
        if self._rewrites and not self._quiet:
            _rewrite("")


def _rewrite(line: str) -> None:
    """Put a line in the place of the last one on the terminal, if it is still there."""
    with contextlib.suppress(OSError):
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
