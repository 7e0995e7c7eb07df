"""What a function gives back for a point, and how it is told."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .books import Trial
from .journal import JournalError
from .optimizer import Optimizer

_log = logging.getLogger(__name__)

# What a mistake in the program raises, and no instrument.
_MISTAKES = (
    *(NameError, TypeError, AttributeError, ImportError, SyntaxError),
    pickle.PicklingError,
)


@dataclass(frozen=True)
class Measurement:
    """What `fun` may return instead of a number: the reading, its time and error."""

    value: float
    t: float | None = None
    sigma: float | None = None


def tell_outcome(
    opt: Optimizer, trial: Trial, outcome: Callable[[], Any], *, is_first: bool
) -> None:
    """Tell what a call of the user's function gives, or that it has failed.

    `is_first`: no trial was answered before, so that a mistake in the program shows.
    """
    reading, answered = None, opt.nfev
    try:
        reading = outcome()
        if not isinstance(reading, Measurement):
            reading = Measurement(reading)
        opt.tell(trial, reading.value, reading.t, reading.sigma)
    except JournalError:
        raise
    except Exception as error:
        if is_first and reading is None and isinstance(error, _MISTAKES):
            raise
        if opt.nfev > answered:
            raise  # the reading counts: it is a warning, made an error, that came after
        # Whatever went wrong in the user's code, its clock and its units included:
        # nothing measured so far is lost.
        _log.info("evaluation failed", exc_info=True)
        opt.tell_failed(trial, f"{type(error).__name__}: {error}")
