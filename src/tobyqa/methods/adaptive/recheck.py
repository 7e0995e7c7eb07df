"""What follows from a doubt: a reading left out or taken in, a place measured again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...spacetime import strange
from ...spacetime.fit import Fit
from ...spacetime.likelihood import start_components
from ...state import Doubtful
from ...stuck import stuck_now
from .belief import PATIENT, TO_SPARE, Asking, Belief, Place
from .doubts import DENIED

Array = NDArray[np.float64]

_ALIKE = 7.0  # noise levels
_OFTEN = 3  # suspects at one place that do not agree: it is not for them to be doubted
_SPEAKS = 3  # readings that a place was asked for, whose drift they show if it has one


def visiting(b: Belief, place: Array, *, rechecks: bool) -> Belief:
    """With the plan to measure a known place."""
    plan = replace(b.plan, x=place, revisits=True, rechecks=rechecks)
    return replace(b, plan=plan)


def agreed(b: Belief) -> Belief:
    """With the readings at the newest one's place, if they agree, and one is doubted.

    They do if they are alike, or nearer to each other than to what the fit expects: a
    place that drifts on its own goes on doing so. Two wrong readings in a row may
    agree: what is twice as strange as it need be takes a third one.
    """
    here = b.samples.rows_at(b.samples.points[b.newest]).tolist()
    suspects = b.doubts.suspects.intersection(here)
    if not suspects:
        return b
    seen = {row: b.seen(row) for row in here if row not in b.doubts.out}
    above, _, strangeness = seen[b.newest]
    group = {
        row
        for row, (other, _, _) in seen.items()
        if abs(other - above) <= max(_ALIKE, min(abs(other), abs(above)))
    }
    if len(suspects) > _OFTEN:
        group |= suspects
    takes_more = strangeness > 2.0 * DENIED and group <= suspects
    is_enough = len(group) >= (3 if takes_more else 2) and group & suspects
    return b.with_centre_repeated().believing(*group) if is_enough else b


def doubting(b: Belief) -> Belief:
    """After a search of the likelihood: suspects that are none, and one that may be.

    All of them are none once the drift depends on the place: it was that.
    """
    fine = [
        row
        for row in b.doubts.suspects
        if b.local or -math.inf < b.seen(row).strangeness < 0.0
    ]
    b = b.believing(*fine) if fine else b
    if b.recheck is not None or not b.may_doubt:
        return b
    place, strangeness = strange.strangest(b.fitted, b.noise.spread, _is_known(b))
    if strangeness < DENIED:
        return b
    return anew(b.doubting(int(b.fitted.window.rows[place])))


def _is_known(b: Belief) -> NDArray[np.bool_]:
    """Rows of the window that are not for the fit to deny.

    Those that proved right, those at a place that speaks for itself, and the only one
    at the best place, which is for a comparison to deny.
    """
    points = b.samples.points + 0.0  # one zero, whatever its sign
    _, place = np.unique(points, axis=0, return_inverse=True)
    known = (np.bincount(place.ravel(), b.samples.asked) >= _SPEAKS)[place.ravel()]
    known[[*b.doubts.right]] = True
    best = b.rows_at(b.best.x)
    known[best] |= best.size == 1
    return np.asarray(known[b.fitted.window.rows])


def anew(b: Belief) -> Belief:
    """Once other readings count: with the nearest centre and a best place that have
    some, and a fit whose components are searched from the beginning.
    """
    if b.centre in b.left_out:
        counting = np.setdiff1d(np.arange(len(b.samples)), b.left_out)[::-1]
        U = np.linalg.solve(b.B, (b.samples.points[counting] - b.centre_point).T)
        nearest = int(counting[(U**2).sum(axis=0).argmin()])
        b = replace(b, centre=nearest, accepted=nearest == b.newest)
    if not b.rows_at(b.best.x).size:
        b = replace(b, best=Place(b.centre_point, b.B))
    b = b.refitted()
    if not b.s.likelihood:
        return b
    start = start_components(b.fitted.window, b.s.limits)
    return b.with_fit(b.improved(b.fit_around(b.centre, start), PATIENT))


def stuck_rows(b: Belief) -> list[int]:
    """Readings of a sensor that is stuck up to now; mostly none."""
    if not (b.s.robust and b.doubts.affords(len(b.samples))):
        return []
    rows = stuck_now(b.samples.points, b.samples.values, b.fitted.noise_std).tolist()
    left = len(b.samples) - len(b.doubts.out.union(rows))
    return rows if left >= len(b.B) + TO_SPARE else []


def awake(b: Belief) -> Asking[Belief]:
    """Readings at the centre until they are not what the sensor is stuck at.

    If the first one is not, the sensor is alive: it is saturated where it read the
    same again and again, or the function is flat there.
    """
    found, looks = stuck_rows(b), 0
    while rows := stuck_rows(b):
        b = anew(replace(b, doubts=b.doubts.left_out(rows), recheck=None))
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
        above, error, _ = strange.seen(fitted, b.samples, row, b.noise.spread)
        expected = value - fitted.noise_std * above
        found.append(Doubtful(t, value, expected, abs(above) / error))
    return tuple(found)
