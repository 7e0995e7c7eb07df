"""Other people's solvers in a box, as fractions u of it between 0 and 1.

Knobs have units of very different sizes, and no solver here is made for that: so each
searches the unit box, where the defaults of most of them make sense. First steps are a
quarter of the box, NLopt's own choice: with a tenth of it, as Py-BOBYQA begins,
all but SPSA leave more (study `short`, seed 20). What a solver is given besides
the box is as in `peers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from tobyqa.bench import peers
from tobyqa.bench.peers import Objective
from tobyqa.bench.records import Array

Within = Callable[[Objective, Array, int], Array]

_FIRST = 0.25  # of the box
_SPSA_FIRST = 0.1
_SIGMA = 0.2  # of CMA-ES; its authors advise a fifth to a third of the box


def boxed(plain: Any, within: Within) -> Any:
    """A solver that is `plain` without bounds and `within` with them."""

    def solve(
        fun: Objective,
        x0: Array,
        *,
        budget: int,
        noise: float | None,
        bounds: Bounds | None = None,
    ) -> Array:
        if bounds is None:
            return np.asarray(plain(fun, x0, budget=budget, noise=noise))
        lower, width = bounds.lb, bounds.ub - bounds.lb

        def point(u: Array) -> Array:
            # Rounding must not lead out of the box.
            return np.asarray(np.clip(lower + u * width, lower, bounds.ub))

        u0 = np.clip((x0 - lower) / width, 0.0, 1.0)
        with peers.contained():
            return point(within(lambda u: fun(point(np.asarray(u))), u0, budget))

    return solve


def cobyqa(fun: Objective, u0: Array, budget: int) -> Array:
    options = {"maxfev": budget, "initial_tr_radius": _FIRST}
    return np.asarray(
        minimize(fun, u0, method="COBYQA", bounds=_unit(u0), options=options).x
    )


def nelder_mead(fun: Objective, u0: Array, budget: int) -> Array:
    # The default simplex is 5 % of the coordinates, whatever their origin. Only the
    # budget ends it, as without a box.
    n = u0.size
    inward = np.where(u0 <= 0.5, _FIRST, -_FIRST)
    options = {
        "maxfev": budget,
        "maxiter": np.inf,
        "xatol": 0.0,
        "fatol": 0.0,
        "initial_simplex": np.vstack([u0, u0 + np.diag(inward)]).reshape(n + 1, n),
    }
    return np.asarray(
        minimize(fun, u0, method="Nelder-Mead", bounds=_unit(u0), options=options).x
    )


def pybobyqa(fun: Objective, u0: Array, budget: int) -> Array:
    import pybobyqa as package

    result = package.solve(
        fun,
        u0,
        bounds=(np.zeros(u0.size), np.ones(u0.size)),
        maxfun=budget,
        rhobeg=_FIRST,
        objfun_has_noise=True,
        do_logging=False,
    )
    return peers.returned(result)


def bobyqa_nlopt(fun: Objective, u0: Array, budget: int) -> Array:
    return peers.nlopt_run("LN_BOBYQA", fun, u0, budget, first=_FIRST)


def cma(fun: Objective, u0: Array, budget: int) -> Array:
    return peers.cma_run(fun, u0, budget, sigma=_SIGMA, bounds=[0.0, 1.0])


def spsa(fun: Objective, u0: Array, budget: int) -> Array:
    """Simultaneous perturbation, with the gains of Spall's guidelines.

    The mean slope so far sets the gain, so that the first steps are a tenth of the box,
    and none is longer. It returns where it is, as it is meant to.

    References
    ----------
    J. C. Spall, Implementation of the simultaneous perturbation algorithm, IEEE Trans.
    Aerosp. Electron. Syst. 34 (1998), 817-823.
    """
    rng = np.random.default_rng(peers.SEED)
    rounds = budget // 2
    stability, u, slopes = 0.1 * rounds, u0, [np.finfo(float).tiny]
    for k in range(rounds):
        c = _SPSA_FIRST / (k + 1.0) ** 0.101
        signs = rng.choice([-1.0, 1.0], u.size)
        ahead, behind = (np.clip(u + side * c * signs, 0.0, 1.0) for side in (1, -1))
        slope = (fun(ahead) - fun(behind)) / (2.0 * c)
        if not np.isfinite(slope):
            continue
        slopes.append(abs(slope))
        decay = ((1.0 + stability) / (k + 1.0 + stability)) ** 0.602
        step = _SPSA_FIRST * decay * slope / (sum(slopes) / (len(slopes) - 1))
        step = np.clip(step, -_SPSA_FIRST, _SPSA_FIRST)
        u = np.clip(u - step * signs, 0.0, 1.0)
    return np.asarray(u)


def spsa_nearby(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    """The same without a box: in a wide one, so that its first steps are 2 long."""
    width = 2.0 / _SPSA_FIRST
    start = np.full(x0.size, 0.5)
    u = spsa(lambda u: fun(x0 + width * (u - start)), start, budget)
    return np.asarray(x0 + width * (u - start))


def _unit(u0: Array) -> Bounds:
    return Bounds(np.zeros(u0.size), np.ones(u0.size))
