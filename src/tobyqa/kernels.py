"""Covariances of what the linear part of the model leaves out.

=======  ======================================================  =======
symbol   meaning                                                 shape
=======  ======================================================  =======
U        displacements from the centre, rows u_i                 (m, n)
A        Powell's kernel, A_ij = (u_i.u_j)^2 / 2                 (m, m)
=======  ======================================================  =======
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def powell(U: Array) -> Array:
    """Covariance of the quadratic forms u'Hu/2 for a random symmetric H.

    For a rotation-invariant H with E[H_ab H_cd] = d_ac d_bd + d_ad d_bc this is
    A_ij = (u_i.u_j)^2 / 2 (Proposition "kernel", eq. (cov-kernel) in the paper).
    """
    A = U @ U.T
    np.square(A, out=A)
    A *= 0.5
    return A
