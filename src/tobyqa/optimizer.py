"""The ask/tell core: the one mutable object of the package.

An `Optimizer` holds a log of events and the state that follows from it. A method's
`absorb` is a pure function of state and observation, so the log alone restores the
state bit by bit: that is how `load` works.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check, runfile
from .methods import METHODS, resolve
from .result import History, Result, Status
from .state import Method, Observation, State, Task

Array = NDArray[np.float64]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A point to be measured."""

    id: int
    x: Array


class Optimizer:
    """Minimise a noisy, drifting quantity, one measurement at a time.

    Parameters
    ----------
    x0 : array_like
        Where to start, shape (n,).
    method : str or settings object
        ``"paper"``, or a settings object such as ``tobyqa.Paper(eta=0.5)``.
    noise : float, optional
        Standard deviation of a reading; None: estimated from the readings.
    maxfev : int, optional
        How many trials may be asked for; None: no limit.
    initial_radius : float, optional
        Distance of the first points from `x0`; None: the method's own (2 for `paper`).
    clock : callable, optional
        Gives the time of a reading told without one, e.g. ``time.time``; None: readings
        are numbered 0, 1, 2, ...
    rng : None, int or numpy Generator, optional
        Source of randomness, for methods that use it (``paper`` does not).
    options : dict, optional
        Fields of the method's settings to change.
    max_failures : int
        How many measurements may fail in a row before the search ends.

    Examples
    --------
    >>> opt = Optimizer([1.0, 2.0], method="paper", noise=0.0, maxfev=40)
    >>> while not opt.done:
    ...     trial = opt.ask()
    ...     opt.tell(trial, sum(trial.x**2))
    >>> opt.result().nfev
    40
    """

    def __init__(
        self,
        x0: Any,
        *,
        method: str | Method = "paper",
        noise: float | None = None,
        maxfev: int | None = None,
        initial_radius: float | None = None,
        clock: Callable[[], float] | None = None,
        rng: Any = None,
        options: Mapping[str, Any] | None = None,
        max_failures: int = 10,
    ) -> None:
        task = Task(
            x0=_check.start_point(x0),
            noise=None if noise is None else _check.non_negative("noise", noise),
            radius=(
                None
                if initial_radius is None
                else _check.positive("initial_radius", initial_radius)
            ),
            seed=_check.seed(rng),
        )
        self._task = task
        self._method = resolve(method, options)
        self._maxfev = None if maxfev is None else _check.count("maxfev", maxfev)
        self._max_failures = _check.count("max_failures", max_failures)
        self._clock = _checked_clock(clock)
        self._state: State[Any] = self._method.start(task)
        self._pending: Trial | None = None
        self._ended: Status | None = None  # ended from outside, see `stop`
        self._asked = 0
        self._events: list[dict[str, Any]] = []
        self._history: list[tuple[Observation, bool, Array]] = []

    # -- the loop --------------------------------------------------------------------

    def ask(self) -> Trial:
        """The next point to measure; the same one until it has been told.

        Raises
        ------
        RuntimeError
            If the search has ended (`done` is true).
        """
        if self.done:
            raise RuntimeError(f"nothing to ask, the search has ended: {self.message}")
        if self._pending is None:
            x = self._method.propose(self._state).x
            self._record({"event": "ask", "id": self._asked, "x": x})
        assert self._pending is not None
        return Trial(self._pending.id, self._pending.x.copy())

    def tell(
        self,
        trial: Trial | Any,
        value: Any,
        t: float | None = None,
        sigma: float | None = None,
    ) -> None:
        """Hand in a reading.

        Parameters
        ----------
        trial : Trial or array_like
            What `ask` returned, or any other point that happens to be measured.
        value : float
            The reading. NaN or infinity counts as a failed measurement.
        t : float, optional
            When it was taken; the clock's time by default.
        sigma : float, optional
            Its standard error, if it is known to differ from `noise`.
        """
        reading = _check.number("value", value)
        sigma = None if sigma is None else _check.non_negative("sigma", sigma)
        if isinstance(trial, Trial):
            self._check_pending(trial)
            if not math.isfinite(reading):
                self.tell_failed(trial, f"the reading is {reading}", t=t)
                return
            trial_id, x = trial.id, None
        else:
            reading = _check.finite("value", reading)
            trial_id, x = None, _check.point("x", trial, self._task.x0.size)
        self._record(
            {
                "event": "tell",
                "id": trial_id,
                "x": x,
                "t": self._time(t),
                "value": reading,
                "sigma": sigma,
            }
        )

    def tell_failed(
        self, trial: Trial, reason: str = "", t: float | None = None
    ) -> None:
        """Say that a measurement failed; the search goes on with another point."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be what ask() returned, but is {trial!r}")
        self._check_pending(trial)
        _log.info("trial %d failed: %s", trial.id, reason)
        self._record(
            {"event": "fail", "id": trial.id, "t": self._time(t), "reason": str(reason)}
        )

    def stop(self, status: Status = Status.STOPPED) -> None:
        """End the search from outside."""
        if not isinstance(status, Status) or status is Status.RUNNING:
            raise ValueError(f"status must be a reason to stop, but is {status!r}")
        self._record({"event": "stop", "status": status.name})

    # -- what is known ---------------------------------------------------------------

    @property
    def status(self) -> Status:
        """Why the search has ended, or ``Status.RUNNING``."""
        if self._ended is not None:
            return self._ended
        if self._state.failures >= self._max_failures:
            return Status.FAILURES
        if self._state.status is not Status.RUNNING:
            return self._state.status
        if self._maxfev is not None and self.nfev >= self._maxfev:
            return Status.MAXFEV
        return Status.RUNNING

    @property
    def done(self) -> bool:
        """True once the search has ended."""
        return self.status is not Status.RUNNING

    @property
    def message(self) -> str:
        """The status in a sentence, with the last reason if measurements failed."""
        if self.status is Status.FAILURES:
            reason = next(e for e in reversed(self._events) if e["event"] == "fail")
            return f"{self.status.message} The last one: {reason['reason'] or '?'}"
        return self.status.message

    @property
    def nfev(self) -> int:
        """Trials answered, failed ones included."""
        return self._asked - (self._pending is not None)

    @property
    def method(self) -> Method:
        """The method's settings."""
        return self._method

    def result(self) -> Result:
        """The answer so far; can be called at any time."""
        estimate = self._method.estimate(self._state)
        history = self._history_arrays()
        observed = np.where(np.isnan(history.value), np.inf, history.value)
        has_reading = bool(np.isfinite(observed).any())
        best = int(observed.argmin()) if has_reading else 0
        return Result(
            x=estimate.x.copy(),
            fun=estimate.fun,
            fun_std=estimate.fun_std,
            success=self.status.success,
            status=self.status.code,
            message=self.message,
            nfev=self.nfev,
            nit=self._state.iterations,
            nfail=int(np.isnan(history.value).sum()),
            jac=estimate.jac.copy(),
            hess=estimate.hess.copy(),
            drift_rate=estimate.drift_rate,
            drift_rate_std=estimate.drift_rate_std,
            noise_std=estimate.noise_std,
            t=estimate.t,
            x_best_observed=(
                history.x[best].copy() if has_reading else self._task.x0.copy()
            ),
            fun_best_observed=float(observed[best]) if has_reading else math.nan,
            history=history,
            method=str(self._method),
        )

    def progress(self) -> Result:
        """The part of `result` that is cheap enough to look at after every reading."""
        estimate = self._method.estimate(self._state)
        return Result(
            x=estimate.x.copy(),
            fun=estimate.fun,
            fun_std=estimate.fun_std,
            drift_rate=estimate.drift_rate,
            t=estimate.t,
            nfev=self.nfev,
            nit=self._state.iterations,
        )

    # -- files -----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run to a JSON file; the old file stays until it is replaced.

        The clock is not saved: hand it to `load` again.
        """
        runfile.write(
            path,
            {
                "task": dataclasses.asdict(self._task),
                "method": type(self._method).__name__.lower(),
                "settings": dataclasses.asdict(self._method),  # type: ignore[call-overload]
                "maxfev": self._maxfev,
                "max_failures": self._max_failures,
                "events": self._events,
            },
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, clock: Callable[[], float] | None = None
    ) -> Optimizer:
        """Continue a saved run: every later proposal is that of the run saved.

        Raises
        ------
        ValueError
            If the file is no saved run, or one of another format version.
        """
        run = runfile.read(path)
        opt = cls(
            run["task"]["x0"],
            method=METHODS[run["method"]](**run["settings"]),
            maxfev=run["maxfev"],
            clock=clock,
            max_failures=run["max_failures"],
        )
        opt._task = Task(**run["task"])
        opt._state = opt._method.start(opt._task)
        for event in run["events"]:
            opt._record(event)
        return opt

    # -- inside ----------------------------------------------------------------------

    def _record(self, event: dict[str, Any]) -> None:
        """Apply an event, new or replayed; the only place where anything changes."""
        kind = event["event"]
        if kind == "ask":
            self._pending = Trial(event["id"], event["x"])
            self._asked += 1
        elif kind == "stop":
            self._ended = Status[event["status"]]
        else:
            self._absorb(self._observation(event))
            if event["id"] is not None:
                self._pending = None
        self._events.append(event)

    def _observation(self, event: dict[str, Any]) -> Observation:
        asked = event["id"] is not None
        return Observation(
            x=self._pending.x if asked and self._pending else event["x"],
            t=event["t"],
            value=event.get("value", math.nan),
            sigma=math.nan if event.get("sigma") is None else event["sigma"],
            asked=asked,
        )

    def _absorb(self, observation: Observation) -> None:
        self._state = self._method.absorb(self._state, observation)
        verdict = self._state.verdict
        accepted = verdict is not None and verdict.accepted
        self._history.append((observation, accepted, self._state.centre_point))

    def _check_pending(self, trial: Trial) -> None:
        if self._pending is None or trial.id != self._pending.id:
            waiting = "none" if self._pending is None else f"trial {self._pending.id}"
            raise ValueError(
                f"trial {trial.id} is not waiting for a reading (waiting: {waiting}); "
                f"tell(x, value) takes points that were not asked for"
            )

    def _time(self, t: float | None) -> float:
        if t is not None:
            return _check.finite("t", t)
        if self._clock is not None:
            return _check.finite("clock()", self._clock())
        return float(len(self._history))

    def _history_arrays(self) -> History:
        n, rows = self._task.x0.size, self._history
        seen = [row[0] for row in rows]
        return History(
            x=np.array([o.x for o in seen]).reshape(-1, n),
            t=np.array([o.t for o in seen]),
            value=np.array([o.value for o in seen]),
            sigma=np.array([o.sigma for o in seen]),
            asked=np.array([o.asked for o in seen], dtype=bool),
            accepted=np.array([row[1] for row in rows], dtype=bool),
            centre=np.array([row[2] for row in rows]).reshape(-1, n),
        )


def _checked_clock(clock: Callable[[], float] | None) -> Callable[[], float] | None:
    """A clock that has shown once that it gives numbers."""
    if clock is not None:
        _check.function("clock", clock)
        _check.finite("clock()", clock())
    return clock
