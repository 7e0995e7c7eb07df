"""What is measured beside the plan, when several trials are out.

The plan comes first, unless one of the trials that are out is at nearly the same place;
then the step, and a longer one, if the plan is none; then explorations along the ways
that will be known least once all those trials have come back: readings that are still
out are counted in, as `imagined` does it.

=======  ===============================================================  =======
symbol   meaning                                                          shape
=======  ===============================================================  =======
s        the step of the fit, in regions                                  (n,)
U        positions of trials that are out                                 (k, n)
=======  ===============================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...spacetime.face import lowest
from ...spacetime.imagined import gradient_covariance_with
from ...spacetime.window import FARTHEST
from ...state import Proposal, Why
from .belief import Belief
from .plan import sideways

Array = NDArray[np.float64]
Waiting = tuple[Array, ...]

_NEAR = 0.3  # regions; a trial nearer than that tells about the same
_LONGER = 2.0  # steps
_LONG = 0.9  # regions; a step to the edge may be too short
_TRIES = 12  # ways that are drawn at random, of which the loneliest is taken


def further(b: Belief, proposal: Proposal | None, waiting: Waiting) -> Proposal:
    """The plan, or what is worth more beside the trials that are out."""
    if proposal is not None and proposal.why in (Why.COMPARISON, Why.RECHECK):
        return proposal
    for place in b.to_come:
        if _count(place, waiting) < _count(place, (b.plan.x, *b.to_come)):
            return Proposal(place, Why.COMPARISON)
    frame = b.fitted.window.frame
    U = frame.u(np.array([*waiting, *b.failed]))
    s = lowest(b.fitted, b.task.area).trusted
    if _distance(s, U) > _NEAR:
        if proposal is not None and not b.plan.explores:
            return proposal
        return _proposal(b, s, Why.STEP)
    if math.sqrt(s @ s) > _LONG and not b.plan.unresolved:
        longer = _LONGER * s
        if _distance(longer, U) > _LONGER * _NEAR:
            return _proposal(b, longer, Why.STEP)
    return _proposal(b, _exploration(b, s, U, waiting), Why.EXPLORATION)


def _count(place: Array, places: Waiting) -> int:
    return sum(np.array_equal(place, other) for other in places)


def _distance(u: Array, U: Array) -> float:
    """From the nearest of these positions."""
    return math.sqrt(float(((U - u) ** 2).sum(axis=1).min(initial=math.inf)))


def _proposal(b: Belief, u: Array, why: Why) -> Proposal:
    x = b.fitted.window.frame.point(u)
    return Proposal(x if b.task.area is None else b.task.area.nearest(x), why)


def _exploration(b: Belief, s: Array, U: Array, waiting: Waiting) -> Array:
    """Along the way that will be known least, away from the trials that are out."""
    for v in _known_least(b, waiting):
        u = max(sideways(s, v), key=lambda u: _distance(u, U))
        if _distance(u, U) > _NEAR:
            return np.asarray(u)
    rng = np.random.default_rng([b.task.seed, b.iterations, len(waiting)])
    drawn = rng.standard_normal((_TRIES, s.size))
    drawn /= np.linalg.norm(drawn, axis=1)[:, None]
    drawn *= rng.uniform(0.3, 1.0, (_TRIES, 1))
    return np.asarray(max(drawn, key=lambda u: _distance(u, U)))


def _known_least(b: Belief, waiting: Waiting) -> Array:
    """Ways by how little will be known of the gradient along them, one per row.

    Trials so far away that they tell nothing here are left out.
    """
    fitted = b.fitted
    U = fitted.window.frame.u(np.array(waiting))
    U = U[np.einsum("ij,ij->i", U, U) < FARTHEST**2]
    now = np.full(len(U), b.samples.times[-1])
    _, directions = np.linalg.eigh(gradient_covariance_with(fitted, U, now))
    return np.asarray(directions.T[::-1])
