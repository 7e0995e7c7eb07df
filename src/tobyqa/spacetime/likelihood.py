"""Choosing the variance components by penalised restricted likelihood.

======  ==================================================================
symbol  meaning, all relative to the noise
======  ==================================================================
a       curvature of the function per region
l       length over which it is quadratic, in regions
q       restlessness of the drift per spacing of the readings; of one that
        walks, its steps
b       difference of the drift over a region, per spacing; if it is local
======  ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np

from ..frozen import replace
from .components import Components
from .drift import A_JUMP, jumps_within, likely_jump
from .fit import Fit, fit
from .window import Window

Limits = Mapping[str, tuple[float, float]]

# Bounds of the search. An unbounded q would absorb spatial misfit, an unbounded a
# noise; both let the iterates run away.
_LIMITS = {
    "log_a": (-1.0, 25.0),
    "log_l": (0.0, math.log(30.0)),
    "log_q": (-8.0, 3.4),
    "log_b": (-12.0, 12.0),
}
_RELATIVE = ("log_a", "log_q", "log_b")  # to the noise
_STEP = 0.7  # first step of the line searches, in logarithms
_LOCAL = (10.0, 100.0, 1000.0)  # noise levels over a region by now: first guesses
_HALF = 0.5  # of what a plane varies
_USUAL_LENGTH = math.log(4.0)  # regions
_CALM, _CALM_STD = -2.0, 2.0  # log q: bends by a noise level within five readings
_VAGUE_STD = 3.0  # the same for what is said of the drift's rate at the end
_FINE = (0.35, -0.35, 0.17, -0.17)  # steps, in logarithms
_STEADY = 0.0  # log q of a walk: steps of a noise level
_WALKS = 8.0  # -2 log of the odds that a drift walks
_LARGEST_STEPS = 2.0  # log q of a walk; what moves more is rather a smooth drift
_FLAT = 2.0  # log a: what a region is made for, too little to explain a jump
_STEPS, _BENDS = (1.0,), (-2.0, 0.0)  # log q: first guesses of either kind
_GAIN = 1e-6  # improvement that keeps a line search going
_ENOUGH = 1.0  # and one that calls for another sweep


def limits(drift: str, length: str) -> Limits:
    """Those of the search, with no room for a component that is to have no effect."""
    found = dict(_LIMITS)
    if drift == "straight":
        found["log_q"] = (_LIMITS["log_q"][0],) * 2
    if length == "infinite":
        found["log_l"] = (_LIMITS["log_l"][1],) * 2
    return found


def bounded(components: Components, within: Limits) -> Components:
    """The components, moved into the limits."""
    has_b = components.interacts
    values = {
        name: min(max(getattr(components, name), low), high)
        for name, (low, high) in within.items()
        if has_b or name != "log_b"
    }
    if components.walks:
        values["log_q"] = min(values["log_q"], _LARGEST_STEPS)
    return replace(components, **values)


def start_components(window: Window, within: Limits) -> Components:
    """Before anything is known: as curved as what a plane and a line leave over.

    They may leave nothing, being through as many readings as they have coefficients:
    then half as curved as the plane is steep.
    """
    X = np.column_stack([np.ones(window.y.size), window.U, window.theta])
    beta = np.linalg.lstsq(X, window.y, rcond=None)[0]
    left_over = float(np.ptp(window.y - X @ beta))
    steep = float(np.ptp(window.U @ beta[1:-1]))
    curved = math.log(max(0.01, left_over, _HALF * steep))
    return bounded(Components(curved, _USUAL_LENGTH, _CALM), within)


def improve(
    fitted: Fit, spread: float, sweeps: int, within: Limits, *, local: bool
) -> Fit:
    """Search along each component, then all that are relative to the noise at once.

    The step is doubled while that helps. `local`: the drift may depend on the place.
    """
    if local:
        fitted = _with_local_drift(fitted, spread)
    fitted = _searched(fitted, spread, sweeps, within)
    low, high = within["log_q"]
    if fitted.components.interacts or not low < high:
        return fitted
    other = _with_jumps(_other_drift(fitted, spread, within), spread, within)
    return fitted if other is fitted else _searched(other, spread, sweeps, within)


def _searched(fitted: Fit, spread: float, sweeps: int, within: Limits) -> Fit:
    has_b = fitted.components.interacts
    free = [name for name in within if has_b or name != "log_b"]
    # Where the noise is misjudged, so are they, together.
    louder = tuple(name for name in _RELATIVE if name in free)
    score = _score(fitted)
    for _ in range(sweeps):
        before = score
        for names in (*((name,) for name in free), louder):
            fitted, score = _line_search(fitted, score, names, spread, within)
        if before - score < _ENOUGH:
            break
    return fitted


def _line_search(
    best: Fit, score: float, names: tuple[str, ...], spread: float, within: Limits
) -> tuple[Fit, float]:
    for direction in (_STEP, -_STEP):
        step, improved = direction, False
        while True:
            values = {name: getattr(best.components, name) + step for name in names}
            moved = bounded(replace(best.components, **values), within)
            if moved == best.components:
                break
            trial = fit(best.window, moved, spread)
            trial_score = math.inf if trial is None else _score(trial)
            if trial is None or not score - trial_score > _GAIN:
                break
            best, score, improved = trial, trial_score, True
            step *= 2.0
        if improved:
            break
    return best, score


def finest(fitted: Fit, spread: float, within: Limits) -> Fit:
    """The same fit, its components in fine steps, restlessness by a weaker prior.

    The coarse steps of a search leave its noise off by a part of the error. Its prior
    of a smooth drift keeps it from being led astray; where the drift is calm it leaves
    the rate more doubtful than the readings do.
    """

    def cost(trial: Fit) -> float:
        restless = trial.components.log_q - _CALM
        weaker = restless**2 * (_VAGUE_STD**-2 - _CALM_STD**-2)
        return _score(trial) + (0.0 if trial.components.walks else weaker)

    best, least = fitted, cost(fitted)
    for step, name in product(_FINE, ("log_q", "log_a", "log_l")):
        while True:
            value = getattr(best.components, name) + step
            moved = bounded(replace(best.components, **{name: value}), within)
            if moved == best.components:
                break
            trial = fit(best.window, moved, spread)
            if trial is None or not cost(trial) < least:
                break
            best, least = trial, cost(trial)
    return best


def _with_local_drift(fitted: Fit, spread: float) -> Fit:
    """The same fit, with a local drift if that is likely enough, else without."""
    chosen = fitted.components
    grown = max(float(fitted.window.age[-1]), 1.0)
    guesses = [math.log(size / grown) for size in _LOCAL]
    if chosen.interacts:
        guesses = [-math.inf]
    return _likeliest(fitted, [replace(chosen, log_b=b) for b in guesses], spread)


def _with_jumps(fitted: Fit, spread: float, within: Limits) -> Fit:
    """The same fit, or one with a jump of the baseline more or less.

    One more is looked for by a flat fit too: the first readings after it, near each
    other, may be a hole as well. And only in the place of restlessness: a drift that is
    restless at all times seems to jump at some.
    """
    window, chosen = fitted.window, fitted.components
    now = jumps_within(window, chosen.jumps)
    others = [replace(chosen, jumps=(*now[:k], *now[k + 1 :])) for k in range(len(now))]
    best = _likeliest(fitted, others, spread)
    flat = replace(chosen, log_a=min(chosen.log_a, _FLAT), log_l=_USUAL_LENGTH)
    for seen in (fitted, fit(window, flat, spread)):
        jump = None if seen is None else likely_jump(window, seen.solution)
        if seen is None or jump is None:
            continue
        calm = min(chosen.log_q, _CALM)
        other = replace(seen.components, log_q=calm, jumps=(*now, jump))
        trial = fit(window, other, spread)
        if trial is not None:
            # What was curvature or noise so far is less of both with the jump.
            best = min(best, _searched(trial, spread, 1, within), key=_score)
    return best


def _likeliest(fitted: Fit, others: list[Components], spread: float) -> Fit:
    """The fit, or the same with other components if one of them is likelier."""
    trials = [fit(fitted.window, other, spread) for other in others]
    return min([fitted, *(trial for trial in trials if trial is not None)], key=_score)


def _other_drift(fitted: Fit, spread: float, within: Limits) -> Fit:
    """The same fit, or one whose drift walks instead of bending, or the other way."""
    walks = not fitted.components.walks
    best = fitted
    for q in _STEPS if walks else _BENDS:
        other = replace(fitted.components, log_q=q, walks=walks)
        trial = fit(fitted.window, bounded(other, within), spread)
        if trial is not None:
            names = ("log_q",)
            trial, _ = _line_search(trial, _score(trial), names, spread, within)
            best = min(best, trial, key=_score)
    return best


def _score(fitted: Fit) -> float:
    """-2 log of likelihood times prior: far so quadratic, a calm drift."""
    chosen, cost = fitted.components, 0.0
    if chosen.interacts:
        m, n = fitted.window.U.shape
        cost = n * math.log(m)  # Schwarz: a gradient more to be chosen
    calm = _CALM
    if chosen.walks:
        calm, cost = _STEADY, cost + _WALKS
    cost += A_JUMP * len(jumps_within(fitted.window, chosen.jumps))
    restless = (chosen.log_q - calm) / _CALM_STD
    curved = chosen.log_l - _USUAL_LENGTH
    return fitted.solution.criterion + curved**2 + restless**2 + cost
