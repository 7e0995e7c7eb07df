"""What follows from a doubt: a place measured again, a reading left out or taken in."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...frozen import replace
from ...spacetime.fit import Fit
from ...spacetime.strange import of_newest, strangest
from ...spacetime.window import relative_variances
from ...state import Doubtful
from ...stuck import stuck_now
from .belief import PATIENT, Asking, Belief

Array = NDArray[np.float64]

_ALIKE = 5.0  # standard errors of the difference of two readings
_TWICE = 2  # readings that a very strange one must agree with
_OFTEN = 3  # rechecks of one place, after which all its readings count


def is_doubted(b: Belief) -> bool:
    """Whether the newest reading is left out."""
    return b.newest in b.doubts.rows


def looked_again(b: Belief) -> Belief:
    """With the plan to measure its place again."""
    return visiting(replace(b, recheck=None), b.plan.x)


def visiting(b: Belief, place: Array) -> Belief:
    """With the plan to measure a known place."""
    return replace(b, plan=replace(b.plan, x=place, rechecks=True))


def suspects_at(b: Belief, x: Array) -> NDArray[np.int64]:
    """Rows of the readings at a place that are doubted."""
    suspects = b.doubts.suspected
    here = [np.array_equal(b.samples.points[row], x) for row in suspects]
    return np.array(suspects, dtype=np.int64)[here]


def agreed(b: Belief) -> Belief:
    """With those of the doubted readings at the newest one's place that it confirms.

    It does so if they are alike, or nearer to each other than to what the fit expects:
    a place that drifts on its own goes on doing so meanwhile. Of what is very strange
    two must be like it: single ones go wrong alike. If there are many and none agrees,
    it is not for the readings to be doubted.
    """
    fitted, values, new = b.fitted, b.samples.values, b.newest
    rows = suspects_at(b, b.samples.points[new])
    rows = rows[rows != new]
    if not rows.size:
        return b
    drift, error = fitted.drift_since(b.samples.times[rows], b.samples.times[[new]])
    own = relative_variances(b.samples.sigmas, fitted.window.frame.noise)
    with np.errstate(over="ignore", invalid="ignore"):  # then they are not alike
        errors = np.sqrt(own[rows] + own[new] + error**2)
        apart = np.abs((values[rows] - values[new]) / fitted.noise_std - drift)
        off = np.array([abs(_seen(b, fitted, row).above) for row in (*rows, new)])
        close = np.maximum(_ALIKE * errors, np.minimum(off[:-1], off[-1]))
    alike = rows if rows.size >= _OFTEN else rows[apart <= close]
    enough = _TWICE if is_doubted(b) and b.doubts.is_strong(new) else 1
    if alike.size < enough:
        return b
    return b.with_centre_repeated().believing(*map(int, alike), new)


def doubting(b: Belief) -> Belief:
    """After a search of the likelihood: suspects that are none, and one that may be."""
    b = _acquitted(b)
    if b.drifts_locally or not b.doubts.affords(len(b.samples)):
        return b
    rows = b.fitted.window.rows
    known = np.isin(rows, [*b.doubts.right]) | _compared(b, rows)
    place, strangeness = strangest(b.fitted, b.noise.spread, known)
    return _without(b, int(rows[place]), strangeness)


def _compared(b: Belief, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which places were measured again, but for the start, which the probe repeats.

    If a drift depends on the place, they show it: that is not for the fit to deny.
    """
    points = b.samples.points
    places = [x.tobytes() for x in points + 0.0]  # one zero, whatever its sign
    readings = Counter(places)
    # In flight it is not always the first that is back; old readings may be there too.
    starts = b.samples.rows_at(b.task.x0)
    start = int(starts[0]) if starts.size else 0  # as it could be set
    asked = b.samples.asked[b.samples.rows_at(points[start])]
    readings[places[start]] = int(np.count_nonzero(asked)) - 1
    return np.array([readings[places[row]] >= 2 for row in rows], dtype=bool)


def _acquitted(b: Belief) -> Belief:
    """With suspects in the fit that it can explain by now.

    With all of them, once the drift depends on the place: it was that.
    """
    suspects = b.doubts.suspected
    if b.drifts_locally and suspects:
        return b.believing(*suspects)
    fine = [
        row for row in suspects if -math.inf < _seen(b, b.fitted, row).strangeness < 0.0
    ]
    return b.believing(*fine) if fine else b


def _without(b: Belief, row: int, strangeness: float) -> Belief:
    """Without a row, if the others deny it, and do so by the best fit of theirs."""
    if not b.doubts.denies(strangeness):
        return b
    before, b = b, replace(b, doubts=b.doubts.plus(row, strangeness))
    b = at_what_counts(b)
    fitted = b.improved(b.fit_around(b.centre, before.fitted.components), PATIENT)
    if not b.doubts.denies(_seen(b, fitted, row).strangeness):
        return before
    is_alone = not b.rows_at(b.samples.points[row]).size
    return replace(b.with_fit(fitted), recheck=row if is_alone else None)


def at_what_counts(b: Belief) -> Belief:
    """With a centre that has a reading which counts, or else the lowest near by."""
    if b.centre in b.left_out:
        b = replace(b, centre=_another_centre(b), accepted=False)
    return b


def _another_centre(b: Belief) -> int:
    same = b.rows_at(b.centre_point)
    if same.size:
        return int(same[-1])
    window, smooth = b.fitted.window, b.fitted.smooth
    counts = ~np.isin(window.rows, b.left_out)
    for places in (np.flatnonzero(counts & window.inside), np.flatnonzero(counts)):
        if places.size:
            lowest = places[smooth[places].argmin()]
            return int(window.rows[lowest])
    others = np.setdiff1d(np.arange(len(b.samples)), b.left_out)
    return int(others[-1])


def is_stuck(b: Belief) -> bool:
    """Whether the sensor is, since some readings up to the newest."""
    return b.newest in b.doubts.stuck


def awake(b: Belief) -> Asking[Belief]:
    """Readings at the centre until they are not what the sensor is stuck at.

    If the first one is not, the sensor is alive: it is saturated where it read the
    same again and again, or the function is flat there.
    """
    samples = b.samples
    rows = stuck_now(samples.points, samples.values, b.fitted.noise_std).tolist()
    b = at_what_counts(b)
    b = b.with_fit(b.improved(b.refitted().fitted, PATIENT))
    b = visiting(replace(b, recheck=None), b.centre_point)
    looks = 0
    while is_stuck(b):
        reading = yield b.plan, b
        if reading is None:
            continue
        if reading.failed:
            return b
        b = b.plus(reading)
        looks += 1
    return b.believing(*rows) if looks == 1 else b


class _Seen(NamedTuple):
    """A reading beside what a fit without it expects, relative to the noise."""

    above: float
    error: float
    strangeness: float


def _seen(b: Belief, fitted: Fit, row: int) -> _Seen:
    frame, samples = fitted.window.frame, b.samples
    u = frame.u(samples.points[row])
    functional = fitted.reading(u, float(samples.times[row]))
    mean, variance = fitted.predicted(functional)
    y, own = frame.reading(samples, row)
    above, variance = y / math.sqrt(fitted.nu) - mean, variance + own
    strangeness = of_newest(fitted, above, variance, b.noise.spread)
    return _Seen(above, math.sqrt(variance), strangeness)


def doubtful(b: Belief, fitted: Fit) -> tuple[Doubtful, ...]:
    """The suspects beside what the answer's fit expects there."""
    found = []
    for row in sorted({*b.doubts.suspected} | b.doubts.stuck):
        t, value = float(b.samples.times[row]), float(b.samples.values[row])
        seen = _seen(b, fitted, row)
        expected = value - fitted.noise_std * seen.above
        found.append(Doubtful(t, value, expected, abs(seen.above) / seen.error))
    return tuple(found)
