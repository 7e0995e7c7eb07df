"""Method ``adaptive``: the data choose how curved, how restless and how loud.

Keeps the paper's idea, one generalized-least-squares system in space and time in which
affine drift cannot touch the gradient, and adds: curvature as a random function that
far readings know little of, drift as a smoothing spline, variance components by
restricted likelihood, and a region that stays large enough for differences to stand
out of the noise and is shaped so that every direction is equally visible.

==========  ================================================================
symbol      meaning
==========  ================================================================
B           region {centre + B u : |u| <= 1}
g, H        gradient and Hessian at the centre, in units of u and of noise
entries     coefficients of a quadratic, (n + 1)(n + 2) / 2
==========  ================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._check import LARGEST_COORDINATE
from ...result import CURVE_POINTS, DriftCurve, Status
from ...samples import SampleSet
from ...settings import check_fields, label, option
from ...state import (
    Estimate,
    Gauges,
    Observation,
    Proposal,
    State,
    Task,
    Verdict,
    first_readings,
)
from ...step import ball_step
from .likelihood import Belief, improve, start_components
from .posterior import Components, Frame, Posterior, Window, posterior
from .region import rescaled, reshaped, rounded, size_factor

Array = NDArray[np.float64]

_FARTHEST = 20.0  # regions; beyond that a reading says nothing about this one
_LARGEST_FIT = 600  # readings in the final, wider fit
_SMALLEST_WINDOW = 60  # few variables need as many readings to know the drift


@dataclass(frozen=True)
class Plan:
    """The next point and what is expected of it."""

    x: Array
    predicted: float
    unresolved: bool  # the gradient is not larger than its uncertainty
    explores: bool
    visible: float  # largest variation over the region, in noise units
    verifies: bool = False  # the centre is measured again to learn the drift


@dataclass(frozen=True)
class Search:
    """What the method carries from one reading to the next."""

    B: Array
    noise: float  # assumed standard deviation of a reading
    spread: float  # how much it is trusted: prior std of log nu
    spacing: float  # unit of time
    evidence: Evidence  # of the drift
    belief: Belief  # in its restlessness
    fitted: Posterior
    plan: Plan


@dataclass(frozen=True)
class Adaptive:
    """Settings of method ``adaptive``."""

    radius: float = option(2.0, lo=0.0, open_lo=True, doc="size of the first region")
    window: int = option(250, lo=20, hi=2000, doc="readings in a fit, at the most")
    reach: float = option(4.0, lo=1.0, doc="how far out readings count, in regions")
    refit_every: int = option(6, lo=1, doc="readings between likelihood searches")
    carry: bool = option(True, doc="carry the drift's restlessness between windows")
    fill: float = option(1.0, lo=1.0, doc="least window, in first probes")
    farthest: float = option(20.0, lo=1.0, doc="reach of the least window")
    entitled: bool = option(False, doc="shrink only if the window has enough readings")
    lengths: float = option(0.0, lo=0.0, doc="shrink while not quadratic over so much")
    calm: bool = option(True, doc="noise far above the assumed is no reason to grow")

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return label(self)

    # -- the iteration ---------------------------------------------------------------

    def start(self, task: Task) -> State[Search]:
        """No reading yet."""
        if task.radius is None:
            task = replace(task, radius=self.radius)
        return State(task, SampleSet.empty(task.x0.size))

    def propose(self, state: State[Search]) -> Proposal:
        """The next point of the probe, then the planned one."""
        if state.memory is None:
            return Proposal(_probe_point(state))
        return Proposal(state.memory.plan.x)

    def absorb(self, state: State[Search], observation: Observation) -> State[Search]:
        """Take a reading in, refit, and plan the next point."""
        if observation.failed:
            return self._after_failure(state)
        samples = state.samples.append(
            observation.x,
            observation.t,
            observation.value,
            observation.sigma,
            observation.asked,
        )
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
            probe_is_complete = state.readings == 2 * state.task.x0.size + 2
            return self._begin(state) if probe_is_complete else state
        if state.status is Status.UNBOUNDED:
            return state
        return self._iterate(state, state.memory, observation.asked)

    def _iterate(
        self, state: State[Search], search: Search, asked: bool
    ) -> State[Search]:
        """One iteration: judge, choose components, centre and region, plan."""
        k = state.iterations + 1
        fitted = self._extended(state, search)
        factor = 1.0
        if asked and not search.plan.verifies:
            factor = _judged(search, state.samples)
        known = search.fitted.window
        near = np.einsum("ij,ij->i", known.U, known.U) <= self.reach**2
        if self.entitled and np.count_nonzero(near) < 2 * state.task.x0.size + 2:
            factor = max(factor, 0.85)
        if self.lengths and search.fitted.components.log_l < math.log(self.lengths):
            factor = min(factor, 0.7)
        seen = search.plan.visible
        if self.calm:
            seen *= max(1.0, math.sqrt(search.fitted.nu) / math.exp(search.spread))
        if seen < max(5.0, state.task.x0.size):
            factor = max(factor, 1.2)  # differences must stand out of the noise
        state, search = _learned(state, search)

        model_is_off = fitted.misfit > 3.0
        refit_is_due = k % self.refit_every == 1 or k < 3 or model_is_off
        if refit_is_due:
            sweeps = 8 if k <= 3 or model_is_off else 1
            fitted = improve(fitted, search.spread, search.belief, sweeps)
            if self.carry:
                search = replace(search, belief=search.belief.after(fitted))

        row, doubted = _best_row(fitted, search)
        centre = int(fitted.window.rows[row])
        centre_is_fresh = state.centre == len(state.samples) - 1
        if doubted and not centre_is_fresh:
            return self._verify(replace(state, iterations=k), search, fitted)
        search = replace(search, B=factor * search.B)
        fitted = self._fit(state, centre, search, rescaled(fitted.components, factor))
        achieved = float(fitted.steady[fitted.window.centre] - fitted.steady[-1])
        judged = replace(
            state,
            centre=centre,
            iterations=k,
            verdict=Verdict(
                accepted=centre == len(state.samples) - 1,
                predicted=search.plan.predicted * search.noise,
                achieved=achieved * search.noise * math.sqrt(fitted.nu),
            ),
        )
        return self._plan(judged, search, fitted)

    def _plan(
        self, state: State[Search], search: Search, fitted: Posterior
    ) -> State[Search]:
        """The next point: the model's minimum in the region, or the least known way."""
        g, H = fitted.g, fitted.hessian
        e, Q = np.linalg.eigh(H)
        s = ball_step(g, e, Q)
        spread, directions = np.linalg.eigh(fitted.gradient_covariance)
        unresolved = math.sqrt(max(spread[-1], 0.0)) > 0.5 * math.sqrt(g @ g)
        explores = unresolved and state.iterations % 2 == 0
        u = s
        if explores:
            v = directions[:, -1]
            u = 0.3 * s + (-v if g @ v > 0 else v)
            u = u / math.sqrt(u @ u)
        plan = Plan(
            x=state.centre_point + search.B @ u,
            predicted=-float(g @ s + 0.5 * s @ H @ s),
            unresolved=unresolved,
            explores=explores,
            visible=float(np.maximum(0.5 * np.abs(e), np.abs(Q.T @ g)).max()),
        )
        B = search.B
        entries = (g.size + 1) * (g.size + 2) / 2
        if fitted.misfit <= 3.0 and fitted.window.y.size >= entries:
            B = reshaped(B, fitted, e, Q)
        if state.iterations % 5 == 0:
            B = rounded(B)
        return replace(
            state,
            memory=replace(search, B=B, fitted=fitted, plan=plan),
            gauges=_gauges(search, fitted),
            status=_status(state.centre_point, B, plan.x),
        )

    def _verify(
        self, state: State[Search], search: Search, fitted: Posterior
    ) -> State[Search]:
        """Measure the centre again: nothing else tells drift from ascent."""
        plan = replace(search.plan, x=state.centre_point, verifies=True)
        return replace(state, memory=replace(search, fitted=fitted, plan=plan))

    # -- its parts -------------------------------------------------------------------

    def _begin(self, state: State[Search]) -> State[Search]:
        """The probe is complete: the first fit."""
        task, samples = state.task, state.samples
        assert task.radius is not None
        assert state.centre is not None
        values = samples.values
        noise, spread = task.noise, 1.0
        if noise is None:
            # x0 was measured twice; their difference is all there is to go by.
            noise, spread = abs(values[-1] - values[state.centre]) / 1.4, 5.0
        noise = max(float(noise), 1e-9 * float(np.ptp(values)), 1e-100)
        span = float(np.ptp(samples.times))
        spacing = span / max(1, len(samples) - 1) if span > 0 else 1.0
        search = Search(
            B=task.radius * np.eye(task.x0.size),
            noise=noise,
            spread=spread,
            spacing=spacing,
            evidence=_witness(samples, state.centre, len(samples) - 1, noise, spacing),
            belief=Belief(),
            fitted=None,  # type: ignore[arg-type]
            plan=Plan(task.x0, 0.0, True, True, math.inf),
        )
        # The last point of the probe was x0 again: the freshest reading there.
        state = replace(state, centre=len(samples) - 1)
        window = self._window(state, len(samples) - 1, search)
        fitted = posterior(window, start_components(window), spread)
        assert fitted is not None
        return self._iterate(state, replace(search, fitted=fitted), asked=False)

    def _extended(self, state: State[Search], search: Search) -> Posterior:
        """The last fit with the newest reading, which is the centre if it repeats it.

        From the start where the reading is too far out, or alone decides too much.
        """
        samples, fitted = state.samples, search.fitted
        assert state.centre is not None
        row, x = len(samples) - 1, samples.points[-1]
        if fitted.window.rows[-1] == row:
            return fitted
        window = fitted.window.plus(
            row,
            x,
            float(samples.times[-1]),
            float(samples.values[-1]),
            float(_relative_variances(samples.sigmas[-1:], search.noise)[0]),
        )
        u = window.U[-1]
        if u @ u < _FARTHEST**2:
            if np.array_equal(x, samples.points[state.centre]):
                window = replace(window, centre=window.y.size - 1)
            extended = fitted.extended(window, search.spread)
            if extended is not None:
                return extended
        return self._fit(state, state.centre, search, fitted.components)

    def _fit(
        self,
        state: State[Search],
        centre: int,
        search: Search,
        components: Components,
        wider: int = 1,
    ) -> Posterior:
        """The fit around a centre; with calm components if these do not work."""
        window = self._window(state, centre, search, wider)
        fitted = posterior(window, components, search.spread)
        if fitted is None:
            fitted = posterior(window, Components(2.0, 1.5, -6.0), search.spread)
        return search.fitted if fitted is None else fitted

    def _window(
        self, state: State[Search], centre: int, search: Search, wider: int = 1
    ) -> Window:
        """The newest readings near the centre, with some others if they are few."""
        samples, n = state.samples, state.task.x0.size
        x = samples.points[centre]
        U = np.linalg.solve(search.B, (samples.points - x).T).T
        far = np.sqrt(np.einsum("ij,ij->i", U, U))
        entries = (n + 1) * (n + 2) // 2
        wanted = min(max(2 * entries + 2 * n, _SMALLEST_WINDOW), self.window)
        size = min(wider * wanted, _LARGEST_FIT)
        rows = np.flatnonzero(far <= self.reach)[-size:]
        least = int(self.fill * (2 * n + 2))
        if rows.size < least:
            near = np.argsort(far, kind="stable")[:least]
            rows = np.union1d(rows, near[far[near] < self.farthest])
        newest = len(samples) - 1
        also = [centre, newest] if far[newest] < _FARTHEST else [centre]
        rows = np.union1d(rows, also)
        times = samples.times[rows]
        frame = Frame(
            x=x,
            B=search.B,
            now=float(times[-1]),
            first=float(times.min()),
            spacing=search.spacing,
            level=float(samples.values[centre]),
            noise=search.noise,
        )
        return Window(
            frame=frame,
            rows=rows,
            centre=int(np.searchsorted(rows, centre)),
            U=U[rows],
            times=times,
            t=frame.t(times),
            y=frame.y(samples.values[rows]),
            variances=_relative_variances(samples.sigmas[rows], search.noise),
        )

    def _after_failure(self, state: State[Search]) -> State[Search]:
        """Half the region, and half the step towards the point that failed."""
        state = replace(state, failures=state.failures + 1, verdict=Verdict(False))
        if state.memory is None:
            return state
        search, x = state.memory, state.centre_point
        plan = replace(search.plan, x=x + 0.5 * (search.plan.x - x))
        return replace(state, memory=replace(search, B=0.5 * search.B, plan=plan))

    # -- the answer ------------------------------------------------------------------

    def estimate(self, state: State[Search]) -> Estimate:
        """The best point by all that was seen, through a wider fit around the centre.

        Values are those of now, the time of the newest reading.
        """
        if state.memory is None or state.centre is None:
            return first_readings(state)
        search, components = state.memory, state.memory.fitted.components
        wide = self._fit(state, state.centre, search, components, wider=4)
        row, _ = _best_row(wide, search)
        centre = int(wide.window.rows[row])
        fitted = self._fit(state, centre, search, components, wider=4)
        return _in_user_units(search, fitted, _recommended(fitted))


def _recommended(fitted: Posterior) -> Array:
    """The model's minimum if it is sure to be as good as the best measured point.

    Both are judged by what they may turn out to be at worst: one standard error up.
    """
    e, Q = np.linalg.eigh(fitted.hessian)
    measured = np.zeros_like(e)
    candidates = [measured, ball_step(fitted.g, e, Q)]
    now = fitted.window.frame.now

    def at_worst(u: Array) -> float:
        value, variance = fitted.predicted(u, now)
        return value + math.sqrt(variance)

    return min(candidates, key=at_worst)


def _gauges(search: Search, fitted: Posterior) -> Gauges:
    """Size of the region, the gradient and its error, in the user's units."""
    scale = search.noise * math.sqrt(fitted.nu)
    back = np.linalg.inv(search.B)
    g = back.T @ fitted.g
    variance = float(np.vdot(back @ back.T, fitted.gradient_covariance))
    return Gauges(
        radius=float(np.exp(np.log(np.linalg.svd(search.B)[1]).mean())),
        gradient=scale * math.sqrt(g @ g),
        gradient_std=scale * math.sqrt(max(variance, 0.0)),
    )


def _in_user_units(search: Search, fitted: Posterior, u: Array) -> Estimate:
    """The answer, at `u` in the region of a fit."""
    frame, H = fitted.window.frame, fitted.hessian
    scale = search.noise * math.sqrt(fitted.nu)
    back = np.linalg.inv(frame.B)
    e, Q = np.linalg.eigh(H)
    x_std = np.full(e.size, math.nan)
    if e[0] > 1e-12 * abs(e[-1]):
        spread = frame.B @ ((Q / e) @ Q.T)
        variance = (spread @ fitted.gradient_covariance @ spread.T).diagonal()
        x_std = np.sqrt(np.maximum(variance, 0.0))
    times = np.linspace(frame.first, frame.now, CURVE_POINTS)
    drift, drift_std = fitted.drift_curve(times)
    rate, rate_std = fitted.drift_rate
    value, value_variance = fitted.predicted(u, frame.now)
    return Estimate(
        x=frame.x + frame.B @ u,
        x_std=x_std,
        t=frame.now,
        fun=frame.level + scale * value,
        fun_std=scale * math.sqrt(value_variance),
        jac=scale * (back.T @ (fitted.g + H @ u)),
        hess=scale * (back.T @ H @ back),
        drift_rate=scale * rate,
        drift_rate_std=scale * rate_std,
        drift=DriftCurve(times, scale * drift, scale * drift_std),
        noise_std=scale,
    )


def _relative_variances(sigmas: Array, noise: float) -> Array:
    """Variances of readings over the assumed one: those stated, else one."""
    ratio = np.where(np.isnan(sigmas), 1.0, sigmas / noise)
    return np.asarray(np.clip(ratio, 1e-6, 1e6) ** 2)


def _judged(search: Search, samples: SampleSet) -> float:
    """The change of the region after the newest reading, which was planned."""
    plan, x = search.plan, samples.points[-1]
    u = search.fitted.window.frame.u(x[None])[0]
    innovation, std = search.fitted.innovation(
        u, float(samples.times[-1]), float(samples.values[-1])
    )
    ratio = (plan.predicted - innovation + 4.0) / (plan.predicted + 4.0)
    return size_factor(
        ratio=None if plan.explores else ratio,
        length=math.sqrt(u @ u),
        unresolved=plan.unresolved,
        surprise=abs(innovation) / std,
    )


def _learned(state: State[Search], search: Search) -> tuple[State[Search], Search]:
    """If the newest reading repeats the centre: it is the centre now, and a witness."""
    samples, old, new = state.samples, state.centre, len(state.samples) - 1
    assert old is not None
    if new == old or not np.array_equal(samples.points[new], samples.points[old]):
        return state, search
    evidence = _witness(samples, old, new, search.noise, search.spacing)
    return replace(state, centre=new), replace(
        search, evidence=evidence.after(search.evidence)
    )


@dataclass(frozen=True)
class Evidence:
    """What two readings at one place have shown of the drift.

    In units of the assumed noise per spacing, whatever the noise turns out to be.
    Nothing else can tell drift from ascent. All of it moves along when an affine drift
    is added to the readings, so the method stays blind to that.
    """

    slope: float  # between the latest two readings at one place
    slope_std: float
    unrest: float  # largest change of that slope so far, beyond its error

    def after(self, earlier: Evidence) -> Evidence:
        error = 3.0 * math.hypot(self.slope_std, earlier.slope_std)
        change = abs(self.slope - earlier.slope) - error
        return replace(self, unrest=max(earlier.unrest, change, 0.0))

    def explains(self, rise: Array, age: Array, noise_std: float) -> NDArray[np.bool_]:
        """Whether readings `rise` above one that is `age` older may be drift alone."""
        # An old slope is no licence: beyond this the centre is measured again.
        unsure = np.minimum(2.0 * self.slope_std * np.abs(age), 4.0)
        noise = noise_std * (6.0 + unsure)
        return np.asarray(
            rise <= self.slope * age + 2.0 * self.unrest * np.abs(age) + noise
        )


def _witness(
    samples: SampleSet, old: int, new: int, noise: float, spacing: float
) -> Evidence:
    """Two readings at one place."""
    gap = (samples.times[new] - samples.times[old]) / spacing
    if gap == 0.0:
        return Evidence(0.0, math.sqrt(2.0), 0.0)
    slope = (samples.values[new] - samples.values[old]) / noise / gap
    return Evidence(float(slope), math.sqrt(2.0) / abs(float(gap)), 0.0)


def _best_row(fitted: Posterior, search: Search) -> tuple[int, bool]:
    """The lowest smoothed value in the region that the readings do not deny.

    A point owes its rank to the drift correction if its reading is higher than the
    centre's. It is taken only as far as the drift has been seen to go; the flag says
    that a better one was left out for that reason.
    """
    window = fitted.window
    inside = np.einsum("ij,ij->i", window.U, window.U) <= 1.1**2
    plausible = fitted.steady <= fitted.steady[window.centre] + 4.0
    rise = window.y - window.y[window.centre]
    age = window.t - window.t[window.centre]
    # A noise estimate far from the assumed level is misfit, and no excuse.
    noise_std = min(math.sqrt(fitted.nu), math.exp(1.5 * search.spread))
    known = search.evidence.explains(rise, age, noise_std)
    candidate = inside & plausible
    candidate[window.centre] = known[window.centre] = True
    best = int(np.where(candidate, fitted.smooth, np.inf).argmin())
    if known[best]:
        return best, False
    return int(np.where(candidate & known, fitted.smooth, np.inf).argmin()), True


def _status(x: Array, B: Array, planned: Array) -> Status:
    size = float(np.abs(B).max())
    if not (math.isfinite(size) and np.abs(planned).max() < LARGEST_COORDINATE):
        return Status.UNBOUNDED
    if size < 1e-13 * max(1.0, math.sqrt(x @ x)):
        return Status.STAGNATED
    return Status.RUNNING


def _probe_point(state: State[Search]) -> Array:
    """x0, the points x0 +- radius e_j in random order, x0 again; nearer after failures.

    In a fixed order the curvature would look like drift.
    """
    x, k = state.task.x0.copy(), state.readings
    if 0 < k <= 2 * x.size:
        assert state.task.radius is not None
        order = np.random.default_rng(state.task.seed).permutation(2 * x.size)
        distance = math.ldexp(state.task.radius, -state.failures)
        x[order[k - 1] // 2] += distance if order[k - 1] % 2 == 0 else -distance
    return x
