"""The picture of the first page: what an instrument shows, and who is misled by it.

    python examples/drift_picture.py [directory]

On the left the readings of a search by tobyqa, with the drift that it found; on the
right how far above the minimum each solver's answer truly is, had it been stopped
there. The instrument is that of ``tobyqa demo``.
"""

from __future__ import annotations

import sys
from pathlib import Path

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


def draw(ours: list[float], res: tobyqa.Result) -> Figure:
    """Both panels."""
    figure = Figure(figsize=(9.0, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(res.history.value, ".", ms=3, color="#555555", label="readings")
    t = np.arange(len(ours))
    drift = DRIFT * t + 0.5 * np.sin(t / 60.0)
    left.plot(t, drift, color=COLOURS["tobyqa"], lw=1.5, label="the drift")
    left.set(xlabel="reading", ylabel="what the instrument shows")
    left.legend(frameon=False)
    scipys = {name: of_scipy(name.split()[1]) for name in list(COLOURS)[1:]}
    for name, gaps in {"tobyqa": ours, **scipys}.items():
        right.plot(gaps, color=COLOURS[name], label=name)
        place = (len(gaps) - 1, gaps[-1])
        right.plot(*place, "o", ms=4, color=COLOURS[name])
    right.set(yscale="log", xlabel="reading", ylabel="answer, above the true minimum")
    right.legend(frameon=False, loc="lower left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main(directory: Path) -> None:
    """Draw it."""
    # The same file whenever it is made.
    mpl.rcParams["svg.hashsalt"] = "tobyqa"
    figure = draw(*of_ours())
    figure.savefig(directory / "drift.svg", metadata={"Date": None})


if __name__ == "__main__":
    images = Path(__file__).parents[1] / "docs" / "images"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else images)
