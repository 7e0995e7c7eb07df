"""Readings, drift and progress: what happened in the course of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..view import Run, Source, view
from .canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    Array,
    dots,
    focus,
    frame,
    given_axes,
    label_axes,
    legend_above,
    line_width,
    log_axis,
    mark_off_scale,
    new_figure,
    nothing_yet,
    number_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBER = "number of the reading"


def drift(source: Source, ax: Axes | None = None) -> Axes:
    """The readings as they were read, and the drift under them.

    The line is what a reading at the recommended point would have been at that time,
    ``result.fun + result.drift.value``; its band is one standard error of the drift
    since then, so it closes at the present. Both cover the time of the last fit.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to draw; a journal is only read.
    ax : matplotlib Axes, optional
        Where to draw; None: in a figure of its own, ``.figure`` of what is returned.

    Returns
    -------
    matplotlib Axes
    """
    run = view(source)
    ax = new_figure(3.6, 7.0).subplots() if ax is None else ax
    clock, history, curve = run.clock, run.history, run.result.drift
    t = clock(history.t)
    frame(ax, "Readings and drift")
    label_axes(ax, clock.label, "reading")
    covered = np.isfinite(run.drift())
    _readings(ax, t, history.value, covered, "reading", "outside the last fit")
    bands: list[Array] = []
    if curve.t.size:
        line = run.result.fun + curve.value
        bands = [line - curve.std, line + curve.std]
        at = clock(curve.t)
        ax.plot(at, line, color=VERMILION, linewidth=1.7, label="drift at the answer")
        label = "± 1 standard error"
        low, high = bands
        ax.fill_between(
            at, low, high, color=VERMILION, alpha=0.25, linewidth=0, label=label
        )
    _finish(ax, run, t, history.value, bands)
    return ax


def progress(source: Source, axes: Any = None) -> Any:
    """How the search got on: objective, size of the steps, and gradient.

    First the readings with the drift removed, that is, as they would be now. Those
    outside the last fit have no drift estimate: they are left as read, and grey. The
    best so far is the lowest of the corrected ones (the highest, if one maximises);
    under noise it is in part luck, the model's value at the answer with its band of one
    standard error is not. Then the radius or step length, and the gradient beside its
    standard error: below it, nothing is left to be seen. Both are per scaled variable,
    and say so, unless no scales were used.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to draw; a journal is only read.
    axes : three matplotlib Axes, optional
        Where to draw; None: in a figure of its own.

    Returns
    -------
    ndarray of three matplotlib Axes
    """
    run = view(source)
    if axes is None:
        figure = new_figure(7.6, 7.0)
        axes = figure.subplots(3, 1, height_ratios=(1.6, 1, 1))
    panels = given_axes(axes, 3)
    _objective(panels[0], run)
    _radius(panels[1], run)
    _gradient(panels[2], run)
    return np.array(panels, dtype=object)


def _objective(ax: Axes, run: Run) -> None:
    history, result = run.history, run.result
    number, corrected = np.arange(float(len(history))), run.corrected()
    known = np.isfinite(corrected)
    has_curve = result.drift.t.size > 0
    shown = np.where(known, corrected, history.value)
    frame(ax, "Objective without the drift" if has_curve else "Objective")
    label_axes(ax, NUMBER, "reading, as it would be now" if has_curve else "reading")
    _readings(ax, number, shown, known, "drift removed", "as read: drift unknown")
    if np.isfinite(result.fun) and number.size:
        label = "model's value"
        ax.axhline(result.fun, color=BLACK, linewidth=0.9, linestyle=":", label=label)
        low, high = result.fun - result.fun_std, result.fun + result.fun_std
        if np.isfinite(low):
            ax.axhspan(low, high, color=BLACK, alpha=0.12, linewidth=0)
    # Readings of different times compare only once the drift is removed.
    comparable = corrected if has_curve else history.value
    if np.isfinite(comparable).any():
        best = (np.fmax if run.maximize else np.fmin).accumulate(comparable)
        ax.step(
            number,
            best,
            where="post",
            color=GREEN,
            linewidth=1.6,
            linestyle=(0, (5, 1.5)),
            label="best so far",
        )
    _finish(ax, run, number, shown, [np.array([result.fun])])
    number_axis(ax, len(history))


def _readings(
    ax: Axes,
    x: Array,
    y: Array,
    known: NDArray[np.bool_],
    label: str,
    label_unknown: str,
) -> None:
    """Readings with a drift estimate, and, visibly apart, those without."""
    read = np.isfinite(y)
    grey, known = read & ~known, read & known
    dots(ax, x[grey], y[grey], hollow=True, marker="o", color=GREY, label=label_unknown)
    dots(ax, x[known], y[known], marker="o", color=BLUE, label=label)


def _finish(ax: Axes, run: Run, x: Array, y: Array, lines: list[Array]) -> None:
    """Limits, what they leave out, failures and the legend."""
    if not len(run.history):
        nothing_yet(ax, "no reading yet")
        return
    focus(ax, y, lines)
    mark_off_scale(ax, x, y)
    failed = run.history.failed
    if failed.any():
        ax.plot(
            x[failed],
            np.full(failed.sum(), 0.02),
            transform=ax.get_xaxis_transform(),
            linestyle="none",
            marker="x",
            markersize=4.5,
            markeredgewidth=1.1,
            color=BLACK,
            label="failed",
        )
    legend_above(ax, columns=3)


def _has_scales(run: Run) -> bool:
    """Whether lengths are in scales; a result alone does not tell, so it may be."""
    return not (run.setup and run.space.is_identity)


def _radius(ax: Axes, run: Run) -> None:
    units = set(run.units)
    unit = f" ({units.pop()})" if len(units) == 1 and run.units[0] else ""
    frame(ax, "Radius or step length")
    of_what = ", scaled variables" if _has_scales(run) else unit
    label_axes(ax, NUMBER, f"length{of_what}")
    _log_lines(ax, [(run.history.radius, {"color": BLUE})])


def _gradient(ax: Axes, run: Run) -> None:
    frame(ax, "Gradient and its uncertainty")
    label_axes(ax, NUMBER, "norm, scaled variables" if _has_scales(run) else "norm")
    # What a limit holds back stays, however near the answer is.
    across = ", also across limits" if run.result.active else ""
    norm = {"color": BLUE, "label": f"gradient{across}"}
    error = {
        "color": VERMILION,
        "linestyle": (0, (4, 1.5)),
        "label": "its standard error",
    }
    history = run.history
    _log_lines(ax, [(history.gradient, norm), (history.gradient_std, error)])
    legend_above(ax, columns=2)


def _log_lines(ax: Axes, lines: list[tuple[Array, dict[str, Any]]]) -> None:
    """Lines over a logarithmic axis, as far as they have anything to show."""
    positive = np.array([np.where(y > 0.0, y, np.nan) for y, _ in lines])
    number = np.arange(positive.shape[1])
    number_axis(ax, number.size)
    if not np.isfinite(positive).any():
        nothing_yet(ax, "no model yet")
        return
    for y, (_, style) in zip(positive, lines, strict=True):
        ax.plot(number, y, linewidth=line_width(number.size), **style)
    log_axis(ax, positive)
