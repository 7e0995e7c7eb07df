"""Changes of a run that is under way: one command per event."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..knobs import parse_named
from ..optimizer import Optimizer
from .byhand import say_next
from .flags import number
from .show import as_json, facts, point_text, say

Add = Callable[..., Any]


def add_commands(commands: Any, add: Add) -> None:
    """The commands fix, free, extend, set, correct and withdraw."""
    command = add(
        commands, "fix", fix, "keep variables at given values from now on",
        "fix run.jsonl temp=300",
    )  # fmt: skip
    _add_run(command)
    command.add_argument(
        "values", nargs="+", metavar="NAME=NUMBER", help="where a variable stays"
    )
    command = add(
        commands, "free", free, "search variables again that were fixed",
        "free run.jsonl temp",
    )  # fmt: skip
    _add_run(command)
    command.add_argument("names", nargs="+", metavar="NAME", help="a variable")
    command = add(
        commands, "extend", extend, "let more trials be made",
        "extend run.jsonl --maxfev 120",
    )  # fmt: skip
    _add_run(command)
    command.add_argument(
        "--maxfev",
        type=number,
        metavar="N",
        required=True,
        help="how many trials may be made in all",
    )
    command = add(
        commands, "set", set_, "state the noise, once it is known",
        "set run.jsonl noise=0.1",
    )  # fmt: skip
    _add_run(command)
    command.add_argument(
        "values",
        nargs="+",
        metavar="NAME=NUMBER",
        help="noise: standard deviation of a reading",
    )
    _add_amendments(commands, add)


def _add_amendments(commands: Any, add: Add) -> None:
    command = add(
        commands, "correct", correct, "say what a reading was in truth",
        "correct run.jsonl 25 1.25",
        description="Say what a reading was in truth. It keeps its place and its time; "
        "the run is continued with it, and trials that wait go on waiting.",
    )  # fmt: skip
    _add_run(command)
    _add_row(command)
    command.add_argument("value", type=number, metavar="VALUE", help="what was read")
    command = add(
        commands, "withdraw", withdraw, "say that a reading is wrong",
        "withdraw run.jsonl 25",
        description="Say that a reading is wrong. Its row stays, as a measurement that "
        "failed for the reason 'withdrawn', and no model uses it.",
    )  # fmt: skip
    _add_run(command)
    _add_row(command)


def _add_row(command: Any) -> None:
    command.add_argument(
        "row",
        type=int,
        metavar="ROW",
        help="its number in the report, which is that of its line in the table of "
        "tobyqa export: the first below the head is 0, and failures count",
    )


def _add_run(command: Any) -> None:
    command.add_argument("file", metavar="FILE", help="the run's journal")
    command.add_argument("--json", action="store_true", help="print JSON for machines")


def fix(args: argparse.Namespace) -> int:
    """Keep variables where they are told to stay."""
    return _changed(args, lambda opt: opt.fix(_numbers(args.values)), _fixed_text)


def free(args: argparse.Namespace) -> int:
    """Search variables again."""
    return _changed(args, lambda opt: opt.free(*args.names), _fixed_text)


def extend(args: argparse.Namespace) -> int:
    """Allow more trials."""
    return _changed(
        args,
        lambda opt: opt.extend(args.maxfev),
        lambda opt: f"extended: {opt.maxfev} trials in all",
    )


def set_(args: argparse.Namespace) -> int:
    """State the noise."""
    values = _numbers(args.values)
    for name in values:
        if name != "noise":
            raise ValueError(f"{name!r} cannot be set later; what can is noise")
    return _changed(
        args,
        lambda opt: opt.set(**values),
        lambda opt: f"set: the noise is {values['noise']:g}",
    )


def correct(args: argparse.Namespace) -> int:
    """Another value for a reading."""
    return _changed(
        args,
        lambda opt: opt.correct(args.row, args.value),
        lambda opt: f"corrected: row {args.row} is {args.value:g}, {_where(opt, args)}",
    )


def withdraw(args: argparse.Namespace) -> int:
    """A reading less."""
    return _changed(
        args,
        lambda opt: opt.withdraw(args.row),
        lambda opt: f"withdrawn: row {args.row}, {_where(opt, args)}",
    )


def _where(opt: Optimizer, args: argparse.Namespace) -> str:
    """Which reading it was: a slip in the number shows."""
    history = opt.result().history
    t = f"t = {history.t[args.row]:.10g}"
    return f"read at {point_text(opt, history.x[args.row])}, {t}"


def _fixed_text(opt: Optimizer) -> str:
    stays = ", ".join(f"{name} = {at:.15g}" for name, at in opt.fixed.items())
    return f"fixed: {stays or 'no variable'}"


def _numbers(texts: list[str]) -> dict[str, float]:
    pairs = [parse_named(text) for text in texts]
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"a name is given twice: {', '.join(texts)}")
    return values


def _changed(
    args: argparse.Namespace,
    change: Callable[[Optimizer], None],
    text: Callable[[Optimizer], str],
) -> int:
    with Optimizer.resume(args.file) as opt:
        waiting = opt.pending
        change(opt)
        if args.json:
            say(as_json(facts(opt)))
            return 0
        left = {trial.id for trial in opt.pending}
        for trial in waiting:
            if trial.id not in left:
                why = "no reading is wanted there any more"
                say(f"trial {trial.id} is given up: {why}")
        say(text(opt))
        if opt.done:
            say(opt.message)
        else:
            say_next(opt, args.file)
    return 0
