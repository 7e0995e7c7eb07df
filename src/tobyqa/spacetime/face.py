"""The minimum of a fit's quadratic within the region and what is allowed, the step
there, and how well the gradient is known on the way.

======  ===============================================================  ========
symbol  meaning                                                          shape
======  ===============================================================  ========
u       the minimum, in the region                                       (n,)
Z       orthonormal directions along the constraints that hold there     (n, k)
e, Q    eigenvalues, ascending, and eigenvectors of Z'HZ                 (k,), (k, k)
======  ===============================================================  ========
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bounded_step import bounded_step
from ..frozen import cached_property
from ..polyhedron import Polyhedron, factors
from ..step import ball_step
from .fit import Fit

Array = NDArray[np.float64]

_SHORTER = np.array([1.0, 0.5, 0.25, 0.125])  # fractions of a step that are compared

_ALIKE = 0.9  # of the largest variance of a slope


@dataclass(frozen=True)
class Face:
    """A minimum, and the ways that are free there: a minimum on a face is one."""

    fitted: Fit
    u: Array
    Z: Array

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        if self.Z.shape[0] == self.Z.shape[1]:
            return self.fitted.eigen
        e, Q = np.linalg.eigh(self.Z.T @ self.fitted.hessian @ self.Z)
        return e, Q

    @property
    def ways(self) -> Array:
        """Eigenvectors as directions in the region, (n, k)."""
        return np.asarray(self.Z @ self.eigen[1])

    @property
    def is_minimum(self) -> bool:
        """Whether the curvature along all free ways is positive."""
        e = self.eigen[0]
        return bool((e > 0.0).all())

    @property
    def trusted(self) -> Array:
        """The step there, or as much of it as falls most by the whole fit.

        The quadratic knows the centre only, the fit every reading.
        """
        steps = np.outer(_SHORTER, self.u)
        return np.asarray(steps[self.fitted.falls(steps).argmax()])


def lowest(fitted: Fit, area: Polyhedron | None) -> Face:
    """The minimum of the quadratic within the region and the area."""
    e, Q = fitted.eigen
    if area is None:
        return Face(fitted, ball_step(fitted.g, e, Q), np.eye(e.size))
    frame = fitted.window.frame
    A, b = area.around(frame.x, frame.B)
    step = bounded_step(fitted.g, e, Q, A, b)
    rows = _independent(A[step.active])
    return Face(fitted, step.s, factors(rows)[0][:, len(rows) :])


def _independent(rows: Array) -> Array:
    """Rows that span the same as these, at a vertex maybe fewer."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[s > 1e-10 * s.max(initial=0.0)])


class Slope(NamedTuple):
    """How well the gradient is known, and what there is to be seen of the function."""

    variance: float  # of the gradient, along the way on which it is known least
    least_known: Array
    size: float
    visible: float  # largest variation over the region

    @property
    def is_unresolved(self) -> bool:
        return math.sqrt(max(self.variance, 0.0)) > 0.5 * self.size


def slope_of(face: Face) -> Slope:
    """Of the whole gradient; if that is known, of what is free at the minimum.

    A slope against a wall is mostly large and says nothing of where along the wall the
    minimum is.
    """
    fitted, Z = face.fitted, face.Z
    g, P = fitted.g, fitted.gradient_covariance
    e, Q = fitted.eigen
    everywhere = _slope(g, P, e, Q.T @ g)
    if everywhere.is_unresolved or Z.shape[1] in (0, g.size):
        return everywhere
    along = _slope(Z.T @ g, Z.T @ P @ Z, face.eigen[0], face.ways.T @ g)
    return along._replace(least_known=np.asarray(Z @ along.least_known))


def _slope(g: Array, P: Array, e: Array, along: Array) -> Slope:
    """Of a gradient with covariance P, which is `along` the Hessian's eigenvectors."""
    variances, directions = np.linalg.eigh(P)
    return Slope(
        variance=float(variances[-1]),
        least_known=_least_known(g, variances, directions),
        size=math.sqrt(g @ g),
        visible=float(np.maximum(0.5 * np.abs(e), np.abs(along)).max()),
    )


def _least_known(g: Array, variances: Array, directions: Array) -> Array:
    """The way along which a gradient is known least, the steepest of those alike.

    Where the first points are as good as each other, a single eigenvector would be a
    matter of rounding.
    """
    alike = directions[:, variances >= _ALIKE * variances[-1]]
    steepest = alike @ (alike.T @ g)
    length = math.sqrt(steepest @ steepest)
    if length == 0.0:
        return alike[:, -1].copy()
    return np.asarray(steepest / length)
