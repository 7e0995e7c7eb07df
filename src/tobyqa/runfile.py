"""What to run: one frozen object from a TOML file and the flags that override it."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _check
from .datafile import RESERVED, Readings, read_readings
from .knobs import knob_arguments, together
from .methods import DEFAULT
from .outfile import check_no_device
from .program import command_of
from .protocol import parse_number
from .text import check_label

CLOCKS = ("wall", "index")


@dataclass(frozen=True)
class RunSettings:
    """A search and, for ``tobyqa run``, the program that measures.

    The fields are the keys of a run file. Paths are relative to the working directory.
    """

    x0: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None
    units: tuple[str, ...] | None = None
    noise: float | None = None
    maxfev: int | None = None
    radius: float | tuple[float, ...] | None = None
    bounds: Any = None  # by name, or a list
    constraints: Any = None
    x_scale: Any = None  # by name, or a list
    resolution: Any = None  # by name, or a list
    fixed: Any = None  # by name
    max_move: Any = None  # by name, or a list
    safe: Any = None  # by name, or a list
    limit: float | None = None
    maximize: bool = False
    method: str = DEFAULT
    options: Mapping[str, Any] | None = None
    max_failures: int = 10
    restarts: bool = False
    seed: int | None = None
    clock: str = "wall"
    data: str | None = None
    journal: str | None = None
    timeout: float | None = None
    retries: int = 0
    max_output: float = 64.0
    stderr_lines: int = 3
    parallel: int | None = None
    dask: str | None = None
    program: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in ("method", "data", "journal", "dask"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{key} must be a text, but is {value!r}")
        if self.clock not in CLOCKS:
            raise ValueError(f"clock must be one of {CLOCKS}, but is {self.clock!r}")
        if self.timeout is not None:
            _check.positive("timeout", self.timeout)
        _check.positive("max_output", self.max_output)
        for key in ("retries", "stderr_lines"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{key} must be a whole number, but is {value!r}")
            if value < 0:
                raise ValueError(f"{key} must be >= 0, but is {value}")
        self._check_parallel()
        if self.options is not None and not isinstance(self.options, Mapping):
            raise TypeError(f"options must be a table, but is {self.options!r}")
        object.__setattr__(self, "program", command_of(self.program))

    def _check_parallel(self) -> None:
        """Several programs at a time are several instruments, each with its moves."""
        if self.parallel is not None:
            _check.count("parallel", self.parallel)
        several = self.dask is not None or (self.parallel or 1) > 1
        if several and self.max_move is not None:
            name = "dask" if self.parallel is None else "parallel"
            raise ValueError(
                f"{name} does not go together with max_move: moves are those of one "
                "instrument, and nobody says which program makes which. If one "
                "instrument makes the settings and readings come later, use ask -k"
            )

    def readings(self) -> Readings | None:
        """The old readings, if there are any."""
        if self.data is None:
            return None
        return read_readings(self.data, self.names, times_needed=self.clock != "index")

    def arguments(self, readings: Readings | None) -> dict[str, Any]:
        """The constructor's arguments, `journal` apart."""
        names = self.names if readings is None else readings.names
        for key, labels in (("names", names), ("units", self.units)):
            for label in labels or ():
                if isinstance(label, str):  # the constructor says if it is not
                    check_label(key, label)
        for name in names or ():
            if name in RESERVED:
                raise ValueError(
                    f"a variable cannot be called {name!r} here: tables have a column "
                    "of that name"
                )
        x0 = self.x0
        if x0 is None:
            if readings is None:
                raise ValueError("x0 is needed (or old readings: data)")
            x0 = readings.best_point(largest=self.maximize)
        knobs = names or tuple(f"x{i}" for i in range(np.size(x0)))
        return {
            "x0": x0,
            "names": names,
            "units": self.units,
            "noise": self.noise,
            "maxfev": self.maxfev,
            "initial_radius": self.radius,
            "method": self.method,
            "options": self.options,
            "max_failures": self.max_failures,
            "restarts": self.restarts,
            "rng": self.seed,
            "clock": time.time if self.clock == "wall" else None,
            **knob_arguments(self, knobs),
        }


def read_runfile(path: str) -> dict[str, Any]:
    """The table in a TOML file; unknown keys are errors.

    Raises
    ------
    ValueError
        If it is no TOML, or has a key that is not a field of `RunSettings`.
    """
    # Here and not above: the rest of the package must load without tomli.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    check_no_device(path)
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            f"there is no run file {path!r} (a program goes after --)"
        ) from None
    except ValueError as error:
        raise ValueError(
            f"{path} is not a TOML file: {error} (a program goes after --)"
        ) from None
    allowed = [field.name for field in dataclasses.fields(RunSettings)]
    for key in table:
        if key not in allowed:
            raise ValueError(
                f"{path}: unknown key {key!r}; allowed are {', '.join(allowed)}"
            )
    return dict(table)


def merged(path: str | None, flags: Mapping[str, Any]) -> RunSettings:
    """The settings of a file, with those flags put in that were given (not None)."""
    table = {} if path is None else read_runfile(path)
    given = {key: value for key, value in flags.items() if value is not None}
    if "options" in given and isinstance(table.get("options"), Mapping):
        given["options"] = {**table["options"], **given["options"]}
    try:
        both = together(table, given, given.get("names", table.get("names")))
        return RunSettings(**{**table, **given, **both})
    except (TypeError, ValueError) as error:
        source = "" if path is None else f"{path}: "
        raise ValueError(f"{source}{error}") from None


def parse_point(text: str) -> tuple[float, ...]:
    """Numbers with commas between them.

    >>> parse_point("-1, 2.5")
    (-1.0, 2.5)
    """
    return tuple(parse_number(part) for part in text.split(","))


def parse_option(text: str) -> tuple[str, Any]:
    """A setting of the method, ``name=value``; the value a number, a switch or a text.

    >>> parse_option("eta=0.5"), parse_option("hessian=interpolated")
    (('eta', 0.5), ('hessian', 'interpolated'))
    """
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, json.loads(value.lower())
    except ValueError:
        return name, value
