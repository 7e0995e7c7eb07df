"""What a run has running, remembered beside its journal.

A program ends with its run, which a process in between sees to. Only if that is killed
together with the run is the program left alone; so the run writes down what it started
and removes the note when that has ended. A run that is continued and finds the note
first ends what is still there. A number alone is no proof of a process, since numbers
are used again: a process counts as the one remembered only if it also began at the same
time, since the same boot of the same machine. That is known on Linux; elsewhere nothing
is remembered.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._supervise import end_group, stat
from .journal import JournalError, StrPath

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_LARGEST = 4096  # bytes of a note
_PATIENCE = 3.0  # seconds, beyond the grace time, until an end must have come


@dataclass(frozen=True)
class Process:
    """A process that no later one can be taken for."""

    pid: int
    start: int  # ticks since boot

    @staticmethod
    def of(pid: int) -> Process | None:
        """The one that has this number now, if the system tells."""
        found = stat(pid)
        return None if found is None else Process(pid, found[2])

    @property
    def is_alive(self) -> bool:
        found = stat(self.pid)
        return found is not None and found[2] == self.start and found[0] not in "ZX"


@dataclass(frozen=True)
class Notes:
    """The file that says what a run has running."""

    path: Path

    @staticmethod
    def beside(journal: StrPath | None) -> Notes | None:
        """The notes of a journal; a run without one leaves none."""
        if journal is None:
            return None
        path = Path(journal)
        return Notes(path.with_name(path.name + ".programs"))

    def of_slot(self, slot: int) -> Notes:
        """Those of one of several programs that run at the same time, in a file each.

        The first has the file that a single one has.
        """
        return Notes(self.path.with_name(f"{self.path.name}.{slot}")) if slot else self

    def _all(self) -> list[Notes]:
        """Those of all slots that have any."""
        files = self.path.parent.glob(f"{glob.escape(self.path.name)}.*")
        slots = (Notes(path) for path in files if path.suffix[1:].isdecimal())
        return [self, *sorted(slots, key=lambda notes: notes.path.name)]

    def write(self, supervisor: int, program: int) -> None:
        """Remember the process that sees to a program, and the program itself.

        Raises
        ------
        JournalError
            If the file cannot be written.
        """
        pids = {"run": os.getpid(), "supervisor": supervisor, "program": program}
        known = {role: Process.of(pid) for role, pid in pids.items()}
        if known["run"] is None:
            return
        note = {
            "boot": _boot(),
            **{role: p and [p.pid, p.start] for role, p in known.items()},
        }
        try:
            self._replace(json.dumps(note))
        except OSError as error:
            text = f"cannot be written ({error.strerror})"
            raise JournalError(error.errno, text, str(self.path)) from error

    def _replace(self, text: str) -> None:
        part = self.path.with_name(self.path.name + ".part")
        part.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
        with open(os.open(part, flags, 0o600), "w", encoding="ascii") as file:
            file.write(text)
        os.replace(part, self.path)

    def clear(self) -> None:
        """Nothing runs any more."""
        self.path.unlink(missing_ok=True)

    def end_what_is_left(self, grace: float) -> list[int]:
        """End what an earlier run has left running; gives the programs' numbers.

        Raises
        ------
        JournalError
            If that run is not over, or one of its programs does not end.
        """
        return [pid for notes in self._all() for pid in notes._end_one(grace)]

    def _end_one(self, grace: float) -> list[int]:
        left = self._read()
        run, supervisor, program = (
            left.get(role) for role in ("run", "supervisor", "program")
        )
        if run is not None and run.is_alive and run.pid != os.getpid():
            raise self._error(f"process {run.pid} is measuring for this journal")
        ended = []
        if program is not None and program.is_alive:
            ended.append(program.pid)
        if supervisor is not None and supervisor.is_alive:
            # It knows by now that its run is gone, and is ending the program.
            _wait_for(supervisor, grace + _PATIENCE)
        if program is not None and program.is_alive:
            end_group(program.pid, grace)
            _wait_for(program, _PATIENCE)
            if program.is_alive:
                raise self._error(
                    f"process {program.pid}, a program of an earlier run, does not end"
                )
        self.clear()
        return ended

    def _read(self) -> dict[str, Process]:
        """Who was running, by role; nobody if the note is of another boot or none."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            with open(os.open(self.path, os.O_RDONLY | _SAFELY), "rb") as file:
                note = json.loads(file.read(_LARGEST))
            if note["boot"] and note["boot"] == _boot():
                roles = ("run", "supervisor", "program")
                return {r: _process(note[r]) for r in roles if note[r] is not None}
        return {}

    def _error(self, text: str) -> JournalError:
        name = str(self.path).rpartition(".programs")[0]
        return JournalError(errno.EBUSY, text, name)


def _process(fields: Any) -> Process:
    pid, start = map(int, fields)
    if pid <= 1:  # as a group these would be everybody
        raise ValueError(f"{pid} is no process of a run")
    return Process(pid, start)


def _wait_for(process: Process, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while process.is_alive and time.monotonic() < deadline:
        time.sleep(0.01)


def _boot() -> str:
    """This boot of this machine, and within it the container."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{boot.strip()} {os.readlink('/proc/self/ns/pid')}"
    return ""
