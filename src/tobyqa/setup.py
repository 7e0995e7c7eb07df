"""What is said before a search begins, as arguments and as the header of a file."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _check
from .methods import METHODS, resolve
from .methods.restarts import Restarts
from .state import Method, Task

Clock = Callable[[], float]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """All that was said before the search began."""

    task: Task
    method: Method
    maxfev: int | None
    max_failures: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    clock: Clock | None
    restarts: bool = False

    @property
    def searcher(self) -> Method:
        """The method, with searches from elsewhere if they are wanted."""
        return Restarts(self.method) if self.restarts else self.method

    def header(self) -> dict[str, Any]:
        """As a file has it; of clocks only their kind."""
        return {
            "x0": self.task.x0,
            "noise": self.task.noise,
            "initial_radius": self.task.radius,
            "seed": self.task.seed,
            "method": type(self.method).__name__.lower(),
            "settings": dataclasses.asdict(self.method),  # type: ignore[call-overload]
            "maxfev": self.maxfev,
            "max_failures": self.max_failures,
            "restarts": self.restarts,
            "names": list(self.names),
            "units": list(self.units),
            "clock": _clock_name(self.clock),
            "bounds": None,
        }


def checked_setup(
    x0: Any,
    *,
    method: str | Method,
    noise: float | None,
    maxfev: int | None,
    initial_radius: float | None,
    clock: Clock | None,
    rng: Any,
    options: Mapping[str, Any] | None,
    max_failures: int,
    names: Sequence[str] | None,
    units: Sequence[str] | None,
    restarts: bool = False,
) -> Setup:
    """What a user said, or an error that names the argument."""
    radius = initial_radius
    task = Task(
        x0=_check.start_point(x0),
        noise=None if noise is None else _check.non_negative("noise", noise),
        radius=None if radius is None else _check.positive("initial_radius", radius),
        seed=_check.seed(rng),
        has_budget=maxfev is not None,
    )
    n = task.x0.size
    return Setup(
        task=task,
        names=tuple(_check.labels("names", names, n) or [f"x{i}" for i in range(n)]),
        units=tuple(_check.labels("units", units, n) or [""] * n),
        method=resolve(method, options),
        maxfev=None if maxfev is None else _check.count("maxfev", maxfev),
        max_failures=_check.count("max_failures", max_failures),
        clock=clock,
        restarts=_check.switch("restarts", restarts),
    )


def stored_setup(header: Mapping[str, Any], clock: Clock | None) -> Setup:
    """What a header says, with a clock that it cannot hold."""
    setup = checked_setup(
        header["x0"],
        method=restored(METHODS[header["method"]], header["settings"]),
        noise=header["noise"],
        maxfev=header["maxfev"],
        initial_radius=header["initial_radius"],
        clock=clock,
        rng=0,
        options=None,
        max_failures=header["max_failures"],
        names=header["names"],
        units=header["units"],
        restarts=header.get("restarts", False),
    )
    task = dataclasses.replace(setup.task, seed=header["seed"])
    return dataclasses.replace(setup, task=task)


def restored(cls: type[Method], stored: Mapping[str, Any]) -> Method:
    """A method from the settings in a file, without those that it has no more.

    Any other name that it does not know is an error.
    """
    known = _without_retired(cls, stored)
    if len(known) < len(stored):
        _log.warning(
            "%s has these settings no more, they are left out: %s",
            cls.__name__,
            ", ".join(f"{k}={v!r}" for k, v in stored.items() if k not in known),
        )
    return cls(**known)


def in_present_terms(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header as this version would have written it, to be compared with another."""
    cls = METHODS.get(header.get("method", ""))
    if cls is None:
        return dict(header)
    stored = _without_retired(cls, header.get("settings", {}))
    settings = dataclasses.asdict(cls())  # type: ignore[call-overload]
    return {**header, "settings": settings | stored}


def _without_retired(cls: type[Method], stored: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in stored.items() if k not in cls.RETIRED}


def checked_clock(clock: Clock | None) -> Clock | None:
    """A clock that has shown once that it gives numbers."""
    if clock is not None:
        _check.function("clock", clock)
        _check.time("clock()", clock())
    return clock


def stored_clock(header: Mapping[str, Any]) -> Clock | None:
    """The clock that a file names; one of the user's own must be handed over again."""
    return time.time if header.get("clock") == "time.time" else None


def _clock_name(clock: Clock | None) -> str | None:
    """How readings are timed, as far as a file can say it."""
    if clock is None:
        return None
    return "time.time" if clock is time.time else "own"
