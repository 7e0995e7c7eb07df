"""Choosing some cells of a study, as in ``--only "solver=paper*,n=6|10"``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase

from tobyqa.bench.records import Cell

_KEYS = tuple(field.name for field in fields(Cell))
# Names of solvers contain commas; only one before a key separates.
_SEPARATOR = re.compile(rf",(?=(?:{'|'.join(_KEYS)})=)")


def chosen(cells: Sequence[Cell], only: str | Iterable[str] | None) -> list[Cell]:
    """The cells that `only` names; all when it is None or empty.

    A text is ``key=value,key=value``, the keys those of a cell. A value may hold
    alternatives separated by ``|`` and the wildcards ``*`` and ``?``. Several texts
    add up: a key given twice takes the values of both.

    >>> cells = [Cell("power", n, "Static", 0, 300, "paper") for n in (6, 10, 20)]
    >>> [cell.n for cell in chosen(cells, "solver=paper,n=6|20")]
    [6, 20]
    """
    wanted = _patterns([only] if isinstance(only, str) else only or ())
    for key, patterns in wanted.items():
        for pattern in patterns:
            if not any(_matches(cell, key, [pattern]) for cell in cells):
                present = dict.fromkeys(str(getattr(cell, key)) for cell in cells)
                raise ValueError(
                    f"only: no cell has {key}={pattern}; there are {', '.join(present)}"
                )
    return [
        cell
        for cell in cells
        if all(_matches(cell, key, patterns) for key, patterns in wanted.items())
    ]


def _patterns(texts: Iterable[str]) -> Mapping[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    for text in texts:
        for pair in _SEPARATOR.split(text):
            key, equals, values = (part.strip() for part in pair.partition("="))
            if key not in _KEYS or not equals or not values:
                raise ValueError(
                    f"only: {pair!r} is not key=value with a key of {', '.join(_KEYS)}"
                )
            wanted.setdefault(key, []).extend(values.split("|"))
    return wanted


def _matches(cell: Cell, key: str, patterns: Iterable[str]) -> bool:
    value = str(getattr(cell, key))
    return any(fnmatchcase(value, pattern) for pattern in patterns)
