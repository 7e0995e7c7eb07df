"""Doubts about single readings: which are in no fit, and which proved right.

A reading that is strange (`spacetime.strange`), when it is new or at a later search of
the likelihood, is a suspect: it is in no fit as long as it is strange, and its place is
measured again. Readings that agree there count for good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

STRANGE = float(__import__("os").environ.get("STRANGE", 14))  # twice the log of the odds: one reading in a thousand is wrong
FLAT = float(__import__("os").environ.get("FLAT", 0))
_IN_VAIN = 2.0  # doubts that proved to be without reason, at the most,
_MORE_IN_VAIN = 0.01  # and so many more for each reading


@dataclass(frozen=True)
class Doubts:
    """What is thought of the readings so far, by their rows."""

    suspects: tuple[int, ...] = ()
    right: frozenset[int] = frozenset()  # those that were doubted without reason
    in_vain: int = 0  # times that it was so
    out: frozenset[int] = frozenset()  # withdrawn, or of a sensor that was stuck

    @property
    def rows(self) -> list[int]:
        """Those that are in no fit."""
        return sorted(self.out.union(self.suspects))

    def affords(self, readings: int) -> bool:
        """Whether one more doubt may turn out to be in vain."""
        return self.in_vain < _IN_VAIN + _MORE_IN_VAIN * readings

    def plus(self, row: int) -> Doubts:
        return replace(self, suspects=(*self.suspects, row))

    def without(self, *rows: int, in_vain: bool = True) -> Doubts:
        """Rows that have proved right; `in_vain`: it took more readings to see it."""
        return replace(
            self,
            suspects=tuple(row for row in self.suspects if row not in rows),
            right=self.right.union(rows),
            in_vain=self.in_vain + in_vain,
            out=self.out.difference(rows),
        )

    def settled(self, row: int, *, is_right: bool) -> Doubts:
        """Once the user has said what there is to say of a row."""
        doubts = self.without(row, in_vain=False)
        if is_right:
            return doubts
        return replace(doubts, right=self.right - {row}, out=self.out | {row})


NO_DOUBTS = Doubts()
