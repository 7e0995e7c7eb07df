"""What pictures and reports show of a run: one view of all that may hold one.

A result, an optimizer and a journal's path all become a `Run`. A journal is only
read, so a run can be looked at while another process carries it on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .optimizer import Optimizer
from .result import History, Result, Status
from .space import Space, Variable
from .space_record import checked_record
from .text import printable
from .wording import (
    HOUR,
    LOCAL_DRIFT,
    Clock,
    is_unix_time,
    rounded,
    with_error,
)

Array = NDArray[np.float64]

__all__ = [
    "HOUR",
    "LOCAL_DRIFT",
    "Clock",
    "Run",
    "Source",
    "is_unix_time",
    "rounded",
    "space_of",
    "view",
    "with_error",
]


@dataclass(frozen=True)
class Run:
    """A search as it is shown; its texts hold nothing that cannot be."""

    result: Result
    names: Sequence[str]
    units: Sequence[str]
    reasons: Sequence[str]  # (N,) why a measurement failed, mostly empty
    setup: dict[str, Any]  # what was said before it began; empty if not known
    journal: Path | None = None  # where it is kept, if that is known

    @property
    def history(self) -> History:
        return self.result.history

    @property
    def n(self) -> int:
        return len(self.names)

    @property
    def clock(self) -> Clock:
        return Clock.of(self.history.t)

    @property
    def status(self) -> Status:
        return next(s for s in Status if s.code == self.result.status)

    @property
    def space(self) -> Space:
        """The variables and their limits; of a result alone only their number."""
        labels = {"names": self.names, "units": self.units, "initial_radius": None}
        return space_of(self.setup or labels)

    @property
    def maximize(self) -> bool:
        """Whether readings are to be large; a result tells by which it calls best."""
        if self.setup:
            return self.space.maximize
        row, best = self.history.best(), self.result.fun_best_observed
        return row is not None and best > self.history.value[row]

    def drift(self) -> Array:
        """The drift at each event relative to now, (N,); NaN where it is not known.

        It is known over the time that the last fit covers and not extended beyond.
        """
        curve, t = self.result.drift, self.history.t
        if not curve.t.size:
            return np.full(t.shape, math.nan)
        covered = (curve.t[0] <= t) & (t <= curve.t[-1])
        return np.where(covered, np.interp(t, curve.t, curve.value), math.nan)

    def drift_rate(self) -> str:
        """The drift's rate in words, with its standard error."""
        clock, result = self.clock, self.result
        rate = result.drift_rate * clock.rate_scale
        std = result.drift_rate_std * clock.rate_scale
        return f"{with_error(rate, std)} per {clock.rate_unit}"

    def corrected(self) -> Array:
        """The readings as they would be now, (N,); NaN where that is not known."""
        return np.asarray(self.history.value - self.drift())


Source = Run | Result | Optimizer | str | os.PathLike[str]


def view(source: Source) -> Run:
    """The run that a result, an optimizer or the file of a journal holds.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If the file is no run.
    """
    if isinstance(source, Run):
        return source
    if isinstance(source, Result):
        names, units = ([*map(printable, v)] for v in (source.names, source.units))
        return Run(source, names, units, [""] * len(source.history), {})
    if isinstance(source, Optimizer):
        return _of_optimizer(source)
    if isinstance(source, str | os.PathLike):
        return _of_optimizer(Optimizer.load(source), Path(source))
    raise TypeError(
        "a result, an Optimizer or the path of a journal is needed, "
        f"not {type(source).__name__}"
    )


def _of_optimizer(opt: Optimizer, path: Path | None = None) -> Run:
    names, units, reasons = (
        [printable(text) for text in texts]
        for texts in (opt.names, opt.units, opt.reasons)
    )
    return Run(opt.result(), names, units, reasons, opt.setup, path or opt.journal)


def space_of(setup: Mapping[str, Any]) -> Space:
    """The variables of a run, from what was said before it began."""
    if "space" in setup:
        return checked_record(setup["space"])
    labels = zip(setup["names"], setup["units"], strict=True)
    variables = tuple(Variable(name, unit) for name, unit in labels)
    return Space(variables, radius=setup["initial_radius"])
