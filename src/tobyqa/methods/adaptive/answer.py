"""The answer: which place is recommended, and what is known of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...polyhedron import Polyhedron
from ...spacetime.face import lowest
from ...spacetime.fit import Fit
from ...spacetime.precision import INSIDE, refined
from .belief import Belief
from .centre import best_row, explains_readings
from .noise import Noise

Array = NDArray[np.float64]
_Answer = tuple[Fit, Array]  # a fit and a position in its region

_JUDGED_WITHIN = 2.0  # regions; a fit says little of what is farther out


def recommended(fitted: Fit, noise: Noise, area: Polyhedron | None) -> Array:
    """The model's minimum if it is well inside the region, else the best known place.

    A minimum at the edge is where the model knows least, and has been chosen for
    seeming low: as an answer it was mostly worse than the centre. The search may go
    there and look; an answer is not looked at.
    """
    face = lowest(fitted, area)
    is_inside = face.is_minimum and face.u @ face.u < INSIDE**2
    is_believed = is_inside and explains_readings(fitted, noise)
    return refined(face, area) if is_believed else np.zeros_like(face.u)


def answer(b: Belief) -> _Answer:
    """A wider fit and the position in its region that it recommends.

    Of two: around the centre, and around the best place that a comparison has
    confirmed. The safer one is given, the second if they cannot be compared. Before
    there was a comparison the start is confirmed by nothing: it is the answer only if
    no fit holds.
    """
    latest = _latest(b)
    holds = explains_readings(latest[0], b.noise)
    if not b.s.compare or (holds and b.repeats == 0):
        return latest
    best = int(b.rows_at(b.best.x)[-1])
    there = replace(b, B=b.best.B).wide_fit(best)
    confirmed = there, recommended(there, b.noise, b.task.area)
    # What judges both must reach as far as the other one.
    far = float(np.linalg.norm(there.window.frame.u(_point(latest)[None])))
    if far > _JUDGED_WITHIN:
        B = b.best.B * (far / _JUDGED_WITHIN)
        there = replace(b, B=B).wide_fit(best)
    if not explains_readings(there, b.noise):
        return confirmed
    return safer(there, [latest, confirmed])


def _latest(b: Belief) -> _Answer:
    """The answer by what lies around the centre."""
    wide = b.wide_fit(b.centre)
    centre = int(wide.window.rows[best_row(wide, b.noise, b.task.area)])
    if centre != b.centre:
        wide = b.wide_fit(centre)
    return wide, recommended(wide, b.noise, b.task.area)


def safer(judge: Fit, answers: list[_Answer]) -> _Answer:
    """The answer that is lowest at worst, two standard errors up, by one fit."""
    U = judge.window.frame.u(np.array([_point(answer) for answer in answers]))
    at_worst = 2.0 * np.sqrt(judge.fall_variances(U)) - judge.falls(U)
    return answers[int(at_worst.argmin())]


def _point(answer: _Answer) -> Array:
    fitted, u = answer
    return fitted.window.frame.point(u)
