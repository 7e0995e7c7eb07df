"""What a check of the theory comes to: rows of figures, each beside its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much is computed; the defaults take about half a minute."""

    n: int = 4  # variables
    seeds: int = 5  # runs of each kind, each on a landscape turned differently
    readings: int = 600  # per run
    draws: int = 2000  # of the noise, where a probability is measured
    states: int = 150  # from which such draws are made


@dataclass(frozen=True)
class Row:
    """One figure; `holds` is None where the paper claims nothing."""

    case: str
    quantity: str
    measured: float
    bound: float | None = None
    holds: bool | None = None


@dataclass(frozen=True)
class Check:
    """One result of the paper and what became of it."""

    title: str
    result: str  # which one of the paper
    claim: str
    setting: str  # what was computed
    rows: Sequence[Row]
    finding: str  # in words; says where something fails, with the figure

    @property
    def failures(self) -> int:
        return sum(row.holds is False for row in self.rows)


def verdict(rows: Sequence[Row], subject: str) -> str:
    """In words, whether all of them keep to their bounds."""
    judged = [row.holds for row in rows if row.holds is not None]
    if all(judged):
        return f"{subject}: confirmed."
    return (
        f"{subject}: NOT confirmed in {judged.count(False)} of {len(judged)} figures."
    )


def at_most(case: str, quantity: str, measured: float, bound: float) -> Row:
    """A figure that the paper bounds from above."""
    return Row(case, quantity, measured, bound, bool(measured <= bound))


def fact(case: str, quantity: str, measured: float) -> Row:
    """A figure about which the paper says nothing."""
    return Row(case, quantity, measured)
