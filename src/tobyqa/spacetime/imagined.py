"""What a fit would know of the gradient if more readings were in, whatever they are.

The variances of a fit depend on where readings are taken and when, not on what they
say, so readings that are still out can be counted in.

=======  ===============================================================  =======
symbol   meaning                                                          shape
=======  ===============================================================  =======
W        L^-1 k' for the new readings, with k of `gls`                    (m, k)
D        V'(x - X_w' W): what the unpenalised columns leave open          (r, k)
e, Q     eigenvalues and -vectors of their covariance as known before     (k, k)
=======  ===============================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..kernels import damped_linear, damped_powell, damping, wiener_between
from .fit import Fit

Array = NDArray[np.float64]


def gradient_covariance_with(fitted: Fit, U: Array, times: Array) -> Array:
    """Covariance of the gradient at the centre once U has been read, (n, n)."""
    solution = fitted.solution
    k, _, x = fitted.readings(U, times)
    W, _ = lapack.dtrtrs(solution.L, k.T, lower=1)
    D = solution.V.T @ (x.T - solution.X_w.T @ W)
    # Where curvature is large beside the noise, rounding leaves less than nothing.
    e, Q = np.linalg.eigh(_prior(fitted, U, times) - W.T @ W + D.T @ D)
    V = solution.V[1:-1]
    C = V @ D @ Q  # covariance of the gradient with the new readings
    return np.asarray(V @ V.T - (C / (np.maximum(e, 0.0) + 1.0)) @ C.T)


def _prior(fitted: Fit, U: Array, times: Array) -> Array:
    """Covariance of new readings among each other before anything was read."""
    components, frame = fitted.components, fitted.window.frame
    length, gram = math.exp(components.log_l), U @ U.T
    near = damping(gram.diagonal(), length)
    t = frame.clock.t(times)
    K = math.exp(2.0 * components.log_a) * damped_powell(gram, near, near, length)
    K += math.exp(2.0 * components.log_q) * wiener_between(t, t)
    if components.interacts:
        grown = near * math.exp(components.log_b) * frame.age(times)
        K += damped_linear(gram, grown, grown, length)
    return K
