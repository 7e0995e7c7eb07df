"""Runs in files: saved, loaded into memory, or continued where they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from . import _check
from .eventlog import EventLog
from .journal import Journal, StrPath, differences, read, write
from .result import Status
from .setup import (
    Clock,
    Setup,
    checked_clock,
    in_present_terms,
    stored_clock,
)

_log = logging.getLogger(__name__)


def save(log: EventLog, path: StrPath) -> None:
    """Write a run to a file; its own journal has everything already."""
    if log.journal is None or not log.journal.is_file(path):
        write(path, log.setup.header(), log.events)


def loaded(path: StrPath, clock: Clock | None) -> EventLog:
    """The run in a file, in memory."""
    log = read(path)
    return EventLog.stored(log.header, log.events, _clock(log.header, clock))


def resumed(path: StrPath, clock: Clock | None, maxfev: int | None) -> EventLog:
    """The run in a journal, which goes on there."""
    if maxfev is not None:
        maxfev = _check.count("maxfev", maxfev)
    journal = Journal(path)
    try:
        file = journal.log
        log = EventLog.stored(file.header, file.events, _clock(file.header, clock))
    except BaseException:
        journal.close()
        raise
    log.journal = journal
    if file.torn:
        _log.warning("%s: dropped a torn last record", os.fspath(path))
    budget_is_new = maxfev is not None and maxfev != log.maxfev
    ended_by_failures = log.status is Status.FAILURES
    if log.books.ended is not None or ended_by_failures or budget_is_new:
        log.record({"event": "continue", "maxfev": maxfev or log.maxfev})
    return log


def opened(path: StrPath, setup: Setup, *, seed_is_given: bool) -> EventLog:
    """The run in a journal, which goes on there if it is of this problem.

    If not, an error says what differs.
    """
    header = setup.header()
    if not seed_is_given:
        del header["seed"]  # drawn anew each time; the file's own counts
    if differing := differences(in_present_terms(read(path).header), header):
        raise ValueError(
            f"{os.fspath(path)} holds a run of another problem: {'; '.join(differing)}"
        )
    return resumed(path, setup.clock, setup.maxfev)


def _clock(header: Mapping[str, Any], clock: Clock | None) -> Clock | None:
    return stored_clock(header) if clock is None else checked_clock(clock)
