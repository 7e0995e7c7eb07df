"""What each command takes, and what it calls."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from .. import demo, theory
from .._version import __version__
from ..bench import cli as bench_cli
from ..methods import METHODS
from ..program import parse_number
from ..runfile import CLOCKS, merged, parse_option, parse_point
from . import byhand
from .run import run

_EXAMPLES = """\
examples:
  tobyqa demo                                 a drifting problem, SciPy against tobyqa
  tobyqa run --x0 0,0 --journal run.jsonl -- ./measure {x0} {x1}
                                              optimize a program
  tobyqa init run.jsonl --x0 20,1.5           the same by hand: init, ask, tell, ...
  tobyqa status run.jsonl                     the answer so far
  tobyqa theory                               the paper's two numerical checks
  tobyqa bench run smoke --out runs/smoke     a small benchmark study
  tobyqa bench report runs/smoke --out report its tables and figures
"""
_EXIT_CODES = """\
exit codes:
  0    done; for run: the search has ended by itself, its message says why
  1    run: too many trials failed in a row; ask: the search has ended
  2    bad input; nothing was evaluated
  3    the journal is run by another process, or cannot be written
  130  stopped by Ctrl-C or SIGTERM
"""
_RUN_TEXT = """\
Optimize any program.

For each trial the program is started, without a shell, with the point
  on standard input        {"a": 0.5, "b": -1.0}: a JSON object by name
  in its environment       TOBYQA_X='[0.5, -1.0]', TOBYQA_INDEX=7 (the trial's number),
                           TOBYQA_A=0.5, TOBYQA_B=-1.0: one per variable
  in its arguments         {x}, {index} and {a}, {b}, ... are replaced
Variables without names are called x0, x1, ... The last non-empty line that it prints is
the reading: a number, or a JSON object with "value" and, if known, "t" (its time) and
"sigma" (its standard error); other keys are ignored.

A non-zero exit code, a time-out or anything but a finite number is a failed trial.
After --retries further attempts it is recorded, with the end of the program's standard
error, and the search goes on with another point.

A reading without a "t" is timed by the wall clock (seconds, as time.time() in Python)
when the program ends; --clock index numbers the readings instead.

With --journal everything is on the disk before it counts: repeat the same command after
Ctrl-C, a crash or a power cut, and the run goes on. Without --maxfev at most 500 trials
per variable are made.

RUNFILE is a TOML file with any of the keys x0, names, units, noise, maxfev, radius,
method, options, max_failures, restarts, seed, clock, data, journal, timeout, retries,
program; flags override it. Paths are relative to the working directory.
"""
_RUN_EXAMPLES = (
    "run --x0 0,0 --noise 0.1 --journal run.jsonl -- ./measure --gain {x0} {x1}",
    "run --x0 20,1.5 --name temp --name gap --maxfev 60 --timeout 30 -- ./measure",
    "run run.toml --maxfev 200",
)


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tobyqa: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; ``args.func(args)`` runs a command."""
    parser = _Parser(
        prog="tobyqa",
        description="Optimize noisy measurements whose instrument drifts.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="command", required=True)
    for module, name in ((demo, "demo"), (theory, "theory")):
        summary = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(func=lambda _, module=module: module.main() or 0)
    _add_run(commands)
    _add_by_hand(commands)
    _add_views(commands)
    bench_cli.add_parser(commands)
    return parser


def _add(
    commands: Any,
    name: str,
    function: Callable[[argparse.Namespace], int],
    text: str,
    *examples: str,
    description: str = "",
) -> Any:
    """A command with its examples and the exit codes."""
    epilog = "\n".join(["examples:", *(f"  tobyqa {e}" for e in examples), ""])
    command = commands.add_parser(
        name,
        help=text,
        description=description or f"{text[0].upper()}{text[1:]}.",
        epilog=f"{epilog}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(func=function)
    return command


# The commands' arguments -------------------------------------------------------------


def _add_run(commands: Any) -> None:
    command = _add(
        commands, "run", _run, "optimize a program", *_RUN_EXAMPLES,
        description=_RUN_TEXT,
    )  # fmt: skip
    command.set_defaults(takes_program=True)
    command.usage = "tobyqa run [RUNFILE] [options] [-- PROGRAM [ARGUMENT ...]]"
    command.add_argument("runfile", nargs="?", metavar="RUNFILE", help="a TOML file")
    _add_search(command)
    command.add_argument("--journal", metavar="FILE", help="keep the run in this file")
    command.add_argument(
        "--timeout",
        type=_number,
        metavar="S",
        help="end the program, and all that it started, after S seconds",
    )
    command.add_argument(
        "--retries", type=int, metavar="K", help="further attempts at a failed trial"
    )
    command.add_argument("--quiet", action="store_true", help="no progress lines")
    _add_json(command)


def _add_by_hand(commands: Any) -> None:
    init = _add(
        commands, "init", _init, "begin a search by hand",
        "init run.jsonl --x0 20,1.5 --name temp --unit K --name gap --unit mm",
        "init run.jsonl --data old.csv --method adaptive",
    )  # fmt: skip
    _add_file(init)
    _add_search(init)
    _add_json(init)

    ask = _add(
        commands, "ask", byhand.ask, "show the point to measure next",
        "ask run.jsonl",
    )  # fmt: skip
    _add_file(ask)
    _add_json(ask)

    tell = _add(
        commands, "tell", byhand.tell, "hand in a reading",
        "tell run.jsonl -1.5", "tell run.jsonl 0.3 --sigma 0.1 --x 21,0.1",
    )  # fmt: skip
    _add_file(tell)
    tell.add_argument("value", type=_number, metavar="VALUE", help="the reading")
    tell.add_argument(
        "--t",
        type=_number,
        metavar="T",
        help="when it was taken; now, or its number, by default",
    )
    tell.add_argument("--sigma", type=_number, metavar="S", help="its standard error")
    tell.add_argument(
        "--x", type=_point, metavar="X,Y,...", help="where, if not at the trial's point"
    )
    _add_json(tell)

    fail = _add(
        commands, "fail", byhand.fail, "say that a measurement failed",
        "fail run.jsonl --reason 'beam lost'",
    )  # fmt: skip
    _add_file(fail)
    fail.add_argument("--reason", default="", metavar="TEXT", help="why")
    _add_json(fail)

    undo = _add(
        commands, "undo", byhand.undo, "withdraw the latest reading",
        "undo run.jsonl",
    )  # fmt: skip
    _add_file(undo)
    _add_json(undo)


def _add_views(commands: Any) -> None:
    status = _add(
        commands, "status", byhand.status, "show the answer so far",
        "status run.jsonl", "status run.jsonl --json",
    )  # fmt: skip
    _add_file(status)
    _add_json(status)

    export = _add(
        commands, "export", byhand.export, "write the readings as a table",
        "export run.jsonl --csv -o run.csv",
    )  # fmt: skip
    _add_file(export)
    export.add_argument("--csv", action="store_true", help="as CSV, the only format")
    export.add_argument("-o", "--output", metavar="OUT", help="instead of printing it")

    report = _add(
        commands, "report", byhand.report, "write a page about a run",
        "report run.jsonl -o report.html --open",
    )  # fmt: skip
    _add_file(report)
    report.add_argument("-o", "--output", metavar="OUT", default="report.html")
    report.add_argument("--open", action="store_true", help="show it in the browser")

    plot = _add(commands, "plot", byhand.plot, "draw a run", "plot run.jsonl -o a.png")
    _add_file(plot)
    plot.add_argument("-o", "--output", metavar="OUT", default="run.png")


def _add_file(command: Any) -> None:
    command.add_argument("file", metavar="FILE", help="the run's journal")


def _add_json(command: Any) -> None:
    command.add_argument("--json", action="store_true", help="print JSON for machines")


def _add_search(command: Any) -> None:
    """What a search is: the flags that `run` and `init` share."""
    add = command.add_argument
    add("--x0", type=_point, metavar="X,Y,...", help="where to start")
    add(
        "--name",
        action="append",
        dest="names",
        metavar="NAME",
        help="a variable's name; once for each, in order",
    )
    add("--unit", action="append", dest="units", metavar="UNIT", help="its unit")
    add("--noise", type=_number, metavar="S", help="standard deviation of a reading")
    add("--maxfev", type=_number, metavar="N", help="how many trials may be made")
    add("--radius", type=_number, metavar="R", help="distance of the first points")
    add("--method", metavar="M", help=f"one of {', '.join(METHODS)}")
    add(
        "--option",
        action="append",
        type=_option,
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
        "same clock), value and, if known, sigma; x0 is then the lowest by default",
    )


def _typed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser whose complaint argparse passes on."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


_number = _typed(parse_number)
_point = _typed(parse_point)
_option = _typed(parse_option)


# What they call ----------------------------------------------------------------------


def _flags(args: argparse.Namespace, *more: str) -> dict[str, Any]:
    keys = "x0 names units noise maxfev radius method max_failures restarts seed clock"
    return {
        **{key: getattr(args, key) for key in (*keys.split(), "data", *more)},
        "options": dict(args.option) if args.option else None,
    }


def _run(args: argparse.Namespace) -> int:
    flags = _flags(args, "journal", "timeout", "retries", "program")
    settings = merged(args.runfile, flags)
    return run(settings, args.argv, json=args.json, quiet=args.quiet)


def _init(args: argparse.Namespace) -> int:
    return byhand.init(merged(None, _flags(args)), args)
