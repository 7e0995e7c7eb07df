"""What the search carries from one reading to the next, and how readings change it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...result import Status
from ...samples import SampleSet
from ...state import State, Verdict
from .champion import Champion
from .evidence import Evidence, witness
from .likelihood import Belief
from .posterior import Posterior
from .region import size_factor

Array = NDArray[np.float64]

_FAR_AHEAD = 3.0  # standard errors


@dataclass(frozen=True)
class Plan:
    """The next point and what is expected of it."""

    x: Array
    predicted: float
    unresolved: bool  # the gradient is not larger than its uncertainty
    explores: bool
    visible: float  # largest variation over the region, in noise units
    blurred: bool = False  # the gradient is unknown, and not because of noise
    verifies: bool = False  # a known place is measured again


@dataclass(frozen=True)
class Search:
    """What the method carries from one reading to the next."""

    B: Array
    noise: float  # assumed standard deviation of a reading, the unit of all fits
    stated: float  # the same as stated by the user, or guessed; maybe 0
    spread: float  # how much it is trusted: prior std of log nu
    spacing: float  # unit of time
    evidence: Evidence  # of the drift
    belief: Belief  # in its restlessness
    champion: Champion
    fitted: Posterior
    plan: Plan
    settled: int = 0  # iterations that found nothing left to gain


def judged(search: Search, samples: SampleSet) -> float:
    """The change of the region after the newest reading, which was planned."""
    plan, x = search.plan, samples.points[-1]
    u = search.fitted.window.frame.u(x[None])[0]
    innovation, std = search.fitted.innovation(
        u, float(samples.times[-1]), float(samples.values[-1])
    )
    achieved = float(search.fitted.falls(u[None])[0]) - innovation
    ratio = (achieved + 4.0) / (plan.predicted + 4.0)  # 4: what noise alone may do
    return size_factor(
        ratio=None if plan.explores else ratio,
        length=math.sqrt(u @ u),
        unresolved=plan.unresolved,
        surprise=abs(innovation) / std,
    )


def learned(state: State[Search], search: Search) -> tuple[State[Search], Search]:
    """If the newest reading repeats the centre: it is the centre now, and a witness."""
    samples, old, new = state.samples, state.centre, len(state.samples) - 1
    assert old is not None
    if new == old or not np.array_equal(samples.points[new], samples.points[old]):
        return state, search
    evidence = witness(samples, old, new, search.noise, search.spacing)
    return replace(state, centre=new), replace(
        search, evidence=evidence.after(search.evidence)
    )


def measuring(
    place: Array, state: State[Search], search: Search, fitted: Posterior
) -> State[Search]:
    """Measure a known place again."""
    plan = replace(search.plan, x=place, verifies=True)
    return replace(state, memory=replace(search, fitted=fitted, plan=plan))


def compared(
    state: State[Search], search: Search, fitted: Posterior, asked: bool
) -> tuple[Search, bool]:
    """The best place so far after the newest reading; whether it is far ahead."""
    champion, samples = search.champion, state.samples
    if asked:
        champion = champion.heard(samples, len(samples) - 1)
    lead = champion.lead(
        samples,
        noise=fitted.noise_std,
        q=math.exp(fitted.components.log_q),
        spacing=search.spacing,
    )
    if lead is None:
        champion = champion.challenged(state.centre_point, search.B)
        return replace(search, champion=champion), False
    assert champion.rival is not None
    if lead < 0.0:
        champion = Champion(champion.rival, search.B)
    else:
        champion = Champion(champion.x, champion.B)
    return replace(search, champion=champion), lead > _FAR_AHEAD


def after_failure(state: State[Search]) -> State[Search]:
    """Half the region, and half the step towards the point that failed."""
    state = replace(state, failures=state.failures + 1, verdict=Verdict(False))
    if state.memory is None:
        return state
    search, x = state.memory, state.centre_point
    plan = replace(search.plan, x=x + 0.5 * (search.plan.x - x))
    return replace(state, memory=replace(search, B=0.5 * search.B, plan=plan))


def status_of(x: Array, B: Array, planned: Array) -> Status:
    size = float(np.abs(B).max())
    if not (math.isfinite(size) and np.abs(planned).max() < LARGEST_COORDINATE):
        return Status.UNBOUNDED
    if size < 1e-13 * max(1.0, math.sqrt(x @ x)):
        return Status.STAGNATED
    return Status.RUNNING
