"""Processes that are known by a mark in their environment, and what attacks count."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

MARK = "FAULTS_MARK"  # the variable
NOTES = 8  # kept of what was found
PAUSE = 5.0  # seconds between two words about an attack
T = TypeVar("T")


@dataclass
class Tally:
    """What one kind of attack has done; all but `runs` and `earlier` should be 0."""

    runs: int = 0
    lost: int = 0
    altered: int = 0
    twice: int = 0
    left: int = 0
    other: int = 0
    earlier: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: float = 600.0  # after which no further attack is begun

    def attacks(self, kinds: Iterable[T]) -> Iterator[T]:
        """Count and pass on one attack after the other, and say how far this is."""
        begin = said = time.monotonic()
        for kind in kinds:
            now = time.monotonic()
            if now - begin > self.seconds:
                self.note("other", f"cut short after {self.seconds:g} s")
                return
            if now - said > PAUSE:
                said = now
                found = sum(self.findings)
                print(f"    {self.runs}, {found} findings", file=sys.stderr, flush=True)
            self.runs += 1
            yield kind

    def note(self, what: str, text: str, count: int = 1) -> None:
        """Count something that should not have happened."""
        setattr(self, what, getattr(self, what) + count)
        if len(self.notes) < NOTES:
            self.notes.append(f"{what}, attack {self.runs}: {text}"[:300])

    @property
    def findings(self) -> tuple[int, ...]:
        return self.lost, self.altered, self.twice, self.left, self.other


def marked(mark: str) -> list[int]:
    """Processes with this mark except this one; those that have ended have none."""
    text, found = f"{MARK}={mark}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            has_mark = text in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            if has_mark and int(name) != os.getpid():
                found.append(int(name))
    return found


def end_marked(mark: str) -> None:
    """Kill all that have this mark."""
    while left := marked(mark):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
