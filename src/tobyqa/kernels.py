"""Covariances of what the linear part of the model leaves out.

=======  ======================================================  =======
symbol   meaning                                                 shape
=======  ======================================================  =======
U        displacements from the centre, rows u_i                 (m, n)
A        Powell's kernel, A_ij = (u_i.u_j)^2 / 2                 (m, m)
l        length over which the function stays quadratic          scalar
t        times since the first reading, >= 0                     (m,)
=======  ======================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LARGEST_EXPONENT = 600.0  # of which exp is a number, also times a length
_ROOT_OF_SIXTH = (1.0 / 6.0) ** (1.0 / 3.0)  # the cubic one


def powell(U: Array) -> Array:
    """Covariance of the quadratic forms u'Hu/2 for a random symmetric H.

    For a rotation-invariant H with E[H_ab H_cd] = d_ac d_bd + d_ad d_bc this is
    A_ij = (u_i.u_j)^2 / 2 (Proposition "kernel", eq. (cov-kernel) in the paper).
    """
    A = U @ U.T
    np.square(A, out=A)
    A *= 0.5
    return A


def damped_powell(gram: Array, near: Array, far: Array, length: float) -> Array:
    """Powell's kernel near the centre, bounded far from it; (2) in docs/method.md.

    l^4 e_i e_j phi(u_i.v_j / l^2) with phi(z) = exp(z) - 1 - z and
    e_i = exp(-|u_i|^2 / 2l^2): the Gaussian kernel without its constant and linear
    features, which the model fits unpenalised. For l -> infinity it is `powell`.
    `gram` holds u_i.v_j, `near` and `far` the e_i and e_j.
    """
    # Beyond the limit both are too far out for anything to be left.
    Z = np.minimum(gram * length**-2, _LARGEST_EXPONENT)
    K = np.expm1(Z)
    K -= Z
    K *= (length**4 * near)[:, None]
    K *= far
    return K


def damped_powell_variance(squares: Array, length: float) -> Array:
    """`damped_powell` of each point with itself; `squares` are the |u_i|^2."""
    r = squares * length**-2
    return np.asarray(length**4 * (-np.expm1(-r) - r * np.exp(-r)))


def damped_powell_slopes(u: Array, V: Array, far: Array, length: float) -> Array:
    """Derivatives of `damped_powell` along u, at u and each row of V, (n, m)."""
    z = np.minimum(V @ u * length**-2, _LARGEST_EXPONENT)
    slope = np.expm1(z) * far  # of phi; damped at once, or it overflows far out
    near = math.exp(-0.5 * float(u @ u) * length**-2)
    bent = V.T * slope - np.multiply.outer(u, slope - z * far)
    return np.asarray(length**2 * near * bent)


def damped_powell_curvatures(
    u: Array, V: Array, weights: Array, length: float
) -> Array:
    """Second derivatives along u of the sum of `weights` times `damped_powell`, (n, n).

    The weights include the damping of the rows of V.
    """
    z = np.minimum(V @ u * length**-2, _LARGEST_EXPONENT)
    slope = np.expm1(z)
    w = weights * math.exp(-0.5 * float(u @ u) * length**-2)
    mixed = np.multiply.outer(u, V.T @ (w * slope))
    square = np.multiply.outer(u, u) - length**2 * np.eye(u.size)
    return np.asarray(
        (V.T * (w * (slope + 1.0))) @ V - mixed - mixed.T + square * (w @ (slope - z))
    )


def damped_powell_slope_covariance(u: Array, length: float) -> Array:
    """Covariance of the slopes of `damped_powell` at u with each other, (n, n)."""
    r = float(u @ u) * length**-2
    near = math.exp(-r)
    slope = -math.expm1(-r)  # of phi, times the damping
    bent = np.multiply.outer(u, u)
    factor = (slope - r * near) - 2.0 * slope + 1.0
    return np.asarray(factor * bent + length**2 * slope * np.eye(u.size))


def damped_linear(gram: Array, near: Array, far: Array, length: float) -> Array:
    """Covariance u_i.v_j near the centre, bounded far from it; (3).

    l^2 e_i e_j (exp(u_i.v_j / l^2) - 1): the Gaussian kernel without its constant
    feature, so that the function it describes is zero at the centre.
    """
    K = np.expm1(np.minimum(gram * length**-2, _LARGEST_EXPONENT))
    K *= (length**2 * near)[:, None]
    K *= far
    return K


def damped_linear_variance(squares: Array, length: float) -> Array:
    """`damped_linear` of each point with itself; `squares` are the |u_i|^2."""
    return np.asarray(-(length**2) * np.expm1(-squares * length**-2))


def damping(squares: Array, length: float) -> Array:
    """e_i = exp(-|u_i|^2 / 2l^2): how much a point still knows of the centre."""
    return np.asarray(np.exp(squares * (-0.5 * length**-2)))


def integrated_wiener(t: Array) -> Array:
    """Covariance of the integral of a Wiener process, both zero at t = 0.

    Its posterior mean is the cubic smoothing spline.
    """
    return wiener_between(t, t)


def wiener_between(s: Array | float, t: Array | float) -> Array:
    """m^2 (3M - m) / 6, m and M the smaller and the larger of two times, (|s|, |t|)."""
    s, t = _ROOT_OF_SIXTH * np.atleast_1d(s), _ROOT_OF_SIXTH * np.atleast_1d(t)
    # In place: for long windows the passes over memory are what it costs.
    low, high = np.minimum.outer(s, t), np.maximum.outer(3.0 * s, 3.0 * t)
    high -= low
    high *= np.square(low, out=low)
    return high


def walk_between(s: Array | float, t: Array | float) -> Array:
    """Covariance of a Wiener process, zero at t = 0: the smaller time, (|s|, |t|)."""
    return np.asarray(np.minimum.outer(np.atleast_1d(s), np.atleast_1d(t)))


def walk_times(t: Array, weights: Array) -> Array:
    """`walk_between(t, t)` times a vector, by running sums instead of a matrix."""
    order = np.argsort(t, kind="stable")
    s, w = t[order], weights[order]
    product = np.empty_like(s)
    product[order] = np.cumsum(s * w) + s * (w.sum() - np.cumsum(w))
    return product


def wiener_times(t: Array, weights: Array) -> Array:
    """`wiener_between(t, t)` times a vector, by running sums instead of a matrix."""
    order = np.argsort(t, kind="stable")
    s, w = t[order], weights[order]
    # m^2 (3M - m) / 6, with m the other time up to one's own place, one's own after it.
    before = 0.5 * s * np.cumsum(s**2 * w) - np.cumsum(s**3 * w) / 6.0
    rest, rest_s = w.sum() - np.cumsum(w), (s * w).sum() - np.cumsum(s * w)
    product = np.empty_like(s)
    product[order] = before + 0.5 * s**2 * rest_s - s**3 * rest / 6.0
    return product
