"""The benchmark's figures: data profiles and solve rate against tolerance.

They have no title: what they show is said in the caption below them. Matplotlib is
imported when drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from .beside import TAU, tolerance
from .curves import Curve, by_tolerance, drawn, profiles, styles
from .published import CHANNELS
from .records import Array
from .score import Point, Scores, channel, solve_intervals, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY = "#555555"
_POINTS: Mapping[str, Point] = {
    "best point queried": "queried",
    "point returned": "returned",
}
_LEGEND: Mapping[str, Any] = {"frameon": False, "fontsize": 8.5, "handlelength": 3.2}


def data_profile_figure(
    scores: Scores, tau: float = TAU, *, per_simplex: bool = False
) -> Figure:
    """Fraction of all instances solved against evaluations; beside it, at the end.

    The curves are of the best point queried so far. A returned point there is only at
    the end of a run, so what is solved by it is a rate, in a panel of its own.
    """
    solvers = drawn(scores)
    figure, panels = _canvas(
        1, 2, solvers, width=7.2, height=2.9, sharex=False, width_ratios=(4, 1)
    )
    curves = profiles(scores, tau, solvers, per_simplex=per_simplex)
    _draw(panels[0], curves, styles(solvers), drawstyle="steps-post")
    panels[0].set_xlim(0, curves[0].x[-1])
    panels[0].set_xlabel(_abscissa(per_simplex), fontsize=9)
    panels[0].set_ylabel(f"solved at τ={tolerance(tau)} (%)", fontsize=9)
    _label(panels[0], "best point queried")
    order = [curve.solver for curve in curves]
    _draw_rates(panels[1], scores.judged_by("returned"), tau, order)
    _label(panels[1], "point returned")
    _legend(figure, panels[0])
    return figure


def tolerance_figure(scores: Scores) -> Figure:
    """Solve rate against the tolerance, by both kinds of point."""
    solvers = drawn(scores)
    figure, panels = _canvas(1, 2, solvers, width=7.2, height=2.9)
    taus = 10.0 ** -np.arange(1.0, 8.0)
    for axes, (label, point) in zip(panels, _POINTS.items(), strict=True):
        curves = by_tolerance(scores.judged_by(point), taus, solvers)
        _draw(axes, curves, styles(solvers), every_point=True)
        _label(axes, label)
        _tolerance_axis(axes, taus)
        axes.set_xlabel("tolerance τ", fontsize=9)
    panels[0].set_ylabel("instances solved (%)", fontsize=9)
    _legend(figure, panels[0])
    return figure


def channel_figure(
    scores: Scores, tau: float = TAU, *, per_simplex: bool = False
) -> Figure:
    """Data profiles by the best point queried, a panel per channel and one for all."""
    solvers = drawn(scores)

    def draw(axes: Axes, part: Scores) -> float:
        curves = profiles(part, tau, solvers, per_simplex=per_simplex)
        _draw(axes, curves, styles(solvers), drawstyle="steps-post")
        return float(curves[0].x[-1])

    figure, panels, ends = _panels(scores, solvers, _abscissa(per_simplex), draw)
    panels[0].set_xlim(0, max(ends))  # which all panels share
    figure.supylabel(f"solved at τ={tolerance(tau)} (%)", fontsize=9)
    return figure


def channel_tolerance_figure(scores: Scores) -> Figure:
    """Solve rate by the point returned against the tolerance, panels as above."""
    solvers = drawn(scores)
    taus = 10.0 ** -np.arange(1.0, 8.0)

    def draw(axes: Axes, part: Scores) -> float:
        curves = by_tolerance(part.judged_by("returned"), taus, solvers)
        _draw(axes, curves, styles(solvers), every_point=True)
        return float(taus[-1])

    figure, panels, _ = _panels(scores, solvers, "tolerance τ", draw)
    _tolerance_axis(panels[0], taus[::2])
    figure.supylabel("solved by the point returned (%)", fontsize=9)
    return figure


def _panels(
    scores: Scores,
    solvers: Sequence[str],
    abscissa: str,
    draw: Callable[[Axes, Scores], float],
) -> tuple[Figure, list[Axes], list[float]]:
    """A panel per channel, filled by `draw`, whose results are the third."""
    shown = _by_channel(scores)
    columns = min(4, len(shown))
    rows = ceil(len(shown) / columns)
    figure, panels = _canvas(
        rows, columns, solvers, width=max(2.6 * columns, 3.6), height=2.3 * rows + 0.3
    )
    ends = []
    for axes, (name, part) in zip(panels, shown.items(), strict=False):
        ends.append(draw(axes, part))
        _label(axes, name)
    for axes in panels[len(shown) - columns : len(shown)]:
        axes.tick_params(labelbottom=True)  # each is the lowest of its column
        axes.set_xlabel(abscissa, fontsize=9)
    for axes in panels[len(shown) :]:
        axes.axis("off")
    # The last panel holds all instances, so the order of its lines is the overall one.
    _legend(figure, panels[len(shown) - 1])
    return figure, panels, ends


def _by_channel(scores: Scores) -> dict[str, Scores]:
    """The paper's channels, the others by name, then all if there are several."""
    parts = split(scores, channel)
    names = [name for name in CHANNELS if name in parts]
    names += sorted(set(parts) - set(names))
    shown = {name: parts[name] for name in names}
    if len(shown) != 1:
        shown["all channels"] = scores
    return shown


def _abscissa(per_simplex: bool) -> str:
    return "evaluations / (n + 1)" if per_simplex else "evaluations"


def _canvas(
    rows: int,
    columns: int,
    solvers: Sequence[str],
    *,
    width: float,
    height: float,
    sharex: bool = True,
    width_ratios: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure of its own, outside pyplot's global state, and its panels in order.

    `height` is that of the panels; the legend below them comes on top.
    """
    from matplotlib.figure import Figure

    legend_rows = ceil(len(solvers) / _legend_columns(width, solvers))
    size = width, height + 0.2 * legend_rows
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    panels = figure.subplots(
        rows, columns, sharex=sharex, sharey=True, squeeze=False,
        width_ratios=width_ratios,
    )  # fmt: skip
    for axes in panels.flat:
        axes.set_ylim(0, 100)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8.5, color=_GREY)
    return figure, list(panels.flat)


def _label(axes: Axes, text: str) -> None:
    """Which of the panels this is."""
    axes.set_title(text, loc="left", fontsize=9)


def _draw(
    axes: Axes,
    curves: Sequence[Curve],
    looks: Mapping[str, Mapping[str, Any]],
    *,
    every_point: bool = False,
    drawstyle: str = "default",
) -> None:
    """Curves over their bands, the leading one on top, markers sparse and staggered."""
    for rank, curve in enumerate(curves):
        look = looks[curve.solver]
        axes.fill_between(
            curve.x,
            curve.low,
            curve.high,
            step="post" if drawstyle == "steps-post" else None,
            color=look["color"],
            alpha=0.13,
            linewidth=0.0,
            zorder=3,
        )
        axes.plot(
            curve.x,
            curve.y,
            label=curve.solver,
            linewidth=1.4,
            markersize=4.5,
            markevery=1 if every_point else (0.04 + 0.012 * rank, 0.16),
            drawstyle=drawstyle,
            zorder=10 + len(curves) - rank,
            clip_on=False,
            **look,
        )


def _draw_rates(axes: Axes, scores: Scores, tau: float, solvers: Sequence[str]) -> None:
    """Solve rates side by side, each with its 95 % interval."""
    looks = styles(solvers)
    rates = dict(zip(scores.solvers, solve_intervals(scores, tau), strict=True))
    for rank, solver in enumerate(solvers):
        rate = rates[solver]
        look = {k: v for k, v in looks[solver].items() if k != "linestyle"}
        axes.plot([rank, rank], [100 * rate.low, 100 * rate.high], color=look["color"])
        axes.plot(
            rank, 100 * rate.value, label=solver, markersize=5, clip_on=False, **look
        )
    axes.set_xlim(-0.7, len(solvers) - 0.3)
    axes.set_xticks([])


def _tolerance_axis(axes: Axes, taus: Array) -> None:
    """Harder to the right."""
    axes.set_xscale("log")
    axes.set_xlim(0.13, 1e-7 / 1.3)
    axes.minorticks_off()
    axes.set_xticks(taus)


def _legend(figure: Figure, axes: Axes) -> None:
    """Below the panels, in the order in which the lines of `axes` end."""
    names = [str(line.get_label()) for line in axes.lines]
    figure.legend(
        axes.lines,
        names,
        loc="outside lower center",
        ncols=_legend_columns(figure.get_figwidth(), names),
        **_LEGEND,
    )


def _legend_columns(width: float, solvers: Sequence[str]) -> int:
    """As many as fit, in inches: a line sample and the longest name, generously."""
    each = 0.75 + 0.07 * max(map(len, solvers))
    return max(1, min(len(solvers), int(width / each)))
