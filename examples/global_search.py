"""SciPy's global searches with tobyqa for the local ones, on noisy readings.

    python examples/global_search.py

The landscape has a dip at every whole number; the deepest one is at (0, 0). SciPy's
basin hopping keeps a dip only if the local search says that it has converged. With
`tol`, the least gain that is worth a reading, tobyqa can say so in spite of the noise;
Nelder-Mead does not, and basin hopping stays with the dip in which it began.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import basinhopping, dual_annealing

import tobyqa

NOISE = 0.01
LOCAL = {
    "tobyqa": {
        "method": tobyqa.scipy_method,
        "tol": 2 * NOISE,
        "options": {"noise": NOISE, "maxfev": 200, "initial_radius": 0.1, "rng": 0},
    },
    "nelder-mead": {"method": "nelder-mead"},
}


class Landscape:
    """Readings of it, counted."""

    def __init__(self, seed: int) -> None:
        self.readings, self._rng = 0, np.random.default_rng(seed)

    def __call__(self, x: np.ndarray) -> float:
        self.readings += 1
        true = float(np.sum(x**2 + 3.0 * (1.0 - np.cos(2.0 * np.pi * x))))
        return true + NOISE * self._rng.normal()


def hopping(local: str, seed: int = 0) -> tuple[np.ndarray, int]:
    """The best point found by basin hopping, and how many readings it took."""
    fun = Landscape(seed)
    found = basinhopping(
        fun,
        [1.1, -1.9],
        niter=20,
        stepsize=1.0,
        minimizer_kwargs=LOCAL[local],
        rng=seed,
    )
    return found.x, fun.readings


def annealing(local: str, seed: int = 0) -> tuple[np.ndarray, int]:
    """The same by dual annealing."""
    fun, bounds = Landscape(seed), [(-3.0, 3.0)] * 2
    # It does not tell the local search of the bounds.
    how = {**LOCAL[local], "bounds": bounds}
    found = dual_annealing(fun, bounds, maxiter=200, minimizer_kwargs=how, rng=seed)
    return found.x, fun.readings


def main() -> None:
    for search in (hopping, annealing):
        for local in LOCAL:
            x, readings = search(local)
            place = ", ".join(f"{v:+.4f}" for v in x)
            print(f"{search.__name__:10} with {local:12} ({place}) {readings} readings")


if __name__ == "__main__":
    main()
