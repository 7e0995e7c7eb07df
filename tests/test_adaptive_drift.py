"""Whole searches under a drift that depends on the place, and on odd clocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drawn_runs import drifting_apart
from tobyqa import Adaptive, Optimizer

NOISE = 0.2


def drifting_bowl(x, t, rate=5.0):
    """Least at (1, 1) at the start; later ever nearer to the origin."""
    return 100.0 * float(np.sum((x - 1.0) ** 2)) + rate * t * math.tanh(math.hypot(*x))


def searched(fun, readings, seed, *, when=float, error=NOISE, noise=NOISE, **settings):
    """The result of a search; `when` gives the time of the k-th reading."""
    method, rng = Adaptive(**settings), np.random.default_rng(seed)
    opt = Optimizer(
        np.zeros(2),
        method=method,
        noise=noise,
        initial_radius=2.0,
        maxfev=readings,
        rng=seed,
    )
    for k in range(readings):
        trial = opt.ask()
        opt.tell(trial, fun(trial.x, when(k)) + error * rng.normal(), t=when(k))
    return opt.result()


def at_the_start(res):
    """How good the answer is there; 200 at the origin."""
    return drifting_bowl(res.x, 0.0)


@pytest.mark.parametrize("noise", [NOISE, 0.1 * NOISE])
def test_a_local_drift_does_not_bend_the_search(noise):
    """Without comparisons nobody knows of it, and the answer is worse."""
    runs = [searched(drifting_bowl, 250, seed, noise=noise) for seed in range(3)]
    assert np.median([at_the_start(res) for res in runs]) < 0.3
    assert all(res.drift_is_local for res in runs)
    bent = searched(drifting_bowl, 250, 0, noise=noise, compare=False)
    assert at_the_start(bent) > at_the_start(runs[0])
    assert not bent.drift_is_local


@pytest.mark.parametrize("noise", [NOISE, None])
@pytest.mark.parametrize("slope", [0.0, 40.0])
def test_a_common_drift_is_not_called_local(slope, noise):
    def fun(x, t):
        return drifting_bowl(x, t, rate=0.0) + slope * t + 3.0 * math.sin(t / 20.0)

    for seed in range(5):
        res = searched(fun, 150, seed, noise=noise)
        assert not res.drift_is_local
        assert at_the_start(res) < 0.3


@pytest.mark.parametrize("share", [0.15, 1.0])
@pytest.mark.parametrize("pause", [1e3, 1e6, 1e12])
def test_a_pause_of_any_length_is_survived(pause, share):
    runs = [
        searched(
            drifting_bowl,
            160,
            seed,
            when=lambda k: k + pause * (k > 90),
            repeats=share,
        )
        for seed in range(5)
    ]
    assert np.median([res.drift_is_local for res in runs]) == 1.0
    assert np.median([at_the_start(res) for res in runs]) < 20.0


def test_no_answer_is_worse_than_the_start_where_a_local_drift_hides_in_the_noise():
    """It may not be found if the noise is stated ten times too large or not at all."""
    for seed in range(6):
        for noise in (10.0 * NOISE, None):
            res = searched(drifting_bowl, 250, seed, noise=noise)
            assert at_the_start(res) < drifting_bowl(np.zeros(2), 0.0) + 5.0


@pytest.mark.parametrize(("rate", "noise"), [(0.0, None), (0.0, 0.0), (5.0, 0.0)])
def test_a_local_drift_without_any_noise_is_survived(rate, noise):
    """The noise that nobody stated is then exactly zero between comparisons.

    Such a drift is mostly taken for curvature; the answer is no worse than the start.
    """
    res = searched(
        lambda x, t: drifting_bowl(x, t, rate), 150, 0, error=0.0, noise=noise
    )
    start = drifting_bowl(np.zeros(2), 0.0)
    assert at_the_start(res) < (1.0 if rate == 0.0 else start + 1.0)
    assert rate > 0.0 or not res.drift_is_local


def test_readings_that_share_their_times_are_survived():
    res = searched(drifting_bowl, 120, 0, when=lambda k: float(k // 40), error=0.0)
    assert at_the_start(res) < 1.0


def test_a_clock_that_is_set_back_is_survived():
    res = searched(drifting_bowl, 150, 0, when=lambda k: float(k - 40 * (k > 70)))
    assert at_the_start(res) < 20.0


def test_a_search_with_failures_finds_a_local_drift():
    res = drifting_apart().result()
    assert res.nfail >= 10
    assert res.drift_is_local
