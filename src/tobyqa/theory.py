"""The paper's two numerical checks (section 5.3), repeated with this implementation.

Run ``python -m tobyqa.theory``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .model import Model, fit
from .samples import SampleSet

Array = NDArray[np.float64]

PUBLISHED_GRADIENT_DIFFERENCE = {1.0: 1.5e-13, 1e6: 5.5e-8}
PUBLISHED_DIGITS_OF_GAMMA = 10
PUBLISHED_CORRELATION = 0.998


@dataclass(frozen=True)
class Decoupling:
    """How far affine drift of rate `beta` moved the recovered coefficients."""

    beta: float
    gradient_difference: float  # |g - g_stat|
    gamma_error: float  # |gamma - gamma_stat - beta| / beta


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
    return fit(samples, samples.points[0], float(samples.times[0]), ridge=1e-6)


def decoupling(beta: float, n: int = 6, sets: int = 100, seed: int = 0) -> Decoupling:
    """Theorem "exact decoupling": the worst case over many random sets."""
    rng = np.random.default_rng(seed)
    gradient, rate = 0.0, 0.0
    for _ in range(sets):
        still = sample_set(n, rng)
        a, b = _fit(still), _fit(with_drift(still, beta * still.times))
        gradient = max(gradient, float(np.linalg.norm(b.g - a.g)))
        rate = max(rate, abs(b.gamma - a.gamma - beta) / beta)
    return Decoupling(beta, gradient, rate)


def nonlinear_bias(
    n: int = 6, curvature: float = 1e-3, seed: int = 0
) -> tuple[Array, Array]:
    """Theorem "nonlinear drift": bias of gamma against the temporal span.

    The channel is mu(t) = curvature t^2 / 2; one geometry, span varied eightfold.
    Returns spans tau_max and biases |gamma - gamma_stat - mu'(t_k)|.
    """
    spans, biases = [], []
    for stretch in np.linspace(1.0, 8.0, 15):
        still = sample_set(n, np.random.default_rng(seed), span=float(stretch))
        drifting = with_drift(still, 0.5 * curvature * still.times**2)
        t_k = float(still.times[0])
        bias = _fit(drifting).gamma - _fit(still).gamma - curvature * t_k
        spans.append(float(np.ptp(still.times)))
        biases.append(abs(bias))
    return np.array(spans), np.array(biases)


def main() -> None:
    """Print both checks beside the paper's figures."""
    print("Affine drift beta*t added to 100 random sets (n = 6), worst case")
    print(f"{'beta':>10} {'|g - g_stat|':>14} {'paper':>9} {'rel. error of gamma':>21}")
    for beta in (1.0, 1e3, 1e6):
        d = decoupling(beta)
        published = PUBLISHED_GRADIENT_DIFFERENCE.get(beta)
        shown = f"{published:.1e}" if published else "-"
        print(
            f"{beta:10g} {d.gradient_difference:14.1e} {shown:>9} {d.gamma_error:21.1e}"
        )
    print(f"(paper: gamma agrees to {PUBLISHED_DIGITS_OF_GAMMA} significant digits)\n")

    spans, biases = nonlinear_bias()
    r = float(np.corrcoef(spans, biases)[0, 1])
    print("Quadratic drift, temporal span varied eightfold: bias of gamma")
    print(f"{'span':>10} {'bias':>12}")
    for span, bias in zip(spans[::2], biases[::2], strict=True):
        print(f"{span:10.1f} {bias:12.4e}")
    print(f"correlation with the span: r = {r:.6f} (paper: > {PUBLISHED_CORRELATION})")


if __name__ == "__main__":
    main()
