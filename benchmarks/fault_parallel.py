"""Attacks on ``tobyqa run --parallel``: it is killed, repeated, and killed again."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import tobyqa
from fault_marks import Tally
from fault_parts import (
    QUICK,
    begun,
    command,
    count_left,
    ended,
    has_header,
    run_of,
    size_of,
    wait_for,
)

SLOTS = 4
BEFORE_THE_END = 8  # lives of one journal, the last of which is left to end by itself
READINGS = 60
SCRIPT = "sleep 0.0$((TOBYQA_INDEX % 7)); " + QUICK


@dataclass
class Several:
    """One journal through its lives: what was told, what waits, what was measured."""

    journal: Path
    told: dict[int, float] = field(default_factory=dict)
    waiting: frozenset[int] = frozenset()
    calls: dict[int, list[float]] = field(default_factory=dict)
    heard: int = 0  # bytes of the calls

    def check(self, tally: Tally) -> None:
        """Compare the file with the instrument after a life."""
        fresh = self._new_calls()
        if again := [k for k in fresh if k in self.told]:
            tally.note("twice", f"{again}, which had been told", len(again))
        if repeated := len(fresh) - len(set(fresh)):
            tally.note("twice", f"{fresh} in one life", repeated)
        if not has_header(self.journal):
            return
        try:
            opt = tobyqa.Optimizer.load(self.journal)
        except Exception as error:
            tally.note("other", f"cannot be read: {error}")
            return
        self._compare(opt, tally)

    def _compare(self, opt: tobyqa.Optimizer, tally: Tally) -> None:
        """What the file has with what was told, waited and was measured before."""
        history = opt.result().history
        events = [e for e in opt._log.events if e["event"] == "tell"]
        now = {event["id"]: event["value"] for event in events}
        if missing := set(self.told) - set(now):
            tally.note("lost", f"trials {sorted(missing)}", len(missing))
        if len(history) != len(now):
            tally.note("altered", f"{len(history)} rows, {len(now)} readings told")
        for k, value in now.items():
            if value not in self.calls.get(k, ()) or self.told.get(k, value) != value:
                tally.note("altered", f"trial {k} is {value}, not as measured")
        waits = frozenset(trial.id for trial in opt.pending if trial.id is not None)
        if gone := self.waiting - waits - set(now):
            tally.note("lost", f"trials {sorted(gone)} wait no more", len(gone))
        if unknown := set(self.calls) - waits - set(now):
            tally.note("lost", f"{sorted(unknown)} ran, nobody knows", len(unknown))
        self.told, self.waiting = now, waits

    def _new_calls(self) -> list[int]:
        path = self.journal.with_suffix(".calls")
        data = path.read_bytes()[self.heard :] if path.exists() else b""
        self.heard += len(data)
        pairs = [line.split() for line in data.splitlines()]
        for k, value in pairs:
            self.calls.setdefault(int(k), []).append(float(value))
        return [int(k) for k, _ in pairs]


def kills_side_by_side(tally: Tally, count: int, folder: Path) -> None:
    """SIGKILL for a run that has several programs at work, which is then repeated."""
    rng = random.Random(21)
    several = Several(folder / "0.jsonl")
    for k in tally.attacks(range(1, count + 1)):
        _lived(several, tally, (rng.choice([0, 1, 3, 5, 9]), rng.uniform(0.0, 0.1)))
        if k % BEFORE_THE_END == 0 or k == count:
            _lived(several, tally, None)
            if len(several.told) != READINGS or several.waiting:
                tally.note("other", f"ended with {len(several.told)} readings")
            several = Several(folder / f"{k}.jsonl")


def _lived(several: Several, tally: Tally, moment: tuple[int, float] | None) -> None:
    """One life: killed after some readings and seconds, or to its own end."""
    flags = ("--maxfev", str(READINGS), "--parallel", str(SLOTS), "--quiet")
    action = command(run_of(several.journal, SCRIPT, *flags))
    pid = begun(action, several.journal.with_suffix(".said"))
    if moment is not None:
        calls = several.journal.with_suffix(".calls")
        wait_for(lambda: size_of(calls) >= several.heard + 8 * moment[0], pid)
        time.sleep(moment[1])
        os.kill(pid, signal.SIGKILL)
    code = ended(pid, tally)
    if code not in (0, -signal.SIGKILL):
        said = several.journal.with_suffix(".said").read_text()[-200:]
        tally.note("other", f"exit code {code}: {said}")
    count_left(tally)
    several.check(tally)
