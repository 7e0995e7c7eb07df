"""The ask/tell core: what a user holds of a run; all that it knows is in the log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _check, files
from .books import Trial, history
from .eventlog import EventLog
from .journal import StrPath, holds_run
from .methods import DEFAULT
from .result import Result, Status
from .setup import Clock, checked_clock, checked_setup
from .state import Method, Standing


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
        Source of randomness, for the order of the first points and for restarts.
    options : dict, optional
        Fields of the method's settings to change.
    max_failures : int
        How many measurements may fail in a row before the search ends.
    names, units : sequence of str, optional
        What the variables are called and measured in, for reports.
    restarts : bool
        Once nothing more is gained, spend what is left of `maxfev` on searches that
        begin at random places, one or two first radii away in each variable.
    journal : path, optional
        A new file to which every event is written before it counts; after a crash,
        `Optimizer.resume` continues from it.

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
        initial_radius: float | None = None,
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
        rows = _check.readings(x, t, value, sigma)
        if t is None and arguments.get("clock") is not None:
            raise ValueError("t is needed: there is a clock for the readings to come")
        if x0 is None and not rows:
            raise ValueError("x0 is needed: there is no reading to start from")
        path = arguments.pop("journal", None)
        start = min(rows, key=lambda row: row[1])[0] if x0 is None else x0
        opt = cls(start, **arguments)
        # All readings prove sound before there is a file.
        events = [opt._log.reading(*row) for row in rows]
        opt._log.begin_journal(path)
        for event in events:
            opt._log.record(event)
        return opt

    # -- the loop --------------------------------------------------------------------

    def ask(self) -> Trial:
        """The next point to measure; the same one until it has been told.

        A search that has ended (`done` is true) raises RuntimeError.
        """
        self._log.catch_up()
        if self.done:
            raise RuntimeError(f"nothing to ask, the search has ended: {self.message}")
        return self._log.ask()

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
        self._log.catch_up()
        self._log.record(self._log.reading(trial, value, t, sigma))

    def tell_failed(
        self, trial: Trial, reason: str = "", t: float | None = None
    ) -> None:
        """Say that a measurement failed; the search goes on with another point."""
        self._log.catch_up()
        self._log.record(self._log.failure(trial, reason, t))

    def stop(self, status: Status = Status.STOPPED) -> None:
        """End the search from outside; `resume` and `undo` lift it."""
        self._log.stop(status)

    def undo(self) -> None:
        """Withdraw the latest reading or failure, e.g. a mistyped one.

        If it answered a trial, that trial is pending again. The log keeps both. Where
        there is nothing to withdraw, it raises ValueError.
        """
        self._log.undo()

    # -- what is known ---------------------------------------------------------------

    @property
    def status(self) -> Status:
        """Why the search has ended, or ``Status.RUNNING``."""
        return self._log.status

    @property
    def done(self) -> bool:
        """True once the search has ended."""
        return self.status is not Status.RUNNING

    @property
    def message(self) -> str:
        """The status in a sentence, with the last reason if measurements failed."""
        return self._log.message

    @property
    def pending(self) -> Trial | None:
        """The trial that waits for its reading; looking at it asks for nothing."""
        return self._log.books.pending

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
        return self._log.maxfev

    @property
    def clock(self) -> Clock | None:
        """What times a reading told without a time; None: its number."""
        return self._log.setup.clock

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
        return {**self._log.setup.header(), "maxfev": self._log.maxfev}

    @property
    def _state(self) -> Standing:
        return self._log.state

    def result(self) -> Result:
        """The answer so far; can be called at any time."""
        x0 = self._log.setup.task.x0
        seen = history(self._log.rows, x0.size)
        best = seen.lowest()
        return Result(
            **self._log.setup.searcher.estimate(self._state).fields(),
            success=self.status.success,
            status=self.status.code,
            message=self.message,
            nfev=self.nfev,
            nit=self._state.iterations,
            nfail=int(seen.failed.sum()),
            x_best_observed=(x0 if best is None else seen.x[best]).copy(),
            fun_best_observed=math.nan if best is None else float(seen.value[best]),
            history=seen,
            method=str(self._log.setup.searcher),
        )

    def progress(self) -> Result:
        """The part of `result` that is cheap enough to look at after every reading."""
        estimate = self._log.setup.searcher.estimate(self._state, quick=True).fields()
        shown = {k: estimate[k] for k in ("x", "fun", "fun_std", "drift_rate", "t")}
        return Result(**shown, nfev=self.nfev, nit=self._state.iterations)

    # -- files -----------------------------------------------------------------------

    def save(self, path: StrPath) -> None:
        """Write the whole run to a file; the old file stays until it is replaced.

        Of clocks only `time.time` is saved: hand another to `load` again. A run's own
        journal has everything already and is left alone.
        """
        files.save(self._log, path)

    @classmethod
    def load(cls, path: StrPath, *, clock: Clock | None = None) -> Optimizer:
        """A saved run or a journal, continued in memory: the file is left alone.

        Every later proposal is that of the run saved, bit by bit. A file that is no
        run, corrupt, or one of another format version raises ValueError.
        """
        return cls._of(files.loaded(path, clock))

    @classmethod
    def resume(
        cls, path: StrPath, *, clock: Clock | None = None, maxfev: int | None = None
    ) -> Optimizer:
        """Continue a journal, in its file; the pending trial is still pending.

        A search that was stopped from outside, or by too many failures, goes on.
        `maxfev` extends the budget. Raises ValueError as `load` does, JournalError if
        another process is running it.
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
        setup, rng = cls(**arguments)._log.setup, arguments.get("rng")
        return cls._of(files.opened(path, setup, seed_is_given=rng is not None))

    @classmethod
    def _of(cls, log: EventLog) -> Optimizer:
        opt = cls.__new__(cls)
        opt._log = log
        return opt

    def close(self) -> None:
        """Release the journal, if there is one; the search cannot go on after it."""
        if self._log.journal is not None:
            self._log.journal.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
