"""The next point: the model's minimum in the region, or the least known way.

==========  ================================================================
symbol      meaning
==========  ================================================================
g, H        gradient and Hessian at the centre, in units of u and of noise
e, Q        eigenvalues and eigenvectors of H
s           step, in regions; u the position that is planned
==========  ================================================================
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...frozen import replace
from ...polyhedron import Polyhedron
from ...result import Status
from ...spacetime.face import Face, lowest, slope_of
from ...spacetime.fit import Fit
from ...spacetime.precision import expected_excess
from ...spacetime.window import mean_axis
from .belief import PATIENT, Belief, Plan
from .centre import best_row
from .noise import NOISE_FLOOR, digits
from .recheck import doubting
from .region import reshaped

Array = NDArray[np.float64]

_DRIFT_FLOOR = 1e-7  # of the range of the readings as they are, drift included
_BLUR = 5.0  # noise units per region: noise alone leaves a gradient less uncertain
_OTHER_NOISE = math.log(2.0)  # change of its variance that calls for other components
_READINGS_A_REFIT = 15  # in the window, for each reading between likelihood searches
_MOVED = 0.3  # regions between the best point and the centre of a fit, at the most
_CHANGED = 0.1  # relative change of the region's shape that a fit bears
_AS_LARGE = 0.01  # relative change of its size that is none
_MOST_ROWS = 12  # by which a fit is extended before old readings are dropped
_ROOM = 0.3  # regions that an exploration must find in its way
_WITHIN = 0.9  # regions; a minimum at the edge is where the step ends, not the function
_SETTLED = 40  # iterations that must find nothing left to gain; fewer were deceived
_RELAPSE = 5  # of them are lost by one that finds something
_DEFAULT_FTOL = 0.05  # in units of the noise, for searches without a budget


def next_plan(b: Belief) -> Belief:
    """Components, centre and region anew where that is due, and the next point."""
    b = _likelier(b)
    return planned(_recentred(b, best_row(b.fitted, b.noise, b.task.area)))


def next_plan_at_best(b: Belief) -> Belief:
    """Go on from the best place so far."""
    row = int(b.rows_at(b.best.x)[-1])
    b = replace(b, centre=row, accepted=row == b.newest, B=b.best.B)
    return planned(b.refitted())


def _likelier(b: Belief) -> Belief:
    """The fit with components chosen anew, where that is due."""
    k, fitted = b.iterations, b.fitted
    # It costs as much as the window is long, and teaches less, the longer it is.
    interval = max(b.s.refit_every, fitted.window.y.size // _READINGS_A_REFIT)
    is_off = k < 3 or fitted.is_off
    # Components of the region before show as a noise that comes and goes.
    is_outgrown = abs(math.log(fitted.nu / b.noise.nu)) > _OTHER_NOISE
    is_due = is_off or is_outgrown or k % interval == 1 % interval
    if not (b.s.likelihood and is_due):
        return b
    b = b.with_fit(b.improved(fitted, PATIENT if is_off else 1))
    return doubting(b) if b.s.robust else b


def _recentred(b: Belief, row: int) -> Belief:
    """The fit around its best row, in the region as it is now.

    A fit that is a little off, or extended a little, is as good as one made anew.
    """
    window, noise = b.fitted.window, b.noise
    ratio, u = window.frame.back @ b.B, window.U[row]
    size = mean_axis(ratio)
    unit = _assumed_noise(b)
    is_good = (
        unit == noise.unit
        and abs(size - 1.0) < _AS_LARGE
        and float(np.abs(ratio - np.eye(len(ratio))).max()) < _CHANGED
        and float(u @ u) <= _MOVED**2
        and window.extended < _MOST_ROWS
    )
    if is_good:
        return b
    centre = int(window.rows[row])
    components = b.fitted.components.rescaled(size, unit / noise.unit)
    b = replace(
        b,
        noise=replace(noise, unit=unit),
        centre=centre,
        accepted=np.array_equal(b.samples.points[centre], b.samples.points[-1]),
    )
    return replace(b, fitted=b.fit_around(centre, components))


def _assumed_noise(b: Belief) -> float:
    """The noise to be assumed; it follows the shrinking region in large strides."""
    unit = credited_noise(b)
    return unit if not 0.1 <= unit / b.noise.unit <= 10.0 else b.noise.unit


def credited_noise(b: Belief) -> float:
    """The noise as stated, but not less than the fit has digits for.

    What varies a million times as much within the region leaves the noise no digit.
    """
    window = b.fitted.window
    varies = b.fitted.noise_std * float(np.ptp(b.fitted.steady[window.inside]))
    # The drift costs digits too, though it is known better than its own size.
    reads = b.noise.unit * float(np.ptp(window.y))
    floor = max(NOISE_FLOOR * varies, _DRIFT_FLOOR * reads, digits(window.frame.level))
    return max(b.noise.stated, floor)


def planned(b: Belief) -> Belief:
    """The next point, the shape of the region, and whether to stop."""
    face = lowest(b.fitted, b.task.area)
    plan = _step(b, face, may_explore=b.s.explore and b.iterations % 2 == 0)
    B, settled = reshaped(b), _settled(b, face)
    status = _status(b, B, plan, settled)
    minima = b.minima
    if face.is_minimum and face.u @ face.u < _WITHIN**2:
        # As many as it takes for the newest readings to have changed the fit.
        minima = (*minima, b.fitted.window.frame.point(face.u))[-3 * face.u.size :]
    return replace(b, B=B, plan=plan, settled=settled, status=status, minima=minima)


def _step(b: Belief, face: Face, *, may_explore: bool) -> Plan:
    """A step by the fit; where the gradient is not resolved, rather an exploration."""
    fitted, area = b.fitted, b.task.area
    s, slope = face.trusted, slope_of(face)
    explores = may_explore and slope.is_unresolved
    x = fitted.window.frame.point(s)
    if explores:
        v = slope.least_known
        x = _explored(fitted, s, -v if fitted.g @ v > 0 else v, area)
    return Plan(
        x=x,
        unresolved=slope.is_unresolved,
        explores=explores,
        visible=slope.visible,
        # A local drift leaves the gradient at the start unknown at any size.
        blurred=slope.is_unresolved
        and slope.variance > (_BLUR * fitted.unrest) ** 2
        and fitted.window.is_dense
        and not fitted.components.interacts,
    )


def _explored(fitted: Fit, s: Array, v: Array, area: Polyhedron | None) -> Array:
    """A point along `v`, or along -v where that leads out of the area at once."""
    frame = fitted.window.frame
    points = [frame.point(u) for u in sideways(s, v)]
    if area is None:
        return points[0]
    points = [area.nearest(x) for x in points]
    far = np.linalg.norm(frame.u(np.array(points)), axis=1)
    return points[0] if far[0] > _ROOM or far[0] >= far[1] else points[1]


def sideways(s: Array, v: Array) -> list[Array]:
    """To the edge of the region along `v` and along -v, leaning towards the step."""
    ways = [0.3 * s + v, 0.3 * s - v]
    return [u / math.sqrt(u @ u) for u in ways]


def _settled(b: Belief, face: Face) -> int:
    """Iterations up to this one that found nothing left to gain.

    In a curved valley single fits are sure of a minimum that is none; what they say
    counts only once many of them agree.
    """
    ftol = b.s.ftol
    if ftol == 0.0:
        if b.task.has_budget:
            return 0
        ftol = _DEFAULT_FTOL * b.fitted.noise_std
    if expected_excess(face) < ftol:
        return b.settled + 1
    return max(b.settled - _RELAPSE, 0)


def _status(b: Belief, B: Array, plan: Plan, settled: int) -> Status:
    """Whether the search has run away, found its place or has no digits left."""
    size, x = float(np.abs(B).max()), b.centre_point
    assert b.task.radius is not None
    if not (math.isfinite(size) and np.abs(plan.x).max() < LARGEST_COORDINATE):
        return Status.UNBOUNDED
    if size < 1e-13 * max(min(1.0, b.task.radius), math.sqrt(x @ x)):
        return Status.STAGNATED
    return Status.SETTLED if settled >= _SETTLED else Status.RUNNING
