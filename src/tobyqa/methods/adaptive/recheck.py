"""What follows from a doubt: a reading left out or taken in, a place measured again."""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...spacetime.fit import Fit
from ...spacetime.likelihood import start_components
from ...spacetime.strange import seen, strangest
from ...state import Doubtful
from ...stuck import stuck_now
from .belief import PATIENT, TO_SPARE, Asking, Belief, Place

Array = NDArray[np.float64]

_DENIED = float(os.environ.get("DENIED", 11))
_FINE = float(os.environ.get("FINE", 0))
_ALIKE = 5.0  # standard errors of the difference of two readings
_OFTEN = 3  # suspects at one place, from which on it is not for them to be doubted


def is_doubted(b: Belief) -> bool:
    """Whether the newest reading is left out."""
    return b.newest in b.doubts.rows


def visiting(b: Belief, place: Array, *, rechecks: bool) -> Belief:
    """With the plan to measure a known place."""
    plan = replace(b.plan, x=place, revisits=True, rechecks=rechecks)
    return replace(b, plan=plan)


def agreed(b: Belief) -> Belief:
    """With the suspects at the newest reading's place, if it agrees with them.

    They are alike, or nearer to each other than to what the fit expects: a place that
    drifts on its own goes on doing so. Where nothing ever agrees, all of them count.
    """
    rows = b.samples.rows_at(b.samples.points[b.newest])[:-1]
    suspects = np.isin(rows, b.doubts.suspects)
    others = rows[~np.isin(rows, [*b.doubts.out])] if is_doubted(b) else rows[suspects]
    if not others.size:
        return b
    above = np.array([b.seen(int(row)).above for row in (*others, b.newest)])
    nearest = np.minimum(np.abs(above[:-1]), abs(above[-1]))
    apart = np.abs(above[:-1] - above[-1])
    alike = others[apart <= np.maximum(math.sqrt(2.0) * _ALIKE, nearest)]
    if np.count_nonzero(suspects) >= _OFTEN:
        alike = others
    group = {*alike.tolist(), b.newest}
    if len(group) == 1 or (len(group) == 2 and group <= {*b.doubts.suspects}):
        return b
    is_dear = not {b.newest} >= group & {*b.doubts.suspects}
    return b.witnessed().believing(*group, in_vain=is_dear)


def doubting(b: Belief) -> Belief:
    """After a search of the likelihood: suspects that are none, and one that may be.

    Where the drift depends on the place it was that.
    """
    fine = [
        row
        for row in b.doubts.suspects
        if b.local or -math.inf < b.seen(row).strangeness < _FINE
    ]
    if fine:
        b = b.believing(*fine)
    if b.recheck is not None or not b.may_doubt:
        return b
    window = b.fitted.window
    known = np.isin(window.rows, [*b.doubts.right]) | _speaks_for_itself(b)
    place, strangeness = strangest(b.fitted, b.noise.spread, known)
    if strangeness < _DENIED:
        return b
    row = int(window.rows[place])
    return anew(b.doubting(row))


def _speaks_for_itself(b: Belief) -> NDArray[np.bool_]:
    """Rows of the window at places that were measured on purpose three times.

    If a drift depends on the place, they show it. And the best place, if there is no
    other reading: that is for a comparison to deny.
    """
    points = b.samples.points + 0.0  # one zero, whatever its sign
    _, place = np.unique(points, axis=0, return_inverse=True)
    place = place.ravel()
    often = np.bincount(place, b.samples.asked) >= int(os.environ.get("OFTEN", 3))
    known = often[place]
    best = b.rows_at(b.best.x)
    if best.size == 1:
        known[best] = True
    return known[b.fitted.window.rows]


def anew(b: Belief) -> Belief:
    """With other readings than before: a centre and a best place that have some, and a
    fit whose components are searched from the beginning.

    The same centre, or else the lowest near by.
    """
    if b.centre in b.left_out:
        b = replace(b, centre=_another_centre(b), accepted=False)
    if not b.rows_at(b.best.x).size:
        b = replace(b, best=Place(b.centre_point, b.B))
    b = b.refitted()
    if not b.s.likelihood:
        return b
    start = b.fitted.components
    if not os.environ.get("KEEPC"):
        start = start_components(b.fitted.window, b.s.limits)
    return b.with_fit(b.improved(b.fit_around(b.centre, start), PATIENT))


def _another_centre(b: Belief) -> int:
    window = b.fitted.window
    here = (b.samples.points[window.rows] == b.centre_point).all(axis=1)
    order = np.lexsort([b.fitted.smooth, ~window.inside, ~here])
    for row in window.rows[order]:
        if row not in b.left_out:
            return int(row)
    return int(np.setdiff1d(np.arange(len(b.samples)), b.left_out)[-1])


def stuck_rows(b: Belief) -> frozenset[int]:
    """Readings of a sensor that is stuck up to now; mostly none."""
    none: frozenset[int] = frozenset()
    if not (b.s.robust and b.doubts.affords(len(b.samples))):
        return none
    rows = stuck_now(b.samples.points, b.samples.values, b.fitted.noise_std)
    found = b.doubts.out.union(rows.tolist())
    is_enough = len(b.samples) - len(found) >= len(b.B) + TO_SPARE
    return frozenset(rows.tolist()) if is_enough else none


def awake(b: Belief) -> Asking[Belief]:
    """Readings at the centre until they are not what the sensor is stuck at.

    If the first one is not, the sensor is alive: it is saturated where it read the
    same again and again, or the function is flat there.
    """
    found, looks = stuck_rows(b), 0
    while rows := stuck_rows(b):
        doubts = replace(b.doubts, out=b.doubts.out | rows)
        b = anew(replace(b, doubts=doubts, recheck=None))
        b = visiting(b, b.centre_point, rechecks=True)
        reading = None
        while reading is None:
            reading = yield b.plan, b
        if reading.failed:
            return b
        b, looks = b.plus(reading), looks + 1
    return b.believing(*found) if looks == 1 else b


def doubtful(b: Belief, fitted: Fit) -> tuple[Doubtful, ...]:
    """Readings that are in no fit beside what the answer's expects there."""
    found = []
    for row in b.doubts.rows:
        t, value = float(b.samples.times[row]), float(b.samples.values[row])
        above, error, _ = seen(fitted, b.samples, row, b.noise.spread)
        expected = value - fitted.noise_std * above
        found.append(Doubtful(t, value, expected, abs(above) / error))
    return tuple(found)
