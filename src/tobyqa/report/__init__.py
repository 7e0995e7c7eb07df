"""A run as one web page: the answer, what to do next, pictures, every reading.

The page needs no other file, no server and no script. Its pictures need matplotlib
(``pip install matplotlib``). Programs find the answer as JSON in the element
``tobyqa-answer``.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from ..journal import StrPath, write_output
from ..view import Source, view
from .page import page

__all__ = ["write"]


def write(source: Source, output: StrPath) -> Path:
    """Write the report of a run.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to report; a journal is only read, so its run may go on meanwhile.
    output : path
        The file to write, e.g. ``report.html``; never in place of a run.

    Returns
    -------
    Path
        That of the file written.
    """
    text = page(view(source), datetime.now(timezone.utc))
    write_output(output, text.encode())
    return Path(output)
