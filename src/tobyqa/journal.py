"""A run as a file of JSON lines: a header, then one record per event.

The file only ever grows. A record is written, flushed and synced to the disk before
the event counts, so nothing that was measured can be lost. What a crash leaves behind
is at most one torn last line, which reading tolerates and reports. `write` makes a
whole file of the same format at once.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ._version import __version__

FORMAT = "tobyqa-run"
FORMAT_VERSION = 1

# What may differ when a run is continued: the budget can be extended, and records of
# one format mean the same in every version of the package.
_MAY_DIFFER = {"format", "format_version", "package_version", "maxfev", "at"}

StrPath = str | os.PathLike[str]


class JournalError(OSError):
    """The journal cannot be used or written; what it holds is intact."""


@dataclass(frozen=True)
class Log:
    """What a file holds."""

    header: dict[str, Any]
    events: list[dict[str, Any]]
    torn: str  # the remains of a record that a crash cut short, mostly empty
    size: int  # bytes up to the end of the last sound record


def read(path: StrPath) -> Log:
    """Read a run.

    Raises
    ------
    ValueError
        If the file is no run, one of another format version, or corrupt; the error
        names the line.
    """
    data = Path(path).read_bytes()
    records: list[dict[str, Any]] = []
    size, torn = 0, ""
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        if is_last and not line:
            break
        try:
            record = json.loads(line)
            if not isinstance(record, dict) or "event" not in record:
                raise ValueError("not a record")
        except ValueError as error:
            # Only the last line can be half-written: each is synced before the next.
            rest = b"\n".join(lines[number:])
            if number > 1 and not rest:
                torn = line.decode("utf-8", "replace")
                break
            raise ValueError(
                f"{os.fspath(path)}, line {number} is corrupt: {error}"
            ) from None
        records.append(record)
        size += len(line) + (not is_last)
    _check_header(path, records[0] if records else {})
    return Log(records[0], records[1:], torn, size)


def holds_run(path: StrPath) -> bool:
    """Whether a run was begun in this file; a torn header alone is none."""
    try:
        return b"\n" in Path(path).read_bytes()
    except FileNotFoundError:
        return False


def write(
    path: StrPath, header: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> None:
    """Write a whole run; an older file stays in place until the new one is complete."""
    target = Path(path)
    temporary = target.with_name(target.name + ".part")
    with open(temporary, "wb") as file:
        file.writelines([_line(_full(header)), *map(_line, events)])
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What keeps a stored run from being the one asked for, field by field."""
    # Arrays and tuples look like the lists that JSON makes of them.
    asked = json.loads(_line(asked))
    return [
        f"{key}: {stored.get(key)!r} in the file, {asked.get(key)!r} now"
        for key in asked
        if key not in _MAY_DIFFER and stored.get(key) != asked[key]
    ]


class Journal:
    """An open journal, locked for this process; the lock dies with it."""

    def __init__(self, path: StrPath, header: Mapping[str, Any] | None = None) -> None:
        """Open an existing journal, or with `header` begin a new one."""
        self.path = Path(path)
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if header is not None else 0)
        self._fd = os.open(self.path, flags, 0o666)
        try:
            _lock(self._fd, self.path)
            if header is None:
                self.log = read(self.path)
                self._repair(self.log)
            else:
                self._begin(header)
        except BaseException:
            os.close(self._fd)
            raise

    def _begin(self, header: Mapping[str, Any]) -> None:
        if holds_run(self.path):
            raise JournalError(
                errno.EEXIST,
                "a run is in this file already; continue it with Optimizer.resume",
                str(self.path),
            )
        data, start = self.path.read_bytes(), _line(_full({}))[:40]
        if not (data.startswith(start) or start.startswith(data)):
            raise JournalError(errno.EEXIST, "this file is no journal", str(self.path))
        os.ftruncate(self._fd, 0)  # at most a header that a crash cut short
        self._size = 0
        self.log = Log(_full(header), [], "", 0)
        self._append(_line(self.log.header))
        _sync_directory(self.path.parent)

    def _repair(self, log: Log) -> None:
        """Cut off a torn record; end a record that only lacks its line end."""
        os.ftruncate(self._fd, log.size)
        self._size = log.size
        if not self.path.read_bytes().endswith(b"\n"):
            self._append(b"\n")

    def append(self, event: dict[str, Any]) -> None:
        """Put an event on the disk; when this returns, it is there.

        Raises
        ------
        JournalError
            If it could not be written; the file is then as it was before.
        """
        self._append(_line({**event, "at": time.time()}))

    def is_file(self, path: StrPath) -> bool:
        """Whether `path` is this journal's file."""
        return os.path.exists(path) and os.path.samefile(path, self.path)

    def _append(self, data: bytes) -> None:
        if self._fd < 0:
            raise JournalError(errno.EBADF, "the journal is closed", str(self.path))
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise JournalError(
                error.errno,
                f"cannot write ({error.strerror}); all earlier records are intact, "
                "and the same call can be repeated once there is room",
                str(self.path),
            ) from error
        self._size += len(data)

    def close(self) -> None:
        """Release the file for other processes."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

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
        # A constructor that failed left nothing to close.
        if hasattr(self, "_size"):
            self.close()


def _check_header(path: StrPath, header: Mapping[str, Any]) -> None:
    name = os.fspath(path)
    if header.get("format") != FORMAT:
        raise ValueError(f"{name} is not a tobyqa run")
    if header["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{name} has format version {header['format_version']}; "
            f"this package reads version {FORMAT_VERSION}"
        )


def _full(header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "event": "begin",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        **header,
        "at": time.time(),
    }


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, allow_nan=False, default=np.ndarray.tolist)
    return text.encode() + b"\n"


def _sync_directory(directory: Path) -> None:
    """Make a new file's name survive a power cut too, where the system can."""
    if os.name == "posix":
        fd = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _lock(fd: int, path: Path) -> None:
    """Claim the file, or say who cannot have it; the system frees it on exit."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError(
            error.errno, "another process is running this journal", str(path)
        ) from error
