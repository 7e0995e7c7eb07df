"""Where records are kept: one SQLite file in a directory, one row per cell.

Each finished cell is committed at once, so a killed run loses only what was in flight.
"""

from __future__ import annotations

import json
import math
import platform
import sqlite3
import time
import warnings
import zlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tobyqa._version import __version__
from tobyqa.bench.records import Array, Cell, Record
from tobyqa.bench.study import (
    Study,
    differences,
    parse_study,
    study_text,
    with_solvers_of,
)

FILE = "records.sqlite"

_PATIENCE = 10.0  # seconds for others to begin a directory

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    problem TEXT NOT NULL, n INTEGER NOT NULL, channel TEXT NOT NULL,
    seed INTEGER NOT NULL, budget INTEGER NOT NULL, solver TEXT NOT NULL,
    status TEXT NOT NULL, error TEXT NOT NULL, nfev INTEGER NOT NULL,
    f_start REAL, f_returned REAL, improved BLOB NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (problem, n, channel, seed, budget, solver)
) WITHOUT ROWID;
"""
_CELL = "problem, n, channel, seed, budget, solver"
_REST = "status, error, nfev, f_start, f_returned, improved, seconds"


class Store:
    """The records of one study in one directory.

    Parameters
    ----------
    directory : path
        Made if needed, provided `study` is given.
    study : Study, optional
        What the directory is for. A directory made for other instances is an error,
        one made for other solvers gets these added. None: whatever is there.

    Attributes
    ----------
    study : Study
        The study that the directory holds.

    Examples
    --------
    >>> import tempfile
    >>> from tobyqa.bench.study import load_study
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with Store(directory, load_study("smoke")) as store:
    ...         print(len(store.done()), "of", len(store.study.cells()))
    0 of 168
    """

    def __init__(self, directory: str | Path, study: Study | None = None) -> None:
        path = Path(directory) / FILE
        if study is None and not path.is_file():
            raise ValueError(f"{str(directory)!r} holds no study ({FILE} is missing)")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._directory = Path(directory)
        self._db = sqlite3.connect(path)
        try:
            self.study = self._opened_in_turn(study)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{str(path)!r} cannot be opened: {error}") from error
        except BaseException:
            self._db.close()
            raise

    def _opened_in_turn(self, study: Study | None) -> Study:
        """Opened once the others are done that begin the directory at the same time."""
        last_chance = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._opened(study)
            except sqlite3.OperationalError as error:
                # For the switch to a write-ahead log sqlite itself does not wait.
                if "locked" not in str(error) or time.monotonic() > last_chance:
                    raise
            time.sleep(0.02)

    def _opened(self, study: Study | None) -> Study:
        # With a write-ahead log, NORMAL survives the death of the process and keeps
        # the file sound in a power cut.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)
        if self._meta("study") is None:
            if study is None:
                raise ValueError(f"{str(self._directory)!r} holds no study")
            rows = [
                ("study", study_text(study)),
                ("environment", json.dumps(environment())),
            ]
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", rows)
        stored = parse_study(self._meta("study") or "", f"the study in {FILE}")
        return stored if study is None else self._joined(stored, study)

    def _joined(self, stored: Study, study: Study) -> Study:
        """The stored study with the solvers of `study` added, if it is the same."""
        self._check_instances(stored, study)
        self._check_versions()
        both = with_solvers_of(stored, study)
        if both != stored:
            with self._db:
                self._db.execute(
                    "UPDATE meta SET value = ? WHERE key = 'study'", (study_text(both),)
                )
        return both

    def _check_instances(self, stored: Study, study: Study) -> None:
        if differing := differences(stored, study):
            raise ValueError(
                f"{str(self._directory)!r} belongs to another study: "
                f"{'; '.join(differing)} (stored against asked). Use another directory."
            )

    def _check_versions(self) -> None:
        made_with, here = self.environment(), environment()
        changed = [
            f"{k} {made_with.get(k)}, now {v}"
            for k, v in here.items()
            if made_with.get(k) != v
        ]
        if changed:
            warnings.warn(
                f"{str(self._directory)!r} was begun with {'; '.join(changed)}: "
                "its records will not all be comparable",
                stacklevel=6,
            )

    def environment(self) -> dict[str, str]:
        """The versions with which the directory was begun."""
        return dict(json.loads(self._meta("environment") or "{}"))

    def add(self, record: Record) -> None:
        """Keep a record; it is on disk when this returns. The last one of a cell wins.

        NaN is kept as NULL, which is what SQLite makes of it.
        """
        row = (*_key(record.cell), *_values(record))
        marks = ", ".join("?" * len(row))
        with self._db:
            self._db.execute(
                f"INSERT OR REPLACE INTO records ({_CELL}, {_REST}) VALUES ({marks})",
                row,
            )

    def done(self, *, leaving_out: Collection[str] = ()) -> set[Cell]:
        """The cells that have a record, other than of a status in `leaving_out`."""
        return {cell for cell, status in self.statuses() if status not in leaving_out}

    def records(self, solvers: Collection[str] | None = None) -> list[Record]:
        """All records in the order of their cells, or those of the named solvers."""
        rows = self._db.execute(
            f"SELECT {_CELL}, {_REST} FROM records ORDER BY {_CELL}"
        )
        return [_record(row) for row in rows if solvers is None or row[5] in solvers]

    def statuses(self) -> list[tuple[Cell, str]]:
        """Each stored cell with its status, without the rest of the record."""
        rows = self._db.execute(f"SELECT {_CELL}, status FROM records ORDER BY {_CELL}")
        return [(Cell(*row[:6]), row[6]) for row in rows]

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _meta(self, key: str) -> str | None:
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,))
        row = found.fetchone()
        return None if row is None else str(row[0])


def environment() -> dict[str, str]:
    """The versions on which results can depend: ours, and the peers' that are here."""
    versions = {
        "tobyqa": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    for peer in ("nlopt", "pdfo", "DFO-LS", "Py-BOBYQA", "cma"):
        with suppress(metadata.PackageNotFoundError):
            versions[peer] = metadata.version(peer)
    return versions


def _key(cell: Cell) -> tuple[Any, ...]:
    return cell.problem, cell.n, cell.channel, cell.seed, cell.budget, cell.solver


def _values(record: Record) -> tuple[Any, ...]:
    return (
        record.status,
        record.error,
        record.nfev,
        record.f_start,
        record.f_returned,
        _packed(record.improved_at, record.improved_to),
        record.seconds,
    )


def _record(row: Iterable[Any]) -> Record:
    *key, status, error, nfev, f_start, f_returned, improved, seconds = row
    improved_at, improved_to = _unpacked(improved)
    return Record(
        cell=Cell(*key),
        status=status,
        error=error,
        nfev=nfev,
        f_start=math.nan if f_start is None else f_start,
        f_returned=math.nan if f_returned is None else f_returned,
        improved_at=improved_at,
        improved_to=improved_to,
        seconds=seconds,
    )


def _packed(improved_at: NDArray[np.int64], improved_to: Array) -> bytes:
    """Both arrays in 12 bytes an entry, compressed; the same on every machine."""
    return zlib.compress(
        improved_at.astype("<i4").tobytes() + improved_to.astype("<f8").tobytes()
    )


def _unpacked(blob: bytes) -> tuple[NDArray[np.int64], Array]:
    data = zlib.decompress(blob)
    k = len(data) // 12
    return (
        np.frombuffer(data, "<i4", count=k).astype(np.int64),
        np.frombuffer(data, "<f8", offset=4 * k).astype(np.float64),
    )
