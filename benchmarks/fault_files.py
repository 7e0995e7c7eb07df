"""Attacks on the writing of files: interrupts, a full disk, files taken away."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tobyqa
from fault_marks import Tally
from fault_parts import (
    BUDGET,
    METHODS,
    QUICK,
    Ledger,
    asked_readings,
    begun,
    command,
    count_left,
    ended,
    has_header,
    run_of,
    size_of,
    wait_for,
)
from tobyqa import Optimizer

ARGUMENTS = {
    "x0": [0.5, -0.5],
    "noise": 0.1,
    "rng": 1,
    "method": METHODS[0],
    "maxfev": BUDGET,
}


def reading(k: int) -> float:
    """A number that belongs to the k-th reading alone."""
    return k + 0.1 + 0.01 * float(np.random.default_rng(k).uniform())


AFTER = 3  # readings after an interrupt

# -- interrupts ----------------------------------------------------------------------


def interrupts_of_tell(tally: Tally, count: int, folder: Path) -> None:
    """A signal of the system's timer at a random microsecond; the caller goes on."""
    rng = random.Random(2)

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    for k in tally.attacks(range(count)):
        path, method = folder / f"{k}.jsonl", METHODS[k % 2]
        with Optimizer(**{**ARGUMENTS, "method": method}, journal=path) as opt:
            offered = _under_fire(opt, path, tally, rng)
        try:
            values = asked_readings(Optimizer.load(path))
        except Exception as error:
            tally.note("other", f"cannot be read: {error}")
            continue
        for trial, (attempts, is_sure) in offered.items():
            if trial >= len(values) and is_sure:
                tally.note("lost", f"trial {trial}")
            elif trial < len(values) and values[trial] not in attempts:
                text = f"trial {trial} is {values[trial]}, not in {attempts}"
                tally.note("altered", text)


def _under_fire(opt, path, tally, rng) -> dict[int, tuple[list[float], bool]]:
    """What was offered for each trial, and whether `tell` has acknowledged it.

    One interrupt, and some readings after it.
    """
    offered: dict[int, tuple[list[float], bool]] = {}
    hits, told = 0, 0
    for k in range(1000):
        trial = opt.ask()
        if trial.id in _told(path):
            tally.note("twice", f"trial {trial.id}, whose reading is on the disk")
        attempts, _ = offered.get(trial.id, ([], False))
        offered[trial.id] = [*attempts, reading(k)], False
        try:
            signal.setitimer(signal.ITIMER_REAL, 0 if hits else rng.uniform(1e-5, 3e-3))
            opt.tell(trial, reading(k))
            signal.setitimer(signal.ITIMER_REAL, 0)
            offered[trial.id] = [*attempts, reading(k)], True
            told += hits
        except KeyboardInterrupt:
            hits += 1
        except Exception as error:
            tally.note("other", f"tell: {error}")
            break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if told == AFTER:
            return offered
    tally.note("other", f"not interrupted in {k} calls, or told {told} of {AFTER}")
    return offered


def _told(path: Path) -> set[int]:
    """The trials with a reading on the disk, whatever the package makes of it."""
    records = map(json.loads, path.read_bytes().splitlines())
    return {record["id"] for record in records if record["event"] == "tell"}


# -- a full disk ---------------------------------------------------------------------


def full_disks(tally: Tally, count: int, folder: Path) -> None:
    """No room for a record; then there is, and the same call is repeated."""
    rng = random.Random(6)
    for k in tally.attacks(range(count)):
        with _small_disk(folder / str(k), rng, k % 2 == 0) as room:
            path, make_room = room
            _filled(path, make_room, tally)


def _filled(path: Path, make_room, tally: Tally) -> None:
    """Fill the disk by a run; everything it has acknowledged must stay."""
    opt, given, errors = None, [], 0
    for _ in range(2000):
        try:
            opt = Optimizer(**ARGUMENTS, journal=path) if opt is None else opt
            opt.tell(opt.ask(), reading(len(given)))
        except OSError:
            errors += 1
            if errors == 1 and has_header(path):
                _compare(path, given, tally)
                continue  # the same call, in vain
            make_room()
        else:
            given.append(reading(len(given)))
        if errors and len(given) % 20 == 19:
            break
    if not errors:
        tally.note("other", "the disk was never full")
    if opt is not None:
        opt.close()
    _compare(path, given, tally)


def _compare(path: Path, given: list[float], tally: Tally) -> None:
    try:
        values = asked_readings(Optimizer.load(path))
    except Exception as error:
        tally.note("other", f"cannot be read: {error}")
        return
    if len(values) < len(given):
        tally.note("lost", f"{len(values)} of {len(given)}", len(given) - len(values))
    elif values != given:
        tally.note("altered", "not as told")


@contextlib.contextmanager
def _small_disk(folder: Path, rng: random.Random, is_mounted: bool) -> Iterator[tuple]:
    """A journal's place with little room, and how to make more.

    A small file system if one can be mounted, else a limit of the size of files.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if is_mounted and subprocess.run(mount, capture_output=True).returncode == 0:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(rng.randrange(30_000, 62_000)))
        try:
            yield folder / "run.jsonl", lambda: ballast.unlink(missing_ok=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (rng.randrange(100, 8000), before[1]))
    try:
        yield (
            folder / "run.jsonl",
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before),
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# -- files taken away ----------------------------------------------------------------

OTHER = b"something else altogether\n"


def _replaced(path: Path) -> None:
    other = path.with_suffix(".other")
    other.write_bytes(OTHER)
    os.replace(other, path)


TAKEN = {
    "deleted": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("elsewhere.jsonl")),
    "replaced": _replaced,
    "truncated": lambda path: os.truncate(path, size_of(path) // 2),
    "emptied": lambda path: os.truncate(path, 0),
}


def files_taken_away(tally: Tally, count: int, folder: Path) -> None:
    """A running command's journal; afterwards some file has all readings."""
    rng = random.Random(7)
    for k in tally.attacks(range(count)):
        what = list(TAKEN)[k % len(TAKEN)]
        home = folder / str(k)
        home.mkdir()
        ledger = Ledger(home / "run.jsonl")
        argv = run_of(ledger.journal, QUICK, "--quiet", "--maxfev", "12")
        pid = begun(command(argv), folder / "said.txt")
        size = rng.randrange(200, 1200)
        wait_for(lambda path=ledger.journal, s=size: size_of(path) >= s, pid)
        TAKEN[what](ledger.journal)
        code = ended(pid, tally)
        count_left(tally)
        given = [value for _, value in ledger.new_calls()]
        files = map(_readings, home.glob("*.jsonl"))
        kept = max(files, key=len, default=[])
        _judge(tally, what, code, given, kept)
        if what == "replaced" and ledger.journal.read_bytes() != OTHER:
            tally.note("altered", "the other file was written to")
        shutil.rmtree(home)


def _judge(tally, what, code, given, kept) -> None:
    if code != 0:
        tally.note("other", f"{what}: exit code {code}")
    if len(kept) < len(given):
        text = f"{what}: {len(kept)} readings of {len(given)}"
        tally.note("lost", text, len(given) - len(kept))
    elif kept != given:
        tally.note("altered", f"{what}: not as measured")


def _readings(path: Path) -> list[float]:
    try:
        return asked_readings(tobyqa.Optimizer.load(path))
    except ValueError:
        return []
