"""The command ``tobyqa``."""

from __future__ import annotations

import argparse
import contextlib
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ..journal import JournalError
from ..text import one_line
from .arguments import parser
from .run import INTERRUPTED
from .show import warn


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the command and return its exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    # What follows -- belongs to the program, whatever it looks like.
    end = argv.index("--") if "--" in argv else len(argv)
    takes = parser()
    args = takes.parse_args([_shielded(argument) for argument in argv[:end]])
    args.argv, args.program = argv, argv[end + 1 :] or None
    if args.program and not getattr(args, "takes_program", False):
        takes.error("only run takes a program after --")
    with _spoken_log(), _spoken_warnings():
        return _guarded(args)


@contextlib.contextmanager
def _spoken_log() -> Iterator[None]:
    """Warnings of the package, and how a long replay gets on, as lines for people."""
    package, replay = logging.getLogger("tobyqa"), logging.getLogger("tobyqa.replay")
    handler, level = logging.StreamHandler(sys.stderr), replay.level
    handler.setFormatter(logging.Formatter("tobyqa: %(message)s"))
    package.addHandler(handler)
    replay.setLevel(logging.INFO)
    try:
        yield
    finally:
        replay.setLevel(level)
        package.removeHandler(handler)


@contextlib.contextmanager
def _spoken_warnings() -> Iterator[None]:
    """What the user should know, as lines for people, each but once."""
    said = set()

    def show(message: Warning | str, *_: Any) -> None:
        if (text := one_line(str(message))) not in said:
            said.add(text)
            warn(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _shielded(argument: str) -> str:
    """Keep argparse from taking a negative number, or a list of them, for an option."""
    is_number = re.match(r"-(\d|\.\d|inf|nan)", argument)
    return f" {argument}" if is_number else argument


def _guarded(args: argparse.Namespace) -> int:
    """Errors of the user's as one line; a traceback would only hide it."""
    try:
        return int(args.func(args))
    except JournalError as error:
        return _complain(f"{error.filename}: {error.strerror}", 3)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _complain(f"{where}{error.strerror or error}", 2)
    except (ValueError, TypeError, ImportError) as error:
        return _complain(error, 2)
    except RuntimeError as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return INTERRUPTED


def _complain(error: object, code: int) -> int:
    warn(one_line(str(error)))
    return code
