"""A program that ends with its run, however that dies; on POSIX systems.

A process in between, `_supervise`, starts the program and ends it, with all that it
started in its group, as soon as the pipe from the run is closed. The operating system
closes it if the run cannot. So no moment of the run is one in which a signal would
leave a program behind, and whoever interrupts the wait for its end, it comes.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from . import _supervise
from .child import CUT, GRACE, WINDOW, Ending, Job, Leash
from .running import Process

_PIECE = 65536  # bytes read at once
_LARGEST_PIPE = 2**20  # bytes that one can hold, for a user without privileges
_LOST = "lost: the process that watched over it was killed"


def run_supervised(job: Job) -> Ending:
    """Run a program to its end, by itself or by force.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    with _started(job) as watch:
        why = watch.hear(job)
    if (number := watch.said("errno")) is not None:
        raise OSError(number, os.strerror(number), job.command[0])
    if watch.code is None:
        return Ending(0, why or _LOST, watch.out.data, watch.err.data)
    return Ending(watch.code, why, watch.out.data, watch.err.data)


@dataclass
class _Heard:
    """The end of what comes through a pipe; all of it is counted."""

    pipe: IO[bytes]
    data: bytes = b""
    size: int = 0
    is_open: bool = True

    def read(self) -> bool:
        """Take in a piece; whether there was one."""
        try:
            piece = os.read(self.pipe.fileno(), _PIECE)
        except BlockingIOError:
            return False
        self.size += len(piece)
        self.data = (self.data + piece)[-WINDOW:]
        self.is_open = bool(piece)
        return self.is_open

    def drain(self) -> None:
        """Take in what is left; who got away and prints on is not waited for."""
        os.set_blocking(self.pipe.fileno(), False)
        for _ in range(_LARGEST_PIPE // _PIECE):
            if not self.read():
                return


@dataclass
class _Watch:
    """What a run holds of a supervised program."""

    supervisor: subprocess.Popen[bytes]
    lifeline: IO[bytes]
    report: _Heard
    out: _Heard
    err: _Heard
    program: Process | None = None  # the leader of its group, if the system tells
    pid: int | None = None

    @property
    def code(self) -> int | None:
        """The program's exit code, once it has ended."""
        return self.said("code")

    def said(self, word: str) -> int | None:
        """A number that the supervisor has reported."""
        for line in self.report.data.decode().splitlines():
            if line.startswith(f"{word} "):
                return int(line.split()[1])
        return None

    def start(self, job: Job) -> None:
        """Let the program begin, once it stands on the disk that it may run."""
        while not self.report.data.endswith(b"\n") and self.report.read():
            pass
        self.pid = self.said("pid")
        if self.pid is None or _is_cut(job):  # hear() will find out
            return
        self.program = Process.of(self.pid)
        if job.notes is not None:
            job.notes.write(self.supervisor.pid, self.pid)
        with contextlib.suppress(BrokenPipeError):
            self.lifeline.write(b"!")

    def hear(self, job: Job) -> str:
        """Listen until the program has ended, or say why it should be ended."""
        end = None if job.timeout is None else time.monotonic() + job.timeout
        for _ in self._heard(end, job.leash):
            if _is_cut(job):
                return CUT
            if job.is_flood(max(self.out.size, self.err.size)):
                return job.too_loud
        return job.too_slow if self.report.is_open and self.code is None else ""

    def end(self) -> None:
        """Have the program ended and wait; an interrupt has it killed at once."""
        try:
            self.lifeline.close()
            for _ in self._heard(None):
                pass
        except BaseException:
            self._end_group(0.0)
            raise
        finally:
            self.supervisor.wait()
        if self.code is None:
            self._end_group(GRACE)
        for pipe in (self.out, self.err):
            pipe.drain()

    def _end_group(self, grace: float) -> None:
        """End the program's group ourselves, if it is still the one started."""
        if self.pid is not None and Process.of(self.pid) == self.program:
            _supervise.end_group(self.pid, grace)

    def _heard(self, end: float | None, leash: Leash | None = None) -> Iterator[None]:
        """Take in what is said, piece by piece, until the supervisor or time ends."""
        with selectors.DefaultSelector() as selector:
            for pipe in (self.report, self.out, self.err):
                if pipe.is_open:
                    selector.register(pipe.pipe, selectors.EVENT_READ, pipe)
            if leash is not None:
                selector.register(leash.woken, selectors.EVENT_READ)
            while self.report.is_open:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0.0:
                    return
                for key, _ in selector.select(left):
                    if key.data is not None:
                        key.data.read()
                    if key.data is not None and not key.data.is_open:
                        selector.unregister(key.fileobj)
                yield


def _is_cut(job: Job) -> bool:
    return job.leash is not None and job.leash.is_cut


@contextlib.contextmanager
def _started(job: Job) -> Iterator[_Watch]:
    """A supervised program that has begun; afterwards it has ended."""
    with contextlib.ExitStack() as at_last:
        point = at_last.enter_context(tempfile.TemporaryFile())
        point.write(job.stdin)
        point.seek(0)
        its_lifeline, lifeline = _pipe(at_last)
        report, its_report = _pipe(at_last)
        descriptors = (its_lifeline.fileno(), its_report.fileno())
        script = [sys.executable, "-I", "-S", _supervise.__file__]
        supervisor = subprocess.Popen(
            [*script, str(GRACE), *map(str, descriptors), *job.command],
            stdin=point,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=job.environment,
            pass_fds=descriptors,
            start_new_session=True,
        )
        at_last.enter_context(supervisor)
        at_last.callback(lifeline.close)  # it would not end without that
        its_lifeline.close()
        its_report.close()
        out, err = supervisor.stdout, supervisor.stderr
        assert out is not None
        assert err is not None
        watch = _Watch(supervisor, lifeline, _Heard(report), _Heard(out), _Heard(err))
        try:
            watch.start(job)
            yield watch
        finally:
            watch.end()
            if job.notes is not None:
                job.notes.clear()


def _pipe(at_last: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """The two ends of a pipe, closed at last."""
    ends = os.pipe()
    read, write = (
        at_last.enter_context(os.fdopen(end, mode, buffering=0))
        for end, mode in zip(ends, ("rb", "wb"), strict=True)
    )
    return read, write
