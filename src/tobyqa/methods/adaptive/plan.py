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

from ...step import ball_step
from .posterior import Posterior
from .search import Plan

_SHORTER = np.array([1.0, 0.5, 0.25, 0.125])  # fractions of a step that are compared
_BLUR = 5.0  # noise units per region: noise alone leaves a gradient less uncertain


def planned(fitted: Posterior, *, may_explore: bool) -> Plan:
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
