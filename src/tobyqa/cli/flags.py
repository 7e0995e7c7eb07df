"""The flags that say what a search is, which `run` and `init` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..knobs import BY_NAME, parse_bound, parse_named, parse_radius
from ..methods import METHODS
from ..protocol import parse_number
from ..runfile import CLOCKS, parse_option, parse_point
from .times import parse_time

_PLAIN = (
    *("x0", "names", "units", "noise", "maxfev", "radius", "constraints", "maximize"),
    *("safe", "limit", "method", "max_failures", "restarts", "seed", "clock", "data"),
)


def _typed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser whose complaint argparse passes on."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


number = _typed(parse_number)
point = _typed(parse_point)
time_of_reading = _typed(parse_time)


def add_search(command: Any) -> None:
    """What a search is: the flags that `run` and `init` share."""
    add = command.add_argument
    add("--x0", type=point, metavar="X,Y,...", help="where to start")
    add(
        "--name",
        action="append",
        dest="names",
        metavar="NAME",
        help="a variable's name; once for each, in order",
    )
    add("--unit", action="append", dest="units", metavar="UNIT", help="its unit")
    add("--noise", type=number, metavar="S", help="standard deviation of a reading")
    add("--maxfev", type=number, metavar="N", help="how many trials may be made")
    add(
        "--radius",
        type=_typed(parse_radius),
        metavar="R or R,S,...",
        help="distance of the first points from the start, over which the reading "
        "should change visibly: one for each variable, in its unit, or one for all, in "
        "units of --scale if that is given; by default 15 %% of the range between "
        "bounds, or 2 (of the variable's unit, or of its scale) where there are none",
    )
    _add_knobs(command)
    add("--method", metavar="M", help=f"one of {', '.join(METHODS)}")
    add(
        "--option",
        action="append",
        type=_typed(parse_option),
        metavar="NAME=VALUE",
        help="a setting of the method; may be repeated",
    )
    add("--max-failures", type=int, metavar="K", help="failures in a row that end it")
    add(
        "--restarts",
        action="store_true",
        default=None,
        help="once nothing more is gained, search from random places one or two radii "
        "away with what is left of --maxfev",
    )
    add("--seed", type=int, metavar="N", help="of methods that use randomness")
    add(
        "--clock",
        choices=CLOCKS,
        help="time readings by the wall clock (default), or number them",
    )
    add(
        "--data",
        metavar="FILE.csv",
        help="readings one already has: columns of the variables' names, t (on the "
        "same clock), value and, if known, sigma; x0 is then the best by default. "
        "Variables are the columns that --name names; an exported table needs none",
    )


def _add_knobs(command: Any) -> None:
    """How far the knobs go and in what steps; what is wanted of the reading."""
    add = command.add_argument
    add(
        "--bound",
        action="append",
        type=_typed(parse_bound),
        dest="bounds",
        metavar="NAME=LOWER:UPPER",
        help="limits of a variable, never left; either side may be empty: gap=0:",
    )
    add(
        "--constraint",
        action="append",
        dest="constraints",
        metavar="TEXT",
        help="a linear constraint, never violated: 'gap + 2*angle <= 3', "
        "'0 <= a - b <= 2' or 'a + b == 1'; may be repeated",
    )
    for flag, key, text in (
        (
            "--scale",
            "x_scale",
            "what is a noticeable change of a variable; those without one have a "
            "twentieth of their range, or 1",
        ),
        ("--resolution", "resolution", "a variable moves in multiples of NUMBER"),
        ("--fix", "fixed", "a variable stays at NUMBER and is not searched"),
        (
            "--max-move",
            "max_move",
            "from one trial to the next a variable moves by NUMBER at the most",
        ),
    ):
        add(
            flag,
            action="append",
            type=_typed(parse_named),
            dest=key,
            metavar="NAME=NUMBER",
            help=f"{text}; may be repeated",
        )
    add(
        "--safe",
        type=point,
        metavar="X,Y,...",
        help="where to go back to after a reading beyond --limit; what is nearer to "
        "such a reading is not asked for again. It does not foresee such readings",
    )
    add(
        "--limit",
        type=number,
        metavar="VALUE",
        help="what readings should not exceed (with --maximize: not fall below)",
    )
    add(
        "--maximize",
        action="store_true",
        default=None,
        help="look for the largest reading instead of the smallest",
    )


def search_flags(args: argparse.Namespace, *more: str) -> dict[str, Any]:
    """What was given, as the keys of a run file; None where nothing was."""
    return {
        **{key: getattr(args, key) for key in (*_PLAIN, *more)},
        **{key: _table(key, getattr(args, key)) for key in BY_NAME},
        "options": dict(args.option) if args.option else None,
    }


def _table(key: str, pairs: list[tuple[str, Any]] | None) -> dict[str, Any] | None:
    """Values by name; two for one variable are a slip."""
    if pairs is None:
        return None
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(n for n in table if [name for name, _ in pairs].count(n) > 1)
        raise ValueError(f"{key} of {twice!r} is given twice")
    return table
