"""What is said before a search begins, as arguments and as the header of a file."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from ._threads import OneThreaded
from .border import Allowed, Guard
from .frozen import cached_property, replace
from .methods import METHODS, resolve
from .methods.restarts import Restarts
from .remarks import caution, small_budget
from .space import Space
from .space_arguments import checked_space
from .space_record import checked_record
from .state import Method, Task

Array = NDArray[np.float64]
Clock = Callable[[], float]
# Fields of a header; those that came later have defaults.
_NEEDED = (
    *("x0", "noise", "initial_radius", "seed", "method", "settings", "maxfev"),
    *("max_failures", "names", "units"),
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """All that was said before the search began."""

    x0: Array  # as it was said; the task has the allowed point nearest to it
    space: Space
    task: Task  # in the search's variables, all the rest is in the user's
    method: Method
    maxfev: int | None
    max_failures: int
    clock: Clock | None
    restarts: bool = False
    guard: Guard | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(variable.unit for variable in self.space.variables)

    @cached_property
    def searcher(self) -> Method:
        """The method, with searches from elsewhere if they are wanted."""
        return OneThreaded(Restarts(self.method) if self.restarts else self.method)

    def header(self) -> dict[str, Any]:
        """As a file has it; of clocks only their kind, of plain variables no space."""
        space = {} if self.space.is_plain else {"space": self.space.to_record()}
        guard = {} if self.guard is None else vars(self.guard)
        return {
            "x0": self.x0,
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
            **space,
            **guard,
        }


def checked_setup(
    x0: Any,
    *,
    method: str | Method,
    noise: float | None,
    maxfev: int | None,
    clock: Clock | None,
    rng: Any,
    options: Mapping[str, Any] | None,
    max_failures: int,
    restarts: bool = False,
    safe: Any = None,
    limit: float | None = None,
    **of_space: Any,
) -> Setup:
    """What a user said, or an error that names the argument.

    `of_space` are the arguments of `checked_space`. A start that is not allowed is
    moved, and a warning says so; another says if `maxfev` is too small for a model.
    """
    x0 = _check.start_point(x0)
    space = checked_space(x0.size, **of_space)
    start = space.start(x0)
    if start.violated:
        caution(
            f"x0 = {x0.tolist()} does not meet {', '.join(start.violated)}; the search "
            f"starts at the nearest point that does, {start.x.tolist()}"
        )
    setup = Setup(
        x0=x0,
        space=space,
        task=_task(space, start.z, noise, _check.seed(rng), maxfev),
        method=resolve(method, options),
        maxfev=None if maxfev is None else _check.count("maxfev", maxfev),
        max_failures=_check.count("max_failures", max_failures),
        clock=clock,
        restarts=_check.switch("restarts", restarts),
        guard=Guard.checked(safe, limit, space),
    )
    needed = setup.method.needs(space.dimensions)
    if setup.maxfev is not None and (text := small_budget(setup.maxfev, needed)):
        caution(text)
    return setup


def _task(
    space: Space, z: Array, noise: float | None, seed: int, maxfev: int | None
) -> Task:
    """What a method is told of it."""
    return Task(
        x0=z,
        noise=None if noise is None else _check.non_negative("noise", noise),
        radius=space.radius,
        seed=seed,
        has_budget=maxfev is not None,
        area=Allowed(space, None).area,
    )


def task_of(task: Task, space: Space, x: Array) -> Task:
    """The task in another space, from the allowed point on that is nearest to x."""
    return replace(task, x0=space.start(x).z, area=Allowed(space, None).area)


def stored_setup(header: Mapping[str, Any], clock: Clock | None) -> Setup:
    """What a header says, with a clock that it cannot hold.

    Raises
    ------
    ValueError, TypeError
        Naming the field that is missing or not what it has to be.
    """
    if missing := [key for key in _NEEDED if key not in header]:
        raise ValueError(f"the field {missing[0]!r} is missing")
    name = _check.one_of("method", header["method"], list(METHODS))
    if not isinstance(header["settings"], Mapping):
        raise TypeError(f"settings must be an object, but is {header['settings']!r}")
    x0, maxfev = _check.start_point(header["x0"]), header["maxfev"]
    space = _stored_space(header, x0.size)
    seed = _check.whole("seed", header["seed"])
    return Setup(
        x0=x0,
        space=space,
        task=_task(space, space.start(x0).z, header["noise"], seed, maxfev),
        method=restored(METHODS[name], header["settings"]),
        maxfev=None if maxfev is None else _check.count("maxfev", maxfev),
        max_failures=_check.count("max_failures", header["max_failures"]),
        clock=clock,
        restarts=_check.switch("restarts", header.get("restarts", False)),
        guard=Guard.checked(header.get("safe"), header.get("limit"), space),
    )


def _stored_space(header: Mapping[str, Any], n: int) -> Space:
    """The space of a header; plain if it has none."""
    record = header.get("space")
    if record is None:
        names, units = header["names"], header["units"]
        radius = header["initial_radius"]
        return checked_space(n, initial_radius=radius, names=names, units=units)
    space = checked_record(record)
    if len(space.variables) != n:
        raise ValueError(
            f"space must have {n} variables, as x0 has, but has {len(space.variables)}"
        )
    return space


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
