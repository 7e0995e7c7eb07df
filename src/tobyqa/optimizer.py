"""The ask/tell core: what a user holds of a run; all that it knows is in the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from . import _check, commands, files
from .books import Trial
from .eventlog import EventLog
from .journal import StrPath, holds_run
from .methods import DEFAULT
from .outcome import progress_of, remark, result_of, run_rows
from .result import Result, Status
from .setup import Clock, checked_clock, checked_setup
from .shown import as_html, as_text
from .state import Method, Standing


class Optimizer:
    """Minimise a noisy, drifting quantity, one measurement at a time or several.

    Parameters
    ----------
    x0 : array_like
        Where to start, shape (n,).
    maxfev : int, optional
        How many trials may be asked for; None: no limit.
    clock : callable, optional
        Gives the time of a reading told without one, e.g. ``time.time``; None: readings
        are numbered 0, 1, 2, ...
    names, units : sequence of str, optional
        What the variables are called and measured in.
    journal : path, optional
        A new file for every event, before it counts; `Optimizer.resume` continues it.
    method and all further ones
        As in `tobyqa.minimize`: `noise`, `initial_radius`, `bounds`, `constraints`,
        `x_scale`, `resolution`, `fixed`, `max_move`, `safe`, `limit`, `maximize`,
        `rng`, `options`, `max_failures` and `restarts`.

    A deep copy or a pickle is a run of its own, rebuilt in memory and not journaled.

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
        initial_radius: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        x_scale: Any = None,
        resolution: Any = None,
        fixed: Mapping[str | int, float] | None = None,
        max_move: Any = None,
        safe: Any = None,
        limit: float | None = None,
        maximize: bool = False,
        clock: Clock | None = None,
        rng: Any = None,
        options: Mapping[str, Any] | None = None,
        max_failures: int = 10,
        names: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        restarts: bool = False,
        journal: StrPath | None = None,
    ) -> None:
        setup = checked_setup(
            x0,
            method=method,
            noise=noise,
            maxfev=maxfev,
            initial_radius=initial_radius,
            bounds=bounds,
            constraints=constraints,
            x_scale=x_scale,
            resolution=resolution,
            fixed=fixed,
            max_move=max_move,
            safe=safe,
            limit=limit,
            maximize=maximize,
            clock=checked_clock(clock),
            rng=rng,
            options=options,
            max_failures=max_failures,
            names=names,
            units=units,
            restarts=restarts,
        )
        self._log = EventLog(setup)
        self._log.begin_journal(journal)

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

        Each becomes a reading that was not asked for. ``adaptive`` fits those near by
        together with its own; ``paper``, which keeps few readings, has the start from
        them, and its scales and first step also from the latest 2n + 1 of them.

        Parameters
        ----------
        x, value : array_like
            The points, (N, n), and the readings there, (N,).
        t : array_like or None
            When they were taken, on the clock of those to come; None: 0, 1, 2, ...
        sigma : array_like, optional
            Their standard errors; NaN where there is none.
        x0 : array_like, optional
            Where to start; the point of the best reading by default.
        **arguments : those of the constructor, `journal` included.

        Examples
        --------
        >>> opt = Optimizer.from_data([[0, 0], [1, 2]], [10, 20], [3.5, 1.5], maxfev=9)
        >>> opt.ask().x, opt.nfev, len(opt.result().history)
        (array([1., 2.]), 0, 2)
        """
        rows = _check.readings(x, t, value, sigma)
        if t is None and arguments.get("clock") is not None:
            raise ValueError("t is needed: there is a clock for the readings to come")
        path, largest = arguments.pop("journal", None), arguments.get("maximize")
        opt = cls(files.best_point(rows, largest) if x0 is None else x0, **arguments)
        files.begin_with(opt._log, rows, path)
        return opt

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, k: int) -> list[Trial]: ...

    def ask(self, k: int | None = None) -> Trial | list[Trial]:
        """The next point to measure; the same one until it has been told.

        A search that has ended raises RuntimeError.

        Parameters
        ----------
        k : int, optional
            How many trials are to wait at the same time: a list of them, those that
            wait already first, and new ones until they are `k`. Fewer if `maxfev`
            allows no more. Each is told on its own, in any order. With `max_move` they
            are settings of one instrument, to be made in the order of their numbers.
            After a reading beyond `limit` what is out stays out, and `safe` is all that
            is asked until a reading there is in.

        Examples
        --------
        >>> opt = Optimizer([1.0, 2.0], maxfev=40)
        >>> trials = opt.ask(3)
        >>> for trial in reversed(trials):
        ...     opt.tell(trial, sum(trial.x**2))
        >>> opt.ask().id, opt.nfev
        (3, 3)
        """
        count = 1 if k is None else _check.count("k", k)
        if self.done:
            raise RuntimeError(f"nothing to ask, the search has ended: {self.message}")
        trials = self._log.ask(count)
        return trials[0] if k is None else list(trials)

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
        event = self._log.reading(trial, value, t, sigma)
        self._log.record(event)
        if event["event"] == "tell":
            remark(self._log)

    def tell_failed(
        self, trial: Trial, reason: str = "", t: float | None = None
    ) -> None:
        """Say that a measurement failed; the search goes on with another point."""
        self._log.record(self._log.failure(trial, reason, t))

    give_up, stop, undo = commands.give_up, commands.stop, commands.undo
    fix, free, extend, set = commands.fix, commands.free, commands.extend, commands.set_
    correct, withdraw = commands.correct, commands.withdraw
    fixed = property(commands.fixed)

    # -- what is known ---------------------------------------------------------------

    @property
    def status(self) -> Status:
        """Why the search has ended, or ``Status.RUNNING``."""
        return self._log.status

    @property
    def done(self) -> bool:
        """True once the search has ended."""
        return self._log.status is not Status.RUNNING

    @property
    def message(self) -> str:
        """The status in a sentence, with the last reason if measurements failed."""
        return self._log.message

    @property
    def pending(self) -> list[Trial]:
        """The trials that wait for their readings; looking at them asks for nothing."""
        return list(self._log.books.pending)

    @property
    def reasons(self) -> list[str]:
        """Why measurements failed, one text per row of the history, mostly empty."""
        return self._log.reasons

    @property
    def names(self) -> list[str]:
        return list(self._log.setup.names)

    @property
    def units(self) -> list[str]:
        return list(self._log.setup.units)

    @property
    def maxfev(self) -> int | None:
        return self._log.books.maxfev

    @property
    def clock(self) -> Clock | None:
        return self._log.setup.clock

    @property
    def journal(self) -> Path | None:
        """Where the run is kept: another file if the first was lost on the way."""
        return None if self._log.journal is None else self._log.journal.path

    @property
    def nfev(self) -> int:
        """Trials answered, failed ones included."""
        return self._log.books.answered

    @property
    def method(self) -> Method:
        return self._log.setup.method

    @property
    def setup(self) -> dict[str, Any]:
        """All that was said before the search began, with the budget as it is now."""
        return {**self._log.setup.header(), "maxfev": self.maxfev}

    def __repr__(self) -> str:
        return as_text(run_rows(self._log))

    def _repr_html_(self) -> str:
        return as_html(run_rows(self._log))

    @property
    def _state(self) -> Standing:
        return self._log.course.state

    def result(self) -> Result:
        """The answer so far; can be called at any time."""
        return result_of(self._log)

    def progress(self) -> Result:
        """The part of `result` that is cheap enough to look at after every reading."""
        return progress_of(self._log)

    save = files.save

    @classmethod
    def load(cls, path: StrPath, *, clock: Clock | None = None) -> Optimizer:
        """A saved run or a journal, continued in memory, bit by bit as it was.

        A file that is no run, corrupt, or of another format version raises ValueError.
        """
        return cls._of(files.loaded(path, clock))

    @classmethod
    def resume(
        cls, path: StrPath, *, clock: Clock | None = None, maxfev: int | None = None
    ) -> Optimizer:
        """Continue a journal, in its file; the pending trial is still pending.

        A search that was stopped, from outside or by failures, goes on, with `maxfev`
        if that is given. ValueError as of `load`, JournalError if it is being run.
        """
        return cls._of(files.resumed(path, clock, maxfev))

    @classmethod
    def open(cls, path: StrPath | None, **arguments: Any) -> Optimizer:
        """Continue the journal `path` if it holds a run, else begin it.

        `arguments` are those of the constructor. With None there is no journal. A file
        with a run of another problem raises ValueError, which says what differs.
        """
        if path is None or not holds_run(path):
            return cls(**arguments, journal=path)
        setup, has_seed = cls(**arguments)._log.setup, arguments.get("rng") is not None
        return cls._of(files.opened(path, setup, seed_is_given=has_seed))

    @classmethod
    def _of(cls, log: EventLog) -> Optimizer:
        opt = cls.__new__(cls)
        opt._log = log
        return opt

    def close(self) -> None:
        """Release the journal, if there is one; the search cannot go on after it."""
        self._log.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
