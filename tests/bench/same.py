"""Equality of records, time aside."""

from __future__ import annotations

from collections.abc import Iterable

from tobyqa.bench.records import Record


def comparable(records: Iterable[Record]) -> list[tuple[object, ...]]:
    """Everything but `seconds`, in the order of the cells, floats as exact text."""
    rows = [
        (
            r.cell,
            r.status,
            r.error,
            r.nfev,
            repr(float(r.f_start)),
            repr(float(r.f_returned)),
            tuple(r.improved_at.tolist()),
            tuple(r.improved_to.tolist()),
        )
        for r in records
    ]
    return sorted(rows, key=lambda row: row[0])
