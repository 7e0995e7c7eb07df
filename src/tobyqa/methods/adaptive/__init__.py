"""Method ``adaptive``: the data choose how curved, how restless and how loud.

Keeps the paper's idea, one generalized-least-squares system in space and time in which
affine drift cannot touch the gradient, and adds: curvature as a random function that
far readings know little of, drift as a smoothing spline, with a steady part that may
depend on the place, variance components by restricted likelihood, and a region that
stays large enough for differences to stand out of the noise and is shaped so that every
direction is equally visible.

B is the region {centre + B u : |u| <= 1}; e and Q are the eigenvalues and eigenvectors
of the Hessian at the centre, in units of u and of noise.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...result import Status
from ...samples import SampleSet
from ...state import (
    Estimate,
    Observation,
    Proposal,
    State,
    Task,
    Verdict,
    first_readings,
    stepwise,
    with_reading,
)
from . import probe
from .answer import (
    best_answer,
    expected_excess,
    gauges,
    in_user_units,
    latest_answer,
    lower,
    recommended,
)
from .champion import Find
from .early import remembered, still_better
from .evidence import best_row
from .excursion import Excursion, destination, is_due, unfinished
from .likelihood import bounded, pinned
from .options import Options
from .plan import planned
from .posterior import Components, Posterior
from .region import (
    change,
    is_outdated,
    rescaled,
    reshaped,
    rounded,
)
from .search import (
    Search,
    after_failure,
    appeals,
    believed,
    compared,
    judged,
    learned,
    status_of,
)
from .unit import assumed_noise, in_unit
from .window import coefficients

Array = NDArray[np.float64]

_OTHER_NOISE = math.log(2.0)  # change of its variance that calls for other components
_READINGS_A_REFIT = 25  # in the window, for each reading between likelihood searches
_SETTLED = 40  # iterations that must find nothing left to gain; fewer were deceived
_RELAPSE = 5  # of them are lost by one that finds something
_DEFAULT_FTOL = 0.05  # in units of the noise, for searches without a budget


@dataclass(frozen=True)
class Adaptive(Options):
    """Method ``adaptive``: the default; its ablations are field values.

    A fit costs O(m^3) for a window of m readings, about `window` at the most (for the
    answer up to four times as many), and memory O(m^2 + n^2); a quadratic has
    (n + 1)(n + 2) / 2 coefficients, so from n = 31 on the window holds fewer readings
    than that and the curvature is known only in part.
    """

    RETIRED: ClassVar[frozenset[str]] = frozenset()

    # -- the iteration ---------------------------------------------------------------

    def begin(
        self, task: Task
    ) -> Generator[tuple[Proposal, State[Search]], Observation | None, None]:
        """The search, step by step."""
        return stepwise(self, task)

    def start(self, task: Task) -> State[Search]:
        """No reading yet."""
        if task.radius is None:
            task = replace(task, radius=self.radius)
        return State(task, SampleSet.empty(task.x0.size))

    def propose(self, state: State[Search]) -> Proposal:
        """The next point of the probe, then the planned one."""
        if state.memory is None:
            return Proposal(probe.probe_point(state, shuffle=self.shuffle))
        excursion = state.memory.excursion
        if excursion is None:
            return Proposal(state.memory.plan.x)
        if excursion.next_is_home():
            return Proposal(state.memory.champion.x)
        return self._elsewhere.propose(excursion.state)

    def absorb(self, state: State[Search], observation: Observation) -> State[Search]:
        """Take a reading in, refit, and plan the next point."""
        if state.memory is not None and state.memory.excursion is not None:
            return self._abroad(state, state.memory, observation)
        if observation.failed:
            return self._after_failure(state)
        samples = with_reading(state.samples, observation)
        reading_is_start = observation.asked and state.readings == 0
        state = replace(
            state,
            samples=samples,
            centre=len(samples) - 1 if reading_is_start else state.centre,
            readings=state.readings + observation.asked,
            failures=0,
            verdict=Verdict(accepted=reading_is_start),
        )
        if state.memory is None:
            if state.readings < probe.size(state.task.x0.size):
                return state
            state, search = probe.begun(state, self.fits, may_be_local=self.local)
            return self._iterate(state, search, asked=False)
        if state.status is Status.UNBOUNDED:
            return state
        return self._iterate(state, state.memory, observation.asked)

    def _after_failure(self, state: State[Search]) -> State[Search]:
        """A find that cannot be compared is given up; else as everywhere."""
        search = state.memory
        if search is None or search.champion.found is None or state.failures == 0:
            return after_failure(state)
        state = replace(state, failures=state.failures + 1, verdict=Verdict(False))
        return self._returned(state, search, None)

    def _abroad(
        self, state: State[Search], search: Search, observation: Observation
    ) -> State[Search]:
        """An observation while a search elsewhere is under way."""
        excursion, method = search.excursion, self._elsewhere
        assert excursion is not None
        answers = observation.asked and np.array_equal(
            observation.x, self.propose(state).x
        )
        state = replace(state, verdict=Verdict(False), failures=state.failures + 1)
        if not observation.failed:
            state = replace(
                state,
                samples=with_reading(state.samples, observation),
                readings=state.readings + observation.asked,
                iterations=state.iterations + 1,
                failures=0,
            )
        if answers and excursion.next_is_home():
            if not observation.failed:
                fitted = self.fits.extended(state, search)
                search = replace(search, fitted=fitted)
            excursion = excursion.anchored(observation)
        else:
            own = observation if answers else replace(observation, trial=None)
            excursion = excursion.moved(method.absorb(excursion.state, own))
        search = replace(search, excursion=excursion)
        if not excursion.is_over(state.readings):
            return replace(state, memory=search, gauges=gauges(search.fitted))
        return self._returned(state, search, excursion.found(search))

    def _returned(
        self, state: State[Search], search: Search, found: Find | None
    ) -> State[Search]:
        """Back from an excursion, with something to be compared or with nothing."""
        champion = search.champion.unchallenged()
        if found is None:
            search = replace(search, excursion=None, champion=champion)
            return self._plan(state, search, search.fitted)
        champion = champion.challenged_from_afar(found)
        search = replace(search, excursion=None, champion=champion)
        return _measuring(champion.x, state, search, search.fitted)

    def _iterate(
        self, state: State[Search], search: Search, asked: bool
    ) -> State[Search]:
        """One iteration: judge, choose components, centre and region, plan."""
        # An answer to an earlier plan, overtaken by readings not asked for, is none.
        answers = asked and np.array_equal(state.samples.points[-1], search.plan.x)
        fitted = self.fits.extended(state, search)
        factor = self._size_factor(state, search, answers, fitted)
        state, search = learned(replace(state, iterations=state.iterations + 1), search)
        if self.home:
            search, fitted, home = self._compared(
                state, search, fitted, answers, factor
            )
            place = search.champion.next_point(search.patience)
            if place is not None:
                return _measuring(place, state, search, fitted)
            if home is not None:
                return self._home(state, search, home)
            if answers and self._is_free_to_leave(state) and is_due(search, fitted):
                search = self._leaving(state, search)
        search, fitted = self._likelier(state, search, fitted)
        row, doubted = best_row(
            fitted,
            search.evidence,
            search.spread,
            search.loudest,
            cautious=self.caution,
        )
        centre_is_fresh = state.centre == len(state.samples) - 1
        if doubted and self.verify and not centre_is_fresh:
            # Nothing else tells drift from ascent.
            return _measuring(state.centre_point, state, search, fitted)
        return self._recentred(state, replace(search, B=factor * search.B), fitted, row)

    def _compared(
        self,
        state: State[Search],
        search: Search,
        fitted: Posterior,
        answers: bool,
        factor: float,
    ) -> tuple[Search, Posterior, Components | None]:
        """The best place so far; the components to go on from there, if so.

        With a fit that knows of a local drift only as long as there may be one.
        """
        assert state.centre is not None
        home = None
        is_turned_down = answers and factor < 1.0
        if self.appeal and is_turned_down and appeals(search, state.iterations):
            champion = search.champion.appealed(state.samples.points[-1])
            search = replace(search, B=factor * search.B, champion=champion)
        else:
            search, home = compared(state, search, fitted, answers)
        if fitted.components.interacts and not search.local:
            components = replace(fitted.components, log_b=-math.inf)
            fitted = self.fits.around(state.centre, state, search, components)
        return search, fitted, home

    def _likelier(
        self, state: State[Search], search: Search, fitted: Posterior
    ) -> tuple[Search, Posterior]:
        """The fit with components chosen anew, where that is due."""
        k = state.iterations
        # It costs as much as the window is long, and teaches less, the longer it is.
        interval = max(self.refit_every, fitted.window.y.size // _READINGS_A_REFIT)
        is_off = k < 3 or fitted.is_off
        # Components of the region before show as a noise that comes and goes.
        is_outgrown = abs(math.log(fitted.nu / search.nu)) > _OTHER_NOISE
        is_due_now = is_off or is_outgrown or k % interval == 1 % interval
        if not (self.likelihood and is_due_now):
            return search, fitted
        fitted = self.fits.improved(state, search, fitted, patient=is_off)
        search = replace(search, nu=fitted.nu)
        return (believed(search) if self.doubt else search), fitted

    def _recentred(
        self, state: State[Search], search: Search, fitted: Posterior, row: int
    ) -> State[Search]:
        """The fit around its best row, in the region as it is now, and a plan."""
        centre = int(fitted.window.rows[row])
        unit = assumed_noise(fitted, search)
        size, region_is_another = change(fitted, search.B)
        components = rescaled(fitted.components, size)
        # With a local drift windows are long, and making them anew takes its time. Else
        # they are: a trial of the other way was no faster to speak of, and no better.
        window_is_another = size != 1.0 and not components.interacts
        if (
            unit != search.noise
            or region_is_another
            or window_is_another
            or is_outdated(fitted, row)
            or components != pinned(bounded(components), self.fits.fixed)
        ):
            search, components = in_unit(unit, search, components)
            fitted = self.fits.around(centre, state, search, components)
        else:
            fitted = fitted.resized(size, components)
            centre = int(fitted.window.rows[fitted.window.centre])
        accepted = centre == len(state.samples) - 1
        state = replace(state, centre=centre, verdict=Verdict(accepted))
        return self._plan(state, search, fitted)

    def _size_factor(
        self, state: State[Search], search: Search, answers: bool, fitted: Posterior
    ) -> float:
        """How the region is to change after the newest reading."""
        plan, factor = search.plan, 1.0
        if answers and not plan.verifies:
            factor = judged(search, state.samples, fitted)
        # Readings nobody asked for may all lie outside what they would make of it.
        if answers and plan.blurred and self.focus:
            factor = min(factor, 0.7)  # look closer
        if plan.visible < max(5.0, state.task.x0.size):
            factor = max(factor, 1.2)  # differences must stand out of the noise
        return factor

    def _home(
        self, state: State[Search], search: Search, components: Components
    ) -> State[Search]:
        """Go on from the best place so far."""
        if not search.local:
            components = replace(components, log_b=-math.inf)
        row = int(state.samples.rows_at(search.champion.x)[-1])
        accepted = row == len(state.samples) - 1
        state = replace(state, centre=row, verdict=Verdict(accepted))
        search = replace(search, B=search.champion.B)
        there = self.fits.around(row, state, search, components)
        return self._plan(state, search, there)

    def _plan(
        self, state: State[Search], search: Search, fitted: Posterior
    ) -> State[Search]:
        """The next point, the shape of the region, and whether to stop."""
        may_explore = self.explore and state.iterations % 2 == 0
        plan = planned(fitted, may_explore=may_explore)
        B = search.B
        enough = fitted.window.y.size >= coefficients(len(B))
        if self.reshape and enough and not fitted.is_off:
            B = reshaped(B, fitted)
        if state.iterations % 5 == 0:
            B = rounded(B)
        if self.early and search.local:
            search = replace(search, early=remembered(search, fitted))
        settled = self._settled(state, search, fitted)
        assert state.task.radius is not None
        unit = min(1.0, state.task.radius)
        status = status_of(state.centre_point, B, plan.x, unit)
        if settled >= _SETTLED and status is Status.RUNNING:
            status = Status.SETTLED
        return replace(
            state,
            memory=replace(search, B=B, fitted=fitted, plan=plan, settled=settled),
            gauges=gauges(fitted),
            status=status,
        )

    # -- its parts -------------------------------------------------------------------

    @cached_property
    def _elsewhere(self) -> Adaptive:
        """The method of an excursion; what kind of drift there is, is known by then."""
        return replace(self, excursions=False, local=False)

    def _is_free_to_leave(self, state: State[Search]) -> bool:
        """Not where the search is to stop instead."""
        return self.excursions and state.task.has_budget and self.ftol == 0.0

    def _leaving(self, state: State[Search], search: Search) -> Search:
        """Another search begins; this one will go on as it is planned to."""
        there = self._elsewhere.start(destination(state, search))
        champion = search.champion.unchallenged()
        excursion = Excursion(there, until=2 * state.readings)
        return replace(search, champion=champion, excursion=excursion)

    def _settled(self, state: State[Search], search: Search, fitted: Posterior) -> int:
        """Iterations up to this one that found nothing left to gain.

        In a curved valley single fits are sure of a minimum that is none; what they
        say counts only once many of them agree.
        """
        ftol = self.ftol
        if ftol == 0.0:
            if state.task.has_budget:
                return 0
            ftol = _DEFAULT_FTOL * fitted.noise_std
        if expected_excess(fitted) < ftol:
            return search.settled + 1
        return max(search.settled - _RELAPSE, 0)

    # -- the answer ------------------------------------------------------------------

    def estimate(self, state: State[Search], *, quick: bool = False) -> Estimate:
        """The best point by all that was seen; `quick`: by the search's own fit.

        Its values are those of the time of the newest reading it is made of.
        """
        if state.memory is None or state.centre is None:
            return first_readings(state)
        search = state.memory
        if quick:
            chosen = search.fitted, recommended(search.fitted, search.loudest)
        else:
            chosen = self._answer(state, search)
        early = still_better(search, chosen[0], len(state.samples))
        if early is None:
            answer = in_user_units(*chosen)
        else:
            answer = early.instead_of(chosen[0], search.loudest)
        return replace(answer, drift_is_local=search.local)

    def _answer(self, state: State[Search], search: Search) -> tuple[Posterior, Array]:
        """The fit that is to tell, and the position in its region."""
        fits, cautious = self.fits, self.caution
        if not self.home:
            return latest_answer(fits, state, search, cautious=cautious)
        answer = best_answer(fits, state, search, cautious=cautious)
        there = unfinished(search)
        if there is None or there.memory is None:
            return answer
        return lower(
            answer, latest_answer(fits, there, there.memory, cautious=cautious)
        )


def _measuring(
    place: Array, state: State[Search], search: Search, fitted: Posterior
) -> State[Search]:
    """Measure a known place again."""
    plan = replace(search.plan, x=place, verifies=True)
    memory = replace(search, fitted=fitted, plan=plan)
    return replace(state, memory=memory, gauges=gauges(fitted))
