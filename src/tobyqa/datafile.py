"""Readings as CSV tables: those one already has, and those of a run.

Columns are the variables' names, ``t``, ``value`` and, if there are any, ``sigma``. A
name that a spreadsheet would take for a formula has an apostrophe before it.
"""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from . import _check
from .optimizer import Optimizer
from .outfile import check_no_device
from .protocol import parse_number
from .text import as_cell, from_cell, printable

Array = NDArray[np.float64]
_RUN_COLUMNS = ("t", "value", "sigma", "asked", "reason")
RESERVED = frozenset(_RUN_COLUMNS)
"""Columns of a table, which no variable can be called."""


@dataclass(frozen=True)
class Readings:
    """Old readings, as columns."""

    names: tuple[str, ...]
    x: Array  # (N, n)
    t: Array | None  # (N,); None: they are numbered
    value: Array  # (N,)
    sigma: Array | None  # (N,), NaN where there is none
    notes: tuple[str, ...] = ()  # what the user should know

    def best_point(self, *, largest: bool) -> tuple[float, ...]:
        """Where the lowest reading was taken, or the largest."""
        best = self.value.argmax() if largest else self.value.argmin()
        return tuple(map(float, self.x[best]))

    def tell_rest(self, opt: Optimizer) -> None:
        """Tell what is missing if a crash cut short the telling."""
        history = opt.result().history
        if not opt.pending and not history.asked.any():
            for k in range(len(history), len(self.value)):
                t = float(k) if self.t is None else self.t[k]
                known = self.sigma is not None and not math.isnan(self.sigma[k])
                sigma = self.sigma[k] if known and self.sigma is not None else None
                opt.tell(self.x[k], self.value[k], t, sigma)


def read_readings(
    path: str, names: Sequence[str] | None, *, times_needed: bool
) -> Readings:
    """Read a table of readings whose variables are `names`.

    The table of a run can be read back without them. Any other may have columns that
    are no knobs, so nothing becomes a variable that was not named; columns that mean
    nothing here are passed over, with a note.
    Unless `times_needed`, readings are numbered in the order of their rows.
    Rows without a value are failed measurements and are passed over.

    Raises
    ------
    ValueError
        Naming the line and the column that is wrong.
    """
    check_no_device(path)
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(_rows(path, file))
    if not rows:
        raise ValueError(f"{path} is empty")
    head = [from_cell(name.strip()) for name in rows[0][1]]
    names = _variables(path, head) if names is None else list(names)
    _check_head(path, head, names, times_needed)
    value_at = head.index("value")
    readings = [row for row in rows[1:] if _cell(path, head, row, value_at)]
    if not readings:
        raise ValueError(f"{path} holds no reading")

    def column(name: str, *, empty_allowed: bool = False) -> Array:
        place = head.index(name)
        cells = (_number(path, head, row, place, empty_allowed) for row in readings)
        return np.array(list(cells))

    return Readings(
        names=tuple(names),
        x=np.column_stack([column(name) for name in names]),
        t=column("t") if times_needed else None,
        value=column("value"),
        sigma=column("sigma", empty_allowed=True) if "sigma" in head else None,
        notes=_notes(
            path,
            [n for n in head if n not in {*names, *RESERVED}]
            + (["t"] if "t" in head and not times_needed else []),
            len(rows) - 1 - len(readings),
        ),
    )


def _rows(path: str, file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold anything, with their numbers."""
    reader = csv.reader(file)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}, line {reader.line_num + 1}: {error}") from None


def _variables(path: str, head: list[str]) -> list[str]:
    """The variables of a table that a run has written; of others, they must be said."""
    names = [name for name in head if name not in RESERVED]
    if not RESERVED.issubset(head):
        flags = shlex.join(f"--name={name}" for name in names)
        raise ValueError(
            f"{path}: which columns are variables? Name them, in order, with --name or "
            f"names; if all but {', '.join(sorted(RESERVED))} are: {flags}"
        )
    return names


def _check_head(
    path: str, head: list[str], names: Iterable[str], times_needed: bool
) -> None:
    needed = [*names, "value", *(["t"] if times_needed else [])]
    for name in needed:
        if name not in head:
            hint = " (--clock index numbers the readings)" if name == "t" else ""
            raise ValueError(
                f"{path}, line 1: column {name!r} is missing{hint}; there are "
                f"{', '.join(head)}"
            )
    for name in head:
        if head.count(name) > 1:
            raise ValueError(f"{path}, line 1: column {name!r} occurs twice")


def _cell(path: str, head: list[str], row: tuple[int, list[str]], place: int) -> str:
    line, cells = row
    if len(cells) != len(head):
        raise ValueError(
            f"{path}, line {line}: {len(cells)} entries, but {len(head)} columns"
        )
    return cells[place].strip()


def _number(
    path: str,
    head: list[str],
    row: tuple[int, list[str]],
    place: int,
    empty_allowed: bool,
) -> float:
    text = _cell(path, head, row, place)
    if not text and empty_allowed:
        return math.nan
    try:
        number = parse_number(text)
        return _check.non_negative("it", number) if head[place] == "sigma" else number
    except ValueError as error:
        where = f"{path}, line {row[0]}, column {head[place]!r}"
        raise ValueError(f"{where}: {error}") from None


def _notes(path: str, unused: list[str], without_value: int) -> tuple[str, ...]:
    notes = []
    if unused:
        notes.append(f"{path}: columns not used: {', '.join(unused)}")
    if without_value:
        notes.append(f"{path}: {without_value} rows without a value passed over")
    return tuple(notes)


def write_readings(opt: Optimizer, file: TextIO) -> None:
    """The readings of a run as a table; `read_readings` takes it.

    Names and reasons are made harmless, to terminals and spreadsheets.
    """
    writer = csv.writer(file, lineterminator="\n")
    names = [f"{n}_variable" if n in RESERVED else n for n in opt.names]
    writer.writerow([*(as_cell(printable(n)) for n in names), *_RUN_COLUMNS])
    history = opt.result().history
    for k, reason in enumerate(opt.reasons):
        numbers = [*history.x[k], history.t[k], history.value[k], history.sigma[k]]
        asked = "yes" if history.asked[k] else "no"
        writer.writerow([*map(_text, numbers), asked, as_cell(printable(reason))])


def _text(number: Any) -> str:
    return "" if math.isnan(number) else repr(float(number))
