"""Attacks on processes: signals, races for one journal, programs that misbehave."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import tobyqa
from fault_marks import MARK, Tally, end_marked
from fault_parts import (
    BUDGET,
    METHODS,
    POLITE,
    QUICK,
    SLOW,
    Ledger,
    asked_readings,
    begun,
    command,
    count_left,
    ended,
    run_of,
    size_of,
    wait_for,
)

LIVES = 12  # of one journal: each replays all that came before
LONGEST = 20_000  # bytes of it
FRESH = 10  # of so many commands one is a fresh interpreter, import included
RACERS = 3
ROUND = 15  # readings of a race
INSISTS = 20.0  # seconds
STUBBORN = "trap '' TERM INT HUP QUIT; " + SLOW.replace(
    "sleep 300", "sleep 300 & wait; wait"
)
LITTER = QUICK.replace("echo $v", "sleep 300 >/dev/null 2>&1 & (sleep 300) & echo $v")
FLOOD = "yes a line of no use"
# It notes which of its predecessors are at work when it begins.
WATCHFUL = (
    "for p in $(cat {calls}.pids 2>/dev/null); do "
    "grep -qs '^State:.[^Z]' /proc/$p/status && echo $p >> {calls}.clashes; done; "
    "echo $$ >> {calls}.pids; "
)


# -- signals -------------------------------------------------------------------------


def signals_to_run(number: int, tally: Tally, count: int, folder: Path) -> None:
    """A signal to ``tobyqa run``, which is then repeated, and so on."""
    rng = random.Random(int(number))
    ledger = Ledger(folder / "0.jsonl")
    for k in tally.attacks(range(1, count + 1)):
        is_slow, is_fresh = k % 4 == 0, k % FRESH == 0
        argv = run_of(ledger.journal, SLOW if is_slow else QUICK, "--quiet")
        action = command(argv, is_fresh=is_fresh)
        readings = rng.choice([0, 1] if is_slow else [0, 1, 1, 2, 3])
        moment = readings, rng.uniform(0.0, 0.5 if is_fresh else 0.05)
        ledger = _attacked(action, number, tally, ledger, moment)


def kills_of_minimize(tally: Tally, count: int, folder: Path) -> None:
    """SIGKILL for a process that runs `minimize`, which is then called again."""
    rng = random.Random(9)
    ledger = Ledger(folder / "0.jsonl")
    for k in tally.attacks(range(count)):
        method = METHODS[k // LIVES % 2]
        action = _minimizing(ledger, method)
        moment = rng.choice([0, 1, 2, 4, 8]), rng.uniform(0.0, 0.03)
        ledger = _attacked(action, signal.SIGKILL, tally, ledger, moment)


def _attacked(action, number, tally, ledger, moment) -> Ledger:
    """One life, ended after some readings and seconds; gives the next one's journal."""
    readings, seconds = moment
    before = size_of(ledger.journal)
    pid = begun(action, ledger.journal.with_suffix(".said"))
    wait_for(lambda: size_of(ledger.calls) >= ledger.heard + 8 * readings, pid)
    time.sleep(seconds)
    os.kill(pid, number)
    code = ended(pid, tally)
    # Where NumPy is interrupted while it is imported, it makes an ImportError of it.
    is_importing = code == 1 and size_of(ledger.journal) == before
    if code not in (130, -number) and not (is_importing and number == signal.SIGINT):
        said = ledger.journal.with_suffix(".said").read_text()[-200:]
        tally.note("other", f"exit code {code} after {before} bytes: {said}")
    count_left(tally)
    is_readable = ledger.check(tally)
    if is_readable and tally.runs % LIVES and size_of(ledger.journal) < LONGEST:
        return ledger
    return Ledger(ledger.journal.with_name(f"{tally.runs}.jsonl"))


def _minimizing(ledger: Ledger, method: Any, *, is_forking: bool = False):
    """`minimize` with a function that notes each reading that it gives."""
    numbers = itertools.count(len(ledger.told))
    journal, calls = ledger.journal, ledger.calls

    def fun(x):
        k = next(numbers)
        value = float(f"{k}.1{time.monotonic_ns() % 10**9}")
        with open(calls, "a") as file:
            file.write(f"{k} {value!r}\n")
        if is_forking and k % 3 == 0 and os.fork() == 0:
            time.sleep(300.0)
            os._exit(0)
        time.sleep(0.001)
        return value

    def run() -> int:
        kwargs = {"method": method, "maxfev": BUDGET, "noise": 0.1, "rng": 1}
        tobyqa.minimize(fun, [0.5, -0.5], journal=journal, **kwargs)
        return 0

    return run


def repeats_at_once(tally: Tally, count: int, folder: Path) -> None:
    """A signal while a program is at work; the command is repeated without a pause."""
    numbers = itertools.cycle([signal.SIGKILL, *POLITE])
    for k, number in tally.attacks(zip(range(count), numbers, strict=False)):
        ledger = Ledger(folder / f"{k}.jsonl")
        said = ledger.journal.with_suffix(".said")
        slow = WATCHFUL + (STUBBORN if k % 2 else SLOW)
        quick = run_of(ledger.journal, WATCHFUL + QUICK, "--quiet", "--maxfev", "3")
        first = begun(command(run_of(ledger.journal, slow, "--quiet")), said)
        wait_for(lambda path=ledger.calls: size_of(path) > 0, first)
        os.kill(first, number)
        code = ended(begun(_insisting(quick), said), tally)
        ended(first, tally)
        count_left(tally)
        ids = [trial for trial, _ in ledger.new_calls()]
        clashes = Path(f"{ledger.calls}.clashes")
        if clashes.exists():
            tally.note("twice", f"trial 0 by two programs at once, signal {number}")
        if code != 0 or ids != [0, 0, 1, 2]:
            tally.note("other", f"exit code {code}, trials {ids}")


def kills_after_a_fork(tally: Tally, count: int, folder: Path) -> None:
    """The function leaves a child process behind; the journal must be free at once."""
    for k in tally.attacks(range(count)):
        ledger = Ledger(folder / f"{k}.jsonl")
        said = ledger.journal.with_suffix(".said")
        for readings in (3, 6):
            action = _minimizing(ledger, METHODS[0], is_forking=True)
            pid = begun(action, said)
            _wait_for_lines(ledger, readings, pid)
            os.kill(pid, signal.SIGKILL)
            code = ended(pid, tally)
            if code != -signal.SIGKILL:
                tally.note("other", f"exit code {code}: {said.read_text()[-200:]}")
            ledger.check(tally)
        end_marked(os.environ[MARK])  # the children are the function's, not ours


def _wait_for_lines(ledger: Ledger, count: int, pid: int) -> None:
    wait_for(lambda: len(ledger.lines()) >= count, pid)


# -- races ---------------------------------------------------------------------------


def races(tally: Tally, count: int, folder: Path) -> None:
    """Three processes want one journal, again and again until its run is over."""
    for k in tally.attacks(range(count)):
        ledger = Ledger(folder / f"{k}.jsonl")
        argv = run_of(ledger.journal, QUICK, "--quiet", "--maxfev", str(ROUND))
        said = ledger.journal.with_suffix(".said")
        pids = [begun(_insisting(argv), said) for _ in range(RACERS)]
        codes = [ended(pid, tally) for pid in pids]
        if any(codes):
            tally.note("other", f"exit codes {codes}: {said.read_text()[-200:]}")
        count_left(tally)
        if ledger.check(tally) and len(ledger.told) != ROUND:
            tally.note("lost", f"{len(ledger.told)} readings of {ROUND}")


def _insisting(argv: list[str]):
    """The command, repeated as long as another process has the journal."""

    def run() -> int:
        code, pauses = 3, random.Random(os.getpid())
        deadline = time.monotonic() + INSISTS
        while code == 3 and time.monotonic() < deadline:
            code = command(argv)()
            time.sleep(pauses.uniform(0.0, 0.02))
        return code

    return run


# -- programs ------------------------------------------------------------------------


def programs_that_fork(tally: Tally, count: int, folder: Path) -> None:
    """Children are left behind, one that holds the output open; the run ends itself."""
    for k in tally.attacks(range(count)):
        ledger = Ledger(folder / f"{k}.jsonl")
        code = _ran(ledger, LITTER, tally, "--maxfev", "2", "--timeout", "20")
        if code != 0 or len(ledger.told) != 2:
            tally.note("other", f"exit code {code}, {len(ledger.told)} readings of 2")


def programs_that_ignore(tally: Tally, count: int, folder: Path) -> None:
    """Deaf programs, time-outs, and all signals for the run in turn, some twice."""
    numbers = itertools.cycle([*POLITE, signal.SIGKILL, None])
    for k, number in tally.attacks(zip(range(count), numbers, strict=False)):
        ledger = Ledger(folder / f"{k}.jsonl")
        if number is None:
            flags = ("--maxfev", "1", "--timeout", "0.2", "--max-failures", "1")
            _ran(ledger, STUBBORN, tally, *flags, is_failing=True)
            continue
        said = ledger.journal.with_suffix(".said")
        pid = begun(command(run_of(ledger.journal, STUBBORN, "--quiet")), said)
        wait_for(lambda path=ledger.calls: size_of(path) > 0, pid)
        os.kill(pid, number)
        if k // 6 % 2 == 0 and number != signal.SIGKILL:
            time.sleep(0.2)
            os.kill(pid, number)
        ended(pid, tally)
        count_left(tally)
        ledger.check(tally)


def programs_that_flood(tally: Tally, count: int, folder: Path) -> None:
    """Output without end is bounded, by its size and not by the time-out."""
    for k in tally.attacks(range(count)):
        ledger = Ledger(folder / f"{k}.jsonl")
        flags = ("--maxfev", "1", "--timeout", "4", "--max-failures", "1")
        _ran(ledger, FLOOD, tally, *flags, is_failing=True)
        reasons = tobyqa.Optimizer.load(ledger.journal).reasons
        if not any("printed more" in reason for reason in reasons):
            tally.note("other", f"the flood was not ended: {reasons}")


def _ran(
    ledger: Ledger, script: str, tally: Tally, *flags: str, is_failing: bool = False
) -> int:
    """A command that ends by itself, and what it has left."""
    said = ledger.journal.with_suffix(".said")
    argv = run_of(ledger.journal, script, "--quiet", *flags)
    code = ended(begun(command(argv), said), tally)
    count_left(tally)
    if is_failing:
        values = asked_readings(tobyqa.Optimizer.load(ledger.journal))
        if len(values) != 1 or values[0] == values[0]:
            tally.note("other", f"not one failed trial: {values}")
    else:
        ledger.check(tally)
    return code
