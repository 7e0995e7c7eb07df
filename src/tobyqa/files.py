"""Runs in files: saved, loaded into memory, or continued where they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from . import _check
from .books import RecordError
from .counting import counting
from .eventlog import EventLog, Run
from .journal import Journal, StrPath, read, write
from .lines import Log, differences, read_header
from .setup import (
    Clock,
    Setup,
    checked_clock,
    in_present_terms,
    stored_clock,
)

_log = logging.getLogger(__name__)


def best_point(rows: Sequence[tuple[Any, ...]], largest: bool | None) -> Any:
    """The point of the best reading; rows begin with point and reading."""
    if not rows:
        raise ValueError("x0 is needed: there is no reading to start from")
    return (max if largest else min)(rows, key=lambda row: row[1])[0]


def begin_with(
    log: EventLog, rows: Sequence[tuple[Any, ...]], path: StrPath | None
) -> None:
    """Let a run begin with old readings; all prove sound before there is a file."""
    events = [log.reading(*row) for row in rows]
    log.begin_journal(path)
    for event in events:
        log.record(event)


def save(self: Run, path: StrPath) -> None:
    """Write the whole run to a file, which may be one that was saved before.

    Of clocks only `time.time` is saved: hand another to `load` again. A run's own
    journal has everything already and is left alone; any other journal, and a saved run
    that has been continued since, is not overwritten: JournalError.
    """
    log = self._log
    if log.journal is None or not log.journal.is_file(path):
        write(path, log.setup.header(), log.events)


def loaded(path: StrPath, clock: Clock | None) -> EventLog:
    """The run in a file, in memory."""
    return _stored(path, read(path), clock)


def resumed(path: StrPath, clock: Clock | None, maxfev: int | None) -> EventLog:
    """The run in a journal, which goes on there."""
    if maxfev is not None:
        maxfev = _check.count("maxfev", maxfev)
    journal = Journal(path)
    try:
        log = _stored(path, journal.log, clock)
    except BaseException:
        journal.close()
        raise
    log.journal = journal
    books = log.books
    if maxfev is not None:  # repeating a command takes no extension back
        maxfev = max(maxfev, books.extended)
    budget_is_new = maxfev is not None and maxfev != books.maxfev
    has_failed = books.failures >= log.setup.max_failures
    if books.ended is not None or has_failed or budget_is_new:
        log.record({"event": "continue", "maxfev": maxfev or books.maxfev})
    return log


def opened(path: StrPath, setup: Setup, *, seed_is_given: bool) -> EventLog:
    """The run in a journal, which goes on there if it is of this problem.

    If not, an error says what differs.
    """
    absent = dict.fromkeys(("space", "safe", "limit"))  # the file may have them
    header = {**absent, **setup.header()}
    if not seed_is_given:
        del header["seed"]  # drawn anew each time; the file's own counts
    if differing := differences(in_present_terms(read_header(path)), header):
        raise ValueError(
            f"{os.fspath(path)} holds a run of another problem: {'; '.join(differing)}"
        )
    return resumed(path, setup.clock, setup.maxfev)


def _stored(path: StrPath, file: Log, clock: Clock | None) -> EventLog:
    """The run of a file, with a word about all that is not as it should be."""
    name = os.fspath(path)
    clock = stored_clock(file.header) if clock is None else checked_clock(clock)
    try:
        log = EventLog.stored(file.header, file.events, clock)
    except RecordError as error:
        line = error.place + 2  # the first one is the header
        raise ValueError(f"{name}, line {line}: {error.reason}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}, line 1: {error}") from error
    if file.torn:
        _log.warning("%s: its last record is torn and left out", name)
    if file.unsealed:
        lines = f"{file.unsealed} of {len(file.events) + 1} lines"
        _log.warning(
            "%s was begun by an earlier version: %s carry no checksum, so that changes "
            "of them cannot be noticed",
            name,
            lines,
        )
    notes: list[str] = []
    counting(log.events, notes)
    for note in notes:
        _log.warning("%s: an earlier version was interrupted: %s", name, note)
    return log
