"""Runs for the tests of pictures and reports: ordinary ones and the hard cases."""

from __future__ import annotations

import numpy as np

from tobyqa import Optimizer

BEGIN = 1_780_000_000.0  # a Unix time stamp in 2026
NAMES, UNITS = ["temperature", "flow"], ["°C", "l/min"]


def reading(x, k):
    """A noisy bowl around (1, 2, 3, ...) whose readings drift by 0.05 each."""
    noise = 0.05 * np.random.default_rng(k).normal()
    return float(np.sum((x - np.arange(1, x.size + 1)) ** 2) + 0.05 * k + noise)


def finished(n=3, maxfev=60, method="adaptive", value=reading, times=None, **kwargs):
    """An optimizer with its budget spent; every thirteenth measurement fails."""
    opt = Optimizer(
        np.zeros(n), method=method, noise=0.05, maxfev=maxfev, rng=0, **kwargs
    )
    while not opt.done:
        trial = opt.ask()
        t = None if times is None else times(trial.id)
        if trial.id % 13 == 12:
            opt.tell_failed(trial, f"door {trial.id} open", t=t)
        else:
            opt.tell(trial, value(trial.x, trial.id), t=t)
    return opt


def stamped(**kwargs):
    """Two variables with names and units, read every three minutes from `BEGIN` on."""
    return finished(
        2, names=NAMES, units=UNITS, times=lambda k: BEGIN + 180.0 * k, **kwargs
    )


def reading_apart(x, k):
    """The same where the drift is faster, the farther from the origin."""
    return reading(x, k) + 0.5 * k * float(np.tanh(np.linalg.norm(x)))


def drifting_apart(**kwargs):
    return finished(2, 150, value=reading_apart, **kwargs)


def only_failures():
    opt = Optimizer([1.0, 2.0], max_failures=3)
    while not opt.done:
        opt.tell_failed(opt.ask(), "no beam")
    return opt


def before_the_model():
    opt = Optimizer([1.0, 2.0, 3.0], noise=0.1)
    for k in range(2):
        opt.tell(opt.ask(), 5.0 - k)
    return opt


def told_only():
    """Points that nobody asked for, with errors of their own, times going back."""
    opt = finished(2, 30, times=float)
    opt.tell([1.0, 2.0], 1.7, t=34.0, sigma=0.2)
    opt.tell([1.1, 2.0], 1.5, t=12.5, sigma=0.1)
    return opt


HARD = {
    "no reading": lambda: Optimizer([1.0, 2.0]),
    "only failures": only_failures,
    "before the model": before_the_model,
    "one variable": lambda: finished(1, 30),
    "twenty variables": lambda: finished(20, 90),
    "time stamps": stamped,
    "method paper": lambda: finished(method="paper"),
    "1500 readings": lambda: finished(maxfev=1500, method="paper"),
    "constant readings": lambda: finished(value=lambda x, k: 7.0),
    "constant, no noise": lambda: finished(2, 25, "paper", lambda x, k: 0.0),
    "one time for all": lambda: finished(2, 30, times=lambda k: 5.0),
    "large offset of time": lambda: finished(2, 30, times=lambda k: 5e6 + k),
    "huge readings": lambda: finished(2, 30, value=lambda x, k: 1e99 * (1 + x @ x)),
    "told points": told_only,
    "odd names": lambda: finished(
        2, 20, names=[r"<b>$\nonsense{$</b>", "a--><script>x" * 9], units=["$", "&"]
    ),
}
