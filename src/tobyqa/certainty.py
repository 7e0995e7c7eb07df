"""What is said of an answer: readings not believed, a minimum not determined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .result import History, Suspect
from .space import Space
from .state import Doubtful, Estimate

Array = NDArray[np.float64]

_PART = 0.3  # of the longest scaled component; less of a way is not named

DETERMINED = "determined"
NO_MODEL = "not yet: there is no model"
DISPUTED = "not yet: around its minimum the fit is not quadratic, or fits differ on it"


def suspects_of(
    space: Space, seen: History, doubtful: Sequence[Doubtful]
) -> list[Suspect]:
    """The rows of the history that a method does not believe."""
    found = []
    values = space.sign * seen.value
    for reading in doubtful:
        rows = np.flatnonzero((seen.t == reading.t) & (values == reading.value))
        found += [
            Suspect(
                int(row),
                float(seen.value[row]),
                space.value_to_user(reading.expected),
                reading.sigmas,
            )
            for row in rows[-1:]
        ]
    return sorted(found)


def weighed(seen: History, suspects: Sequence[Suspect]) -> History:
    """The history with the weight of each row in the answer."""
    weight = np.where(seen.failed, 0.0, 1.0)
    weight[[suspect.row for suspect in suspects]] = 0.0
    return replace(seen, weight=weight)


def confidence(space: Space, estimate: Estimate) -> str:
    """How well the minimum is known, in a sentence."""
    if estimate.surface is None:
        return NO_MODEL
    if np.isfinite(estimate.x_std).all():
        return DETERMINED
    if estimate.open_way is None:
        return DISPUTED
    return f"valley: not determined along {_way(space, estimate.open_way)}"


def _way(space: Space, way: Array) -> str:
    """A direction in the search's variables as one of the user's."""
    spread = np.outer(way, way)
    if not space.is_identity:
        spread = space.cov_to_user(spread)
    scale = np.array([variable.scale for variable in space.variables])
    lengths = np.sqrt(np.maximum(spread.diagonal(), 0.0)) / scale
    longest = int(lengths.argmax())
    moves = spread[longest] / math.sqrt(spread[longest, longest])
    parts = [
        f"{variable.name} {move / lengths[longest]:+.2g} {variable.unit}".rstrip()
        for variable, move, length in zip(space.variables, moves, lengths, strict=True)
        if length >= _PART * lengths[longest]
    ]
    return ", ".join(parts)
