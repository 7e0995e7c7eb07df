"""The benchmark's figures: data profiles and solve rate against tolerance.

A solver keeps its colour, line and marker in every figure; no two share all three,
so the figures also read in black and white. Matplotlib is imported when drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from .beside import TAU, in_order, tolerance
from .effort import data_profile
from .published import CHANNELS
from .records import Array
from .score import Scores, block, channel, solve_rates, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), without the yellow that is too faint for a line on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_MARKERS = "os^Dv<>PXph*"
_GREY = "#555555"


@dataclass(frozen=True)
class _Curve:
    """One solver's line in one panel."""

    solver: str
    x: Array
    y: Array


def data_profile_figure(scores: Scores, tau: float = TAU) -> Figure:
    """Fraction of all instances solved against evaluations."""
    figure, axes = _single(scores)
    curves = _profiles(scores, tau, _grid(scores))
    _draw(axes, curves, _styles(scores), drawstyle="steps-post")
    axes.set(xlabel="evaluations", ylabel="instances solved (%)")
    axes.set_title(f"Data profile at τ={tolerance(tau)}", loc="left")
    axes.set_xlim(0, curves[0].x[-1])
    _legend(figure, axes, curves)
    return figure


def tolerance_figure(scores: Scores) -> Figure:
    """Solve rate against the tolerance."""
    figure, axes = _single(scores)
    taus = np.array([10.0**-k for k in range(1, 8)])
    rates = np.array([100 * solve_rates(scores, tau) for tau in taus])
    curves = _ranked(taus, rates, scores.solvers)
    _draw(axes, curves, _styles(scores), every_point=True)
    axes.set_xscale("log")
    axes.set_xlim(taus[0] * 1.3, taus[-1] / 1.3)  # harder to the right
    axes.minorticks_off()
    axes.set_xticks(taus)
    axes.set(xlabel="tolerance τ", ylabel="instances solved (%)")
    axes.set_title("Solve rate against tolerance", loc="left")
    _legend(figure, axes, curves)
    return figure


def channel_figure(scores: Scores, tau: float = TAU) -> Figure:
    """Data profiles, one panel per channel and one for all of them."""
    parts = split(scores, channel)
    names = [name for name in CHANNELS if name in parts]
    names += sorted(set(parts) - set(names))
    shown = {name: parts[name] for name in names}
    if len(shown) != 1:
        shown["all channels"] = scores
    columns = min(4, len(shown))
    rows, width = ceil(len(shown) / columns), 2.6 * columns
    legend_columns = max(1, int(width / _legend_width(scores)))
    legend_rows = ceil(len(scores.solvers) / legend_columns)
    figure, panels = _canvas(
        rows, columns, width=width, height=2.3 * rows + 0.3 + 0.2 * legend_rows
    )
    grid, styles = _grid(scores), _styles(scores)
    for axes, (name, part) in zip(panels, shown.items(), strict=False):
        curves = _profiles(part, tau, grid)
        _draw(axes, curves, styles, drawstyle="steps-post")
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_xlim(0, grid[-1])
    for axes in panels[len(shown) - columns : len(shown)]:
        axes.tick_params(labelbottom=True)  # each is the lowest of its column
        axes.set_xlabel("evaluations", fontsize=9)
    for axes in panels[len(shown) :]:
        axes.axis("off")
    figure.supylabel(f"instances solved at τ={tolerance(tau)} (%)", fontsize=10)
    # The last panel holds all instances, so the order of its lines is the overall one.
    figure.legend(
        *panels[len(shown) - 1].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=legend_columns,
        **_LEGEND,
    )
    return figure


_LEGEND: Mapping[str, Any] = {"frameon": False, "fontsize": 8.5, "handlelength": 3.2}


def _canvas(
    rows: int, columns: int, *, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """A figure of its own, outside pyplot's global state, and its panels in order."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat:
        axes.set_ylim(0, 100)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=9, color=_GREY)
    return figure, list(panels.flat)


def _single(scores: Scores) -> tuple[Figure, Axes]:
    """One panel with room for a legend beside it."""
    width = 5.2 + _legend_width(scores)
    height = max(4.6, 0.8 + 0.2 * len(scores.solvers))
    figure, (axes,) = _canvas(1, 1, width=width, height=height)
    return figure, axes


def _grid(scores: Scores) -> Array:
    """At most 400 numbers of evaluations up to the largest budget."""
    budget = max((block(i)[1] for i in scores.instances), default=1)
    return np.unique(np.round(np.linspace(0, budget, 401)))


def _profiles(scores: Scores, tau: float, grid: Array) -> list[_Curve]:
    """Every solver's data profile in percent, the highest at the end first."""
    solved = 100 * data_profile(scores, tau, grid)
    return _ranked(grid, solved, scores.solvers)


def _ranked(x: Array, y: Array, solvers: Sequence[str]) -> list[_Curve]:
    """Curves ordered by where they end, those that end together by the way there."""
    curves = [_Curve(solver, x, y[:, j]) for j, solver in enumerate(solvers)]
    return sorted(curves, key=lambda curve: (*(-curve.y[::-1]), curve.solver))


def _styles(scores: Scores) -> dict[str, dict[str, Any]]:
    """A colour, a line and a marker per solver."""
    return {
        solver: {
            "color": _COLOURS[j % len(_COLOURS)],
            # The shift keeps a colour from meeting the same line when it returns.
            "linestyle": _DASHES[(j + 2 * (j // len(_COLOURS))) % len(_DASHES)],
            "marker": _MARKERS[j % len(_MARKERS)],
        }
        for j, solver in enumerate(in_order(scores.solvers))
    }


def _draw(
    axes: Axes,
    curves: list[_Curve],
    styles: Mapping[str, Mapping[str, Any]],
    *,
    every_point: bool = False,
    drawstyle: str = "default",
) -> None:
    """Draw the curves, the leading one on top, with sparse staggered markers."""
    for rank, curve in enumerate(curves):
        axes.plot(
            curve.x,
            curve.y,
            label=curve.solver,
            linewidth=1.5,
            markersize=5,
            markevery=1 if every_point else (0.04 + 0.012 * rank, 0.16),
            drawstyle=drawstyle,
            zorder=10 + len(curves) - rank,
            clip_on=False,
            **styles[curve.solver],
        )


def _legend(figure: Figure, axes: Axes, curves: list[_Curve]) -> None:
    """Beside the axes, in the order of the curves' ends, with the end values."""
    # U+2007, as wide as a digit, keeps the values in a column.
    values = [f"{curve.y[-1]:5.1f}".replace(" ", "\u2007") for curve in curves]
    labels = [f"{v}  {curve.solver}" for v, curve in zip(values, curves, strict=True)]
    figure.legend(
        axes.lines,
        labels,
        loc="outside right center",
        title="% at the right end",
        title_fontsize=8.5,
        alignment="left",
        **_LEGEND,
    )


def _legend_width(scores: Scores) -> float:
    """Inches for a line sample and the longest name, generously."""
    return 1.0 + 0.075 * max(map(len, scores.solvers))
