"""Short searches whose points are kept, so that a change of the method shows.

    python tests/golden.py --write        # only on purpose, in a commit with its reason

Each run is a function of an `Optimizer` that tells it what a certain instrument would
read: seven channels, failures, readings nobody asked for, errors of their own, a pause,
a clock set back. `trajectory` gives the points that were asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tobyqa
from tobyqa.bench.channels import Context, channel_names, get_channel

FILE = Path(__file__).parent / "data" / "golden.json"
POINTS = 36  # of each run; later ones depend on the last digits of the fits
NOISE = 1e-3
PARTS = ("doubt", "robust")  # their absence is pinned too


def latent(x: np.ndarray) -> float:
    """A curved valley around (1, 0.8, 0.6, ...), smooth and bounded below."""
    c = 1.0 - 0.2 * np.arange(x.size)
    valley = np.sum((x[1:] - x[:-1] ** 2) ** 2) if x.size > 1 else 0.1 * x[0] ** 4
    return float(np.sum((x - c) ** 2) + 0.5 * valley)


def reading(x: np.ndarray, k: int, channel: str, seed: int = 0) -> float:
    """What the instrument shows at `x` as its k-th reading, from 0."""
    x0 = np.zeros_like(x)
    context = Context(x0, max(abs(latent(x0)), 1.0))
    error = np.random.default_rng([seed, k, x.size]).standard_normal()
    return get_channel(channel)(latent(x), x, k + 1, context) + NOISE * error


def simply(channel: str) -> Callable[[tobyqa.Optimizer], None]:
    """Each trial is told, the reading's number is its time."""

    def tell(opt: tobyqa.Optimizer) -> None:
        trial = opt.ask()
        opt.tell(trial, reading(trial.x, trial.id, channel))

    return tell


def failing(opt: tobyqa.Optimizer) -> None:
    trial = opt.ask()
    if trial.id % 7 == 6 or trial.id in (15, 16, 24, 25):
        opt.tell_failed(trial, "door open")
    else:
        opt.tell(trial, reading(trial.x, trial.id, "LinearDrift"))


def with_guests(opt: tobyqa.Optimizer) -> None:
    """Now and then somebody measures elsewhere, also while a trial is pending."""
    trial = opt.ask()
    t = 2.0 * trial.id
    if trial.id % 5 == 4:
        x = trial.x + 0.3 * np.cos(np.arange(trial.x.size) + trial.id)
        opt.tell(x, reading(x, 2 * trial.id, "PeriodicAdd"), t=t)
    opt.tell(trial, reading(trial.x, 2 * trial.id + 1, "PeriodicAdd"), t=t + 1.0)
    if trial.id % 9 == 8:
        x = trial.x - 0.2
        opt.tell(x, reading(x, 2 * trial.id + 1, "PeriodicAdd"), t=t + 1.5)


def with_errors(opt: tobyqa.Optimizer) -> None:
    """Every third reading comes with a standard error of its own."""
    trial = opt.ask()
    sigma = NOISE * (1 + trial.id % 4) if trial.id % 3 == 0 else None
    opt.tell(trial, reading(trial.x, trial.id, "ChaoticDrift"), sigma=sigma)


def timed(when: Callable[[int], float]) -> Callable[[tobyqa.Optimizer], None]:
    """The instrument drifts by the clock."""

    def tell(opt: tobyqa.Optimizer) -> None:
        trial = opt.ask()
        t = when(trial.id)
        value = reading(trial.x, trial.id, "Static") + 1e-3 * t
        opt.tell(trial, value, t=t)

    return tell


# name: (number of variables, noise as stated, what is told)
RUNS: dict[str, tuple[int, float | None, Callable[[tobyqa.Optimizer], None]]] = {
    **{f"{c} n=2": (2, NOISE, simply(c)) for c in channel_names()},
    **{f"{c} n=3": (3, NOISE, simply(c)) for c in ("ChaoticDrift", "Hetero")},
    **{f"{c} n=6": (6, NOISE, simply(c)) for c in ("LinearDrift", "Hetero")},
    "one variable": (1, NOISE, simply("LinearDrift")),
    "ten variables": (10, NOISE, simply("PeriodicAdd")),
    "failures": (2, NOISE, failing),
    "guests": (3, NOISE, with_guests),
    "stated errors": (2, NOISE, with_errors),
    "a pause": (2, NOISE, timed(lambda k: k if k < 20 else k + 5000.0)),
    "a clock set back": (2, NOISE, timed(lambda k: k if k < 18 else k - 9.0)),
    "unknown noise n=2": (2, None, simply("LinearDrift")),
    "unknown noise n=6": (6, None, simply("Static")),
    "noise a tenth": (2, 0.1 * NOISE, simply("ChaoticDrift")),
}


def trajectory(name: str, points: int, *, plain: bool) -> np.ndarray:
    """The points asked for in a run, (points, n); `plain`: without `PARTS`."""
    n, noise, tell = RUNS[name]
    options = dict.fromkeys(PARTS, False) if plain else {}
    opt = tobyqa.Optimizer(
        np.zeros(n), noise=noise, rng=5, maxfev=10 * points, options=options
    )
    asked = []
    for _ in range(points):
        if opt.done:
            break
        asked.append(opt.ask().x.copy())
        tell(opt)
    return np.array(asked)


def key(name: str, plain: bool) -> str:
    return f"{name}, without {', '.join(PARTS)}" if plain else name


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    kept = {
        key(name, plain): [
            [float(f"{v:.12g}") for v in x]
            for x in trajectory(name, POINTS, plain=plain)
        ]
        for plain in (False, True)
        for name in RUNS
    }
    FILE.parent.mkdir(exist_ok=True)
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in kept.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
