"""What a search was sent, so that it can be sent again: amended, if need be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .frozen import replace
from .state import Flight, Observation, Proposal

Array = NDArray[np.float64]


class Told(NamedTuple):
    """An observation in the search's variables; None: it was told to go on."""

    observation: Observation | None
    row: int | None  # of the history
    wanted: Array  # what the search proposed then


@dataclass
class Sent:
    """All that a search was sent, in order, and what is known better by now."""

    _told: list[Told] = field(default_factory=list)
    _amended: dict[int, float] = field(default_factory=dict)  # values by row

    def add(self, told: Told) -> None:
        """Without the beliefs of that time: all of them would be kept for ever."""
        seen = told.observation
        if seen is not None and seen.flight is not None:
            seen = replace(seen, flight=replace(seen.flight, standing=None))
            told = told._replace(observation=seen)
        self._told.append(told)

    def amend(self, row: int, value: float) -> None:
        """Another value for a row of the history; NaN: it is withdrawn."""
        self._amended[row] = value

    def place_of(self, row: int) -> int | None:
        """The number of a row's reading among all that were no failures."""
        place = 0
        for told in self._told:
            if told.observation is None or told.observation.failed:
                continue
            if told.row == row:
                return place
            place += 1
        return None

    def as_amended(self) -> list[Told]:
        """The same as it is known by now, without what was withdrawn.

        Where something is missing, the others are no longer in the order in which they
        were asked for: they are sent as if all had been out together.
        """
        known = [self._with_value(told) for told in self._told]
        kept = [told for told in known if told is not None]
        return kept if len(kept) == len(known) else [_beside(told) for told in kept]

    def _with_value(self, told: Told) -> Told | None:
        if told.row not in self._amended or told.observation is None:
            return told
        value = self._amended[told.row]
        if math.isnan(value):
            return None
        return told._replace(observation=replace(told.observation, value=value))


def _beside(told: Told) -> Told:
    seen = told.observation
    if seen is None or not seen.asked or seen.flight is not None:
        return told
    flight = Flight(Proposal(seen.x), standing=None)
    return told._replace(observation=replace(seen, flight=flight))
