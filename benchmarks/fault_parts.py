"""What all attacks share: counts, attacked processes, and what they must have kept.

Imports the attacked package as it is found, which may be an earlier version: of that
only `Optimizer`, `minimize` and the command are used.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tobyqa
from fault_marks import MARK, Tally, end_marked, marked
from tobyqa.cli import main

LINGER = 8.0  # seconds; until then all that was started must have ended
SHORT = 2.0  # the same, for an attack that has left something running before
HANGS = 60.0  # seconds, after which an attacked process is taken to hang

POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Methods that go on as long as they may.
METHODS = (tobyqa.Paper(kappa_tol=0.0), tobyqa.Adaptive())
BUDGET = 100_000

# The number before the point is the trial's, so that each reading has but one place.
ANSWER = 'v=$TOBYQA_INDEX.1$$; echo "$TOBYQA_INDEX $v" >> {calls}; '
QUICK = ANSWER + "echo $v"
SLOW = ANSWER + "sleep 300; echo $v"


# -- processes -----------------------------------------------------------------------


def begun(action: Callable[[], int], said: Path) -> int:
    """A process that does something; its number.

    It is forked from this one, which has the package loaded: so signals fall into the
    action, and not into the import before it.
    """
    # No signal comes before it has handlers as in a terminal: what the shell starts in
    # the background inherits that SIGINT is ignored.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, POLITE)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return pid
    code = 1
    try:
        for number in POLITE:
            signal.signal(number, signal.SIG_DFL)
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = action()
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def command(argv: Sequence[str], *, is_fresh: bool = False) -> Callable[[], int]:
    """The command ``tobyqa``, of the package as loaded or in a fresh interpreter."""

    def run() -> int:
        if is_fresh:
            os.execv(sys.executable, [sys.executable, "-m", "tobyqa", *argv])
        return main(argv)

    return run


def run_of(journal: Path, script: str, *flags: str) -> list[str]:
    """Arguments of ``tobyqa run`` for a search with a program of the shell's."""
    calls = journal.with_suffix(".calls")
    search = ["--x0", "0.5,-0.5", "--noise", "0.1", "--clock", "index", "--seed", "1"]
    method = ["--method", "paper", "--option", "kappa_tol=0"]
    flags = ("--maxfev", str(BUDGET), *method, *flags)
    program = ["sh", "-c", script.format(calls=calls)]
    return ["run", *search, *flags, "--journal", str(journal), "--", *program]


def ended(pid: int, tally: Tally) -> int:
    """How a process ended; one that does not is killed and counted."""
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    tally.note("other", "does not end")
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def count_left(tally: Tally) -> None:
    """Count what runs on, and end it."""
    linger = SHORT if tally.left else LINGER
    mark, deadline = os.environ[MARK], time.monotonic() + linger
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        tally.note("left", f"processes {left}", len(left))
        end_marked(mark)


def wait_for(condition: Callable[[], bool], pid: int) -> None:
    """Wait for what a process should do, no longer than it lives."""
    deadline = time.monotonic() + HANGS
    while not condition() and time.monotonic() < deadline:
        # It stays there to be waited for.
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.002)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# -- what must have been kept --------------------------------------------------------


@dataclass
class Ledger:
    """One journal through its lives, and what the instrument says of each trial."""

    journal: Path
    told: list[float] = field(default_factory=list)  # on the disk when a life began
    heard: int = 0  # bytes of the calls

    @property
    def calls(self) -> Path:
        return self.journal.with_suffix(".calls")

    def new_calls(self) -> list[tuple[int, float]]:
        """The trials, with their readings, that were measured since the last look."""
        lines = self.lines()
        self.heard += sum(map(len, lines))
        pairs = [line.split() for line in lines]
        return [(int(k), float(value)) for k, value in pairs]

    def lines(self) -> list[bytes]:
        """What the instrument has written since the last look."""
        data = self.calls.read_bytes()[self.heard :] if self.calls.exists() else b""
        return data.splitlines(keepends=True)

    def check(self, tally: Tally) -> bool:
        """Compare the file with the instrument; whether it can be read at all."""
        calls = self.new_calls()
        ids = [k for k, _ in calls]
        if repeated := len(ids) - len(set(ids)):
            tally.note("twice", f"{ids}", repeated)
        if again := [k for k in ids if k < len(self.told)]:
            tally.note("twice", f"{again}, which had been told", len(again))
        now = self._read(tally)
        if now is None:
            return False
        known = len(self.told)
        if now[:known] != self.told[: len(now)]:
            tally.note("altered", "readings of earlier lives differ")
        # A trial that was begun proves that the ones before it had been acknowledged.
        if (missing := max([known, *ids]) - len(now)) > 0:
            tally.note("lost", f"{len(now)} readings, {missing} missing", missing)
        for k, value in enumerate(now[known:], start=known):
            if (k, value) not in calls:
                tally.note("altered", f"trial {k} is {value}, not as measured")
        self.told = now
        return True

    def _read(self, tally: Tally) -> list[float] | None:
        """The readings in the file, none if it is not there; None: unreadable."""
        if not has_header(self.journal):
            return []
        try:
            return asked_readings(tobyqa.Optimizer.load(self.journal))
        except Exception as error:
            tally.note("other", f"cannot be read: {error}")
            return None


def has_header(path: Path) -> bool:
    """Whether a first record is complete; the run begins with it."""
    return path.exists() and b"\n" in path.read_bytes()


def asked_readings(opt: tobyqa.Optimizer) -> list[float]:
    """The readings of trials, by their number."""
    history = opt.result().history
    return np.asarray(history.value)[np.asarray(history.asked)].tolist()
