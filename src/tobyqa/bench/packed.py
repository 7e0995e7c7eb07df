"""Records as one compressed text file, to be kept under version control or passed on.

A packed file is JSON Lines, compressed by xz: the first line has the study, the
versions it was begun with and the names of the columns, every further line one record.
Numbers are written in full, so a report of the file equals the report of the store.
JSON has no NaN and no infinity; they are written as Python's json does.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tobyqa.bench.records import Cell, Record
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study, parse_study, study_text
from tobyqa.journal import write_output

SUFFIX = ".jsonl.xz"

_FORMAT = "tobyqa records 1"
_CELL = tuple(f.name for f in fields(Cell))
_REST = tuple(f.name for f in fields(Record) if f.name != "cell")
_COLUMNS = (*_CELL, *_REST)


@dataclass(frozen=True)
class Bundle:
    """A study and the records there are of it, from a store or a packed file."""

    name: str  # of the directory or the file
    study: Study
    environment: Mapping[str, str]  # the versions with which the run was begun
    records: tuple[Record, ...]


def load(path: str | Path) -> Bundle:
    """Everything in a packed file or in the directory of a run."""
    path = Path(path)
    if path.is_file():
        return _unpacked(path)
    with Store(path) as store:
        return Bundle(
            path.name, store.study, store.environment(), tuple(store.records())
        )


def pack(bundle: Bundle, path: str | Path) -> None:
    """Write a packed file; the same bundle gives the same bytes."""
    if not str(path).endswith(SUFFIX):
        raise ValueError(f"a packed file is named *{SUFFIX}, not {str(path)!r}")
    if not bundle.records:
        raise ValueError(f"{bundle.name}: no records to pack")
    text = "".join(f"{_json(line)}\n" for line in _lines(bundle))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, lzma.compress(text.encode()))


def _lines(bundle: Bundle) -> Iterator[Any]:
    yield {
        "format": _FORMAT,
        "study": study_text(bundle.study),
        "environment": dict(bundle.environment),
        "columns": _COLUMNS,
    }
    for record in bundle.records:
        yield [*asdict(record.cell).values(), *(getattr(record, k) for k in _REST)]


def _json(line: Any) -> str:
    return json.dumps(
        line,
        default=np.ndarray.tolist,  # the only values that json does not know
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _unpacked(path: Path) -> Bundle:
    try:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            head = json.loads(next(lines))
            if head["format"] != _FORMAT or tuple(head["columns"]) != _COLUMNS:
                raise ValueError("it is of another format")
            return Bundle(
                path.name.removesuffix(SUFFIX),
                parse_study(head["study"], f"the study in {path.name}"),
                head["environment"],
                tuple(_record(json.loads(line)) for line in lines),
            )
    except (lzma.LZMAError, EOFError, StopIteration, LookupError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is no packed file: {error}") from error
    except ValueError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from error


def _record(row: list[Any]) -> Record:
    cell = Cell(*row[: len(_CELL)])
    rest = dict(zip(_REST, row[len(_CELL) :], strict=True))
    rest["improved_at"] = np.array(rest["improved_at"], dtype=np.int64)
    rest["improved_to"] = np.array(rest["improved_to"], dtype=np.float64)
    return Record(cell, **rest)
