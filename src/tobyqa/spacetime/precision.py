"""How well the minimum of a fit is known.

    x - x* = B H^-1 (slope of the function at x*),  with all that the fit does not know:
    gradient, curvature, and what lies beyond the quadratic

======  ===============================================================  ========
symbol  meaning                                                          shape
======  ===============================================================  ========
u       the minimum, in the region                                       (n,)
H       curvature of the fit at u                                        (n, n)
e, Q    its eigenvalues and eigenvectors along the free ways, as         (k,),
        directions in the region                                         (n, k)
C       posterior covariance of the slope at u                           (n, n)
======  ===============================================================  ========
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ..polyhedron import Polyhedron
from ..scaling import norm
from .face import Face, lowest
from .fit import Fit
from .strange import freedom
from .window import FARTHEST

Array = NDArray[np.float64]

INSIDE = 0.5  # regions; a minimum farther out is not believed
_STEPS = 10  # of Newton's method
_NEAR = 1e-6  # regions; a step as short as that is the last
_FARTHEST = 0.3  # regions between the quadratic's minimum and that of the fit
_AROUND = 0.5, 2.0  # regions from a minimum, between which the function must rise
_AS_STEEP = 0.6  # times as much as its quadratic, at the least
_UNSURE = 2.0  # standard errors: a curvature must be more above zero, and minima of
# earlier fits may not differ by more
_CONFIDENCE = 0.975
_NORMAL = 1.959963984540054  # its quantile of the normal distribution
ROUNDING = 1e-12  # of the largest that a movement could be


def refined(face: Face, area: Polyhedron | None) -> Array:
    """The minimum of all that the fit knows, near that of its quadratic.

    Newton's method along the free ways; the quadratic's own minimum where that leads
    out of the region, out of the area, or up.
    """
    fitted, Z, u = face.fitted, face.Z, face.u
    for _ in range(_STEPS):
        slope = Z.T @ fitted.slope_at(u)
        curvature = Z.T @ fitted.curvature_at(u) @ Z
        e, Q = np.linalg.eigh(curvature)
        along = Q.T @ slope
        # Told before it is divided: a step of twice that length leads out for sure, and
        # a curvature that is next to nothing would take it beyond all numbers.
        is_far = np.abs(along) > 2.0 * _FARTHEST * e
        if not (e > 0.0).all() or is_far.any():
            return face.u
        step = Z @ (Q @ (along / e))
        u = u - step
        if not norm(u - face.u) < _FARTHEST:
            return face.u
        if norm(step) < _NEAR:
            break
    ends = np.array([face.u, u])
    falls = fitted.falls(ends)
    is_allowed = area is None or area.holds(fitted.window.frame.point(u)[None])[0]
    return u if is_allowed and falls[1] > falls[0] else face.u


@dataclass(frozen=True)
class Precision:
    """The error of a minimum, in the search's variables."""

    u: Array  # the minimum, in the region
    covariance: Array  # NaN where the minimum is not determined
    open_way: Array | None  # along which it is not


def precision(
    fitted: Fit,
    area: Polyhedron | None,
    spread: float,
    minima: Sequence[Array] = (),
) -> Precision:
    """That of a fit's minimum; only if the function is about quadratic around it.

    `minima`: those of fits before, made of nearly the same readings. Where the model
    is right they differ by about its error; where they differ by more it is not.
    """
    face = lowest(fitted, area)
    unknown = _unknown(fitted.window.frame.B, face.ways)
    if norm(face.u) > FARTHEST:  # the allowed area is as far from the readings
        return Precision(face.u, unknown, None)
    known = _by_fit(face, refined(face, area), spread)
    if known.open_way is not None or not face.Z.size:
        return known
    # As if the function were as flat as that: where it bends, its minimum is elsewhere.
    steep = _least_rise(face, known.u)
    if steep > _AS_STEEP:
        known = replace(known, covariance=known.covariance / steep**2)
        if not _moves(face, known, minima):
            return known
    return replace(known, covariance=unknown)


def _by_fit(face: Face, u: Array, spread: float) -> Precision:
    """The error of the minimum `u`, on the face, as one fit has it."""
    fitted, B = face.fitted, face.fitted.window.frame.B
    e, W = np.linalg.eigh(face.Z.T @ fitted.curvature_at(u) @ face.Z)
    ways = face.Z @ W
    errors = np.sqrt(fitted.curvature_variances(ways))
    doubtful = e - _UNSURE * errors
    if e.size and doubtful.min() <= 0.0:
        return Precision(u, _unknown(B, ways), B @ ways[:, doubtful.argmin()])
    # Of 1 / (e + error z) to second order; the slope is as good as independent of it.
    blown = 1.0 + 3.0 * (errors / np.where(e > 0.0, e, 1.0)) ** 2
    moved = B @ (ways * np.sqrt(blown) / e) @ ways.T
    size = np.hypot.reduce(B, axis=1) * np.hypot.reduce(1.0 / e, axis=None, initial=0.0)
    moved[np.hypot.reduce(moved, axis=1) <= ROUNDING * size] = 0.0
    t = wider(fitted, spread)
    with np.errstate(over="ignore", invalid="ignore"):  # then it is not known
        C = t**2 * moved @ fitted.slope_covariance(u) @ moved.T
    return Precision(u, 0.5 * (C + C.T), None)


def _moves(face: Face, known: Precision, minima: Sequence[Array]) -> bool:
    """Whether the minima of fits lie farther apart than its error lets expect."""
    frame, Z = face.fitted.window.frame, face.Z
    squares = [0.0]
    for minimum in minima:
        way = frame.B @ (Z @ (Z.T @ (frame.u(minimum[None])[0] - known.u)))
        squares.append(float(way @ way))
    return max(squares) > _UNSURE**2 * float(np.trace(known.covariance))


def _least_rise(face: Face, u: Array) -> float:
    """Rise from the minimum `u` to the readings around, relative to the quadratic's.

    The least of all, 1 at the most. To one side of a skewed function, and along a
    valley that bends, it is much less.
    """
    fitted, Z = face.fitted, face.Z
    V = (fitted.window.U - u) @ Z
    far = np.hypot.reduce(V, axis=1)
    V = V[(_AROUND[0] < far) & (far < _AROUND[1])]
    falls = fitted.falls(np.vstack([u, u + V @ Z.T]))
    H = Z.T @ fitted.curvature_at(u) @ Z
    quadratic = 0.5 * np.einsum("ij,jk,ik->i", V, H, V)
    return float(np.min((falls[0] - falls[1:]) / quadratic, initial=1.0))


def _unknown(B: Array, ways: Array) -> Array:
    """NaN, but for coordinates that no free way changes."""
    moves = np.hypot.reduce(B @ ways, axis=1, initial=0.0)
    is_free = moves > ROUNDING * np.hypot.reduce(B, axis=1)
    return np.where(np.logical_and.outer(is_free, is_free), math.nan, 0.0)


def wider(fitted: Fit, spread: float) -> float:
    """By how much intervals are wider for a noise that is not known for sure."""
    k = freedom(fitted, spread)
    return float(stdtrit(k, _CONFIDENCE)) / _NORMAL


def expected_excess(face: Face) -> float:
    """Expected height of the centre above the minimum; infinite if that is not known.

    (5) in docs/method.md: with gradient g and its covariance P,
    (g'H^-1 g + tr H^-1 P) / 2, every curvature taken two standard errors
    lower than estimated. It counts as known if all are positive even so,
    the readings are as loud as the model says, and the minimum is well inside the
    region. On a face: along the free ways, from the foot of the centre on it.
    """
    fitted, ways = face.fitted, face.ways
    low = face.eigen[0] - 2.0 * np.sqrt(fitted.curvature_variances(ways))
    if fitted.is_off or not (low > 0.0).all():
        return math.inf
    foot = face.u - face.Z @ (face.Z.T @ face.u)
    slope = fitted.g + fitted.hessian @ foot
    h = ways.T @ slope
    if np.sum((h / low) ** 2) > INSIDE**2:
        return math.inf
    P = np.sum((ways.T @ fitted.solution.V[1:-1]) ** 2, axis=1)
    to_face = max(-0.5 * float((fitted.g + slope) @ foot), 0.0)
    return fitted.noise_std * (to_face + 0.5 * float(np.sum((h**2 + P) / low)))
