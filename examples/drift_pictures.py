"""The pictures of the first page: what an instrument shows, and who is misled by it.

    python examples/drift_pictures.py [directory]

One has the readings of a search by tobyqa and the drift in them; the other how far
above the minimum each solver's answer truly is, had it been stopped there. The
instrument is that of ``tobyqa demo``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import scipy.optimize
from matplotlib.figure import Figure

import tobyqa
from tobyqa.demo import BUDGET, DRIFT, NOISE, START, Instrument, latent

COLOURS = {
    "tobyqa": "#0072b2",
    "SciPy COBYQA": "#d55e00",
    "SciPy Nelder-Mead": "#999999",
}


def of_scipy(method: str) -> list[float]:
    """After each reading: the true objective where the lowest reading was."""
    instrument, lowest, gaps = Instrument(seed=0), np.inf, []

    def fun(x: np.ndarray) -> float:
        nonlocal lowest
        value = instrument(x)
        gaps.append(latent(x) if value < lowest else gaps[-1])
        lowest = min(value, lowest)
        return value

    scipy.optimize.minimize(fun, START, method=method, options={"maxfev": BUDGET})
    return gaps


def of_ours() -> tuple[list[float], tobyqa.Result]:
    """The same at the recommended point, and the result."""
    instrument, gaps = Instrument(seed=0), []
    opt = tobyqa.Optimizer(START, noise=NOISE, maxfev=BUDGET, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, instrument(trial.x))
        gaps.append(latent(opt.result().x))
    return gaps, opt.result()


def draw_readings(res: tobyqa.Result) -> Figure:
    """What the instrument shows, and how much of it is drift."""
    figure, axes = panel("what the instrument shows")
    axes.plot(res.history.value, ".", ms=4, color="#555555", label="readings of tobyqa")
    t = np.arange(len(res.history))
    drift = DRIFT * t + 0.5 * np.sin(t / 60.0)
    axes.plot(t, drift, color=COLOURS["SciPy COBYQA"], lw=1.5, label="the drift alone")
    axes.legend(frameon=False)
    return figure


def draw_answers(courses: dict[str, list[float]]) -> Figure:
    """Where each solver truly is."""
    figure, axes = panel("answer, above the true minimum")
    for name, gaps in courses.items():
        axes.plot(gaps, color=COLOURS[name], label=name)
        axes.plot(len(gaps) - 1, gaps[-1], "o", ms=4, color=COLOURS[name])
    axes.set_yscale("log")
    axes.legend(frameon=False, loc="lower left")
    return figure


def panel(label: str) -> tuple[Figure, Any]:
    """A picture with axes of the readings' numbers."""
    figure = Figure(figsize=(4.5, 3.3), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel="reading", ylabel=label)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def main(directory: Path) -> None:
    """Draw them."""
    ours, res = of_ours()
    others = {name: of_scipy(name.split()[1]) for name in COLOURS if name != "tobyqa"}
    pictures = {
        "readings": draw_readings(res),
        "answers": draw_answers({"tobyqa": ours, **others}),
    }
    # The same files whenever they are made.
    with mpl.rc_context({"svg.hashsalt": "tobyqa"}):
        for name, figure in pictures.items():
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    images = Path(__file__).parents[1] / "docs" / "images"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else images)
