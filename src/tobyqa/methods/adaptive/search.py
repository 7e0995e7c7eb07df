"""What the search carries from one reading to the next, and how readings change it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...result import Status
from ...samples import SampleSet
from ...state import State, Verdict
from .champion import Champion
from .comparison import UNKNOWN, Ruler, drift_is_local, noise_between
from .evidence import Evidence, credible_noise, digits, witness
from .posterior import Components, Posterior
from .region import size_factor
from .window import relative_variances

if TYPE_CHECKING:
    from .early import EarlyMinimum
    from .excursion import Excursion

Array = NDArray[np.float64]

BELIEVED, GUESSED = 1.0, 5.0  # prior std of log nu: a noise stated, and one guessed
_DENIED = 3.0  # size of log nu at which a fit denies the noise stated

_BY_CHANCE = 4.0  # standard errors of a reading: what noise alone may do
_FAR_AHEAD = 3.0  # standard errors
_GAIN = 1.0  # noise levels between two comparisons; less is none
_CLOSE = 4.0  # noise levels; two places known to within that are compared
_MOST_AT_START = 6  # comparisons of two places until they are known that well
_MOST_AFAR = 3  # comparisons with what another search found, if they tell nothing
_FIRST_STEPS = 4  # iterations whose steps may appeal
_APPEAL, _APPEAL_IF_GUESSED = 2, 3  # comparisons that decide on a step turned down
_LEAST_IF_GUESSED = 4  # comparisons that tell the noise as well
_TOO_SOON = 0.5  # spacings between two readings that are to show a slope
_SOON, _SOON_OFTEN = 4, 3  # iterations between the first comparisons; how many


@dataclass(frozen=True)
class Plan:
    """The next point and what is expected of it."""

    x: Array
    predicted: float
    unresolved: bool  # the gradient is less than twice its uncertainty
    explores: bool
    visible: float  # largest variation over the region, in noise units
    blurred: bool = False  # the gradient is unknown, and not because of noise
    verifies: bool = False  # a known place is measured again

    @property
    def is_step(self) -> bool:
        return not (self.explores or self.verifies)


@dataclass(frozen=True)
class Search:
    """What the method carries from one reading to the next."""

    B: Array
    noise: float  # assumed standard deviation of a reading, the unit of all fits
    stated: float  # the same as stated by the user, or guessed; maybe 0
    spread: float  # how much it is trusted: prior std of log nu
    loudest: float  # noise that a fit of this function may need, in units of that
    spacing: float  # unit of time
    evidence: Evidence  # of the drift
    champion: Champion
    fitted: Posterior
    plan: Plan
    local: bool = False  # the drift depends on the place
    local_is_known: bool = False
    aside: Array | None = None  # place that drifts in its own way, in no fit any more
    nu: float = 1.0  # noise variance by the last search of the likelihood
    settled: int = 0  # iterations that found nothing left to gain
    excursion: Excursion | None = None  # another search, from elsewhere
    early: EarlyMinimum | None = None  # only if the drift depends on the place

    @property
    def noise_is_guessed(self) -> bool:
        return self.spread > BELIEVED

    @property
    def credible(self) -> tuple[float, float]:
        """The least and the most noise to be believed in, in units of the assumed.

        Less than was stated, too: errors taken too large hide a drift that is local.
        """
        doubt = max(self.spread - 1.0, 1.0)
        return 1.0 / credible_noise(doubt), credible_noise(self.spread)

    @property
    def patience(self) -> int:
        """Iterations between comparisons; few until the kind of drift is known."""
        soon = not self.local_is_known and len(self.champion.earlier) < _SOON_OFTEN
        return _SOON if soon else self.champion.x.size + 20


def judged(search: Search, samples: SampleSet, after: Posterior) -> float:
    """The change of the region after the newest reading, which was planned."""
    plan, x = search.plan, samples.points[-1]
    u = search.fitted.window.frame.u(x[None])[0]
    own = float(relative_variances(samples.sigmas[-1:], search.noise)[0])
    innovation, std = search.fitted.innovation(
        u, float(samples.times[-1]), float(samples.values[-1]), own
    )
    achieved = sure = float(search.fitted.falls(u[None])[0]) - innovation
    if after.components.interacts:
        # The reading alone says nothing of the start. The region may grow only on a
        # fall that is sure, and is seen in what is read now as well.
        v = after.window.U[-1:]
        achieved = float(after.falls(v)[0])
        error = math.sqrt(float(after.fall_variances(v)[0]))
        sure = achieved - max(error, float(after.local_drift[-1]))
    chance = _BY_CHANCE * max(1.0, math.sqrt(own))
    promised = plan.predicted + chance
    factor = size_factor(
        ratio=None if plan.explores else (achieved + chance) / promised,
        length=math.sqrt(u @ u),
        unresolved=plan.unresolved,
        surprise=abs(innovation) / std,
    )
    is_doubtful = sure < achieved and sure + chance < 0.7 * promised
    return min(factor, 1.0) if is_doubtful else factor


def believed(search: Search) -> Search:
    """The noise that was stated is a mere guess from the fit on that denies it.

    Not where readings are finer than the fit has digits for: that is no noise at all.
    """
    is_denied = abs(math.log(search.nu)) > _DENIED
    if is_denied and search.noise == search.stated and not search.noise_is_guessed:
        return replace(search, spread=GUESSED)
    return search


def learned(state: State[Search], search: Search) -> tuple[State[Search], Search]:
    """If the newest reading repeats the centre: it is the centre now, and a witness.

    Not of the drift if it was taken at about the same time.
    """
    samples, old, new = state.samples, state.centre, len(state.samples) - 1
    assert old is not None
    if new == old or not np.array_equal(samples.points[new], samples.points[old]):
        return state, search
    state = replace(state, centre=new, verdict=Verdict(accepted=True))
    gap = abs(float(samples.times[new] - samples.times[old])) / search.spacing
    if gap < _TOO_SOON:
        return state, search
    evidence = witness(samples, old, new, search.noise, search.spacing)
    return state, replace(search, evidence=evidence.after(search.evidence))


def appeals(search: Search, k: int) -> bool:
    """Whether the plan, if it was turned down, is to be compared with the best place.

    One of the first steps may be turned down by a drift that depends on the place: most
    of what is known by then was measured at one and the same distance from x0.
    """
    return (
        k <= _FIRST_STEPS
        and search.plan.is_step
        and search.champion.rival is None
        and not search.local_is_known
    )


def compared(
    state: State[Search], search: Search, fitted: Posterior, answers: bool
) -> tuple[Search, Components | None]:
    """The best place so far after the newest reading.

    With the components to go on from there, if the search should. `answers`: the
    reading is of the point that was planned last.
    """
    champion, samples = search.champion, state.samples
    patience = search.patience
    if not answers:
        return search, None
    champion = champion.heard(samples, len(samples) - 1, patience)
    if not champion.is_complete:
        champion = champion.challenged(state.centre_point, search.B, patience)
        return replace(search, champion=champion), None
    assert champion.rival is not None
    comparisons = (*champion.earlier, champion.rows)
    if champion.is_appeal:
        enough = _APPEAL_IF_GUESSED if search.noise_is_guessed else _APPEAL
        if len(comparisons) < enough:
            return replace(search, champion=champion.again()), None
        search, is_lower = _appealed(search, samples, champion, champion.rival)
        return search, fitted.components if is_lower else None
    ruler = _ruler(search, fitted, samples, comparisons)
    if not search.local_is_known:
        local, known = drift_is_local(samples, comparisons, ruler)
        known &= not search.noise_is_guessed or len(comparisons) >= _LEAST_IF_GUESSED
        search = replace(search, local=local, local_is_known=known)
    ahead, error = ruler.ahead(samples, champion.rows)
    undecided = not search.local_is_known
    if champion.found is not None:
        undecided |= error >= UNKNOWN and len(comparisons) < _MOST_AFAR
    if search.local:
        ahead, error = ruler.ahead_at_start(samples, champion.x, champion.rival)
        close = error <= _CLOSE or abs(ahead) > _FAR_AHEAD * error
        undecided |= not close and len(comparisons) < _MOST_AT_START
    if undecided:
        return replace(search, champion=champion.again()), None
    champion, home = decided(search, champion, fitted, ahead, error)
    return replace(search, champion=champion), home


def decided(
    search: Search, champion: Champion, fitted: Posterior, ahead: float, error: float
) -> tuple[Champion, Components | None]:
    """The better one of two places; the components to go on from there, if so."""
    assert champion.rival is not None
    if champion.found is not None:
        if ahead < -_FAR_AHEAD * error:
            found = champion.found
            return Champion(found.x, found.B), found.components
        return champion.unchallenged(), None
    idle = 0 if ahead < -_GAIN else champion.idle + 1
    # Of the start, late readings tell little: there the sign alone would be chance.
    needed = error if search.local else 0.0
    if ahead < -needed:
        return Champion(champion.rival, search.B, idle=idle), None
    best = Champion(champion.x, champion.B, idle=idle)
    return best, fitted.components if ahead > _FAR_AHEAD * error else None


def _appealed(
    search: Search, samples: SampleSet, champion: Champion, step: Array
) -> tuple[Search, bool]:
    """A step that was turned down, after the comparisons with the best place so far.

    If they drift apart, the readings deny nothing: what counts is how the two were at
    the start. If the step was lower, the best place so far, mostly x0, is put aside:
    its own drift would bend every fit around the step.
    """
    kept = replace(search, champion=champion.unchallenged())
    least, most = search.credible
    # No fit, so no need of more digits than the readings have.
    noise = max(search.stated, digits(float(np.abs(samples.values).max())))
    lines = Ruler(noise, 0.0, search.spacing).lines(samples, champion.x, step)
    if lines is None or not lines.drift_apart(least, most):
        return kept, False
    kept = replace(kept, local=True, local_is_known=True)
    ahead, error = lines.ahead
    if ahead > -_FAR_AHEAD * error * max(lines.misfit, least):
        return kept, False
    there = samples.rows_at(step)
    evidence = witness(
        samples, int(there[0]), int(there[-1]), search.noise, search.spacing
    )
    best = Champion(step, champion.B)
    return replace(kept, aside=champion.x, evidence=evidence, champion=best), True


def _ruler(
    search: Search,
    fitted: Posterior,
    samples: SampleSet,
    comparisons: tuple[tuple[int, ...], ...],
) -> Ruler:
    """A noise estimate far from the assumed level is misfit, and no excuse."""
    least, most = search.credible
    noise = fitted.noise_std
    if search.noise_is_guessed:
        # What the fit calls noise may be the very drift that is asked for.
        noise = min(noise, noise_between(samples, comparisons))
    noise = min(max(noise, search.noise * least), search.noise * most)
    return Ruler(noise, math.exp(fitted.components.log_q), search.spacing)


def after_failure(state: State[Search]) -> State[Search]:
    """Half the region, and half the step towards the point that failed.

    A place that has been measured before gets a second chance.
    """
    state = replace(state, failures=state.failures + 1, verdict=Verdict(False))
    if state.memory is None:
        return state
    search, x = state.memory, state.centre_point
    if search.plan.verifies and state.failures == 1:
        return state
    nearer = x + 0.5 * (search.plan.x - x)
    fall = float(search.fitted.falls(search.fitted.window.frame.u(nearer[None]))[0])
    plan = replace(search.plan, x=nearer, predicted=max(fall, 0.0))
    return replace(state, memory=replace(search, B=0.5 * search.B, plan=plan))


def status_of(x: Array, B: Array, planned: Array, unit: float) -> Status:
    """Whether the search has run away or its steps have no digits left."""
    size = float(np.abs(B).max())
    if not (math.isfinite(size) and np.abs(planned).max() < LARGEST_COORDINATE):
        return Status.UNBOUNDED
    if size < 1e-13 * max(unit, math.sqrt(x @ x)):
        return Status.STAGNATED
    return Status.RUNNING
