"""Minimisers of quadratics: cubically regularised (paper, section 2.2) or in a ball.

=======  ===================================================  =======
symbol   meaning                                              shape
=======  ===================================================  =======
g, H     gradient and Hessian of the model                    (n,), (n, n)
sigma    weight of the cubic term                             scalar
s        step                                                 (n,)
e, Q     eigenvalues (ascending) and eigenvectors of H        (n,), (n, n)
mu       e_1 + sigma |s|, the shift seen by the lowest one    scalar
=======  ===================================================  =======
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .scaling import exponent, norm, unit

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
# Powers of two: the cube of the square of the one is a number, the product of both too.
_MOST_CURVED = 200
_LONGEST = 800


def cubic_step(g: Array, sigma: float) -> Array:
    """argmin g.s + sigma |s|^3 / 3 = -g / sqrt(sigma |g|)  (closed-form-step)."""
    size = norm(g)
    if size == 0.0:
        return np.zeros_like(g)
    # By mantissas and exponents: the product may leave the floating-point range.
    a, e_g = math.frexp(size)
    b, e_sigma = math.frexp(max(sigma, _TINY))
    odd = (e_g + e_sigma) % 2
    s = g / math.ldexp(1.0, e_g) * (-1.0 / math.sqrt(math.ldexp(a * b, odd)))
    return np.asarray(s * math.ldexp(1.0, (e_g - e_sigma + odd) // 2))


def arc_step(g: Array, H: Array, sigma: float) -> Array:
    """Global minimiser of g.s + s'Hs/2 + sigma |s|^3 / 3.

    s is optimal if and only if (H + sigma |s| I) s = -g with H + sigma |s| I positive
    semidefinite (Cartis, Gould and Toint 2011, Theorem 3.1). In the eigenbasis this is
    one secular equation in mu, solved by Newton's method inside a bracket. Hard case:
    g has no part in the lowest eigenspace and the step is too short; the missing
    length is then taken along the lowest eigenvector, in either direction.

    It is solved in units of sqrt(|g| / sigma) for s and of sigma for the weight, so
    that nothing leaves the floating-point range. Curvature that is next to nothing in
    these units is left out, one that is next to infinite is lessened.
    """
    b, e_sigma = math.frexp(max(sigma, _TINY))
    e_H = exponent(H)
    e_s = min(e_H - e_sigma, _LONGEST)
    if g.any():
        e_s = (exponent(g) - e_sigma) // 2
    curvature = min(e_H - e_sigma - e_s, _MOST_CURVED)
    if curvature < -_MOST_CURVED or not H.any():
        return cubic_step(g, sigma)
    h = np.ldexp(g, -e_sigma - 2 * e_s)
    s = _arc_step(h, np.ldexp(H / unit(H), curvature), b)
    return np.asarray(np.ldexp(s, e_s))


def _arc_step(g: Array, H: Array, sigma: float) -> Array:
    e, Q = np.linalg.eigh(H)
    h = Q.T @ g
    gap = e - e[0]
    lowest = gap <= _EPS * np.abs(e).max() * g.size
    h_lowest = math.sqrt(h[lowest] @ h[lowest])
    h_size = math.sqrt(h @ h)
    if h_lowest <= _EPS * h_size:
        h = np.where(lowest, 0.0, h)
        h_lowest = 0.0
        s = np.zeros_like(h)
        s[~lowest] = -h[~lowest] / gap[~lowest]
        missing = (-e[0] / sigma) ** 2 - s @ s
        step_is_hard_case = e[0] <= 0.0 and missing >= 0.0
        if step_is_hard_case:
            s[0] = math.sqrt(missing)
            return np.asarray(Q @ s)
    mu = _secular_root(h, gap, float(e[0]), sigma, h_lowest, h_size)
    return np.asarray(Q @ (-h / (gap + mu)))


def _secular_root(
    h: Array, gap: Array, e1: float, sigma: float, h_lowest: float, h_size: float
) -> float:
    """mu > 0 with |h / (gap + mu)| = (mu - e1) / sigma."""
    lo = max(_shift(h_lowest, e1, sigma), e1, 0.0)
    hi = _shift(h_size, e1, sigma)
    mu = hi
    for _ in range(100):
        s = h / (gap + mu)
        length, wanted = math.sqrt(s @ s), (mu - e1) / sigma
        if length > wanted:
            lo = mu
        else:
            hi = mu
        if abs(length - wanted) <= 4.0 * _EPS * wanted or hi <= lo * (1.0 + _EPS):
            break
        # Newton on 1/length - 1/wanted, which is concave in mu and nearly linear.
        slope = float((s / (gap + mu)) @ s) / length**3 + 1.0 / (sigma * wanted**2)
        mu = mu - (1.0 / length - 1.0 / wanted) / slope
        if not lo < mu < hi:
            mu = math.sqrt(lo * hi) if lo > 0.0 else 0.5 * (lo + hi)
    return mu


def _shift(h: float, e1: float, sigma: float) -> float:
    """Positive root of mu (mu - e1) = sigma h, without cancellation."""
    root = math.hypot(e1, 2.0 * math.sqrt(sigma * h))
    return 0.5 * (e1 + root) if e1 >= 0.0 else 2.0 * sigma * h / (root - e1)


def ball_step(g: Array, e: Array, Q: Array, radius: float = 1.0) -> Array:
    """Global minimiser of g.s + s'Hs/2 over |s| <= radius, for H = Q diag(e) Q'.

    The multiplier mu >= 0 solves |(H + mu)^-1 g| = radius unless the Newton step is
    inside (Moré and Sorensen 1983); hard case as in `arc_step`.
    """
    h = Q.T @ g
    scale = max(float(np.abs(e).max()), math.sqrt(h @ h) / radius, 1e-300)
    if e[0] > 1e-12 * scale:
        newton = h / e
        if newton @ newton <= radius**2:
            return np.asarray(Q @ -newton)
    gap = e - e[0]
    lowest = gap <= 1e-12 * scale
    if math.sqrt(h[lowest] @ h[lowest]) <= _EPS * scale * radius:
        s = np.where(lowest, 0.0, -h / np.where(lowest, 1.0, gap))
        missing = radius**2 - s @ s
        if missing >= 0.0:
            s[0] = math.sqrt(missing)
            return np.asarray(Q @ s)
    x = _shift_to_length(h, gap, max(0.0, float(e[0])), radius)
    return np.asarray(Q @ (-h / (gap + x)))


def _shift_to_length(h: Array, gap: Array, low: float, radius: float) -> float:
    """x = e_1 + mu > low with |h / (gap + x)| = radius, which falls with x."""
    high = low + math.sqrt(h @ h) / radius + 1e-300
    x = high
    for _ in range(100):
        s = h / (gap + x)
        length = math.sqrt(s @ s)
        if length > radius:
            low = x
        else:
            high = x
        if abs(length - radius) <= 4.0 * _EPS * radius or high <= low * (1.0 + _EPS):
            break
        # Newton on 1/length - 1/radius, which is concave in x and nearly linear.
        x += (length / radius - 1.0) * length**2 / float((s / (gap + x)) @ s)
        if not low < x < high:
            x = 0.5 * (low + high)
    return x
