"""Paper, pens and frames of the pictures; matplotlib is imported when drawing.

Figures stand apart from pyplot: no display is needed and nothing stays behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# Okabe and Ito (2008): apart for all common kinds of colour vision. What a colour says
# is also said by a marker or a line style, for prints in black and white.
BLUE, VERMILION, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "#000000"
GREY = "#8c8c8c"
_FRAME = "#555555"

WIDTH = 9.0  # inches; at 100 dots per inch a page of a README
_ROW = 1.55  # inches per row of small panels
_MANY = 400  # points from which on they are drawn small and, in vector files, as pixels
_LONGEST_NAME = 24
_TITLE = 9.5  # points
_ROUNDING = 1e-12  # of a value's size; less is no difference that can be drawn


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure that no other code knows of."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib: pip install matplotlib", name=error.name
        ) from error
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def small_panels(parent: Any, count: int) -> list[Axes]:
    """Panels for `count` variables, up to four in a row; spare ones are hidden."""
    rows, columns = grid_shape(count)
    panels = list(parent.subplots(rows, columns, squeeze=False).flat)
    for spare in panels[count:]:
        spare.set_axis_off()
    return panels[:count]


def grid_shape(count: int) -> tuple[int, int]:
    """Rows and columns of small panels."""
    columns = min(4, count)
    return math.ceil(count / columns), columns


def grid_height(count: int) -> float:
    """Inches that small panels need, their legend included."""
    return 0.75 + _ROW * grid_shape(count)[0]


def given_axes(axes: Any, count: int) -> list[Axes]:
    """The panels that a user gave, in order; there must be as many as needed."""
    panels: list[Axes] = list(np.atleast_1d(np.asarray(axes, dtype=object)).flat)
    if len(panels) != count:
        raise ValueError(f"axes must hold {count} panels, but holds {len(panels)}")
    return panels


def frame(axes: Axes, title: str = "", *, small: bool = False) -> None:
    """The look that all panels share."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_FRAME)
    axes.grid(axis="y", color="#e3e3e3", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7.5 if small else 8, color=_FRAME)
    if title:
        # Names are the user's; a dollar sign in one is no mathematics.
        size = 8.5 if small else _TITLE
        axes.set_title(title, loc="left", fontsize=size, parse_math=False)


def number_axis(axes: Axes, count: int, ticks: int = 6, spare: float = 0.02) -> None:
    """A horizontal axis that counts `count` readings, with room for `spare` more."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    axes.set_xlim(-max(0.02 * count, 0.5), count + max(spare * count, 0.5))


def log_axis(axes: Axes, values: Array) -> None:
    """A logarithmic vertical axis for `values`, with plain numbers at the ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    decades = math.log10(np.nanmax(values) / np.nanmin(values))
    if decades < 1.0:  # at least one power of ten and its neighbours are in view
        middle = 0.5 * (math.log10(np.nanmin(values)) + math.log10(np.nanmax(values)))
        # First: values that differ by rounding only leave matplotlib no limits.
        axes.set_ylim(10.0 ** (middle - 0.6), 10.0 ** (middle + 0.6))
    axes.set_yscale("log")
    subs = (1.0, 2.0, 5.0) if decades < 2.0 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=7))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()


def few_ticks(axis: Any) -> None:
    """At most five ticks, for a small panel's axis."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(4))


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Names of both axes."""
    axes.set_xlabel(x, fontsize=8.5, parse_math=False)
    axes.set_ylabel(y, fontsize=8.5, parse_math=False)


def legend_above(axes: Axes, columns: int = 2) -> None:
    """A legend between title and panel, where it cannot hide a reading."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    legend = axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        borderaxespad=0.1,
        ncols=columns,
        **_LEGEND,
    )
    # The title keeps its room; a wide legend shall not make the panel narrow.
    legend.set_in_layout(False)
    rows = math.ceil(len(handles) / columns)
    title = axes.get_title(loc="left")
    axes.set_title(title, loc="left", fontsize=_TITLE, pad=5 + 11.5 * rows)


def legend_below(parent: Any, panels: Sequence[Axes]) -> None:
    """One legend for a group of panels, with what any of them shows."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        handles, labels = list(entries.values()), list(entries)
        parent.legend(
            handles, labels, loc="outside lower left", ncols=len(handles), **_LEGEND
        )


_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": 8,
    "handlelength": 1.9,
    "handletextpad": 0.5,
    "columnspacing": 1.1,
    "labelspacing": 0.25,
    "borderpad": 0.1,
}


def line_width(count: int) -> float:
    """Thinner lines where there are many readings."""
    return 0.7 if count > _MANY else 1.4


def dots(
    axes: Axes, x: Array, y: Array, *, hollow: bool = False, **kwargs: Any
) -> None:
    """Points in the legend only if there are any; small where they are many."""
    if not len(x):
        return
    many = len(x) > _MANY
    size = 2.2 if many else 3.4
    if hollow:
        kwargs |= {"markerfacecolor": "none", "markeredgewidth": 0.7}
    else:
        kwargs |= {"markeredgewidth": 0.0, "alpha": 0.75}
    axes.plot(x, y, linestyle="none", markersize=size, rasterized=many, **kwargs)


def nothing_yet(axes: Axes, text: str) -> None:
    """Say why a panel is empty."""
    axes.text(
        0.5,
        0.5,
        text,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=9,
        color=_FRAME,
    )


def focus(
    axes: Axes, values: Array, shown: Sequence[Array] = (), fence: float = 3.0
) -> None:
    """Limit the vertical axis to the bulk of `values` and all of `shown`.

    The first steps of a search may lie far above all that matters later. The fence is
    that of Tukey's box plots: so many interquartile ranges beyond the quartiles.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return
    low, lower, upper, high = np.quantile(values, [0.0, 0.25, 0.75, 1.0])
    bulk = upper - lower
    if bulk > 0.0:
        low, high = max(low, lower - fence * bulk), min(high, upper + fence * bulk)
    for line in shown:
        if np.isfinite(line).any():
            low, high = min(low, np.nanmin(line)), max(high, np.nanmax(line))
    size = max(abs(low), abs(high))
    is_flat = high - low <= _ROUNDING * size
    margin = (0.06 * size or 1.0) if is_flat else 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)


def mark_off_scale(axes: Axes, x: Array, y: Array) -> None:
    """Triangles at the edge for points that the limits leave out."""
    low, high = axes.get_ylim()
    inset = 0.02 * (high - low)
    edges = ((y > high, high - inset, "^"), (y < low, low + inset, "v"))
    label: str | None = "off scale"
    for beyond, edge, marker in edges:
        if beyond.any():
            axes.plot(
                x[beyond],
                np.full(beyond.sum(), edge),
                linestyle="none",
                marker=marker,
                markersize=4.5,
                color=GREY,
                label=label,
            )
            label = None


def shortened(name: str) -> str:
    """A name that fits over a small panel."""
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
