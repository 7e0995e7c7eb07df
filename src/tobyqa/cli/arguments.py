"""What each command takes, and what it calls."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from .. import demo, theory
from .._version import __version__
from ..bench import cli as bench_cli
from ..runfile import merged
from ..text import one_line
from . import byhand, change
from .flags import add_search, number, point, search_flags, time_of_reading
from .run import run
from .texts import EXAMPLES, EXIT_CODES, RUN_EXAMPLES, RUN_TEXT


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tobyqa: {one_line(message)} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; ``args.func(args)`` runs a command."""
    parser = _Parser(
        prog="tobyqa",
        description="Optimize noisy measurements whose instrument drifts.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="command", required=True)
    _documented(commands, "demo", demo).set_defaults(func=lambda _: demo.main())
    theory.add_arguments(_documented(commands, "theory", theory))
    _add_run(commands)
    _add_by_hand(commands)
    change.add_commands(commands, _add)
    _add_views(commands)
    bench_cli.add_parser(commands)
    return parser


def _documented(commands: Any, name: str, module: ModuleType) -> Any:
    """A command that its module describes."""
    summary = (module.__doc__ or "").splitlines()[0]
    return commands.add_parser(name, help=summary, description=summary)


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
        epilog=f"{epilog}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(func=function)
    return command


# The commands' arguments -------------------------------------------------------------


def _add_run(commands: Any) -> None:
    command = _add(
        commands, "run", _run, "optimize a program", *RUN_EXAMPLES,
        description=RUN_TEXT,
    )  # fmt: skip
    command.set_defaults(takes_program=True)
    command.usage = "tobyqa run [RUNFILE] [options] [-- PROGRAM [ARGUMENT ...]]"
    command.add_argument("runfile", nargs="?", metavar="RUNFILE", help="a TOML file")
    add_search(command)
    command.add_argument("--journal", metavar="FILE", help="keep the run in this file")
    command.add_argument(
        "--timeout",
        type=number,
        metavar="S",
        help="end the program, and all that it started, after S seconds",
    )
    command.add_argument(
        "--retries", type=int, metavar="K", help="further attempts at a failed trial"
    )
    command.add_argument(
        "--max-output",
        type=number,
        metavar="MIB",
        help="end the program once it has printed more than MIB MiB (64 by default)",
    )
    command.add_argument(
        "--stderr-lines",
        type=int,
        metavar="K",
        help="keep the last K lines of a failed program's standard error, 500 "
        "characters at most (3 by default; 0: none, if secrets may be in them)",
    )
    command.add_argument(
        "--parallel",
        type=int,
        metavar="K",
        help="run K programs at the same time; each has the number of its slot, 0 to "
        "K - 1, in TOBYQA_SLOT",
    )
    command.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run them on the workers of a Dask cluster, whose scheduler is there: as "
        "many as these have threads, or --parallel",
    )
    command.add_argument("--quiet", action="store_true", help="no progress lines")
    _add_json(command)


def _add_by_hand(commands: Any) -> None:
    init = _add(
        commands, "init", _init, "begin a search by hand",
        "init run.jsonl --x0 20,1.5 --name temp --unit K --name gap --unit mm",
        "init run.jsonl --x0 300,1 --name temp --name gap --bound temp=280:320 "
        "--bound gap=0.1:2 --resolution gap=0.01",
        "init run.jsonl --data old.csv --name temp --name gap",
    )  # fmt: skip
    _add_file(init)
    add_search(init)
    _add_json(init)

    ask = _add(
        commands, "ask", byhand.ask, "show the point to measure next",
        "ask run.jsonl", "ask run.jsonl --full", "ask run.jsonl -k 4",
    )  # fmt: skip
    _add_file(ask)
    ask.add_argument(
        "-k",
        type=int,
        metavar="K",
        help="K points that can be measured at the same time, those that wait first",
    )
    ask.add_argument(
        "--full",
        action="store_true",
        help="every digit, not only those that matter beside the first points' "
        "distance or the resolution",
    )
    _add_json(ask)

    tell = _add(
        commands, "tell", byhand.tell, "hand in a reading",
        "tell run.jsonl -1.5", "tell run.jsonl 0.3 --sigma 0.1 --x 21,0.1",
        "tell run.jsonl 4.89 --t 03:58", "tell run.jsonl --trial 7 -1.5",
    )  # fmt: skip
    _add_file(tell)
    _add_trial(tell)
    tell.add_argument("value", type=number, metavar="VALUE", help="the reading")
    tell.add_argument(
        "--t",
        type=time_of_reading,
        metavar="T",
        help="when it was taken: on the wall clock 2026-11-18T03:58 (local, or with a "
        "zone), 03:58 (today or yesterday), now, or seconds since 1970; else a number. "
        "By default now, or its number; if it corrects a reading that was withdrawn "
        "(undo) of the same trial, the time of that",
    )
    tell.add_argument("--sigma", type=number, metavar="S", help="its standard error")
    tell.add_argument(
        "--x", type=point, metavar="X,Y,...", help="where, if not at the trial's point"
    )
    _add_json(tell)

    fail = _add(
        commands, "fail", byhand.fail, "say that a measurement failed",
        "fail run.jsonl --reason 'beam lost'", "fail run.jsonl --trial 7",
    )  # fmt: skip
    _add_file(fail)
    _add_trial(fail)
    fail.add_argument("--reason", default="", metavar="TEXT", help="why")
    _add_json(fail)

    give_up = _add(
        commands, "give-up", byhand.give_up, "wait for a trial no more",
        "give-up run.jsonl 7",
        description="Wait for a trial no more: its reading will not come. It counts as "
        "neither reading nor failure, and --maxfev allows for another one instead.",
    )  # fmt: skip
    _add_file(give_up)
    which = give_up.add_mutually_exclusive_group()
    which.add_argument(
        "number", type=int, nargs="?", metavar="TRIAL", help="its number"
    )
    _add_trial(which)
    _add_json(give_up)

    undo = _add(
        commands, "undo", byhand.undo, "withdraw the latest reading, failure or change",
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


def _add_trial(command: Any) -> None:
    command.add_argument(
        "--trial",
        type=int,
        metavar="TRIAL",
        help="which, if several wait for their readings: its number",
    )


def _add_json(command: Any) -> None:
    command.add_argument("--json", action="store_true", help="print JSON for machines")


# What they call ----------------------------------------------------------------------


def _run(args: argparse.Namespace) -> int:
    more = "journal timeout retries max_output stderr_lines parallel dask".split()
    more.append("program")
    flags = search_flags(args, *more)
    settings = merged(args.runfile, flags)
    return run(settings, args.argv, json=args.json, quiet=args.quiet)


def _init(args: argparse.Namespace) -> int:
    return byhand.init(merged(None, search_flags(args)), args)
