"""What the instruments of the benchmark read: formulas of x, or of fractions u."""

from __future__ import annotations

import math

import numpy as np

from tobyqa.bench.problems import Formula
from tobyqa.bench.records import Array

# Shapes ----------------------------------------------------------------------------


def distance(c: list[float], weights: list[float], lean: float = 0.0) -> Formula:
    """q = the sum of w_i v_i^2, v = u - c reflected so that every axis leans.

    The reflection is along (1, 2, ..., n), by `lean` of a whole one.
    """
    centre, w = np.array(c), np.array(weights)
    along = np.arange(1.0, len(c) + 1.0)
    along /= math.sqrt(float(along @ along))

    def q(u: Array) -> float:
        v = u - centre
        v = v - 2.0 * lean * float(along @ v) * along
        return float(w @ (v * v))

    return q


def peak(q: Formula) -> Formula:
    """A signal that is 1 at most and falls off as a bell."""
    return lambda u: -math.exp(-0.5 * q(u))


def resonance(q: Formula) -> Formula:
    """A signal that is 1 at most and falls off as a Lorentzian."""
    return lambda u: -1.0 / (1.0 + q(u))


def spot(q: Formula) -> Formula:
    """A width that is 1 at least and grows in proportion far away."""
    return lambda u: math.sqrt(1.0 + q(u))


def logged(formula: Formula) -> Formula:
    return lambda x: math.log1p(formula(x))


# Well-known functions ----------------------------------------------------------------


def rosenbrock(x: Array) -> float:
    a, b = x[:-1], x[1:]
    return float(np.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2))


def himmelblau(x: Array) -> float:
    return float((x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2)


def branin(x: Array) -> float:
    b, c, t = 5.1 / (4.0 * math.pi**2), 5.0 / math.pi, 1.0 / (8.0 * math.pi)
    bend = x[1] - b * x[0] ** 2 + c * x[0] - 6.0
    return float(bend**2 + 10.0 * (1.0 - t) * math.cos(x[0]) + 10.0)


def decays(x: Array) -> float:
    """Box's three-dimensional function: two decay times and an amplitude."""
    a = 0.1 * np.arange(1.0, 11.0)
    r = np.exp(-a * x[0]) - np.exp(-a * x[1]) - x[2] * (np.exp(-a) - np.exp(-10.0 * a))
    return float(r @ r)


def wood(x: Array) -> float:
    a, b, c, d = x.tolist()
    return float(
        100.0 * (b - a * a) ** 2
        + (1.0 - a) ** 2
        + 90.0 * (d - c * c) ** 2
        + (1.0 - c) ** 2
        + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2)
        + 19.8 * (b - 1.0) * (d - 1.0)
    )


def powell(x: Array) -> float:
    a, b, c, d = x.tolist()
    squares = (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2
    return float(squares + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4)


_HARTMANN = np.array([1.0, 1.2, 3.0, 3.2])
A3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
P3 = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
A6 = np.array(
    [
        [10.0, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3.0, 3.5, 1.7, 10, 17, 8],
        [17.0, 8, 0.05, 10, 0.1, 14],
    ]
)
P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(widths: Array, places: Array) -> Formula:
    def f(u: Array) -> float:
        d = u - places
        return -float(_HARTMANN @ np.exp(-np.sum(widths * d * d, axis=1)))

    return f


# Instruments -------------------------------------------------------------------------


def fermentation(u: Array) -> float:
    """A yield: a skew peak in temperature, saturation in feed, a cost of stirring."""
    warm = 3.0 * (u[0] - 0.62)
    growth = math.exp(warm - math.exp(2.0 * warm) / 2.0)
    fed = u[1] / (0.15 + u[1] + 1.5 * u[1] ** 3)
    return float(-growth * fed * (1.0 - math.exp(-4.0 * u[2])) + 0.1 * u[2] ** 2)


def coils(u: Array) -> float:
    """Currents that matter by their sums and differences: a valley with a bend."""
    a, b = float(u[0] + u[1] - u[2] - 0.3), float(u[1] + u[2] + u[3] - 1.7)
    c = float(u[0] - u[3]) - 0.6 * b * b
    return math.log1p(
        20.0 * a * a + 2.0 * b * b + 40.0 * c * c + 0.5 * (u[2] - 0.4) ** 2
    )


def ridge(u: Array) -> float:
    """Sharp across the diagonal, gentle along it."""
    along = float(np.mean(u)) - 0.68
    across = u - np.mean(u)
    return math.sqrt(0.02 + 4.0 * float(across @ across)) + 1.5 * along * along


def bent_ridge(u: Array) -> float:
    """A valley along a parabola in the first two variables, a bowl in the others."""
    bend = float(u[1] - 0.2 - 1.2 * (u[0] - 0.3) ** 2)
    rest = float(np.sum((u[2:] - 0.55) ** 2))
    return math.log1p(60.0 * bend * bend + 4.0 * (u[0] - 0.75) ** 2 + 6.0 * rest)


def shims(u: Array) -> float:
    """Inhomogeneity of a field: coupled quadratics and a quartic term."""
    v = u - np.linspace(0.3, 0.7, u.size)
    coupled = v[1:] + 0.5 * v[:-1]
    return float(2.0 * v @ v + 6.0 * coupled @ coupled + 20.0 * np.sum(v**4))


def pump(u: Array) -> float:
    """More power is better up to the limit; the detuning that suits depends on it."""
    gain = u[0] / (0.4 + u[0])
    return float(-gain / (1.0 + 12.0 * (u[1] - 0.35 - 0.2 * u[0]) ** 2))


def spray(u: Array) -> float:
    """A film's roughness: best with two of the four knobs at their limits."""
    v = u - np.array([0.45, 1.2, 0.6, -0.15])
    return float(3.0 * v @ v + 4.0 * (v[0] + 0.5 * v[2]) ** 2 + v[1] * v[3])


def sieve(u: Array) -> float:
    """Losses of six stages, each saturating; some best at a limit."""
    c = np.array([0.3, 0.65, 1.1, 0.5, -0.1, 0.7])
    v = u - c
    coupled = np.cumsum(v) / np.arange(1.0, 7.0)
    return float(np.sum(v * v / (0.3 + np.abs(v) ** 2)) + 2.0 * coupled @ coupled)
