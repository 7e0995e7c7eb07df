"""Doubts about single readings: which are in no fit, and which proved right.

A reading that is strange (`spacetime.strange`) is left out of the fits and its place is
measured again at once. If the two agree, both count, and the next doubt must be
stronger than that one was: where a function is rougher than the model, what is strange
is mostly right. Else the first stays a suspect for as long as it is strange. Two wrong
readings in a row may agree: what is twice as strange takes a third one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

_STRANGE = 14.0  # twice the log of the odds: one reading in a thousand is wrong
_DENIED = 11.0  # the same by the readings after it: one in two hundred
_FLATTERING = 0.0  # the same for one that would be the best so far
_FADING = 0.9  # by each reading, of a surprise that proved right
_IN_VAIN = 2.0  # places measured again that proved right, at the most,
_MORE_IN_VAIN = 0.01  # and so many more for each reading


class Suspect(NamedTuple):
    """A reading that is in no fit."""

    row: int
    strangeness: float


@dataclass(frozen=True)
class Doubts:
    """What is thought of the readings so far."""

    suspects: tuple[Suspect, ...] = ()
    right: frozenset[int] = frozenset()  # rows that were doubted without reason
    in_vain: int = 0  # times that what was doubted proved right
    withdrawn: frozenset[int] = frozenset()  # rows that the user has taken back
    stuck: frozenset[int] = frozenset()  # rows of a sensor that was stuck
    surprise: float = 0.0  # strangeness of what proved right when it was new, fading

    @property
    def rows(self) -> list[int]:
        """Those that are in no fit."""
        return sorted({*self.suspected} | self.withdrawn | self.stuck)

    @property
    def suspected(self) -> list[int]:
        """Rows of the suspects, in the order in which they became that."""
        return [suspect.row for suspect in self.suspects]

    def affords(self, readings: int) -> bool:
        """Whether one more doubt may turn out to be in vain."""
        return self.in_vain < _IN_VAIN + _MORE_IN_VAIN * readings

    def after(self, row: int, strangeness: float, *, flatters: bool) -> Doubts:
        """After one more reading, which is left out if it is too strange."""
        doubts = replace(self, surprise=_FADING * self.surprise)
        least = _FLATTERING if flatters else _STRANGE
        is_strange = strangeness > least + self.surprise
        return doubts.plus(row, strangeness) if is_strange else doubts

    def denies(self, strangeness: float) -> bool:
        """Whether a reading is left out that has been in the fits."""
        return strangeness > _DENIED

    def is_strong(self, row: int) -> bool:
        """Whether a suspect is as strange as two wrong readings are rare."""
        return any(
            s.row == row and s.strangeness > 2.0 * _STRANGE for s in self.suspects
        )

    def plus(self, row: int, strangeness: float) -> Doubts:
        return replace(self, suspects=(*self.suspects, Suspect(row, strangeness)))

    def settled(self, row: int, *, is_right: bool) -> Doubts:
        """Once the user has said what there is to say of a row."""
        right, withdrawn = self.right - {row}, self.withdrawn - {row}
        return replace(
            self,
            suspects=tuple(s for s in self.suspects if s.row != row),
            right=right | {row} if is_right else right,
            stuck=self.stuck - {row},
            withdrawn=withdrawn if is_right else withdrawn | {row},
        )

    def without(self, *rows: int) -> Doubts:
        """Rows that have proved right."""
        proved = [s.strangeness for s in self.suspects if s.row in rows]
        return replace(
            self,
            suspects=tuple(s for s in self.suspects if s.row not in rows),
            stuck=self.stuck - {*rows},
            right=self.right | {*rows},
            in_vain=self.in_vain + 1,
            surprise=max(self.surprise, *proved) if proved else self.surprise,
        )


NO_DOUBTS = Doubts()
