"""Problems and channels that are not of this package, by names with a colon.

``module:name`` is whatever is importable under that name, ``cutest:NAME`` a problem of
the CUTEst collection (see `cutest`).
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, replace
from typing import Any

from tobyqa.bench import cutest
from tobyqa.bench.channels import Channel, Context
from tobyqa.bench.problems import Problem
from tobyqa.bench.records import Array


@dataclass(frozen=True)
class Guarded:
    """A channel of the user's; no failed evaluation becomes a number in it."""

    channel: Channel

    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        if not math.isfinite(f_value):
            return math.inf
        return float(self.channel(f_value, x, t, context))


def is_elsewhere(name: str) -> bool:
    """Whether a name leads out of this package."""
    return ":" in name


def imported(reference: str, what: str) -> Any:
    """The object that ``module:name`` stands for; `what` it is, for errors."""
    module, _, name = reference.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{what} {reference!r} cannot be imported: {error}") from error
    return value


def problem_at(reference: str, n: int) -> Problem:
    """The problem of that name with `n` variables, which goes by that name."""
    if reference.startswith(cutest.PREFIX):
        return cutest.problem(reference, n)
    found = imported(reference, "problem")
    problem = found(n) if _is_factory(found) else found
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem {reference!r} is {problem!r}, neither a tobyqa.bench.Problem nor "
            "a function of n that gives one"
        )
    if problem.n != n:
        raise ValueError(
            f"problem {reference!r}: n = {n}, it has {problem.n} variables"
        )
    return replace(problem, name=reference, catalogued=True)


def has_dimension(reference: str, n: int) -> bool:
    """Whether the problem of that name exists with `n` variables.

    A function of n says that it does not by raising ValueError.
    """
    if reference.startswith(cutest.PREFIX):
        return cutest.has_dimension(reference, n)
    found = imported(reference, "problem")
    if not _is_factory(found):
        return problem_at(reference, getattr(found, "n", n)).n == n
    try:
        problem: Any = found(n)
    except ValueError:
        return False
    return bool(getattr(problem, "n", n) == n)


def check_problem(reference: str) -> None:
    """Raise if there is no problem of that name."""
    if reference.startswith(cutest.PREFIX):
        cutest.check_name(reference)
        return
    found = imported(reference, "problem")
    if not _is_factory(found):
        problem_at(reference, getattr(found, "n", 0))


def channel_at(reference: str) -> Channel:
    """The channel of that name: an object, or a class that needs no argument."""
    found = imported(reference, "channel")
    channel = found() if isinstance(found, type) else found
    if not callable(channel):
        raise ValueError(
            f"channel {reference!r} is {channel!r}, which cannot be called"
        )
    return Guarded(channel)


def _is_factory(found: Any) -> bool:
    return callable(found) and not isinstance(found, Problem)
