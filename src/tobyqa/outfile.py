"""Files opened, locked and replaced with care: regular ones, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path

StrPath = str | os.PathLike[str]

PRIVATE = 0o600  # for the owner alone: runs hold what programs have printed
SHARED = 0o666  # less the umask, as for any file

_BINARY = getattr(os, "O_BINARY", 0)  # elsewhere than on Windows there is no other
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # to open a FIFO would wait for its other end


class JournalError(OSError):
    """The journal cannot be used or written; what it holds is intact."""


def open_regular(path: StrPath, flags: int, mode: int = PRIVATE) -> int:
    """Open a file as `os.open` does, but no FIFO, device or directory.

    Those may block for ever, or be read without end.
    """
    if os.path.exists(path):  # some devices act on being opened
        _check_regular(path, os.stat(path))
    number = os.open(path, flags | _BINARY | _AT_ONCE, mode)
    try:
        _check_regular(path, os.fstat(number))
    except BaseException:
        os.close(number)
        raise
    return number


def _check_regular(path: StrPath, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise JournalError(
            errno.EINVAL, "only a regular file can hold a run", os.fspath(path)
        )


def check_no_device(path: StrPath) -> None:
    """Raise ValueError for what may be read without end; a pipe may be read."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ValueError(f"{os.fspath(path)} is a device, not a file")


def read_regular(path: StrPath, size: int = -1) -> bytes:
    """The first `size` bytes of a regular file; all by default."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read(size)


def first_line(path: StrPath) -> bytes:
    """Up to its end, as far as a regular file has one."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.readline()


def replace_file(path: StrPath, data: bytes, *, mode: int = SHARED) -> None:
    """Put a new file in place of an old one, or leave that as it is.

    The data go into a temporary file with a name that nobody can foresee, made anew,
    so that no link planted there is followed; it takes the place of the old file once
    it is on the disk. Permissions are those of the old file, else `mode` less the
    umask. A link at `path` stays: what it points at is replaced. What is no regular
    file, such as ``/dev/stdout``, is written to.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        Path(path).write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    old = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    try:
        number = os.open(temporary, flags, PRIVATE if old is not None else mode)
        with os.fdopen(number, "wb") as file:
            if old is not None and os.name == "posix":
                os.fchmod(file.fileno(), old)  # whatever the umask
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:  # by the name that the user knows
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def sync_directory(directory: Path) -> None:
    """Make a new file's name survive a power cut too, where the system can."""
    if os.name == "posix":
        number = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def lock(fd: int, path: Path) -> None:
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
