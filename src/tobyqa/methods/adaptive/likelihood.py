"""Choosing the variance components by penalised restricted likelihood.

======  ==================================================================
symbol  meaning, all relative to the noise
======  ==================================================================
a       curvature of the function per region
l       length over which it is quadratic, in regions
q       restlessness of the drift per spacing of the readings
b       difference of the drift over a region, per spacing; if it is local
s       length over which that difference is straight, in regions
======  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .components import Components
from .fit import Fit, fit
from .window import Window

# Bounds of the search. An unbounded q would absorb spatial misfit, an unbounded a
# noise; both let the iterates run away.
_BOUNDS = {
    "log_a": (-1.0, 25.0),
    "log_l": (0.0, float(np.log(30.0))),
    "log_q": (-8.0, 3.4),
    "log_b": (-12.0, 12.0),
    "log_s": (0.0, float(np.log(30.0))),
}
_OF_PLACE = frozenset({"log_b", "log_s"})  # unused if the drift is of time alone
RELATIVE = ("log_a", "log_q", "log_b")  # to the noise
_STEP = 0.7  # first step of the line searches, in logarithms
_LOCAL = (10.0, 100.0, 1000.0)  # noise levels over a region by now: first guesses
_USUAL_LENGTH = math.log(4.0)  # regions
_CALM, _CALM_STD = -2.0, 2.0  # log q: bends by a noise level within five readings
_GAIN = 1e-6  # improvement that keeps a line search going
_ENOUGH = 1.0  # and one that calls for another sweep


def prior(components: Components) -> float:
    """-2 log prior: functions stay quadratic over some regions, drift is calm."""
    restless = (components.log_q - _CALM) / _CALM_STD
    curved = components.log_l - _USUAL_LENGTH
    bent = components.log_s - _USUAL_LENGTH if components.interacts else 0.0
    return curved**2 + bent**2 + restless**2


def start_components(window: Window) -> Components:
    """Before anything is known: as curved as what a plane and a line leave over."""
    X = np.column_stack([np.ones(window.y.size), window.U, window.theta])
    left_over = window.y - X @ np.linalg.lstsq(X, window.y, rcond=None)[0]
    curved = float(np.log(max(0.01, np.ptp(left_over))))
    return bounded(Components(curved, _USUAL_LENGTH, _CALM))


def pinned(components: Components, fixed: frozenset[str]) -> Components:
    """The components, those of these names at the limit where they have no effect."""
    limits = {"log_q": _BOUNDS["log_q"][0], "log_l": _BOUNDS["log_l"][1]}
    return replace(components, **{name: limits[name] for name in fixed})


def improve(
    fitted: Fit,
    spread: float,
    sweeps: int,
    fixed: frozenset[str],
    *,
    local: bool = False,
) -> Fit:
    """Search along each free component, then all relative to the noise at once.

    The step is doubled while that helps. `local`: the drift depends on the place.
    """
    if local:
        fitted = _with_local_drift(fitted, spread)
    unused = frozenset() if fitted.components.interacts else _OF_PLACE
    free = [name for name in _BOUNDS if name not in fixed | unused]
    # All are relative to the noise: where that is misjudged, so are they, together.
    louder = tuple(name for name in RELATIVE if name in free)
    best, score = fitted, _score(fitted)
    for _ in range(sweeps):
        before = score
        for names in (*((name,) for name in free), louder):
            best, score = _line_search(best, score, names, spread)
        if before - score < _ENOUGH:
            break
    return best


def _with_local_drift(fitted: Fit, spread: float) -> Fit:
    """The same fit, with a local drift if that is likely enough, else without."""
    grown = max(float(fitted.window.age[-1]), 1.0)
    length = fitted.components.log_l
    if fitted.components.interacts:
        guesses = [replace(fitted.components, log_b=-math.inf)]
    else:
        guesses = [
            replace(fitted.components, log_b=math.log(size / grown), log_s=length)
            for size in _LOCAL
        ]
    trials = [fit(fitted.window, guess, spread) for guess in guesses]
    possible = [fitted, *(trial for trial in trials if trial is not None)]
    return min(possible, key=_score)


def _line_search(
    best: Fit,
    score: float,
    names: tuple[str, ...],
    spread: float,
) -> tuple[Fit, float]:
    for direction in (_STEP, -_STEP):
        step, improved = direction, False
        while True:
            values = {name: getattr(best.components, name) + step for name in names}
            moved = bounded(replace(best.components, **values))
            if moved == best.components:
                break
            trial = fit(best.window, moved, spread)
            trial_score = np.inf if trial is None else _score(trial)
            if trial is None or not score - trial_score > _GAIN:
                break
            best, score, improved = trial, trial_score, True
            step *= 2.0
        if improved:
            break
    return best, score


def _score(fitted: Fit) -> float:
    cost = 0.0
    if fitted.components.interacts:
        m, n = fitted.window.U.shape
        cost = n * math.log(m)  # Schwarz: a gradient more to be chosen
    return fitted.solution.criterion + prior(fitted.components) + cost


def bounded(components: Components) -> Components:
    """The components, moved into the bounds of the search."""
    return Components(
        **{
            name: min(max(getattr(components, name), low), high)
            for name, (low, high) in _BOUNDS.items()
            if components.interacts or name not in _OF_PLACE
        }
    )
