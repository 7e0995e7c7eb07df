"""Solvers compared on a problem and through a channel of one's own.

The problem is a resonance to be met with two knobs, the channel a sensor that warms up
and then is disturbed every night. Takes a few seconds.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from tobyqa.bench import Problem, Study, compare


def detuned(x: np.ndarray) -> float:
    """How far the resonance is from where it should be; 0 at (1, -0.5)."""
    a, b = x[0] - 1.0, x[1] + 0.5
    return float(1.0 - 1.0 / (1.0 + 3.0 * a**2 + 8.0 * (b + 0.4 * a) ** 2))


def warm_and_disturbed(f_value, x, t, context):
    """The reading without noise at query t; context.s0 is the problem's scale."""
    night = 0.1 if t % 40 > 30 else 0.0
    return f_value + context.s0 * (0.3 * (1.0 - math.exp(-t / 20.0)) + night)


def powell(fun, x0, *, budget, noise):
    """A solver of one's own."""
    return minimize(fun, x0, method="powell", options={"maxfev": budget}).x


STUDY = Study(
    name="resonance",
    description="Two knobs, a sensor that warms up.",
    solvers=("adaptive",),
    problems=(Problem("resonance", detuned, [-0.5, 0.8]),),
    channels=("Static", warm_and_disturbed),
    seeds=(0, 1, 2),
    budget=80,
)

if __name__ == "__main__":
    print(
        compare(["adaptive", "nelder-mead", powell], STUDY, workers=1, progress=False)
    )
