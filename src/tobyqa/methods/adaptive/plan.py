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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...result import Status
from ...step import ball_step
from . import fits
from .answer import expected_excess
from .belief import Belief, Plan
from .centre import best_row
from .components import Components
from .fit import Fit
from .likelihood import bounded, pinned
from .noise import digits
from .options import Options
from .probe import NOISE_FLOOR
from .region import change, is_outdated, reshaped, rounded, size_factor
from .window import coefficients, relative_variances

Array = NDArray[np.float64]

_SHORTER = np.array([1.0, 0.5, 0.25, 0.125])  # fractions of a step that are compared
_BLUR = 5.0  # noise units per region: noise alone leaves a gradient less uncertain
_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_DRIFT_FLOOR = 1e-7  # of the range of the readings as they are, drift included
_OTHER_NOISE = math.log(2.0)  # change of its variance that calls for other components
_READINGS_A_REFIT = 25  # in the window, for each reading between likelihood searches
_SETTLED = 40  # iterations that must find nothing left to gain; fewer were deceived
_RELAPSE = 5  # of them are lost by one that finds something
_DEFAULT_FTOL = 0.05  # in units of the noise, for searches without a budget


def size_change(b: Belief, planned_by: Fit, s: Options) -> float:
    """How the region is to change after the newest reading, which was planned."""
    factor = judged(b, planned_by)
    if b.plan.blurred and s.focus:
        factor = min(factor, 0.7)  # look closer
    if b.plan.visible < max(5.0, b.task.x0.size):
        factor = max(factor, 1.2)  # differences must stand out of the noise
    return factor


def judged(b: Belief, planned_by: Fit) -> float:
    """The change of the region after a reading that was planned by an earlier fit."""
    samples, plan = b.samples, b.plan
    u = planned_by.window.frame.u(samples.points[-1:])[0]
    own = float(relative_variances(samples.sigmas[-1:], b.noise.unit)[0])
    innovation, std = planned_by.innovation(
        u, float(samples.times[-1]), float(samples.values[-1]), own
    )
    achieved = sure = float(planned_by.falls(u[None])[0]) - innovation
    if b.fitted.components.interacts:
        # The reading alone says nothing of the start. The region may grow only on a
        # fall that is sure, and is seen in what is read now as well.
        v = b.fitted.window.U[-1:]
        achieved = float(b.fitted.falls(v)[0])
        error = math.sqrt(float(b.fitted.fall_variances(v)[0]))
        sure = achieved - max(error, float(b.fitted.local_drift[-1]))
    chance = _BY_CHANCE * max(1.0, math.sqrt(own))
    promised = plan.predicted + chance
    factor = size_factor(
        ratio=None if plan.explores else (achieved + chance) / promised,
        length=math.sqrt(u @ u),
        unresolved=plan.unresolved,
        surprise=abs(innovation) / std,
    )
    is_doubtful = sure < achieved and sure + chance < 0.7 * promised
    return min(factor, 1.0) if is_doubtful else factor


def next_plan(b: Belief, s: Options) -> Belief:
    """Components, centre and region anew where that is due, and the next point."""
    b = _likelier(b, s)
    row = best_row(b.fitted, b.evidence, b.noise, cautious=s.caution)
    return _planned(_recentred(b, s, row), s)


def next_plan_at_best(b: Belief, s: Options, components: Components) -> Belief:
    """Go on from the best place so far."""
    if not b.local:
        components = replace(components, log_b=-math.inf)
    row = int(b.samples.rows_at(b.best.x)[-1])
    b = replace(b, centre=row, accepted=row == b.newest, B=b.best.B)
    return _planned(replace(b, fitted=fits.around(b, s, row, components)), s)


def _likelier(b: Belief, s: Options) -> Belief:
    """The fit with components chosen anew, where that is due."""
    k, fitted = b.iterations, b.fitted
    # It costs as much as the window is long, and teaches less, the longer it is.
    interval = max(s.refit_every, fitted.window.y.size // _READINGS_A_REFIT)
    is_off = k < 3 or fitted.is_off
    # Components of the region before show as a noise that comes and goes.
    is_outgrown = abs(math.log(fitted.nu / b.noise.nu)) > _OTHER_NOISE
    is_due = is_off or is_outgrown or k % interval == 1 % interval
    if not (s.likelihood and is_due):
        return b
    fitted = fits.improved(b, s, patient=is_off)
    return replace(b, fitted=fitted, noise=b.noise.after(fitted.nu, doubts=s.doubt))


def _recentred(b: Belief, s: Options, row: int) -> Belief:
    """The fit around its best row, in the region as it is now."""
    fitted = b.fitted
    centre = int(fitted.window.rows[row])
    unit = _assumed_noise(b)
    size, region_is_another = change(fitted, b.B)
    components = fitted.components.rescaled(size)
    # With a local drift windows are long, and making them anew takes its time. Else
    # they are: a trial of the other way was no faster to speak of, and no better.
    window_is_another = size != 1.0 and not components.interacts
    if (
        unit != b.noise.unit
        or region_is_another
        or window_is_another
        or is_outdated(fitted, row)
        or components != pinned(bounded(components), s.fixed)
    ):
        b, components = b.in_unit(unit, components)
        fitted = fits.around(b, s, centre, components)
    else:
        fitted = fitted.resized(size, components)
        centre = int(fitted.window.rows[fitted.window.centre])
    return replace(b, fitted=fitted, centre=centre, accepted=centre == b.newest)


def _assumed_noise(b: Belief) -> float:
    """The noise to be assumed: as stated, but not less than the fit has digits for.

    What varies a million times as much within the region leaves the noise no digit.
    The unit follows the region as it shrinks, in large strides.
    """
    window = b.fitted.window
    varies = b.fitted.noise_std * float(np.ptp(b.fitted.steady[window.inside]))
    # The drift costs digits too, though it is known better than its own size.
    reads = b.noise.unit * float(np.ptp(window.y))
    unit = max(
        b.noise.stated,
        NOISE_FLOOR * varies,
        _DRIFT_FLOOR * reads,
        digits(window.frame.level),
    )
    return unit if not 0.1 <= unit / b.noise.unit <= 10.0 else b.noise.unit


def _planned(b: Belief, s: Options) -> Belief:
    """The next point, the shape of the region, and whether to stop."""
    plan = _step(b.fitted, may_explore=s.explore and b.iterations % 2 == 0)
    B = b.B
    enough = b.fitted.window.y.size >= coefficients(len(B))
    if s.reshape and enough and not b.fitted.is_off:
        B = reshaped(B, b.fitted)
    if b.iterations % 5 == 0:
        B = rounded(B)
    b = replace(b, B=B, plan=plan, settled=_settled(b, s))
    return replace(b, status=_status(b))


def _step(fitted: Fit, *, may_explore: bool) -> Plan:
    """A step by the fit; where the gradient is not resolved, rather an exploration."""
    g, (e, Q) = fitted.g, fitted.eigen
    # The quadratic knows the centre only, the fit every reading: it says how far
    # the quadratic's step can be trusted.
    steps = np.outer(_SHORTER, ball_step(g, e, Q))
    falls = fitted.falls(steps)
    s = steps[falls.argmax()]
    variances, directions = np.linalg.eigh(fitted.gradient_covariance)
    unresolved = math.sqrt(max(variances[-1], 0.0)) > 0.5 * math.sqrt(g @ g)
    explores = may_explore and unresolved
    u = s
    if explores:
        v = directions[:, -1]
        u = 0.3 * s + (-v if g @ v > 0 else v)
        u = u / math.sqrt(u @ u)
    return Plan(
        x=fitted.window.frame.point(u),
        predicted=max(float(falls.max()), 0.0),
        unresolved=unresolved,
        explores=explores,
        visible=float(np.maximum(0.5 * np.abs(e), np.abs(Q.T @ g)).max()),
        # A local drift leaves the gradient at the start unknown at any size.
        blurred=unresolved
        and variances[-1] > _BLUR**2
        and fitted.window.is_dense
        and not fitted.components.interacts,
    )


def _settled(b: Belief, s: Options) -> int:
    """Iterations up to this one that found nothing left to gain.

    In a curved valley single fits are sure of a minimum that is none; what they say
    counts only once many of them agree.
    """
    ftol = s.ftol
    if ftol == 0.0:
        if b.task.has_budget:
            return 0
        ftol = _DEFAULT_FTOL * b.fitted.noise_std
    if expected_excess(b.fitted) < ftol:
        return b.settled + 1
    return max(b.settled - _RELAPSE, 0)


def _status(b: Belief) -> Status:
    """Whether the search has run away, found its place or has no digits left."""
    size, x = float(np.abs(b.B).max()), b.centre_point
    assert b.task.radius is not None
    if not (math.isfinite(size) and np.abs(b.plan.x).max() < LARGEST_COORDINATE):
        return Status.UNBOUNDED
    if size < 1e-13 * max(min(1.0, b.task.radius), math.sqrt(x @ x)):
        return Status.STAGNATED
    return Status.SETTLED if b.settled >= _SETTLED else Status.RUNNING
