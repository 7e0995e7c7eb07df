"""A run as an append-only file that a crash cannot spoil, and whole files of a run.

The file only ever grows. A record is written, flushed and synced to the disk before
the event counts, so nothing that was measured can be lost. What a crash leaves behind
is at most one torn last line, which reading tolerates and reports. `write` makes a
whole file of the same format at once (see `lines`).
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .lines import End, Log, full, holds_run, is_run, plain, read, sealed
from .outfile import (
    PRIVATE,
    JournalError,
    StrPath,
    lock,
    open_regular,
    read_regular,
    replace_file,
    sync_directory,
)

__all__ = [
    "Journal",
    "JournalError",
    "StrPath",
    "holds_run",
    "read",
    "write",
    "write_output",
]

_SAVED = b'{"event": "saved"'  # how the last line of a saved run begins


class Journal:
    """An open journal, locked for this process; the lock dies with it."""

    def __init__(self, path: StrPath, header: Mapping[str, Any] | None = None) -> None:
        """Open an existing journal, or with `header` begin a new one."""
        self._closed = "the journal was never opened"  # why it takes no more
        self.path = Path(path)
        self._place = self.path.absolute()  # whatever becomes the working directory
        self._end = End()
        self._in_flight: tuple[bytes, End] | None = None  # lines being written
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if header is not None else 0)
        self._fd = open_regular(self.path, flags)
        self._closed = ""
        try:
            lock(self._fd, self.path)
            # What is registered stays: once the journal is gone, it does nothing.
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_leaving(weakref.ref(self)))
            if header is None:
                self.log = read(self.path)
                self._repair(self.log)
            else:
                self._begin(header)
        except BaseException:
            self.close()
            raise

    def successor(
        self, what: str, header: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
    ) -> Journal:
        """A new journal with a whole run in it, beside this one, which `what` befell.

        Raises
        ------
        JournalError
            If it cannot be made.
        """
        try:
            other = _new_file_beside(self._place)
            try:
                journal = Journal(other, header)
                journal._append(*sealed(events, journal._end))
            except BaseException:
                other.unlink()
                raise
        except OSError as error:
            raise JournalError(
                error.errno,
                f"{what}, and no new file can be made beside it ({error.strerror}); "
                "the readings are in memory, and the same call can be repeated",
                str(self.path),
            ) from error
        return journal

    def _begin(self, header: Mapping[str, Any]) -> None:
        if holds_run(self.path):
            raise JournalError(
                errno.EEXIST,
                "a run is in this file already; continue it with Optimizer.resume",
                str(self.path),
            )
        data, start = read_regular(self.path), plain(full({}))[:40]
        if not (data.startswith(start) or start.startswith(data)):
            raise JournalError(errno.EEXIST, "this file is no journal", str(self.path))
        os.ftruncate(self._fd, 0)  # at most a header that a crash cut short
        self.log = Log(full(header), [], End())
        self._append(*sealed([self.log.header], self._end))
        sync_directory(self._place.parent)

    def _repair(self, log: Log) -> None:
        """Cut off a torn record; end a record that only lacks its line end."""
        os.ftruncate(self._fd, log.end.size)
        self._end = log.end
        if not read_regular(self.path).endswith(b"\n"):
            self._append(b"\n", log.end._replace(size=log.end.size + 1))

    def append(self, event: Mapping[str, Any]) -> None:
        """Put an event on the disk; when this returns, it is there.

        If it is interrupted, `events` says whether the event has happened.

        Raises
        ------
        JournalError
            If it could not be written; the file is then as it was before.
        """
        self._append(*sealed([event], self._end))

    @property
    def events(self) -> int:
        """How many events the file holds; one half-written by then is cut off."""
        if self._in_flight is not None and not self._closed:
            data, end = self._in_flight
            if self._end != end:
                os.fsync(self._fd)
                written = self._written()
                if written == data:
                    self._end = end
                elif written and data.startswith(written):
                    os.ftruncate(self._fd, self._end.size)
            self._in_flight = None
        return self._end.events

    def _written(self) -> bytes:
        """What is in the file after its last record."""
        os.lseek(self._fd, self._end.size, os.SEEK_SET)
        with os.fdopen(os.dup(self._fd), "rb") as file:
            return file.read()

    def lost(self) -> str:
        """What has become of the file behind this process's back; empty: nothing."""
        if self._closed:
            return ""
        mine = os.fstat(self._fd)
        try:
            there = os.stat(self._place)
        except (FileNotFoundError, NotADirectoryError):
            return "was renamed or moved" if mine.st_nlink else "was deleted"
        except OSError as error:
            raise JournalError(error.errno, error.strerror, str(self.path)) from error
        if not os.path.samestat(mine, there):
            return "was replaced by another file"
        if mine.st_size != self._end.size:
            is_short = mine.st_size < self._end.size
            return "was cut short" if is_short else "was written to by something else"
        return ""

    def is_file(self, path: StrPath) -> bool:
        """Whether `path` is this journal's file."""
        return os.path.exists(path) and (
            os.path.samestat(os.stat(path), os.fstat(self._fd))
            if not self._closed
            else self._place.exists() and os.path.samefile(path, self._place)
        )

    def _append(self, data: bytes, end: End) -> None:
        if self._closed:
            raise JournalError(errno.EBADF, self._closed, str(self.path))
        self._in_flight = data, end
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._end.size)
            self._in_flight = None
            raise JournalError(
                error.errno,
                f"cannot write ({error.strerror}); all earlier records are intact, "
                "and the same call can be repeated once there is room",
                str(self.path),
            ) from error
        self._end = end
        self._in_flight = None

    def close(self, why: str = "the journal is closed") -> None:
        """Release the file for other processes."""
        if not self._closed:
            self._closed = why
            os.close(self._fd)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # A copy would close the file of the original, or write into another one.
        raise TypeError("an open journal cannot be copied")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()


def _new_file_beside(path: Path) -> Path:
    """An empty file with a name that was free."""
    for number in itertools.count(1):
        other = path.with_name(f"{path.stem}-continued-{number}{path.suffix}")
        with contextlib.suppress(FileExistsError):
            os.close(open_regular(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            return other
    raise AssertionError("never reached")


def _leaving(journal: weakref.ref[Journal]) -> Callable[[], None]:
    """What a forked child does with its parent's journal.

    The lock belongs to the open file, which both have: as long as the child kept it
    open, it would keep the lock too, though its parent may be dead.
    """

    def leave() -> None:
        if (inherited := journal()) is not None:
            inherited.close("the journal belongs to the process that opened it")

    return leave


def write(
    path: StrPath, header: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> None:
    """Write a whole run; an older file stays in place until the new one is complete.

    Raises
    ------
    JournalError
        If `path` is a journal: only a saved run that nobody has continued is replaced.
    """
    if is_run(path) and not _is_saved_only(path):
        raise JournalError(
            errno.EEXIST,
            "this is the journal of a run, which is not overwritten; save under "
            "another name",
            os.fspath(path),
        )
    sound = [event for event in events if event["event"] != "saved"]
    closing = {"event": "saved", "at": time.time()}
    data, _ = sealed([full(header), *sound, closing], End())
    replace_file(path, data, mode=PRIVATE)


def write_output(path: StrPath, data: bytes) -> None:
    """Write a table, a page or a picture, never in place of a run."""
    if is_run(path):
        raise JournalError(
            errno.EEXIST, "this is a run, which is not overwritten", os.fspath(path)
        )
    replace_file(path, data)


def _is_saved_only(path: StrPath) -> bool:
    """Whether a run was saved, has not been continued since, and is not open."""
    if not read_regular(path).rstrip(b"\n").rpartition(b"\n")[2].startswith(_SAVED):
        return False
    number = open_regular(path, os.O_RDONLY)
    try:
        lock(number, Path(path))
    except JournalError:
        return False
    finally:
        os.close(number)
    return True
