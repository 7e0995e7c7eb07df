"""What pages say that the package knows itself: commands, settings, lists.

A line ``<!-- made from: commands -->`` in a page is replaced, when it is read, by what
the function of that name returns. Nothing of it is kept in a file.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import re
from typing import Any

from tobyqa import Adaptive, Paper, settings
from tobyqa import integrations as doors
from tobyqa.bench import channel_names, problem_names, solver_names
from tobyqa.cli.arguments import parser

PLACE = re.compile(r"^<!-- made from: (\w+) -->$", re.MULTILINE)
# Doctest needs an empty line where the output ends, readers do not.
LAST_LINE = re.compile(r"\n\n```$", re.MULTILINE)
WIDTH = "88"  # of what the command line prints


def fill(_app: object, _page: str, source: list[str]) -> None:
    """Put what is wanted into the text of a page, as Sphinx hands it over."""
    text = LAST_LINE.sub("\n```", source[0])
    source[0] = PLACE.sub(lambda place: MAKERS[place[1]](), text)


def commands() -> str:
    """Each command with its help, as the parser prints it."""
    os.environ["COLUMNS"] = WIDTH  # argparse asks for nothing else
    return "\n\n".join(
        f"{'#' * (1 + name.count(' '))} {name}\n\n{_block(command.format_help())}"
        for name, command in _named("tobyqa", parser())
    )


def _named(name: str, command: argparse.ArgumentParser) -> Any:
    """The commands below a command, in the order of its help."""
    for action in command._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for word, below in action.choices.items():
            yield f"{name} {word}", below
            yield from _named(f"{name} {word}", below)


def adaptive() -> str:
    """The settings of `adaptive`."""
    return _block(settings.describe(Adaptive))


def paper() -> str:
    """The settings of `paper`."""
    return _block(settings.describe(Paper))


def solvers() -> str:
    """The benchmark's solvers."""
    return _listed(solver_names())


def channels() -> str:
    """The benchmark's channels."""
    return _listed(channel_names())


def problems() -> str:
    """The benchmark's problems."""
    return _listed(problem_names())


def integrations() -> str:
    """The public modules of `tobyqa.integrations`, whichever there are."""
    names = [module.name for module in pkgutil.iter_modules(doors.__path__)]
    return "\n\n".join(
        f"## {name}\n\n```{{eval-rst}}\n"
        f".. automodule:: tobyqa.integrations.{name}\n   :members:\n```"
        for name in names
        if not name.startswith("_")
    )


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _block(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


MAKERS = {
    maker.__name__: maker
    for maker in (
        commands,
        adaptive,
        paper,
        integrations,
        solvers,
        channels,
        problems,
    )
}
