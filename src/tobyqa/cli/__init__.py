"""The command ``tobyqa``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import demo, theory
from ._version import __version__
from .bench import cli as bench_cli

_EXAMPLES = """\
examples:
  tobyqa demo                                 a drifting problem, SciPy against tobyqa
  tobyqa theory                               the paper's two numerical checks
  tobyqa bench run smoke --out runs/smoke     a small benchmark study
  tobyqa bench report runs/smoke --out report its tables and figures
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the command and return its exit code."""
    parser = argparse.ArgumentParser(
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
    bench_cli.add_parser(commands)
    args = parser.parse_args(argv)
    return int(args.func(args))


if __name__ == "__main__":
    sys.exit(main())
