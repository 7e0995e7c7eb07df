"""All problems by name: the 65, these within walls, instruments, those elsewhere."""

from __future__ import annotations

import difflib

from tobyqa.bench import elsewhere, problems
from tobyqa.bench.instruments import (
    INSTRUMENTS,
    QUIET,
    get_instrument,
    instrument_names,
)
from tobyqa.bench.problems import Problem
from tobyqa.bench.walled import (
    get_walled,
    walled_dimensions,
    walled_minimum,
    walled_names,
)

_WALLED, _INSTRUMENTS = frozenset(walled_names()), frozenset(instrument_names())
_KNOWN = frozenset(problems.problem_names()) | _WALLED | _INSTRUMENTS


def find_problem(name: str, n: int) -> Problem:
    """The problem `name` in dimension `n`, of whatever kind.

    >>> find_problem("mirror", 2).x0.size
    2
    """
    if elsewhere.is_elsewhere(name):
        return elsewhere.problem_at(name, n)
    check_name(name)
    if name in _WALLED:
        return get_walled(name, n)
    if name not in _INSTRUMENTS:
        return problems.get_problem(name, n)
    problem = get_instrument(name)
    if n != problem.n:
        raise ValueError(f"problem {name!r}: n = {n}, it has {problem.n} variables")
    return problem


def has_dimension(name: str, n: int) -> bool:
    """Whether the problem exists with `n` variables.

    >>> has_dimension("woods", 3), has_dimension("mirror", 3)
    (False, False)
    """
    if elsewhere.is_elsewhere(name):
        return elsewhere.has_dimension(name, n)
    check_name(name)
    if name in _WALLED:
        return n in walled_dimensions(name)
    if name in _INSTRUMENTS:
        return INSTRUMENTS[name.removesuffix(QUIET)].n == n
    return n >= problems.min_dimension(name)


def check_name(name: str) -> None:
    """Raise if no problem has that name."""
    if elsewhere.is_elsewhere(name):
        return elsewhere.check_problem(name)
    if not is_known(name):
        close = difflib.get_close_matches(str(name), sorted(_KNOWN))
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise ValueError(f"unknown problem {name!r}{hint}")


def is_known(name: str) -> bool:
    """Whether it is a name of one of the package's own problems."""
    return name in _KNOWN


def known_minimum(name: str, n: int) -> float | None:
    """The least value of a problem in a box; None where only runs can tell.

    >>> known_minimum("mirror", 2), known_minimum("woods", 4)
    (-1.0, None)
    """
    if name in _INSTRUMENTS:
        return INSTRUMENTS[name.removesuffix(QUIET)].minimum
    return walled_minimum(name, n) if name in _WALLED else None
