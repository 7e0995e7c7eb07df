"""A run as a reader wants to see it: the answer, and how each estimate came about.

===========  ===========================================================
symbol       meaning, one entry per event of the history
===========  ===========================================================
drift        channel's estimated change since the first reading
drift_std    its standard error
corrected    reading minus drift: what a steady instrument would show
===========  ===========================================================
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import journal
from .optimizer import Optimizer, Trial
from .result import Result, Status
from .state import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """Everything that pictures and reports show."""

    names: list[str]
    units: list[str]
    result: Result
    status: Status
    pending: Trial | None
    estimates: list[Estimate]  # after each event of the history
    header: dict[str, object]
    torn: str  # remains of a record that a crash cut short

    def series(self, name: str) -> Array:
        """A number of the estimates over the events, e.g. ``"drift_rate"``."""
        return np.array([getattr(e, name) for e in self.estimates], dtype=float)

    @property
    def jac_norm(self) -> Array:
        """Length of the gradient after each event."""
        return np.array([math.sqrt(e.jac @ e.jac) for e in self.estimates])

    @property
    def drift(self) -> Array:
        """The estimated drift rates, added up over time; zero at the first reading.

        Rates that were not known yet when a reading came are those learned first.
        """
        return _accumulated(self.result.history.t, self.series("drift_rate"))

    @property
    def drift_std(self) -> Array:
        """Standard error of `drift`.

        Neighbouring rates rest on almost the same readings, so their errors add up as
        if they were one error, not independent ones: an upper bound.
        """
        return np.abs(
            _accumulated(self.result.history.t, self.series("drift_rate_std"))
        )

    @property
    def corrected(self) -> Array:
        """Readings without the estimated drift."""
        return np.asarray(self.result.history.value - self.drift)


def view(source: Optimizer | Result | str | os.PathLike[str]) -> View:
    """A run from an optimizer, from a result, or from its journal or saved file."""
    log = _log(source)
    estimates: list[Estimate] = []

    def watch(opt: Optimizer) -> None:
        del estimates[opt.readings :]  # withdrawn
        if len(estimates) < opt.readings:
            estimates.append(opt.estimate)

    opt = Optimizer.from_log(log, watch=watch)
    return View(
        names=opt.names,
        units=opt.units,
        result=opt.result(),
        status=opt.status,
        pending=opt.pending,
        estimates=estimates,
        header=dict(log.header),
        torn=log.torn,
    )


def _log(source: Optimizer | Result | str | os.PathLike[str]) -> journal.Log:
    if isinstance(source, Optimizer):
        return source.log
    if isinstance(source, Result):
        log = source.log
        assert isinstance(log, journal.Log)
        return log
    if isinstance(source, (str, os.PathLike)):
        return journal.read(source)
    raise TypeError(
        f"expected an Optimizer, a Result or the path of a run, but got {source!r}"
    )


def _accumulated(t: Array, rate: Array) -> Array:
    """Integral of a rate over the times of the events, trapezoidal, zero at first."""
    known = np.flatnonzero(np.isfinite(rate))
    if known.size == 0:
        return np.zeros_like(t)
    # Events without a rate take that of the nearest event that has one.
    nearest = known[np.abs(np.arange(t.size)[:, None] - known).argmin(axis=1)]
    filled = rate[nearest]
    steps = 0.5 * (filled[1:] + filled[:-1]) * np.diff(t)
    return np.concatenate([[0.0], np.cumsum(steps)])[: t.size]
