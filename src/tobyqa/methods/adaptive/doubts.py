"""Doubts about single readings: which are in no fit, and which proved right.

A reading that is strange (`spacetime.strange`), when it is new or at a later search of
the likelihood, is a suspect: it is in no fit as long as it is strange, and its place is
measured again. Readings that agree there count for good. Where a function is rougher
than the model, what is strange is mostly right: so the next new reading must be
stranger than that one was, and doubts in vain are numbered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

STRANGE = 14.0  # twice the log of the odds: one reading in a thousand is wrong
DENIED = 11.0  # the same by later readings: one in two hundred
_FADING = 0.9  # by each reading, of a surprise that proved right
_IN_VAIN = 2.0  # doubts that proved to be without reason, at the most,
_MORE_IN_VAIN = 0.01  # and so many more for each reading


@dataclass(frozen=True)
class Doubts:
    """What is thought of the readings so far, by their rows."""

    suspects: frozenset[int] = frozenset()
    right: frozenset[int] = frozenset()  # those that were doubted without reason
    in_vain: int = 0  # times that it was so
    surprise: float = 0.0  # how strange they were, fading
    out: frozenset[int] = frozenset()  # withdrawn, or of a sensor that was stuck

    @property
    def rows(self) -> list[int]:
        """Those that are in no fit."""
        return sorted(self.suspects | self.out)

    def affords(self, readings: int) -> bool:
        """Whether one more doubt may turn out to be in vain."""
        return self.in_vain < _IN_VAIN + _MORE_IN_VAIN * readings

    def faded(self) -> Doubts:
        """After one more reading."""
        return replace(self, surprise=_FADING * self.surprise)

    def plus(self, row: int) -> Doubts:
        return replace(self, suspects=self.suspects | {row})

    def left_out(self, rows: Iterable[int]) -> Doubts:
        """Rows that are none whatever is expected of them."""
        return replace(
            self, suspects=self.suspects.difference(rows), out=self.out.union(rows)
        )

    def without(self, *rows: int, strangeness: float) -> Doubts:
        """Rows that have proved right, however strange they were."""
        return replace(
            self,
            suspects=self.suspects - {*rows},
            right=self.right | {*rows},
            in_vain=self.in_vain + 1,
            surprise=max(self.surprise, strangeness),
            out=self.out - {*rows},
        )

    def settled(self, row: int, *, is_right: bool) -> Doubts:
        """Once the user has said what there is to say of a row."""
        mine = {row}
        return replace(
            self,
            suspects=self.suspects - mine,
            right=self.right | mine if is_right else self.right - mine,
            out=self.out - mine if is_right else self.out | mine,
        )


NO_DOUBTS = Doubts()
