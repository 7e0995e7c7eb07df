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
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._check import LARGEST_COORDINATE
from ..kernels import powell
from ..model import Model, fit
from ..result import CURVE_POINTS, DriftCurve, Status
from ..samples import SampleSet
from ..settings import check_fields, label, option
from ..state import (
    Estimate,
    Gauges,
    Observation,
    Proposal,
    State,
    Task,
    Verdict,
    first_readings,
    stepwise,
    with_reading,
)
from ..step import arc_step, cubic_step

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scales:
    """What the coordinate probe fixes once and for all (lines 2-5)."""

    tau: float
    sigma: float  # sigma_0
    noise_floor: float  # smallest variance that a reading is credited with
    baseline: float  # tr(P_norm) of the probe


@dataclass(frozen=True)
class Search:
    """What Algorithm 1 carries from one iteration to the next."""

    scales: Scales
    sigma: float
    model: Model
    noise_variance: float  # R_obs
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
    radius: float = option(2.0, lo=0.0, open_lo=True, doc="Delta_0, probe distance")
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
        """The next probe point, then the centre plus the step (lines 1 and 11-15)."""
        if state.memory is None:
            return Proposal(self._probe_point(state))
        return Proposal(state.centre_point + state.memory.step)

    def absorb(self, state: State[Search], observation: Observation) -> State[Search]:
        """Judge a reading, take it into the active set and plan the next step."""
        if observation.failed:
            return self._after_failure(state)
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
        old_sigma, new_sigma = float(samples.sigmas[centre]), reading.sigma
        variance = _variance(search, old_sigma) + _variance(search, new_sigma)
        step_is_accepted = achieved >= -0.5 * self.kappa_tol * math.sqrt(variance)
        ratio_is_high = predicted > 0.0 and achieved > self.eta * predicted
        step_is_good = step_is_accepted and ratio_is_high

        # Lines 18-27: the cubic weight answers to the method's own steps only.
        sigma = search.sigma
        if reading.asked and self.sigma_rule == "adaptive":
            if step_is_good:
                sigma = max(self.sigma_min * search.scales.sigma, sigma / self.gamma_1)
            elif not step_is_accepted:
                sigma = min(self.sigma_max * search.scales.sigma, sigma * self.gamma_2)

        # Lines 28-29: the oldest sample leaves, unless it is the centre.
        samples = with_reading(samples, reading)
        centre = len(samples) - 1 if step_is_accepted else centre
        samples, centre = samples.trimmed(2 * s.size + 1, keep=centre)
        judged = State(
            task=state.task,
            samples=samples,
            centre=centre,
            readings=state.readings + reading.asked,
            iterations=state.iterations + 1,
            verdict=Verdict(step_is_accepted),
            memory=search,
        )
        return self._plan(judged, search.scales, sigma, search)

    # -- its parts -------------------------------------------------------------------

    def _plan(
        self,
        state: State[Search],
        scales: Scales,
        sigma: float,
        previous: Search | None,
    ) -> State[Search]:
        """Lines 7-14: fit the model, test for convergence, choose the step."""
        model = self._fit(state, scales, previous)
        noise = state.task.noise
        noise_variance = model.noise_variance if noise is None else noise**2  # R_obs
        x, g = model.x, model.g
        variances = _variances(noise_variance, state.samples)
        gradient_std = math.sqrt(model.gradient_variance(variances))
        gradient = math.sqrt(g @ g)
        gradient_is_noise = gradient < self.kappa_tol * gradient_std
        geometry_is_sound = model.trace <= self.geometry_guard * scales.baseline

        if self.hessian == "interpolated":
            s = arc_step(g, model.hessian, sigma)  # (arc-subproblem) with H_k
        else:
            s = cubic_step(g, sigma)  # (closed-form-step)
        x_norm, s_norm = math.sqrt(x @ x), math.sqrt(s @ s)
        longest = self.chi * model.reach
        if s_norm > longest:  # lines 12-14
            s, s_norm = s * (longest / s_norm), longest

        if gradient_is_noise and geometry_is_sound:  # (stopping-rule)
            status = Status.CONVERGED
        elif s_norm < self.resolution * max(x_norm, 1.0):
            status = Status.STAGNATED
        elif not x_norm + s_norm < LARGEST_COORDINATE:
            status, s = Status.UNBOUNDED, np.zeros_like(s)
        else:
            status = Status.RUNNING
        # Spelt out: dataclasses.replace would be a tenth of the whole iteration.
        return State(
            task=state.task,
            samples=state.samples,
            centre=state.centre,
            readings=state.readings,
            iterations=state.iterations,
            verdict=state.verdict,
            status=status,
            gauges=Gauges(s_norm, gradient, gradient_std),
            memory=Search(scales, sigma, model, noise_variance, s),
        )

    def _fit(
        self, state: State[Search], scales: Scales, previous: Search | None
    ) -> Model:
        """The model of the active set around the centre."""
        samples, centre, noise = state.samples, state.centre, state.task.noise
        assert centre is not None
        if noise is not None:
            noise_variance = noise**2
        else:
            noise_variance = previous.noise_variance if previous else 0.0
        carry = self.curvature_prior == "carried" and previous is not None
        return fit(
            samples,
            samples.points[centre],
            float(samples.times[centre]),
            ridge=_ridge(scales, noise_variance, samples),
            degree=self.time_degree,
            kernel=powell if self.curvature_kernel else None,
            hessian_prior=previous.model.hessian if carry and previous else None,
        )

    def _predicted(self, model: Model, s: Array) -> float:
        """Pred: the fall of the model without its cubic term (pred-def)."""
        predicted = -float(model.g @ s)
        if self.hessian == "interpolated":
            predicted -= 0.5 * float(s @ model.hessian @ s)
        return predicted

    def _probe_point(self, state: State[Search]) -> Array:
        """x0, x0 + D e_1, x0 - D e_1, x0 + D e_2, ...; nearer after a failure."""
        x = state.task.x0.copy()
        k = state.readings
        if k > 0:
            assert state.task.radius is not None
            distance = math.ldexp(state.task.radius, -state.failures)
            x[(k - 1) // 2] += distance if k % 2 == 1 else -distance
        return x

    def _probe(self, state: State[Search], reading: Observation) -> State[Search]:
        """Line 1: collect the first set; lines 2-5 once it is complete."""
        samples = with_reading(state.samples, reading)
        reading_is_start = reading.asked and state.readings == 0
        state = replace(
            state,
            samples=samples,
            centre=len(samples) - 1 if reading_is_start else state.centre,
            readings=state.readings + reading.asked,
            failures=0,
            verdict=Verdict(accepted=reading_is_start),
        )
        size = 2 * state.task.x0.size + 1
        if state.readings < size or state.centre is None:
            return state
        samples, centre = samples.trimmed(size, keep=state.centre)
        return self._begin(replace(state, samples=samples, centre=centre))

    def _begin(self, state: State[Search]) -> State[Search]:
        """Lines 2-5: the scales of the problem, from the probe."""
        radius = state.task.radius
        assert radius is not None
        s_F = float(np.ptp(state.samples.values))
        tau = max(s_F / radius**2, 1e-8)
        noise_floor = max((1e-6 * s_F) ** 2, 1e-16)
        sigma = max(s_F / radius**3, 1e-8)
        scales = Scales(tau, sigma, noise_floor, baseline=math.inf)
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
        model, R_obs = state.memory.model, state.memory.noise_variance
        t = float(state.samples.times.max())
        weights = np.zeros_like(model.coefficients)  # of the value at (x_k, t)
        weights[0] = 1.0
        weights[model.n + 1 :] = (t - model.t) ** np.arange(1, self.time_degree + 1)
        variances = _variances(R_obs, state.samples)
        rate = np.zeros_like(weights)  # of the drift's slope
        rate[model.n + 1 : model.n + 2] = 1.0
        powers = np.arange(1, self.time_degree + 1)
        times = np.linspace(state.samples.times.min(), t, CURVE_POINTS)
        course = np.zeros((times.size, weights.size))  # of the drift since then
        course[:, model.n + 1 :] = np.power.outer(times - model.t, powers) - np.power(
            t - model.t, powers
        )
        return Estimate(
            x=model.x,
            x_std=_minimiser_std(model, variances),
            t=t,
            fun=float(weights @ model.coefficients),
            fun_std=math.sqrt(model.variances_of(weights, variances)),
            jac=model.g,
            hess=model.hessian,
            drift_rate=model.gamma,
            drift_rate_std=math.sqrt(model.variances_of(rate, variances)),
            drift=DriftCurve(
                times,
                course @ model.coefficients,
                np.sqrt(model.variances_of(course, variances)),
            ),
            noise_std=math.sqrt(R_obs),
        )


def _variances(R_obs: float, samples: SampleSet) -> float | Array:
    """Variances of the readings: their own where stated, else R_obs."""
    if not samples.stated:
        return R_obs
    return np.where(np.isnan(samples.sigmas), R_obs, samples.sigmas**2)


def _variance(search: Search, sigma: float) -> float:
    """Variance of one reading: its own where stated, else R_obs."""
    return search.noise_variance if math.isnan(sigma) else sigma**2


def _ridge(scales: Scales, noise_variance: float, samples: SampleSet) -> float | Array:
    """1 / rho = R / tau^2 (lines 3-4); readings with a stated error have their own."""
    R = max(noise_variance, scales.noise_floor)
    ridge = min(max(R / scales.tau**2, 1e-14), 1e-2)
    if not samples.stated:
        return ridge
    own = np.maximum(samples.sigmas**2, scales.noise_floor) / scales.tau**2
    return np.where(np.isnan(samples.sigmas), ridge, np.maximum(own, 1e-14))


def _minimiser_std(model: Model, variances: float | Array) -> Array:
    """Standard errors of the model's minimiser, by the delta method: H^-1 Cov(g) H^-1.

    NaN if the Hessian is not positive definite, so that there is no minimiser.
    """
    e, Q = np.linalg.eigh(model.hessian)
    if not e[0] > 1e-12 * abs(e[-1]):
        return np.full(model.n, math.nan)
    response = np.zeros((model.n, model.coefficients.size))  # to (c, g, drift)
    response[:, 1 : model.n + 1] = (Q / e) @ Q.T
    return np.asarray(np.sqrt(model.variances_of(response, variances)))
