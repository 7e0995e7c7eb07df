"""Pictures of a run; they need matplotlib (``pip install matplotlib``).

>>> import tobyqa
>>> from tobyqa import plots
>>> res = tobyqa.minimize(lambda x: x @ x, [1.0, 2.0], noise=0.1, maxfev=30)
>>> plots.overview(res).savefig("run.png")             # doctest: +SKIP
>>> ax = plots.drift(res)                              # to be changed as you like
>>> ax.get_xlabel()
'number of the reading'

Every function takes a result, an `Optimizer` or the path of a journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..view import Run, Source, view, with_error
from .canvas import WIDTH, grid_height, new_figure
from .coordinates import draw_group, draw_path, model, variables
from .course import NUMBER, drift, progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drift", "model", "overview", "progress", "variables"]

_COURSE_HEIGHT = 6.0  # inches for the two upper rows


def overview(source: Source) -> Figure:
    """A run on one page: `drift`, `progress` and `variables`.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to draw; a journal is only read.

    Returns
    -------
    matplotlib Figure
        To be saved with ``.savefig(path, dpi=...)``.
    """
    run = view(source)
    lower = grid_height(run.n)
    figure = new_figure(_COURSE_HEIGHT + lower, WIDTH)
    figure.suptitle(_headline(run), x=0.01, ha="left", fontsize=10, parse_math=False)
    parts: Any = figure.subfigures(2, 1, height_ratios=(_COURSE_HEIGHT, lower))
    course, paths = parts
    panels = course.subplots(2, 2, height_ratios=(1.5, 1))
    drift(run, panels[0, 0])
    progress(run, [panels[0, 1], panels[1, 0], panels[1, 1]])
    draw_group(paths, run, draw_path, x_label=NUMBER)
    return figure


def _headline(run: Run) -> str:
    result, events = run.result, len(run.history)
    failed = f" ({result.nfail} failed)" if result.nfail else ""
    course = f"{events} readings{failed}, method {result.method}. {run.status.message}"
    if not np.isfinite(result.drift_rate):
        return course
    value = with_error(result.fun, result.fun_std)
    return f"{course}\nExpected value {value}, drift {run.drift_rate()}."
