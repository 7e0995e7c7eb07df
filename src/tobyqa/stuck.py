"""Whether a sensor is stuck: the same value again and again, though readings scatter.

=======  ==================================================================
symbol   meaning
=======  ==================================================================
q        the step in which readings come, as far as it is seen
p        chance that a reading is that of the likeliest step, erf(q / sqrt(8) noise)
m        how often one value was read in a row
=======  ==================================================================

With normal noise m equal readings in a row have at most the chance p^(m-1); where the
averages differ, less. Coarse steps make it large, and so nothing is said of them. Nor
is anything said where a place that was measured twice has read the same, bit by bit:
what is without noise may well have a plateau.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LEAST = 4  # equal readings in a row
_PLACES = 3  # at which they were taken, at the least
_CHANCE = 1e-6  # of a run that is still taken for chance
_SHOW_STEPS = 3  # values that are multiples of one step, at the least
_FINEST = 1e-10  # of the largest reading; finer steps are none


class Spell(NamedTuple):
    """Equal readings in a row."""

    rows: NDArray[np.int64]  # of the history
    value: float


def stuck(points: Array, values: Array, noise: float) -> str:
    """What is to be said of the latest spell of equal readings; mostly empty.

    `values` are NaN where a measurement failed. `noise`: the standard deviation of a
    reading; where it is not known or zero, nothing can be said.
    """
    if not noise > 0.0:
        return ""
    spells = [s for s in _spells(values) if s.rows.size >= _LEAST]
    found = [s for s in spells if _is_odd(s, points, values, noise)]
    if not found:
        return ""
    rows, value = found[-1]
    places = len(np.unique(points[rows], axis=0))
    return (
        f"the sensor may be stuck or saturated: rows {rows[0]} to {rows[-1]} are all "
        f"the same value, {value:.10g}, at {places} different settings, though "
        f"readings scatter by about {noise:.2g}; withdraw takes a row out"
    )


def stuck_now(points: Array, values: Array, noise: float) -> NDArray[np.int64]:
    """Rows of a spell that is odd and lasts to this day; mostly none."""
    if noise > 0.0 and is_repeating(values[::-1]):
        latest = _spells(values)[-1]
        if _is_odd(latest, points, values, noise):
            return latest.rows
    return np.array([], dtype=np.int64)


def is_repeating(latest_first: Iterable[float]) -> bool:
    """Whether the latest readings are equal, as often as is worth a closer look."""
    latest = list(itertools.islice(latest_first, _LEAST))
    return len(latest) == _LEAST and len(set(latest)) == 1


def _spells(values: Array) -> list[Spell]:
    """All readings, split where the value changes; failures are passed over."""
    rows = np.flatnonzero(~np.isnan(values))
    if not rows.size:
        return []
    ends = np.flatnonzero(np.diff(values[rows])) + 1
    return [Spell(part, float(values[part[0]])) for part in np.split(rows, ends)]


def _is_odd(spell: Spell, points: Array, values: Array, noise: float) -> bool:
    """Whether equal readings are hardly chance."""
    rows = spell.rows
    if len(np.unique(points[rows], axis=0)) < _PLACES:
        return False
    # Where nothing else has been read yet, the steps may be as coarse as the noise.
    p = math.erf((step_of(values) or noise) / (math.sqrt(8.0) * noise))
    if p ** (rows.size - 1) > _CHANCE:
        return False
    return not _repeats_exactly(spell, points, values)


def _repeats_exactly(spell: Spell, points: Array, values: Array) -> bool:
    """Whether a place has read the same twice, apart from the spell itself."""
    others = np.setdiff1d(np.flatnonzero(~np.isnan(values)), spell.rows)
    seen = np.column_stack([points[others], values[others]])
    return len(np.unique(seen, axis=0)) < len(seen)


def rounding_of(values: Array) -> float:
    """Standard error of readings that come in steps; 0 where none are seen.

    Of steps d the error is spread evenly from -d / 2 to d / 2. Two values alone always
    have a common step.

    >>> round(rounding_of(np.array([0.5, 2.0, 3.5, 2.0])), 3)
    0.433
    """
    if np.unique(values).size < _SHOW_STEPS:
        return 0.0
    return step_of(values) / math.sqrt(12.0)


def step_of(values: Array) -> float:
    """The largest step of which all differences of readings are multiples; 0: none.

    >>> step_of(np.array([0.5, 2.0, 3.5, 2.0]))
    1.5
    """
    known = np.unique(values[~np.isnan(values)])
    if known.size < 2:
        return 0.0
    least = _FINEST * float(np.abs(known).max())
    step = 0.0
    for difference in (known[1:] - known[0]).tolist():  # Euclid's algorithm
        if 0.0 < step <= least:
            break
        divisor, rest = difference, step
        while rest > least:
            over = divisor % rest
            divisor, rest = rest, min(over, rest - over)
        # What rounding has left is less in the largest difference so far.
        step = difference / max(1, round(difference / max(divisor, least)))
    return max(step, least)
