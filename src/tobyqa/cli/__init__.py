"""The command ``tobyqa``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from ..journal import JournalError
from .arguments import parser
from .run import INTERRUPTED


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
    return _guarded(args)


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
    print(f"tobyqa: {' '.join(str(error).split())}", file=sys.stderr)
    return code
