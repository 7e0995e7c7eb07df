"""Four knobs in their own units, with limits, on an instrument that drifts.

    python3 examples/four_knobs.py              a search of 60 readings
    python3 examples/four_knobs.py --seed 7     the same with other noise

The lowest reading is at 304 K, 2.2 V and 2 deg, and at the smallest gap that can be
set, 0.1 mm: it would be lower still at 0 mm. Nothing is said of scales or of the noise.

With ``--measure`` it is the instrument alone: it reads the point from standard input
and prints the reading, as ``tobyqa run examples/four_knobs.toml`` wants it.
"""

import argparse
import json
import math
import os
import random
import sys

NAMES = ["temp", "voltage", "gap", "angle"]
UNITS = ["K", "V", "mm", "deg"]
BOUNDS = [(280.0, 320.0), (0.0, 5.0), (0.1, 2.0), (-10.0, 10.0)]
START = [295.0, 1.0, 1.0, -3.0]
BEST = [304.0, 2.2, 0.1, 2.0]
NOISE = 0.05
PAUSE = 60.0  # seconds from one reading to the next


def true_value(x):
    """What an instrument without noise and drift would read."""
    temp, voltage, angle = (x[0] - 304.0) / 8.0, x[1] - 2.2, (x[3] - 2.0) / 3.0
    bowl = temp**2 + 1.5 * voltage**2 + angle**2 + 0.8 * temp * voltage
    return bowl + 0.3 * math.log1p(angle**2) + 2.0 * x[2] + x[2] ** 2


def baseline(t):
    """The drift: steady, with a swing of about an hour."""
    return 0.02 * t / PAUSE + 0.2 * math.sin(t / 600.0)


def reading(x, t, seed, index):
    """What it reads; the noise of each trial of a seed is always the same."""
    noise = random.Random(f"{seed} {index}").gauss(0.0, NOISE)
    return true_value(x) + baseline(t) + noise


def search(seed=0, maxfev=60):
    """A search of so many readings."""
    import tobyqa  # here, so that the instrument starts fast

    opt = tobyqa.Optimizer(
        START, names=NAMES, units=UNITS, bounds=BOUNDS, maxfev=maxfev, rng=seed
    )
    while not opt.done:
        trial = opt.ask()
        t = PAUSE * trial.id
        opt.tell(trial, reading(trial.x, t, seed, trial.id), t)
    return opt.result()


def measure(seed):
    """One reading for `tobyqa run`."""
    point = json.load(sys.stdin)
    index = int(os.environ.get("TOBYQA_INDEX", "0"))
    t = PAUSE * index
    value = reading([point[name] for name in NAMES], t, seed, index)
    print(json.dumps({"value": value, "t": t}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--maxfev", type=int, default=60, help="readings")
    parser.add_argument("--measure", action="store_true", help="one reading")
    args = parser.parse_args()
    if args.measure:
        measure(args.seed)
        return
    res = search(args.seed, args.maxfev)
    print(f"after {res.nfev} readings:")
    for name, unit, x, std, best in zip(
        NAMES, UNITS, res.x, res.x_std, BEST, strict=True
    ):
        print(f"  {name:8} {x:8.3f} ± {std:.3f} {unit:4} (truly best: {best:g})")
    print(f"  at a limit: {', '.join(res.active) or 'none'}")
    print(f"  {true_value(res.x) - true_value(BEST):.2g} above the true minimum")


if __name__ == "__main__":
    main()
