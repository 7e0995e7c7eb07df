"""The pictures in docs/images: a process with three settings, read for five hours.

python examples/make_pictures.py [directory]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tobyqa
from tobyqa import plots

BEGIN = 1_780_000_000.0  # the first reading's Unix time
PUMP_TRIPS = (15, 60)  # trials that fail


def measured_loss(x: np.ndarray, hours: float, rng: np.random.Generator) -> float:
    """What the instrument shows: the loss, its slow drift and noise."""
    loss = 40 + 2 * (x[0] - 22) ** 2 + 5 * (x[1] - 2.2) ** 2 + 20 * (x[2] - 0.9) ** 2
    drift = 0.4 * hours + 1.2 * np.sin(hours)
    return float(loss + drift + 0.2 * rng.normal())


def run() -> tobyqa.Optimizer:
    """A search with 120 readings at irregular times."""
    rng = np.random.default_rng(1)
    opt = tobyqa.Optimizer(
        [20.0, 1.5, 0.4],
        names=["temperature", "flow", "pressure"],
        units=["°C", "l/min", "bar"],
        method="adaptive",
        initial_radius=0.5,
        maxfev=120,
        rng=0,
    )
    t = BEGIN
    while not opt.done:
        trial = opt.ask()
        if trial.id in PUMP_TRIPS:
            opt.tell_failed(trial, "the pump tripped", t=t)
        else:
            opt.tell(trial, measured_loss(trial.x, (t - BEGIN) / 3600, rng), t=t)
        t += rng.uniform(60.0, 240.0)
    return opt


def main(directory: Path) -> None:
    """Draw the run and the model at its end."""
    opt = run()
    plots.overview(opt).savefig(directory / "overview.png", dpi=100)
    plots.model(opt)[0].figure.savefig(directory / "model.png", dpi=100)


if __name__ == "__main__":
    images = Path(__file__).parents[1] / "docs" / "images"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else images)
