"""A program for the tests: a slow, journaled search, to be killed at any moment."""

from __future__ import annotations

import sys
import time

import numpy as np

import tobyqa


def reading(x, k):
    """Depends on the point and the number of the reading, so runs can be compared."""
    error = 0.01 * np.random.default_rng(k).normal()
    return float(np.sum((x - 1) ** 2) + 0.1 * k + error)


def run(path, calls_path, pause=0.0):
    """Continue the journal to its end, noting every call in a file of its own."""
    with tobyqa.Optimizer.open(
        path, x0=np.zeros(3), noise=0.01, maxfev=60, rng=7, names=list("abc")
    ) as opt:
        while not opt.done:
            trial = opt.ask()
            with open(calls_path, "a") as calls:
                calls.write(f"{trial.id}\n")
            time.sleep(pause)
            if trial.id % 11 == 10:
                opt.tell_failed(trial, "door open")
            else:
                opt.tell(trial, reading(trial.x, trial.id))
        return opt.result()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], pause=0.005)
