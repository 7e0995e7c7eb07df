"""Problems and channels that are not of the package, named ``homemade:<name>``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobyqa.bench import Problem


def bowl_value(x):
    return float(np.sum((x - 1.0) ** 2))


BOWL = Problem("bowl", bowl_value, [3.0, -2.0, 0.5])
NUMBER = 7


def valley(n):
    """In any even dimension."""
    if n % 2:
        raise ValueError(f"n = {n} is odd")
    return Problem("valley", bowl_value, np.zeros(n))


@dataclass(frozen=True)
class Kink:
    """f(x) + slope s0 |t - 20|."""

    slope: float = 0.02

    def __call__(self, f_value, x, t, context):
        return f_value + self.slope * context.s0 * abs(t - 20)


STEEP = Kink(0.5)


def slow_sine(f_value, x, t, context):
    return f_value + np.sin(t / 9.0)
