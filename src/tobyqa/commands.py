"""What a user can say while a search is under way: methods of `Optimizer`."""

from __future__ import annotations

import logging
import math
import operator
from collections.abc import Mapping
from typing import Any

from . import _check
from .books import ENDS, Trial
from .changed_setup import checked_fix, checked_free
from .eventlog import EventLog, Run
from .result import Status

_logger = logging.getLogger(__name__)


def give_up(self: Run, trial: Trial) -> None:
    """Wait for a trial no more: its reading will not come.

    It counts neither as a reading nor as a failure, and `maxfev` allows for another one
    instead. `undo` does not bring it back; a reading that comes after all can be told
    with its point, ``tell(trial.x, value)``.
    """
    if not isinstance(trial, Trial):
        raise TypeError(f"trial must be what ask() returned, but is {trial!r}")
    self._log.books.check_waiting(trial)
    _logger.info("trial %s at %s is given up", trial.id, trial.x)
    self._log.record({"event": "give_up", "drops": [trial.id]})


def stop(self: Run, status: Status = Status.STOPPED) -> None:
    """End the search from outside; `resume` and `undo` lift it."""
    if status.name not in ENDS:
        raise ValueError(
            f"status must be Status.STOPPED or Status.CALLBACK, but is {status!r}"
        )
    self._log.record({"event": "stop", "status": status.name})


def undo(self: Run) -> None:
    """Withdraw the latest reading, failure or change, or ValueError.

    If it answered a trial, that trial is pending again. Trials that went out since are
    withdrawn as well, unless several were out. The log keeps both.
    """
    if not (self._log.books.rows or self._log.books.changes):
        raise ValueError("there is no reading to withdraw")
    self._log.record({"event": "undo"})


def fix(self: Run, values: Mapping[Any, float] | None = None, **named: float) -> None:
    """Keep variables at given values from now on, until `free`.

    Readings with other values stay in the model and remain useful: ``adaptive`` goes on
    from where it is and moves along the other variables only. Before it has a model,
    and with ``paper``, which keeps few readings, a search of the other variables
    begins, which knows the readings that have these values. Trials that wait at
    another value are given up: ask again. With `max_move` it may take several trials to
    get there. `undo` withdraws it.

    Parameters
    ----------
    values, **named
        Values by name, or in a dict by name or index. One that is given for a variable
        which is fixed already takes the place of the old one.

    Examples
    --------
    >>> from tobyqa import Optimizer
    >>> opt = Optimizer([310.0, 1.0], names=["temp", "gap"])
    >>> opt.fix(temp=300)
    >>> opt.ask().x, opt.fixed
    (array([300.,   1.]), {'temp': 300.0})
    """
    log, values = self._log, {} if values is None else values
    if not isinstance(values, Mapping):
        raise TypeError(f"values must map names to numbers, but is {values!r}")
    clean = checked_fix(log.setup.space, log.books.fixed, {**values, **named})
    drops = [trial for trial in log.books.pending if _is_off(log, trial, clean)]
    for trial in drops:
        _logger.info("trial %s at %s is given up", trial.id, trial.x)
    log.record(
        {"event": "fix", "values": clean, "drops": [trial.id for trial in drops]}
    )


def _is_off(log: EventLog, trial: Trial, values: Mapping[str, float]) -> bool:
    names = log.setup.names
    return any(trial.x[names.index(name)] != at for name, at in values.items())


def fixed(self: Run) -> dict[str, float]:
    """Variables that are not searched now, and their values."""
    stays = {v.name: v.value for v in self._log.setup.space.variables}
    since = dict(self._log.books.fixed)
    return {name: at for name, at in stays.items() if math.isfinite(at)} | since


def free(self: Run, *names: str | int) -> None:
    """Search variables again that were fixed by `fix`; trials that wait stay."""
    log = self._log
    clean = checked_free(log.setup.space, log.books.fixed, names)
    log.record({"event": "free", "names": clean})


def correct(self: Run, row: int, value: float) -> None:
    """Say what the reading in a row of the history was in truth.

    It keeps its place, its time and its standard error. The model is made anew with it;
    what was asked for since stays as it was, and so do trials that wait. ``adaptive``
    goes on from where it is; before it has a model, and with ``paper`` or `restarts`,
    the search is begun anew and learns of all readings again. `undo` withdraws it.

    Parameters
    ----------
    row : int
        The number of the reading in ``result().history``, failures included; the first
        is 0.
    value : float
        What was read.

    Examples
    --------
    >>> from tobyqa import Optimizer
    >>> opt = Optimizer([310.0, 1.0])
    >>> opt.tell(opt.ask(), 104.0)
    >>> opt.correct(0, 10.4)
    >>> opt.result().history.value
    array([10.4])
    """
    clean = _row(self._log, row)
    reading = _check.reading("value", value)
    self._log.record({"event": "correct", "row": clean, "value": reading})


def withdraw(self: Run, row: int) -> None:
    """Say that the reading in a row of the history is wrong, and nothing else.

    The row stays, as a measurement that has failed for the reason "withdrawn"; no model
    uses it from now on. It has been paid for, and counts in `nfev`. All else is as for
    `correct`.

    Parameters
    ----------
    row : int
        As of `correct`.
    """
    self._log.record({"event": "withdraw", "row": _row(self._log, row)})


def _row(log: EventLog, row: Any) -> int:
    """A row of the history that has a value."""
    try:
        clean = _check.whole("row", operator.index(row))
    except TypeError:
        raise TypeError(f"row must be a whole number, but is {row!r}") from None
    log.books.check_row(clean)
    return clean


def extend(self: Run, maxfev: int) -> None:
    """Let more trials be asked for, `maxfev` in all, also if there were none left.

    A search that ended for another reason has still ended.
    """
    budget, clean = self._log.books.maxfev, _check.count("maxfev", maxfev)
    if budget is None:
        raise ValueError("the number of trials has no limit that could be extended")
    if clean <= budget:
        raise ValueError(
            f"maxfev must be more than the {budget} trials that are allowed already, "
            f"but is {clean}"
        )
    self._log.record({"event": "extend", "maxfev": clean})


def set_(self: Run, *, noise: float) -> None:
    """State the standard deviation of a reading, as it is known by now."""
    clean = _check.non_negative("noise", noise)
    self._log.record({"event": "set", "noise": clean})
