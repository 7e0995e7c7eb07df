"""What to do next with a run: stop, go on, and how."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .result import Status
from .view import Run

_NO_WAY = 1e-12  # of the largest variance: nothing moves that way


@dataclass(frozen=True)
class Advice:
    """What to do next, and the lines that do it, each with who would type it."""

    text: str
    ways: tuple[tuple[str, str], ...] = ()

    @property
    def commands(self) -> list[str]:
        """Those of the ways that are for a shell."""
        return [line for who, line in self.ways if who != PYTHON]


PYTHON = "in Python"


def advice(run: Run) -> Advice:
    """What to do next, by the reason why the search stopped."""
    return _ADVICE[run.status](run)


def has_model(run: Run) -> bool:
    """Whether the answer is that of a model, not just the best reading."""
    return bool(np.isfinite(run.result.jac).all())


def has_reading(run: Run) -> bool:
    return not run.history.failed.all()


def left_to_gain(run: Run) -> float:
    """How much better than at the answer it is expected to be at the true optimum.

    By the model: (g'H^-1 g + tr H C) / 2 with the covariance C of its optimum, along
    the ways that limits leave. NaN if the model has no optimum.
    """
    result, space = run.result, run.space
    s = np.array([v.scale for v in space.variables])
    g = space.sign * s * result.jac
    H = space.sign * np.outer(s, s) * result.hess
    C = np.array(result.x_cov / np.outer(s, s))
    for i, v in enumerate(space.variables):
        at_limit = result.x[i] <= v.lower and g[i] > 0.0
        if at_limit or (result.x[i] >= v.upper and g[i] < 0.0):
            C[i] = C[:, i] = 0.0
    if not (np.isfinite(C).all() and np.isfinite(H).all()):
        return math.nan
    variances, Q = np.linalg.eigh(C)
    Z = Q[:, variances > _NO_WAY * max(float(variances[-1]), 0.0)]
    e, W = np.linalg.eigh(Z.T @ H @ Z)
    if not (e > 0.0).all():
        return math.nan
    h = W.T @ (Z.T @ g)
    return 0.5 * float(np.sum(h**2 / e) + np.trace(Z.T @ H @ Z @ Z.T @ C @ Z))


def first_readings(run: Run) -> int:
    """How many readings a search needs before it has a model."""
    n = run.space.dimensions
    return 2 * n + 1 if run.setup.get("method") == "paper" else n + 2


def prospects(run: Run) -> str:
    """Whether it is sensible to stop here, in a sentence."""
    if not has_model(run):
        history = run.history
        missing = first_readings(run) - int((history.asked & ~history.failed).sum())
        if not run.setup or missing < 1:
            return "Too early to stop: there is no model yet."
        count = "1 more reading" if missing == 1 else f"{missing} more readings"
        return f"Too early to stop: it takes {count} until there is a model."
    gain, noise = left_to_gain(run), run.result.noise_std
    if math.isnan(gain):
        what = "maximum" if run.maximize else "minimum"
        return f"Going on is worthwhile: the model sees no {what} yet."
    if gain > noise:
        times = f", {gain / noise:.2g} times the noise of a reading" if noise else ""
        return (
            f"Going on is worthwhile: by the model, {gain:.2g} is left to gain{times}."
        )
    return (
        f"Stopping is sensible, the settings can be used: by the model, {gain:.2g} is "
        f"left to gain, and a reading has a noise of {noise:.2g}. More readings would "
        "improve them slowly, less noise would do so faster."
    )


# By the reason why it stopped --------------------------------------------------------


def _running(run: Run) -> Advice:
    ways = _ways(run)
    if not has_reading(run):
        return Advice("Measure at the starting point and tell the reading.", ways)
    return Advice(prospects(run), ways)


def _settled(run: Run) -> Advice:
    return Advice(
        "Use these settings. More readings of this kind would not move them "
        "noticeably; to see finer, lower the noise, for example by averaging longer. "
        "Measure once or twice at the answer to confirm the expected value."
    )


def _unresolved(run: Run) -> Advice:
    best = "highest" if run.maximize else "lowest"
    return Advice(
        "The latest readings show no slope, but they may lie too close together to "
        "show one. Measure at the answer and some way off on either side; if it is "
        f"not clearly {best}, begin again there with a larger initial_radius, or with "
        'method="adaptive", which tests what is left to gain.'
    )


def _budget_spent(run: Run) -> Advice:
    if has_model(run):
        return _continued(run, prospects(run), maxfev=2 * _budget(run))
    n, needed = run.space.dimensions, first_readings(run)
    text = (
        f"The budget was too small for a model of {n} variables: that takes {needed} "
        f"readings, and a search about {5 * needed}."
    )
    return _continued(run, text, maxfev=max(2 * _budget(run), 5 * needed))


def _stopped(run: Run) -> Advice:
    text = f"The search was stopped before its end. {prospects(run)}"
    return _continued(run, text)


def _failures(run: Run) -> Advice:
    return _continued(
        run,
        "Find out why the measurements failed (the reasons are with the readings) and "
        "remove the cause.",
    )


def _stagnated(run: Run) -> Advice:
    return Advice(
        "The steps became smaller than the numbers or the knobs can tell apart. If the "
        "readings vary with the settings, use the answer; if not, check that the "
        "settings reach the instrument, and that their scales are right (x_scale)."
    )


def _exhausted(run: Run) -> Advice:
    if not has_model(run):
        return _stagnated(run)
    return Advice(
        f"{prospects(run)} All settings near by were measured twice, so that a search "
        "of this resolution has ended; one with a larger initial_radius measures "
        "farther away as well, which shows more where the noise is large."
    )


def _unbounded(run: Run) -> Advice:
    way, other = ("rise", "minimise") if run.maximize else ("fall", "maximise")
    switch = "leave out maximize" if run.maximize else "say maximize"
    return Advice(
        f"The readings seem to {way} without end. If you want to {other} them, "
        f"{switch}; else say how far the knobs may go (bounds), or begin again from a "
        "sensible point with a smaller initial_radius."
    )


_ADVICE: dict[Status, Callable[[Run], Advice]] = {
    Status.RUNNING: _running,
    Status.SETTLED: _settled,
    Status.UNRESOLVED: _unresolved,
    Status.MAXFEV: _budget_spent,
    Status.STOPPED: _stopped,
    Status.CALLBACK: _stopped,
    Status.FAILURES: _failures,
    Status.STAGNATED: _stagnated,
    Status.EXHAUSTED: _exhausted,
    Status.UNBOUNDED: _unbounded,
}


# How to go on ------------------------------------------------------------------------


def _budget(run: Run) -> int:
    return int(run.setup.get("maxfev") or max(run.result.nfev, 1))


def _ways(run: Run) -> tuple[tuple[str, str], ...]:
    """How a search that has not ended goes on."""
    if run.journal is None:
        return ()
    file = shlex.quote(str(run.journal))
    return (("by hand", f"tobyqa ask {file}"), ("", f"tobyqa tell {file} VALUE"))


def _continued(run: Run, text: str, maxfev: int | None = None) -> Advice:
    """Advice to go on, and how, with another budget if one is given."""
    if run.journal is None:
        start = ", ".join(f"{x:.6g}" for x in run.result.x)
        budget = maxfev or 2 * _budget(run)
        return Advice(
            f"{text} No journal of this run is known; to go on, begin at its answer.",
            ((PYTHON, f"tobyqa.minimize(fun, [{start}], maxfev={budget})"),),
        )
    file, argument = shlex.quote(str(run.journal)), ""
    ways = _ways(run)
    if maxfev is not None:
        argument = f", maxfev={maxfev}"
        ways = (("by hand", f"tobyqa extend {file} --maxfev {maxfev}"),)
    again = "the same command" + (f" with --maxfev {maxfev}" if maxfev else "")
    return Advice(
        f"{text} A program goes on by {again}.",
        (
            *ways,
            (PYTHON, f"opt = tobyqa.Optimizer.resume({str(run.journal)!r}{argument})"),
        ),
    )
