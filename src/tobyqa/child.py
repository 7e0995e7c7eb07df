"""A program as a child process: what it gets, what it may take, how it ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from .running import Notes

GRACE = 2.0  # seconds between asking a program to end and killing it
WINDOW = 131072  # bytes; what is kept of all that a program prints
MIB = 2**20  # bytes
CUT = "ended with its run"
_PAUSE = 0.02  # seconds between looks at a program


class Leash:
    """What holds programs that run in other threads: once it is cut, all of them end.

    `woken` can be read from then on.
    """

    def __init__(self) -> None:
        self.is_cut = False
        self.woken, self._wake = os.pipe()

    def cut(self) -> None:
        """End all programs, and those that are about to begin."""
        if not self.is_cut:
            self.is_cut = True
            os.close(self._wake)

    def close(self) -> None:
        """Once no program is held any more."""
        self.cut()
        os.close(self.woken)


@dataclass(frozen=True)
class Job:
    """A program to run."""

    command: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    timeout: float | None  # seconds
    max_output: float  # MiB, on standard output and on standard error each
    notes: Notes | None = None  # where a run remembers what is running
    leash: Leash | None = None  # by which another thread can end it

    @property
    def too_slow(self) -> str:
        return f"not ended after {self.timeout:g} s"

    @property
    def too_loud(self) -> str:
        return f"ended, since it printed more than {self.max_output:g} MiB"

    def is_flood(self, size: int) -> bool:
        """Whether a program has printed more than it may."""
        return size > self.max_output * MIB


@dataclass(frozen=True)
class Ending:
    """How a program ended, and the end of what it printed."""

    code: int  # minus the number of the signal, if one ended it
    why: str  # the run ended it, else empty
    out: bytes
    err: bytes


def run_plainly(job: Job) -> Ending:
    """Run a program where none can be set in between; what it starts is not followed.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    with contextlib.ExitStack() as files:
        point, out, err = (
            files.enter_context(tempfile.TemporaryFile()) for _ in range(3)
        )
        point.write(job.stdin)
        point.seek(0)
        process = subprocess.Popen(
            job.command, stdin=point, stdout=out, stderr=err, env=job.environment
        )
        try:
            why = _watched(process, job, (out, err))
        finally:
            _end(process)
        return Ending(process.returncode, why, _tail(out), _tail(err))


def _watched(
    process: subprocess.Popen[bytes], job: Job, outputs: Sequence[IO[bytes]]
) -> str:
    """Wait for a program's end; gives the reason why it should be ended, if any."""
    begin = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PAUSE)
            return ""
        if any(job.is_flood(os.fstat(file.fileno()).st_size) for file in outputs):
            return job.too_loud
        if job.leash is not None and job.leash.is_cut:
            return CUT
        if job.timeout is not None and time.monotonic() - begin >= job.timeout:
            return job.too_slow


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        process.kill()
        process.wait()


def _tail(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - WINDOW))
    return file.read(WINDOW)
