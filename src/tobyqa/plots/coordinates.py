"""One small panel per variable: its path, and the model along it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..view import Run, Source, view, with_error
from .canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    WIDTH,
    Array,
    dots,
    few_ticks,
    focus,
    frame,
    given_axes,
    grid_height,
    grid_shape,
    label_axes,
    legend_below,
    line_width,
    new_figure,
    nothing_yet,
    number_axis,
    shortened,
    small_panels,
)
from .course import NUMBER
from .walls import at_limit, draw_walls, fixed, note, room, way, write_note

_SLICE_POINTS = 101
_LONGEST_TITLE = 29  # characters over the narrowest panel

Draw = Callable[[Any, Run, int], None]


def variables(source: Source, axes: Any = None) -> Any:
    """Each variable's path, its recommended value and the error of that.

    Dots are the points measured, the line is the centre of the search. The bar at the
    right end is one standard error of the recommended value; it is missing where the
    model has no minimum along the way. Bounds that are near are drawn as walls; a
    linear constraint is named in the panels of its variables.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to draw; a journal is only read.
    axes : one matplotlib Axes per variable, optional
        Where to draw; None: in a figure of its own.

    Returns
    -------
    ndarray of matplotlib Axes, one per variable
    """
    run = view(source)
    return _group(run, axes, draw_path, x_label=NUMBER)


def model(source: Source, axes: Any = None) -> Any:
    """Slices through the model at the recommended point, along each variable.

    The line is ``fun + jac[i] d + hess[i, i] d**2 / 2`` at a distance ``d`` from
    ``x[i]``, all other variables as recommended, drift as of now. The band is one
    standard error as far as the result tells it: that of the height and of the slope,
    ``sqrt(fun_std**2 + (hess[i, i] * x_std[i] * d)**2)``; where ``x_std`` is NaN, that
    of the height alone. The error of the curvature is not in it, so far from the
    answer the truth may well lie outside. Slices end at the walls that bounds and
    linear constraints are; variables that an equality ties together move together.

    Dots are readings near by with the drift removed, moved onto the slice by what the
    model says of the other variables: their distance from the line is what the model
    leaves unexplained.

    Parameters
    ----------
    source : Result, Optimizer or path of a journal
        What to draw; a journal is only read.
    axes : one matplotlib Axes per variable, optional
        Where to draw; None: in a figure of its own.

    Returns
    -------
    ndarray of matplotlib Axes, one per variable
    """
    run = view(source)
    return _group(run, axes, draw_slice, y_label="value now")


def _group(run: Run, axes: Any, draw: Draw, **labels: str) -> Any:
    """Draw every variable, in panels given or new."""
    if axes is None:
        width = 5.0 if run.n == 1 else WIDTH
        figure = new_figure(max(grid_height(run.n), 3.0), width)
        return draw_group(figure, run, draw, **labels)
    panels = given_axes(axes, run.n)
    for i, panel in enumerate(panels):
        draw(panel, run, i)
    return np.array(panels, dtype=object)


def draw_group(
    parent: Any, run: Run, draw: Draw, x_label: str = "", y_label: str = ""
) -> Any:
    """Small panels with one legend, in a figure or a part of one.

    Labels that are the same for all stand at the lowest and the leftmost panels only.
    """
    panels = small_panels(parent, run.n)
    _, columns = grid_shape(run.n)
    for i, panel in enumerate(panels):
        draw(panel, run, i)
        if x_label and i >= run.n - columns:
            panel.set_xlabel(x_label, fontsize=8.5)
        if y_label and i % columns == 0:
            panel.set_ylabel(y_label, fontsize=8.5)
    legend_below(parent, panels)
    return np.array(panels, dtype=object)


def draw_path(ax: Any, run: Run, i: int) -> None:
    """One variable's path."""
    history, x, std = run.history, run.result.x[i], run.result.x_std[i]
    frame(ax, _title(run, i, with_error(x, std)), small=True)
    number = np.arange(float(len(history)))
    measured = ~history.failed
    dots(
        ax,
        number[measured],
        history.x[measured, i],
        marker="o",
        color=GREY,
        label="measured",
    )
    if number.size:
        ax.step(
            number,
            history.centre[:, i],
            where="post",
            color=BLUE,
            linewidth=line_width(number.size),
            label="centre of the search",
        )
    ax.axhline(x, color=VERMILION, linewidth=0.9, linestyle=(0, (4, 2)))
    ax.errorbar(
        number.size * 1.04,
        x,
        yerr=std if math.isfinite(std) else None,
        color=VERMILION,
        marker="D",
        markersize=4,
        capsize=3,
        linestyle="none",
        label="recommended, ± 1 standard error",
    )
    band = np.array([x - std, x + std])
    shown = [history.centre[:, i], band]
    # Far points are what explores; only a stray one shall not flatten the rest.
    focus(ax, np.append(history.x[measured, i], x), shown, fence=12.0)
    number_axis(ax, number.size, ticks=4, spare=0.08)
    few_ticks(ax.yaxis)
    variable = run.space.variables[i]
    if not fixed(run.space, i):
        draw_walls(ax, variable.lower, variable.upper, across="y")
    write_note(ax, note(run, i))


def draw_slice(ax: Any, run: Run, i: int) -> None:
    """The model along one variable, as far as limits let it go."""
    result, x = run.result, run.result.x[i]
    frame(ax, _title(run, i, with_error(x, result.x_std[i])), small=True)
    unit = f" ({run.units[i]})" if run.units[i] else ""
    label_axes(ax, shortened(run.names[i]) + unit, "")
    v = way(run.space, i)
    if not v.any() or not math.isfinite(result.jac[i]):
        nothing_yet(ax, "no model yet" if v.any() else "not searched")
        ax.set_xticks([])
        ax.set_yticks([])
        return
    reach = _reach(run)
    low, high = room(run.space, result.x, v, i)
    d = np.linspace(max(low - x, -reach[i]), min(high - x, reach[i]), _SLICE_POINTS)
    curvature = float(v @ result.hess @ v)
    line = result.fun + float(result.jac @ v) * d + 0.5 * curvature * d**2
    std = np.hypot(result.fun_std, np.nan_to_num(curvature * result.x_std[i] * d))
    at, height = _on_slice(run, i, v, reach)
    dots(
        ax, at, height, marker="o", color=BLUE, label="readings near by, drift removed"
    )
    ax.plot(x + d, line, color=VERMILION, linewidth=1.6, label="model")
    band = [line - std, line + std]
    label = "± 1 standard error"
    ax.fill_between(x + d, *band, color=VERMILION, alpha=0.22, linewidth=0, label=label)
    ax.axvline(
        x, color=GREEN, linewidth=1.1, linestyle=(0, (4, 2)), label="recommended"
    )
    ax.plot(x, result.fun, "D", color=BLACK, markersize=3.5)
    ax.set_xlim(x + d[0], x + d[-1])
    focus(ax, height, band)
    few_ticks(ax.xaxis)
    few_ticks(ax.yaxis)
    draw_walls(ax, low, high, across="x")
    write_note(ax, note(run, i))


def _title(run: Run, i: int, value: str) -> str:
    name, amount = shortened(run.names[i]), f"{value} {run.units[i]}".rstrip()
    if fixed(run.space, i):
        amount += ", fixed"
    elif at_limit(run, i):
        amount += ", a limit"
    one_line_fits = len(name) + len(amount) <= _LONGEST_TITLE
    return f"{name} = {amount}" if one_line_fits else f"{name} =\n{amount}"


def _reach(run: Run) -> Array:
    """How far slices extend, (n,): as far as the latest readings and the errors do."""
    result, history = run.result, run.history
    latest = history.x[~history.failed][-4 * (run.n + 1) :]
    reach = np.abs(latest - result.x).max(axis=0, initial=0.0)
    reach = np.fmax(reach, 3.0 * result.x_std)
    size = np.maximum(np.abs(result.x), 1.0)
    return np.asarray(np.where(reach > 1e-9 * size, reach, size))


def _on_slice(run: Run, i: int, v: Array, reach: Array) -> tuple[Array, Array]:
    """Readings near by, drift removed, moved onto the slice of variable i along v."""
    result, history = run.result, run.history
    d = history.x - result.x
    distance = np.sqrt(np.mean((d / reach) ** 2, axis=1))
    corrected = run.corrected()
    near = np.isfinite(corrected) & (distance <= 1.0)
    d, corrected = d[near], corrected[near]
    explained = d @ result.jac + 0.5 * np.einsum("ki,ij,kj->k", d, result.hess, d)
    slope, curvature = float(result.jac @ v), float(v @ result.hess @ v)
    along = d[:, i] * slope + 0.5 * curvature * d[:, i] ** 2
    return result.x[i] + d[:, i], corrected - explained + along
