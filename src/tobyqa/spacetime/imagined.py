"""What a fit would know of the gradient if more readings were in, whatever they are.

The variances of a fit depend on where readings are taken and when, not on what they
say, so readings that are still out can be counted in.

=======  ===============================================================  =======
symbol   meaning                                                          shape
=======  ===============================================================  =======
W        L^-1 k' for the new readings, with k of `gls`                    (m, k)
D        V'(x - X_w' W): what the unpenalised columns leave open          (r, k)
S        covariance of the new readings as known before, with noise       (k, k)
=======  ===============================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack

from ..kernels import damped_linear, damped_powell, damping, wiener_between
from .fit import Fit

Array = NDArray[np.float64]

_JITTER = 1e-8  # of the noise


def gradient_covariance_with(fitted: Fit, U: Array, times: Array) -> Array:
    """Covariance of the gradient at the centre once U has been read, (n, n)."""
    solution = fitted.solution
    k, _, x = fitted.readings(U, times)
    W, _ = lapack.dtrtrs(solution.L, k.T, lower=1)
    D = solution.V.T @ (x.T - solution.X_w.T @ W)
    S = _prior(fitted, U, times) - W.T @ W + D.T @ D
    S.flat[:: len(U) + 1] += 1.0 + _JITTER
    V = solution.V[1:-1]
    C = V @ D  # covariance of the gradient with the new readings
    return np.asarray(V @ V.T - C @ cho_solve(cho_factor(S, lower=True), C.T))


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
