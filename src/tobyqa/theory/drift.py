"""What a drift does to the fit: Theorems 3.5 (affine) and 3.7 (twice differentiable).

=========  ===========================================================  =======
symbol     meaning                                                      shape
=========  ===========================================================  =======
Pi         recovery operator, from readings to (c, g, gamma)            (n+2, m)
beta       rate of an affine drift                                      scalar
L_mu       bound on the second derivative of a drift mu                 scalar
tau_max    longest time between a reading and the centre's              scalar
*_stat     what the same readings without the drift give
=========  ===========================================================  =======
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model import Model, fit
from ..samples import SampleSet
from .check import Check, Effort, Row, at_most, fact, verdict

Array = NDArray[np.float64]

PUBLISHED_GRADIENT_DIFFERENCE = {1.0: 1.5e-13, 1e6: 5.5e-8}
PUBLISHED_GAMMA_ERROR = 1e-10  # "10 significant digits"
PUBLISHED_CORRELATION = 0.998
RATES = (1.0, 1e3, 1e6)
_RIDGE = 1e-6
_SPACE = 6  # variables


@dataclass(frozen=True)
class Decoupling:
    """How far affine drift of rate `beta` moved the recovered coefficients."""

    beta: float
    gradient_difference: float  # |g - g_stat|
    gamma_error: float  # |gamma - gamma_stat - beta| / beta


@dataclass(frozen=True)
class Bias:
    """What a curved drift does to one set of readings, beside the bounds."""

    span: float  # tau_max
    rate: float  # |gamma - gamma_stat - mu'(t_k)|
    rate_bound: float
    gradient: float  # |g - g_stat|
    gradient_bound: float


def sample_set(n: int, rng: np.random.Generator, span: float = 1.0) -> SampleSet:
    """2n + 1 random points at increasing times 0 ... 2n span, centre first."""
    m = 2 * n + 1
    points = rng.normal(size=(m, n))
    values = np.sum(points**2, axis=1) + rng.normal(size=m)
    times = span * np.arange(m, dtype=float)
    return SampleSet.of(points, times, values)


def with_drift(samples: SampleSet, drift: Array) -> SampleSet:
    """The same set, seen through an additive drift."""
    return SampleSet.of(samples.points, samples.times, samples.values + drift)


def _fit(samples: SampleSet) -> Model:
    return fit(samples, samples.points[0], float(samples.times[0]), ridge=_RIDGE)


def decoupling(
    beta: float, n: int = _SPACE, sets: int = 100, seed: int = 0
) -> Decoupling:
    """Theorem 3.5: the worst case over many random sets."""
    rng = np.random.default_rng(seed)
    gradient, rate = 0.0, 0.0
    for _ in range(sets):
        still = sample_set(n, rng)
        a, b = _fit(still), _fit(with_drift(still, beta * still.times))
        gradient = max(gradient, float(np.linalg.norm(b.g - a.g)))
        rate = max(rate, abs(b.gamma - a.gamma - beta) / beta)
    return Decoupling(beta, gradient, rate)


def curved_drift(
    stretch: float, n: int = _SPACE, curvature: float = 1e-3, seed: int = 0
) -> Bias:
    """Theorem 3.7 on one set whose times are stretched; mu(t) = curvature t^2 / 2.

    The bounds are those of its proof, C L_mu tau and C L_mu tau^2 with
    C = sqrt(m)/2 |diag(1, ..., 1, tau) Pi|, which does not depend on tau.
    """
    still = sample_set(n, np.random.default_rng(seed), span=stretch)
    drifting = with_drift(still, 0.5 * curvature * still.times**2)
    a, b = _fit(still), _fit(drifting)
    tau = float(np.abs(still.times - still.times[0]).max())
    normalised = a.recovery.copy()
    normalised[-1] *= tau
    C = 0.5 * math.sqrt(len(still)) * float(np.linalg.norm(normalised, 2))
    return Bias(
        span=tau,
        rate=abs(b.gamma - a.gamma - curvature * float(still.times[0])),
        rate_bound=C * curvature * tau,
        gradient=float(np.linalg.norm(b.g - a.g)),
        gradient_bound=C * curvature * tau**2,
    )


def eightfold(seed: int = 0) -> list[Bias]:
    """The same set over spans that differ eightfold, as in the paper's section 5.3."""
    return [curved_drift(float(s), seed=seed) for s in np.linspace(1.0, 8.0, 15)]


def affine(effort: Effort) -> Check:
    """Theorem 3.5 beside the paper's own figures."""
    rows: list[Row] = []
    for beta in RATES:
        worst = decoupling(beta)
        case, published = f"rate {beta:g}", PUBLISHED_GRADIENT_DIFFERENCE.get(beta)
        quantity = "|g - g_stat|"
        if published is None:
            rows.append(fact(case, quantity, worst.gradient_difference))
        else:
            rows.append(at_most(case, quantity, worst.gradient_difference, published))
        quantity = "relative error of gamma"
        rows.append(at_most(case, quantity, worst.gamma_error, PUBLISHED_GAMMA_ERROR))
    return Check(
        title="An affine drift leaves the gradient alone",
        result="Theorem 3.5, section 5.3",
        claim="g = g_stat and gamma = gamma_stat + beta, whatever the rate beta",
        setting=f"worst of 100 random sets, n = {_SPACE}; bounds: the paper's figures",
        rows=rows,
        finding=verdict(rows, "What is left is rounding, no more than the paper has"),
    )


def nonlinear(effort: Effort) -> Check:
    """Theorem 3.7: biases beside the bounds of its proof."""
    found = eightfold()
    spans = np.array([bias.span for bias in found])
    rates = np.array([bias.rate for bias in found])
    gradients = np.array([bias.gradient for bias in found])
    r = float(np.corrcoef(spans, rates)[0, 1])
    power = float(np.polyfit(np.log(spans), np.log(gradients), 1)[0])
    rows = [
        Row("spans 12 to 96", "correlation of gamma's bias with the span", r,
            PUBLISHED_CORRELATION, r > PUBLISHED_CORRELATION),
        Row("spans 12 to 96", "power of the span in g's bias", power, 2.0,
            abs(power - 2.0) < 1e-3),
    ]  # fmt: skip
    for bias in (found[0], found[-1]):
        case = f"span {bias.span:g}"
        rows.append(at_most(case, "bias of gamma", bias.rate, bias.rate_bound))
        rows.append(at_most(case, "bias of g", bias.gradient, bias.gradient_bound))
    share = max(bias.gradient / bias.gradient_bound for bias in found)
    return Check(
        title="A curved drift biases by its curvature and the time spanned",
        result="Theorem 3.7, section 5.3",
        claim="bias of gamma <= C L_mu tau_max, of g <= C L_mu tau_max^2",
        setting="drift 0.0005 t^2, one random set (n = 6), times stretched eightfold; "
        "C as in the proof",
        rows=rows,
        finding=verdict(rows, "Both biases grow as stated")
        + f" That of g is {share:.0%} of its bound.",
    )
