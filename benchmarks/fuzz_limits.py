"""What the fuzzer's runs may not do: limits, scales, steps and fixed variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint

from fuzz_instrument import size


def limits(rng: np.random.Generator, x0: np.ndarray, r: float) -> dict[str, Any]:
    """Arguments of `Optimizer` that say more of the variables, mostly none.

    Around `x0`, or beside it, in units of the radius `r`. Some leave no room, which is
    an error of the user's.
    """
    said: dict[str, Any] = {}
    if rng.random() < 0.6:
        return said
    n = x0.size
    near = x0 + r * rng.normal(size=n) * (rng.random(n) < 0.3)
    if rng.random() < 0.6:
        reach = r * 10.0 ** rng.uniform(-2, 2, (2, n)) * (rng.random((2, n)) < 0.9)
        lower = np.where(rng.random(n) < 0.7, near - reach[0], -math.inf)
        upper = np.where(rng.random(n) < 0.7, near + reach[1], math.inf)
        said["bounds"] = list(zip(lower.tolist(), upper.tolist(), strict=True))
    if rng.random() < 0.3:
        A = rng.normal(size=(rng.integers(1, 4), n))
        A *= 10.0 ** rng.uniform(-3, 3, (len(A), 1))
        at, room = A @ near, np.abs(A).sum(axis=1) * r * rng.uniform(0, 2, len(A))
        lower = np.where(rng.random(len(A)) < 0.5, at - room, -math.inf)
        said["constraints"] = LinearConstraint(A, lower, at + room)
    if rng.random() < 0.3:
        is_wild = rng.random() < 0.3
        said["x_scale"] = [
            abs(size(rng, *(-40, 40) if is_wild else (-3, 3))) for _ in x0
        ]
    if rng.random() < 0.2:
        steps = (r * 10.0 ** rng.uniform(-4, 0, n)).tolist()
        said["resolution"] = [step if rng.random() < 0.7 else None for step in steps]
    if n > 1 and rng.random() < 0.2:
        said["fixed"] = {int(rng.integers(n)): float(near[0])}
    if rng.random() < 0.3:
        said["maximize"] = True
    return said
