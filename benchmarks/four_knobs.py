"""Four knobs in their own units against the same search scaled by hand.

    python benchmarks/four_knobs.py [--seeds 12] [--first 0] [--maxfev 60]

The instrument of `examples/four_knobs.py`: K, V, mm and deg, bounds, a drift, noise
that is not stated. By hand, every knob goes from 0 to 1. Both searches are the same but
for rounding, which a noisy search soon makes visible: over a dozen seeds their medians
differ by chance. The exit code is 1 if one of these falls short: median gap at most 1.2
times that by hand, no trial outside of the bounds, the temperature within three of its
standard errors in 11 of 12 runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import tobyqa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import four_knobs as knobs

Array = NDArray[np.float64]

LOWER, UPPER = np.array(knobs.BOUNDS).T
MOST = 1.2  # times the gap by hand
ERRORS = 3.0  # standard errors of the temperature
SHARE = 11 / 12  # of the runs


class Outcome(NamedTuple):
    """A search in its units, beside the one that was scaled by hand."""

    gap: float
    gap_by_hand: float
    outside: int  # trials
    off: float  # of the temperature, in standard errors; NaN if there is none


def by_hand(seed: int, maxfev: int) -> Array:
    """The answer of the search over knobs from 0 to 1."""
    width = UPPER - LOWER
    start = (np.array(knobs.START) - LOWER) / width
    opt = tobyqa.Optimizer(start, bounds=[(0, 1)] * 4, maxfev=maxfev, rng=seed)
    while not opt.done:
        trial = opt.ask()
        t, x = knobs.PAUSE * trial.id, LOWER + width * trial.x
        opt.tell(trial, knobs.reading(x, t, seed, trial.id), t)
    return np.asarray(LOWER + width * opt.result().x)


def outcome(seed: int, maxfev: int) -> Outcome:
    """Both searches of a seed."""
    lowest = knobs.true_value(knobs.BEST)
    res = knobs.search(seed, maxfev)
    outside = (res.history.x < LOWER) | (res.history.x > UPPER)
    return Outcome(
        gap=knobs.true_value(res.x) - lowest,
        gap_by_hand=knobs.true_value(by_hand(seed, maxfev)) - lowest,
        outside=int(outside.any(axis=1).sum()),
        off=float((res.x[0] - knobs.BEST[0]) / res.x_std[0]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--maxfev", type=int, default=60, help="readings")
    args = parser.parse_args()
    begin, rows = time.perf_counter(), []
    print("seed   gap above the minimum   by hand   temp off by (standard errors)")
    for seed in range(args.first, args.first + args.seeds):
        rows.append(outcome(seed, args.maxfev))
        gap, hand, _, off = rows[-1]
        print(f"{seed:4} {gap:20.2g} {hand:13.2g} {off:18.1f}", flush=True)
    gap, hand = np.median([row[:2] for row in rows], axis=0)
    within = sum(abs(row.off) <= ERRORS for row in rows)
    outside = sum(row.outside for row in rows)
    print(
        f"median gap            {gap:.3g}; by hand {hand:.3g}; ratio {gap / hand:.2f}"
    )
    print(f"trials outside        {outside}")
    print(f"temp within 3 x_std   {within} of {len(rows)}")
    print(f"seconds               {time.perf_counter() - begin:.1f}")
    is_good = gap <= MOST * hand and not outside and within >= SHARE * len(rows)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
