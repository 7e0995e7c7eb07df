"""The minimum of a fit's quadratic within the region and what is allowed.

======  ===============================================================  ========
symbol  meaning                                                          shape
======  ===============================================================  ========
u       the minimum, in the region                                       (n,)
Z       orthonormal directions along the constraints that hold there     (n, k)
e, Q    eigenvalues, ascending, and eigenvectors of Z'HZ                 (k,), (k, k)
======  ===============================================================  ========
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..bounded_step import bounded_step
from ..polyhedron import Polyhedron, factors
from ..step import ball_step
from .fit import Fit

Array = NDArray[np.float64]


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
