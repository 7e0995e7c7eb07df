"""A run as lines of text: how a record is written, sealed and read back.

A line is one JSON object: a header, then one record per event. The last field of each,
``sum``, is a checksum of the rest of the line and of the checksum of the line before:

    sum_k = BLAKE2b(sum_{k-1} + line_k without its sum), 64 bits in hexadecimal

so a line that was changed, removed, repeated or moved is found, and its number said.
What the chain cannot show is that complete lines are missing at the end of a journal;
a saved run ends with a record that says so (``saved``), a journal can end anywhere.

Files of format 1 carry no checksums. They are read, with a note; records added to them
are sealed, and their seals cover the lines before them too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._version import __version__
from .outfile import StrPath, first_line, read_regular

FORMAT = "tobyqa-run"
FORMAT_VERSION = 2
UNSEALED_VERSION = 1  # the format before there were checksums

# What may differ when a run is continued: the budget can be extended, and records of
# one format mean the same in every version of the package.
_MAY_DIFFER = {"format", "format_version", "package_version", "maxfev", "at"}

_HEAD = 200  # bytes by which a run is known
_SEAL = re.compile(rb', "sum": "([0-9a-f]{16})"\}$')
_CHAIN_BROKEN = (
    "its checksum does not fit: the line was changed, or a line before it was changed, "
    "removed, repeated or moved"
)


class End(NamedTuple):
    """Where the sound part of a file ends."""

    size: int = 0  # bytes
    digest: bytes = b""  # checksum of the last line
    events: int = -1  # records after the header


@dataclass(frozen=True)
class Log:
    """What a file holds."""

    header: dict[str, Any]
    events: list[dict[str, Any]]
    end: End
    torn: str = ""  # the remains of a record that a crash cut short, mostly empty
    unsealed: int = 0  # lines without a checksum


# -- writing -------------------------------------------------------------------------


def full(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header with what all of them begin with."""
    return {
        "event": "begin",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        **header,
        "at": time.time(),
    }


def sealed(records: Iterable[Mapping[str, Any]], end: End) -> tuple[bytes, End]:
    """Records as lines that continue a file, and where it will end then."""
    parts, size, digest, count = [], *end
    for record in records:
        body = plain(record)
        digest = _digest(digest, body)
        parts.append(body[:-1] + b', "sum": "' + digest + b'"}\n')
        size, count = size + len(parts[-1]), count + 1
    return b"".join(parts), End(size, digest, count)


def plain(record: Mapping[str, Any]) -> bytes:
    """A record as JSON, without its seal and the end of its line."""
    return json.dumps(record, allow_nan=False, default=np.ndarray.tolist).encode()


def _digest(before: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(before + body, digest_size=8).hexdigest().encode()


# -- reading -------------------------------------------------------------------------


def read(path: StrPath) -> Log:
    """Read a run.

    Only a line without its end can be half-written, since each is synced before the
    next is begun: such a last line is left out and reported as torn. Any other that is
    damaged, the last one included, is an error.

    Raises
    ------
    ValueError
        If the file is no run, one of another format version, or corrupt; the error
        names the line.
    """
    *lines, rest = read_regular(path).split(b"\n")
    torn = ""
    if rest and lines and not _is_whole(rest):
        rest, torn = b"", rest.decode("utf-8", "replace")
    records: list[dict[str, Any]] = []
    end, unsealed = End(), 0
    for number, line in enumerate([*lines, *([rest] if rest else [])], start=1):
        record = _parsed(path, number, line)
        is_sealed, digest = _checked_seal(path, number, line, end.digest)
        was_sealed = unsealed < number - 1
        header = records[0] if records else record
        if not is_sealed and (was_sealed or _must_be_sealed(header)):
            raise _corrupt(path, number, "its checksum is missing")
        records.append(record)
        unsealed += not is_sealed
        size = end.size + len(line) + (number <= len(lines))
        end = End(size, digest, end.events + 1)
    if not records:
        raise ValueError(f"{os.fspath(path)} is not a tobyqa run: it is empty")
    return Log(records[0], records[1:], end, torn, unsealed)


def read_header(path: StrPath) -> dict[str, Any]:
    """The first record of a run."""
    return _parsed(path, 1, first_line(path).rstrip(b"\n"))


def _is_whole(rest: bytes) -> bool:
    """Whether a line without its end begins with a complete JSON value.

    The first part of a record never does, so such a line is not torn: either only its
    end is missing, or it is damaged.
    """
    try:
        json.JSONDecoder().raw_decode(rest.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True


def _corrupt(path: StrPath, number: int, why: object) -> ValueError:
    return ValueError(f"{os.fspath(path)}, line {number} is corrupt: {why}")


def _parsed(path: StrPath, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _corrupt(path, number, error) from None
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise _corrupt(path, number, "not a record")
    if number == 1:
        _check_format(os.fspath(path), record)
    record.pop("sum", None)
    return record


def _checked_seal(
    path: StrPath, number: int, line: bytes, before: bytes
) -> tuple[bool, bytes]:
    """Whether a line is sealed, and its checksum, written there or not."""
    seal = _SEAL.search(line)
    body = line if seal is None else line[: seal.start()] + b"}"
    digest = _digest(before, body)
    if seal is not None and seal[1] != digest:
        raise _corrupt(path, number, _CHAIN_BROKEN)
    return seal is not None, digest


def _must_be_sealed(header: Mapping[str, Any]) -> bool:
    return bool(header["format_version"] != UNSEALED_VERSION)


def _check_format(name: str, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT or header["event"] != "begin":
        raise ValueError(f"{name} is not a tobyqa run")
    if "format_version" not in header:
        raise ValueError(f"{name}, line 1: the field 'format_version' is missing")
    if header["format_version"] not in (UNSEALED_VERSION, FORMAT_VERSION):
        raise ValueError(
            f"{name} has format version {header['format_version']!r}; this package "
            f"reads versions {UNSEALED_VERSION} and {FORMAT_VERSION}"
        )


def holds_run(path: StrPath) -> bool:
    """Whether a run was begun in this file; a torn header alone is none."""
    try:
        return first_line(path).endswith(b"\n")
    except FileNotFoundError:
        return False


def is_run(path: StrPath) -> bool:
    """Whether a file is a run, sound or not, and so must not be overwritten."""
    if not os.path.isfile(path):
        return False
    head = read_regular(path, _HEAD)
    return FORMAT.encode() in head or head.startswith(b'{"event":')


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What keeps a stored run from being the one asked for, field by field."""
    # Arrays and tuples look like the lists that JSON makes of them.
    asked = json.loads(plain(asked))
    return [
        f"{key}: {stored.get(key)!r} in the file, {asked.get(key)!r} now"
        for key in asked
        if key not in _MAY_DIFFER and stored.get(key) != asked[key]
    ]
