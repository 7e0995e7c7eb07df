"""The answer: which place is recommended, and what is known of it."""

from __future__ import annotations

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


def answer(b: Belief) -> tuple[Fit, Array]:
    """A wider fit around the centre, and the position in its region to recommend."""
    wide = b.wide_fit(b.centre)
    centre = int(wide.window.rows[best_row(wide, b.noise, b.task.area)])
    if centre != b.centre:
        wide = b.wide_fit(centre)
    return wide, recommended(wide, b.noise, b.task.area)
