"""A drifting, noisy problem, solved by SciPy's methods and by ours from equal terms.

Run ``tobyqa demo`` or ``python -m tobyqa.demo``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from .minimize import minimize

Array = NDArray[np.float64]

N = 6
BUDGET = 400
NOISE = 0.05
DRIFT = 0.3  # per reading
TARGET = np.linspace(-1.0, 1.5, N)
START = np.zeros(N)
SEEDS = range(5)


def latent(x: Array) -> float:
    """The true objective: a coupled bowl with its minimum, zero, at `TARGET`."""
    d = x - TARGET
    return float(d @ d + 2.0 * np.sum((d[1:] - 0.5 * d[:-1]) ** 2))


class Instrument:
    """What can be measured: the objective plus a steady drift, a wave and noise."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._readings = 0

    def __call__(self, x: Array) -> float:
        if self._readings >= BUDGET:
            raise RuntimeError(f"all {BUDGET} readings are spent")
        t = self._readings
        self._readings += 1
        drift = DRIFT * t + 0.5 * np.sin(t / 60.0)
        return latent(x) + float(drift) + NOISE * self._rng.normal()


@dataclass(frozen=True)
class Row:
    """One solver's line in the table."""

    solver: str
    gaps: list[float]  # true distance of the answer from the minimum, one per seed

    @property
    def median(self) -> float:
        return float(np.median(self.gaps))


def run() -> list[Row]:
    """All solvers, each on its own fresh instrument per seed."""
    solvers: dict[str, Callable[[Instrument], Array]] = {
        "SciPy Nelder-Mead": lambda fun: _scipy(fun, "Nelder-Mead"),
        "SciPy COBYQA": lambda fun: _scipy(fun, "COBYQA"),
        "tobyqa": lambda fun: minimize(fun, START, noise=NOISE, maxfev=BUDGET, rng=0).x,
    }
    return [
        Row(name, [latent(solve(Instrument(seed))) for seed in SEEDS])
        for name, solve in solvers.items()
    ]


def _scipy(fun: Instrument, method: str) -> Array:
    result = scipy.optimize.minimize(
        fun, START, method=method, options={"maxfev": BUDGET}
    )
    return np.asarray(result.x)


def main() -> int:
    """Print the table."""
    print(
        f"{N} variables, {BUDGET} readings, noise {NOISE}, drift {DRIFT} per reading "
        f"and a slow wave.\nTrue objective at the answer, minus its minimum "
        f"(start: {latent(START):.3g}):\n"
    )
    rows = run()
    print(f"{'':20}{'median':>10}{'best':>10}{'worst':>10}   of {len(SEEDS)} runs")
    for row in rows:
        print(
            f"{row.solver:20}{row.median:10.2g}{min(row.gaps):10.2g}"
            f"{max(row.gaps):10.2g}"
        )
    *others, ours = rows
    best = min(others, key=lambda row: row.median)
    print(
        f"\ntobyqa ends {best.median / ours.median:.0f} times closer to the minimum "
        f"than {best.solver}."
    )
    return 0


if __name__ == "__main__":
    main()
