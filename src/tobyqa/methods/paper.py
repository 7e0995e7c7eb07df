"""Algorithm 1 of the paper: TOBYQA with a zero-Hessian cubic step.

Labels in parentheses are the paper's equations, "line" its Algorithm 1.

==========  =============================================================
symbol      meaning
==========  =============================================================
x_k         centre, with reading F_old taken at t_old
s, Pred     step and the reduction promised by the model (pred-def)
Ared        reduction seen, drift removed (ared-def)
sigma       cubic weight; the step has length sqrt(|g| / sigma)
rho         weight of the data against curvature; ridge = 1 / rho
tau         curvature scale, s_F / Delta_0^2
R_obs       variance of a reading
==========  =============================================================
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._check import LARGEST_COORDINATE
from ..frozen import replace
from ..kernels import powell
from ..model import Model, fit
from ..model_surface import ModelSurface
from ..result import CURVE_POINTS, DriftCurve, Status
from ..samples import SampleSet
from ..scaling import norm, quadratic, unit
from ..settings import check_fields, label, option
from ..state import (
    Estimate,
    Gauges,
    Observation,
    Proposal,
    State,
    Task,
    Verdict,
    Why,
    first_readings,
    stepwise,
    with_reading,
)
from ..step import arc_step, cubic_step
from .first_points import first_ways, unread

Array = NDArray[np.float64]

_LEAST_WEIGHT = float(np.finfo(float).tiny)  # of the cubic term
_WORTHLESS = 1e30  # errors in units of s_F: beyond it one is as bad as another
_LARGEST_RIDGE = 1e60  # r^-4 times that is still a number


@dataclass(frozen=True)
class Scales:
    """What the coordinate probe fixes once and for all (lines 2-5)."""

    unit: float  # a power of two near s_F, in which tau and the floor are
    tau: float
    noise_floor: float  # smallest standard error that a reading is credited with
    sigma: float  # sigma_0
    baseline: float  # tr(P_norm) of the probe


@dataclass(frozen=True)
class Search:
    """What Algorithm 1 carries from one iteration to the next."""

    scales: Scales
    sigma: float
    model: Model
    noise: float  # sqrt(R_obs)
    step: Array


@dataclass(frozen=True)
class Paper:
    """Method ``paper``: the published algorithm; its ablations are field values.

    With ``noise=None`` the variance of a reading is taken from the residuals of each
    fit, lam'K lam / (m - n - 2) / rho, and rho = tau^2 / R_obs follows it. That costs:
    the estimate rests on n - 1 spare readings (none at all for n = 1, where it stays
    zero), so gate and stopping rule wobble from step to step; noise is seen only once
    the samples are so close together that curvature no longer explains it; and what the
    model cannot follow passes for noise, which ends progress earlier. Give `noise` when
    you know it, also when it is zero.

    The published stopping rule (``Status.UNRESOLVED``) is no test of convergence: a
    gradient that is small against its error may be one that is badly known. Of 104
    runs that it ended, 71 were more than one noise level above the minimum, so
    `success` is never true.

    Left out are the published floors of tau, sigma_0 and the variance of a reading
    (1e-8, 1e-8, 1e-16): with them the search depends on the unit of the readings, and
    stays where it is if they are small numbers.
    """

    RETIRED: ClassVar[frozenset[str]] = frozenset()

    hessian: str = option(
        "zero",
        choices=("zero", "interpolated"),
        doc="Hessian of the step: none, or that of the interpolation model",
    )
    drift_compensation: bool = option(True, doc="remove the drift from Ared")
    curvature_kernel: bool = option(True, doc="K = A + I/rho; False: K = I/rho")
    curvature_prior: str = option(
        "zero",
        choices=("zero", "carried"),
        doc="keep G small, or close to the previous model's (Powell's update)",
    )
    sigma_rule: str = option(
        "adaptive", choices=("adaptive", "frozen"), doc="update of the cubic weight"
    )
    time_degree: int = option(1, lo=0, hi=4, doc="number of time columns")
    radius: float = option(2.0, lo=1e-50, hi=1e50, doc="Delta_0, probe distance")
    gamma_1: float = option(2.0, lo=1.0, doc="sigma falls by it after a good step")
    gamma_2: float = option(1.2, lo=1.0, doc="sigma grows by it after a rejection")
    eta: float = option(0.75, lo=0.0, hi=1.0, doc="ratio above which a step is good")
    kappa_tol: float = option(3.0, lo=0.0, doc="tolerance of gate and stopping rule")
    chi: float = option(100.0, lo=1.0, doc="longest step, in sample radii")
    geometry_guard: float = option(
        5.0, lo=0.0, doc="no stop while tr(P_norm) exceeds this many baselines"
    )
    sigma_min: float = option(
        1e-12, lo=0.0, hi=1.0, doc="least cubic weight, in units of the first one"
    )
    sigma_max: float = option(
        1e12, lo=1.0, doc="largest cubic weight, in units of the first one"
    )
    resolution: float = option(1e-14, lo=0.0, doc="relative step that counts as none")

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return label(self)

    # -- the iteration ---------------------------------------------------------------

    def needs(self, n: int) -> int:
        """Those of the coordinate probe (line 1)."""
        return 2 * n + 1

    def begin(
        self, task: Task
    ) -> Generator[tuple[Proposal, State[Search]], Observation | None, None]:
        """The search, step by step."""
        return stepwise(self, self.start(task))

    def continued(
        self, task: Task, state: State[Search]
    ) -> Generator[tuple[Proposal, State[Search]], Observation | None, None] | None:
        """The search with another noise, or within other limits.

        Not where a variable stays: the few readings that are kept would soon tell
        nothing of it.
        """
        search, areas = state.memory, (task.area, state.task.area)
        if search is None or any(area is not None and area.is_flat for area in areas):
            return None
        task = replace(task, radius=state.task.radius)
        state = replace(state, task=task)
        return stepwise(self, self._plan(state, search.scales, search.sigma, search))

    def amended(
        self, task: Task, state: State[Search], place: int, value: float
    ) -> None:
        """No: all that it keeps follows from the readings one after the other."""
        return None

    def start(self, task: Task) -> State[Search]:
        """No reading yet."""
        if task.radius is None:
            task = replace(task, radius=self.radius)
        return State(task, SampleSet.empty(task.x0.size))

    def propose(self, state: State[Search]) -> Proposal:
        """The next probe point, then the centre plus the step (lines 1 and 11-15)."""
        if state.memory is None:
            why = Why.FIRST if state.readings else Why.START
            return Proposal(self._probe_point(state), why)
        return Proposal(state.centre_point + state.memory.step)

    def absorb(self, state: State[Search], observation: Observation) -> State[Search]:
        """Judge a reading, take it into the active set and plan the next step."""
        if observation.failed:
            is_beside = observation.flight is not None and not observation.answers
            return state if is_beside else self._after_failure(state)
        reading, samples = observation, state.samples
        search, centre = state.memory, state.centre
        if search is None or centre is None:
            return self._probe(state, reading)

        # Lines 16-17: drift-compensated reduction against the promised one.
        s = reading.x - samples.points[centre]
        predicted = self._predicted(search.model, s)
        achieved = float(samples.values[centre]) - reading.value  # (ared-def)
        if self.drift_compensation:
            t_old = float(samples.times[centre])
            achieved += search.model.drift_change(t_old, reading.t)
        old = _std(search, float(samples.sigmas[centre]))
        error = math.hypot(old, _std(search, reading.sigma))
        step_is_accepted = achieved >= -0.5 * self.kappa_tol * error
        if state.task.area is not None:  # not published: limits may change on the way
            step_is_accepted |= not state.task.area.holds(samples.points[[centre]])[0]
        ratio_is_high = predicted > 0.0 and achieved > self.eta * predicted
        step_is_good = step_is_accepted and ratio_is_high

        # Lines 18-27: the cubic weight answers to the method's own steps only.
        sigma = search.sigma
        is_own = reading.asked and (reading.answers or reading.flight is None)
        if is_own and self.sigma_rule == "adaptive":
            if step_is_good:
                sigma = max(self.sigma_min * search.scales.sigma, sigma / self.gamma_1)
            elif not step_is_accepted:
                sigma = min(self.sigma_max * search.scales.sigma, sigma * self.gamma_2)

        # Lines 28-29: the oldest sample leaves, unless it is the centre.
        samples = with_reading(samples, reading)
        centre = len(samples) - 1 if step_is_accepted else centre
        samples, centre = samples.trimmed(2 * s.size + 1, keep=centre)
        judged = replace(
            state,
            samples=samples,
            centre=centre,
            readings=state.readings + reading.asked,
            failures=0,
            iterations=state.iterations + 1,
            verdict=Verdict(step_is_accepted),
        )
        return self._plan(judged, search.scales, sigma, search)

    def further(
        self,
        state: State[Search],
        proposal: Proposal | None,
        waiting: tuple[Array, ...],
    ) -> Proposal:
        """The method's own; then the rest of the probe, and points around the centre.

        The published method measures one point at a time. What else is measured enters
        the set of samples as readings do that nobody asked for.
        """
        if proposal is not None:
            return proposal
        task, search = state.task, state.memory
        if search is None:
            ways = first_ways(task)
            points = np.array([*state.samples.points, *waiting])
            if missing := unread(task.x0, ways, points):
                x = task.x0 + (ways[missing[0] - 1] if missing[0] else 0.0)
                return Proposal(self._allowed(task, x), Why.FIRST)
            distance = float(task.radius or self.radius)
        else:
            distance = norm(search.step) or search.model.reach
        rng = np.random.default_rng([task.seed, state.iterations, len(waiting)])
        way = rng.standard_normal(task.x0.size)
        x = state.centre_point + distance / norm(way) * way
        return Proposal(self._allowed(task, x), Why.EXPLORATION)

    # -- its parts -------------------------------------------------------------------

    def _plan(
        self,
        state: State[Search],
        scales: Scales,
        sigma: float,
        previous: Search | None,
    ) -> State[Search]:
        """Lines 7-14: fit the model, see whether to stop, choose the step."""
        model = self._fit(state, scales, previous)
        noise = model.noise_std if state.task.noise is None else state.task.noise
        x, g = model.x, model.g
        gradient_std = model.gradient_std(_stds(noise, state.samples))
        gradient = norm(g)
        gradient_is_noise = gradient < self.kappa_tol * gradient_std
        geometry_is_sound = model.trace <= self.geometry_guard * scales.baseline

        if self.hessian == "interpolated":
            s = arc_step(g, model.hessian, sigma)  # (arc-subproblem) with H_k
        else:
            s = cubic_step(g, sigma)  # (closed-form-step)
        x_norm, s_norm = norm(x), norm(s)
        longest = self.chi * model.reach
        if s_norm > longest:  # lines 12-14
            s, s_norm = s * (longest / s_norm), longest
        if state.task.area is not None:  # not in the published method
            s = state.task.area.nearest(x + s) - x
            s_norm = norm(s)
        step_is_beyond = not x_norm + s_norm < LARGEST_COORDINATE
        if step_is_beyond:
            s = np.zeros_like(s)

        if gradient_is_noise and geometry_is_sound:  # (stopping-rule)
            status = Status.UNRESOLVED
        elif s_norm < self.resolution * max(x_norm, 1.0):
            status = Status.STAGNATED
        elif step_is_beyond:
            status = Status.UNBOUNDED
        else:
            status = Status.RUNNING
        return replace(
            state,
            status=status,
            gauges=Gauges(s_norm, gradient, gradient_std),
            memory=Search(scales, sigma, model, noise, s),
        )

    def _fit(
        self, state: State[Search], scales: Scales, previous: Search | None
    ) -> Model:
        """The model of the active set around the centre."""
        samples, centre, noise = state.samples, state.centre, state.task.noise
        assert centre is not None
        if noise is None:
            noise = previous.noise if previous else 0.0
        carry = self.curvature_prior == "carried" and previous is not None
        return fit(
            samples,
            samples.points[centre],
            float(samples.times[centre]),
            ridge=_ridge(scales, noise, samples),
            degree=self.time_degree,
            kernel=powell if self.curvature_kernel else None,
            hessian_prior=previous.model.hessian if carry and previous else None,
        )

    def _predicted(self, model: Model, s: Array) -> float:
        """Pred: the fall of the model without its cubic term (pred-def)."""
        predicted = -float(model.g @ s)
        if self.hessian == "interpolated":
            predicted -= 0.5 * quadratic(model.hessian, s)
        return predicted

    @staticmethod
    def _allowed(task: Task, x: Array) -> Array:
        x = x if task.area is None else task.area.nearest(x)
        return np.asarray(np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE))

    def _probe_point(self, state: State[Search]) -> Array:
        """x0, x0 + D e_1, x0 - D e_1, x0 + D e_2, ...; nearer after a failure."""
        x, k = state.task.x0.copy(), state.readings
        ways = first_ways(state.task)
        if k > 0 and state.is_beside:
            # Readings came in another order than they were asked for.
            k = next(iter(unread(x, ways, state.samples.points)), 0)
        if k > 0:
            x = x + np.ldexp(ways[k - 1], -state.failures)
        return np.clip(x, -LARGEST_COORDINATE, LARGEST_COORDINATE)

    def _probe(self, state: State[Search], reading: Observation) -> State[Search]:
        """Line 1: collect the first set; lines 2-5 once it is complete."""
        samples = with_reading(state.samples, reading)
        is_beside = state.is_beside or reading.flight is not None
        reading_is_start = reading.asked and state.readings == 0
        if is_beside:
            at_start = np.array_equal(reading.x, state.task.x0)
            reading_is_start = state.centre is None and at_start
        state = replace(
            state,
            samples=samples,
            centre=len(samples) - 1 if reading_is_start else state.centre,
            readings=state.readings + reading.asked,
            failures=0,
            verdict=Verdict(accepted=reading_is_start),
            is_beside=is_beside,
        )
        size = self.needs(state.task.x0.size)
        if state.readings < size or state.centre is None:
            return state
        samples, centre = samples.trimmed(size, keep=state.centre)
        return self._begin(replace(state, samples=samples, centre=centre))

    def _begin(self, state: State[Search]) -> State[Search]:
        """Lines 2-5: the scales of the problem, from the probe."""
        radius = state.task.radius
        assert radius is not None
        # Where all readings are equal, anything will do that is not zero.
        s_F = float(np.ptp(state.samples.values)) or state.task.noise or 1.0
        size = unit(s_F)
        sigma = max(s_F / radius**3, _LEAST_WEIGHT)
        scales = Scales(
            unit=size,
            tau=s_F / size / radius**2,
            noise_floor=1e-6 * (s_F / size),
            sigma=sigma,
            baseline=math.inf,
        )
        baseline = self._fit(state, scales, previous=None).trace
        return self._plan(state, replace(scales, baseline=baseline), sigma, None)

    def _after_failure(self, state: State[Search]) -> State[Search]:
        """Half the step, now and (|s| goes with sigma^-1/2) in the next iteration."""
        state = replace(state, failures=state.failures + 1, verdict=Verdict(False))
        if state.memory is None:
            return state
        search = state.memory
        sigma = min(self.sigma_max * search.scales.sigma, 4.0 * search.sigma)
        if self.sigma_rule == "frozen":
            sigma = search.sigma
        return replace(
            state, memory=replace(search, sigma=sigma, step=0.5 * search.step)
        )

    # -- the answer ------------------------------------------------------------------

    def estimate(self, state: State[Search], *, quick: bool = False) -> Estimate:
        """The centre, with the model's value there at the time of the last reading.

        It costs next to nothing, `quick` or not.
        """
        if state.memory is None:
            return first_readings(state)
        model, noise = state.memory.model, state.memory.noise
        stds = _stds(noise, state.samples)
        t = float(state.samples.times.max())
        now = model.rows_at(np.array([t]))
        times = np.linspace(state.samples.times.min(), t, CURVE_POINTS)
        course = model.rows_at(times) - now  # of the drift since then
        value = now[0].copy()  # at (x_k, t)
        value[0] = 1.0
        x_std, x_cov = _minimiser(model, stds)
        rate = np.zeros_like(value)
        rate[model.n + 1 : model.n + 2] = 1.0
        return Estimate(
            x=model.x,
            x_std=x_std,
            x_cov=x_cov,
            t=t,
            fun=float(value @ model.beta),
            fun_std=float(model.stds_of(value, stds)),
            jac=model.g,
            hess=model.hessian,
            drift_rate=model.gamma,
            drift_rate_std=float(model.stds_of(rate, stds)) / model.period,
            drift=DriftCurve(times, course @ model.beta, model.stds_of(course, stds)),
            noise_std=noise,
            surface=ModelSurface(model, state.samples, stds),
        )


def _stds(noise: float, samples: SampleSet) -> float | Array:
    """Standard errors of the readings: their own where stated, else `noise`."""
    if not samples.stated:
        return noise
    return np.where(np.isnan(samples.sigmas), noise, samples.sigmas)


def _std(search: Search, sigma: float) -> float:
    """Standard error of one reading: its own where stated, else sqrt(R_obs)."""
    return search.noise if math.isnan(sigma) else sigma


def _ridge(scales: Scales, noise: float, samples: SampleSet) -> float | Array:
    """1 / rho = R / tau^2 (lines 3-4); readings with a stated error have their own."""
    tau, floor = scales.tau, scales.noise_floor
    worthless = _WORTHLESS * scales.unit
    R = max(min(noise, worthless) / scales.unit, floor) ** 2
    ridge = min(max(R / tau**2, 1e-14), 1e-2)
    if not samples.stated:
        return ridge
    sigmas = np.minimum(samples.sigmas, worthless) / scales.unit
    own = np.clip(np.maximum(sigmas, floor) ** 2 / tau**2, 1e-14, _LARGEST_RIDGE)
    return np.where(np.isnan(sigmas), ridge, own)


def _minimiser(model: Model, stds: float | Array) -> tuple[Array, Array]:
    """Standard errors and covariance of the model's minimiser, by the delta method:
    H^-1 Cov(g) H^-1.

    NaN if the Hessian is not positive definite, so that there is no minimiser.
    """
    size = unit(model.hessian)
    e, Q = np.linalg.eigh(model.hessian / size)
    if not e[0] > 1e-12 * abs(e[-1]):
        return np.full(model.n, math.nan), np.full((model.n, model.n), math.nan)
    response = np.zeros((model.n, model.beta.size))
    response[:, 1 : model.n + 1] = (Q / e) @ Q.T
    errors = model.stds_of(response, stds).tolist()
    # In Python's floats: beyond their range it is infinite, not an error.
    x_std = np.array([error / size / model.radius for error in errors])
    with np.errstate(over="ignore", invalid="ignore"):
        x_cov = model.correlations_of(response, stds) * np.outer(x_std, x_std)
    return x_std, x_cov
