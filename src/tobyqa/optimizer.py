"""The ask/tell core: the one mutable object of the package.

An `Optimizer` holds a log of events and the state that follows from it. A method's
`absorb` is a pure function of state and observation, so the log alone restores the
state bit by bit: that is how saved runs, journals and `undo` work.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check, journal
from .methods import DEFAULT, METHODS, resolve
from .result import History, Result, Status
from .state import Gauges, Method, Observation, State, Task

Array = NDArray[np.float64]
Event = dict[str, Any]
_log = logging.getLogger(__name__)

_READINGS = ("tell", "fail")  # events that make a row of the history


@dataclass(frozen=True)
class Trial:
    """A point to be measured; `x` is read-only. No id: it was not asked for."""

    id: int | None
    x: Array


class Optimizer:
    """Minimise a noisy, drifting quantity, one measurement at a time.

    Parameters
    ----------
    x0 : array_like
        Where to start, shape (n,).
    method : str or settings object
        ``"adaptive"``, ``"paper"`` (the published algorithm), or a settings object
        such as ``tobyqa.Adaptive(window=100)``.
    noise : float, optional
        Standard deviation of a reading; None: estimated from the readings. A rough
        value will do: ``adaptive`` corrects it, though at some cost.
    maxfev : int, optional
        How many trials may be asked for; None: no limit.
    initial_radius : float, optional
        Distance of the first points from `x0`; None: 2.
    clock : callable, optional
        Gives the time of a reading told without one, e.g. ``time.time``; None: readings
        are numbered 0, 1, 2, ...
    rng : None, int or numpy Generator, optional
        Source of randomness, for the order of the first points and for where excursions
        begin; ``paper`` uses none.
    options : dict, optional
        Fields of the method's settings to change.
    max_failures : int
        How many measurements may fail in a row before the search ends.
    names, units : sequence of str, optional
        What the variables are called and measured in, for reports.
    journal : path, optional
        A new file to which every event is written before it counts; after a crash,
        `Optimizer.resume` continues from it.

    Examples
    --------
    >>> opt = Optimizer([1.0, 2.0], noise=0.0, maxfev=40)
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
        method: str | Method = DEFAULT,
        noise: float | None = None,
        maxfev: int | None = None,
        initial_radius: float | None = None,
        clock: Callable[[], float] | None = None,
        rng: Any = None,
        options: Mapping[str, Any] | None = None,
        max_failures: int = 10,
        names: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        journal: journal.StrPath | None = None,
    ) -> None:
        self._task = Task(
            x0=_check.start_point(x0),
            noise=None if noise is None else _check.non_negative("noise", noise),
            radius=(
                None
                if initial_radius is None
                else _check.positive("initial_radius", initial_radius)
            ),
            seed=_check.seed(rng),
            has_budget=maxfev is not None,
        )
        n = self._task.x0.size
        self.names = _check.labels("names", names, n) or [f"x{i}" for i in range(n)]
        self.units = _check.labels("units", units, n) or [""] * n
        self._method = resolve(method, options)
        self._maxfev = None if maxfev is None else _check.count("maxfev", maxfev)
        self._max_failures = _check.count("max_failures", max_failures)
        self._clock = _checked_clock(clock)
        self._events: list[Event] = []  # all that happened
        self._reset()
        self._journal = None if journal is None else _begin(journal, self._header())

    @classmethod
    def from_data(
        cls,
        x: Any,
        t: Any,
        value: Any,
        *,
        sigma: Any = None,
        x0: Any = None,
        **arguments: Any,
    ) -> Optimizer:
        """A search that begins with readings one already has.

        Each becomes a reading that was not asked for. ``adaptive`` fits all that lie
        near by together with its own; ``paper``, which keeps few readings, has the
        starting point from them, and its scales and first step also from the latest
        2n + 1 of them.

        Parameters
        ----------
        x, value : array_like
            The points, shape (N, n), and the readings there, shape (N,).
        t : array_like or None
            When they were taken, shape (N,), on the clock of the readings to come;
            None: they are numbered 0, 1, 2, ...
        sigma : array_like, optional
            Their standard errors, shape (N,); NaN where there is none.
        x0 : array_like, optional
            Where to start; the point of the lowest reading by default.
        **arguments
            Those of the constructor, `journal` included.

        Examples
        --------
        >>> opt = Optimizer.from_data([[0, 0], [1, 2]], [10, 20], [3.5, 1.5], maxfev=9)
        >>> opt.ask().x, opt.nfev, len(opt.result().history)
        (array([1., 2.]), 0, 2)
        """
        points = _check.points("x", x)
        values = _check.column("value", value, len(points))
        sigmas = np.full(len(points), math.nan)
        if sigma is not None:
            sigmas = _check.column("sigma", sigma, len(points), nan_allowed=True)
        if t is None and arguments.get("clock") is not None:
            raise ValueError("t is needed: there is a clock for the readings to come")
        times = np.arange(len(points)) if t is None else t
        times = _check.column("t", times, len(points))
        if x0 is None and not len(points):
            raise ValueError("x0 is needed: there is no reading to start from")
        path = arguments.pop("journal", None)
        opt = cls(points[values.argmin()] if x0 is None else x0, **arguments)
        for row in zip(points, values, times, sigmas, strict=True):
            opt.tell(*row[:3], sigma=None if math.isnan(row[3]) else row[3])
        if path is not None:  # begun only now that all readings proved sound
            opt._journal = _begin(path, opt._header())
            for event in opt._events:
                opt._journal.append(event)
        return opt

    def _reset(self) -> None:
        """The state before the first event."""
        self._live: list[Event] = []  # what happened and has not been withdrawn
        self._state: State[Any] = self._method.start(self._task)
        self._pending: Trial | None = None
        self._ended: Status | None = None  # ended from outside, see `stop`
        self._asked = 0
        self._numbered = True  # readings are timed by their number
        self._history: list[tuple[Observation, bool, Array, Gauges]] = []

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
            x.flags.writeable = False
            self._record({"event": "ask", "id": self._asked, "x": x})
        assert self._pending is not None
        return self._pending

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
            The reading. NaN, infinity and anything beyond 1e100 in size count as a
            failed measurement of a trial; for any other point they are an error.
        t : float, optional
            When it was taken; the clock's time by default. Without a clock it is
            needed as soon as an earlier reading had one.
        sigma : float, optional
            Its standard error, if it is known to differ from `noise`.
        """
        reading = _check.number("value", value)
        sigma = None if sigma is None else _check.non_negative("sigma", sigma)
        if not isinstance(trial, Trial):
            x = _check.point("x", trial, self._task.x0.size)
            pending = self._pending
            answers_pending = pending is not None and np.array_equal(x, pending.x)
            trial = pending if answers_pending and pending else Trial(None, x)
        self._check_pending(trial)
        reading_is_usable = abs(reading) <= _check.LARGEST_READING
        if not reading_is_usable:
            if trial.id is None:
                raise ValueError(
                    "value must be finite and at most "
                    f"{_check.LARGEST_READING:g} in size, but is {reading}"
                )
            self.tell_failed(trial, f"the reading is {reading}", t=t)
            return
        self._record(
            {
                "event": "tell",
                "id": trial.id,
                "x": None if trial.id is not None else trial.x,
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
        _log.info("trial %s failed: %s", trial.id, reason)
        when = self._last_time() if t is None else _check.time("t", t)
        self._record(
            {"event": "fail", "id": trial.id, "t": when, "reason": str(reason)}
        )

    def stop(self, status: Status = Status.STOPPED) -> None:
        """End the search from outside; `resume` and `undo` lift it."""
        if status not in (Status.STOPPED, Status.CALLBACK):
            raise ValueError(
                f"status must be Status.STOPPED or Status.CALLBACK, but is {status!r}"
            )
        self._record({"event": "stop", "status": status.name})

    def undo(self) -> None:
        """Withdraw the latest reading or failure, e.g. a mistyped one.

        If it answered a trial, that trial is pending again. The log keeps both.

        Raises
        ------
        ValueError
            If there is nothing to withdraw.
        """
        if self._last_reading() is None:
            raise ValueError("there is no reading to withdraw")
        self._record({"event": "undo"})

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
            reason = next(e for e in reversed(self._live) if e["event"] == "fail")
            return f"{self.status.message} The last one: {reason['reason'] or '?'}"
        return self.status.message

    @property
    def pending(self) -> Trial | None:
        """The trial that waits for its reading; looking at it asks for nothing."""
        return self._pending

    @property
    def reasons(self) -> list[str]:
        """Why measurements failed, one text per row of the history, mostly empty."""
        return [e.get("reason", "") for e in self._live if e["event"] in _READINGS]

    @property
    def maxfev(self) -> int | None:
        """How many trials may be asked for."""
        return self._maxfev

    @property
    def clock(self) -> Callable[[], float] | None:
        """What times a reading told without a time; None: its number."""
        return self._clock

    @property
    def nfev(self) -> int:
        """Trials answered, failed ones included."""
        return self._asked - (self._pending is not None)

    @property
    def method(self) -> Method:
        """The method's settings."""
        return self._method

    @property
    def setup(self) -> dict[str, Any]:
        """All that was said before the search began, as a journal's header has it."""
        return self._header()

    def result(self) -> Result:
        """The answer so far; can be called at any time."""
        estimate = self._method.estimate(self._state)
        history = self._history_arrays()
        best = history.lowest()
        lowest = self._task.x0 if best is None else history.x[best]
        return Result(
            x=estimate.x.copy(),
            x_std=estimate.x_std.copy(),
            fun=estimate.fun,
            fun_std=estimate.fun_std,
            success=self.status.success,
            status=self.status.code,
            message=self.message,
            nfev=self.nfev,
            nit=self._state.iterations,
            nfail=int(history.failed.sum()),
            jac=estimate.jac.copy(),
            hess=estimate.hess.copy(),
            drift_rate=estimate.drift_rate,
            drift_rate_std=estimate.drift_rate_std,
            drift=estimate.drift,
            drift_is_local=estimate.drift_is_local,
            noise_std=estimate.noise_std,
            t=estimate.t,
            x_best_observed=lowest.copy(),
            fun_best_observed=math.nan if best is None else float(history.value[best]),
            history=history,
            method=str(self._method),
        )

    def progress(self) -> Result:
        """The part of `result` that is cheap enough to look at after every reading."""
        estimate = self._method.estimate(self._state, quick=True)
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

    def save(self, path: journal.StrPath) -> None:
        """Write the whole run to a file; the old file stays until it is replaced.

        Of clocks only `time.time` is saved: hand another to `load` again. A run's own
        journal has everything already and is left alone.
        """
        own = self._journal
        if own is None or not own.is_file(path):
            journal.write(path, self._header(), self._events)

    @classmethod
    def load(
        cls, path: journal.StrPath, *, clock: Callable[[], float] | None = None
    ) -> Optimizer:
        """A saved run or a journal, continued in memory: the file is left alone.

        Every later proposal is that of the run saved, bit by bit.

        Raises
        ------
        ValueError
            If the file is no run, corrupt, or one of another format version.
        """
        return cls._replayed(journal.read(path), clock)

    @classmethod
    def resume(
        cls,
        path: journal.StrPath,
        *,
        clock: Callable[[], float] | None = None,
        maxfev: int | None = None,
    ) -> Optimizer:
        """Continue a journal, in its file; the pending trial is still pending.

        A search that was stopped from outside, or by too many failures, goes on.
        `maxfev` extends the budget.

        Raises
        ------
        ValueError
            If the file is no run, corrupt, or one of another format version.
        JournalError
            If another process is running it.
        """
        if maxfev is not None:
            maxfev = _check.count("maxfev", maxfev)
        opened = journal.Journal(path)
        opt = cls._replayed(opened.log, clock)
        opt._journal = opened
        if opened.log.torn:
            _log.warning("%s: dropped a torn last record", os.fspath(path))
        budget_is_new = maxfev is not None and maxfev != opt._maxfev
        ended_by_failures = opt.status is Status.FAILURES
        if opt._ended is not None or ended_by_failures or budget_is_new:
            opt._record({"event": "continue", "maxfev": maxfev or opt._maxfev})
        return opt

    @classmethod
    def open(cls, path: journal.StrPath | None, **arguments: Any) -> Optimizer:
        """Continue the journal `path` if it holds a run, else begin it.

        `arguments` are those of the constructor. With None there is no journal.

        Raises
        ------
        ValueError
            If the file holds a run of another problem; the error says what differs.
        """
        if path is None or not journal.holds_run(path):
            return cls(**arguments, journal=path)
        asked = cls(**arguments)
        header = asked._header()
        if arguments.get("rng") is None:
            del header["seed"]  # drawn anew each time; the journal's own counts
        if differing := journal.differences(journal.read(path).header, header):
            raise ValueError(
                f"{os.fspath(path)} holds a run of another problem: "
                f"{'; '.join(differing)}"
            )
        return cls.resume(path, clock=arguments.get("clock"), maxfev=asked._maxfev)

    def close(self) -> None:
        """Release the journal, if there is one; the search cannot go on after it."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @classmethod
    def _replayed(
        cls, log: journal.Log, clock: Callable[[], float] | None
    ) -> Optimizer:
        try:
            header = log.header
            opt = cls(
                header["x0"],
                method=METHODS[header["method"]](**header["settings"]),
                noise=header["noise"],
                maxfev=header["maxfev"],
                initial_radius=header["initial_radius"],
                clock=_clock_named(header.get("clock")) if clock is None else clock,
                max_failures=header["max_failures"],
                names=header["names"],
                units=header["units"],
            )
            opt._task = dataclasses.replace(opt._task, seed=header["seed"])
            opt._reset()
            for event in log.events:
                if event.get("x") is not None:
                    x = _check.point("x", event["x"], len(opt.names))
                    event = {**event, "x": x}
                opt._events.append(event)
                opt._apply(event)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"this is no run that can be replayed: {type(error).__name__} {error}"
            ) from error
        return opt

    def _header(self) -> dict[str, Any]:
        """All that was said before the search began."""
        return {
            "x0": self._task.x0,
            "noise": self._task.noise,
            "initial_radius": self._task.radius,
            "seed": self._task.seed,
            "method": type(self._method).__name__.lower(),
            "settings": dataclasses.asdict(self._method),  # type: ignore[call-overload]
            "maxfev": self._maxfev,
            "max_failures": self._max_failures,
            "names": self.names,
            "units": self.units,
            "clock": _clock_name(self._clock),
            "bounds": None,
        }

    # -- inside ----------------------------------------------------------------------

    def _record(self, event: Event) -> None:
        """Put an event on the disk, then let it count."""
        if self._journal is not None:
            self._journal.append(event)
        self._events.append(event)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        """An event, new or replayed: the only place where anything changes."""
        kind = event["event"]
        if kind == "undo":
            kept = self._live[: self._last_reading()]
            self._reset()
            for earlier in kept:
                self._apply(earlier)
            return
        if kind == "ask":
            self._pending = Trial(event["id"], event["x"])
            self._asked += 1
        elif kind == "stop":
            self._ended = Status[event["status"]]
        elif kind == "continue":
            self._ended, self._maxfev = None, event["maxfev"]
            self._state = dataclasses.replace(self._state, failures=0)
        elif kind in _READINGS:
            self._absorb(self._observation(event))
            if event["id"] is not None:
                self._pending = None
        else:
            raise ValueError(f"unknown event {kind!r}")
        self._live.append(event)

    def _last_reading(self) -> int | None:
        """Place of the latest reading or failure in the log that counts."""
        places = range(len(self._live) - 1, -1, -1)
        return next((k for k in places if self._live[k]["event"] in _READINGS), None)

    def _observation(self, event: dict[str, Any]) -> Observation:
        asked = event["id"] is not None
        if asked and (self._pending is None or self._pending.id != event["id"]):
            raise ValueError(f"trial {event['id']} was told but not asked for")
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
        self._numbered &= observation.t == len(self._history)
        # A copy: a row of the table would keep that whole table alive.
        centre = self._state.centre_point.copy()
        self._history.append((observation, accepted, centre, self._state.gauges))

    def _check_pending(self, trial: Trial) -> None:
        """A trial must be the one that waits; its id alone does not prove that."""
        pending = self._pending
        if trial is pending or trial.id is None:
            return
        if (
            pending is not None
            and trial.id == pending.id
            and np.array_equal(trial.x, pending.x)
        ):
            return
        waiting = "none" if pending is None else f"trial {pending.id} at {pending.x}"
        raise ValueError(
            f"trial {trial.id} at {trial.x} is not waiting for a reading (waiting: "
            f"{waiting}); tell(x, value) takes points that were not asked for"
        )

    def _time(self, t: float | None) -> float:
        """When a reading was taken: as stated, by the clock, or its number."""
        if t is not None:
            return _check.time("t", t)
        if self._clock is not None:
            return _check.time("clock()", self._clock())
        if not self._numbered:
            raise ValueError(
                "t is needed: earlier readings had times of their own, and there is no "
                "clock"
            )
        return float(len(self._history))

    def _last_time(self) -> float:
        """A time for a failure, which needs none: the model never sees it."""
        if self._numbered or not self._history:
            return float(len(self._history))
        return self._history[-1][0].t

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
            radius=np.array([row[3].radius for row in rows]),
            gradient=np.array([row[3].gradient for row in rows]),
            gradient_std=np.array([row[3].gradient_std for row in rows]),
        )


def _begin(path: journal.StrPath, header: dict[str, Any]) -> journal.Journal:
    """A new journal; apart, since the constructor's argument hides the module."""
    return journal.Journal(path, header)


def _clock_name(clock: Callable[[], float] | None) -> str | None:
    """How readings are timed, as far as a file can say it."""
    if clock is None:
        return None
    return "time.time" if clock is time.time else "own"


def _clock_named(name: str | None) -> Callable[[], float] | None:
    """The clock that a file names; one of the user's own must be handed over again."""
    return time.time if name == "time.time" else None


def _checked_clock(clock: Callable[[], float] | None) -> Callable[[], float] | None:
    """A clock that has shown once that it gives numbers."""
    if clock is not None:
        _check.function("clock", clock)
        _check.time("clock()", clock())
    return clock
