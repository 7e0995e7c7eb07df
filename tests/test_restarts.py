"""Searches from elsewhere: off unless wanted, around any method, never a loss."""

from __future__ import annotations

import numpy as np
import pytest

import tobyqa
from tobyqa import Optimizer, Paper


def two_valleys(x):
    """A shallow minimum at the origin, one lower by 1 at (3, 3)."""
    near, far = x @ x, (x - 3.0) @ (x - 3.0)
    return float(-np.exp(-0.5 * near) - 2.0 * np.exp(-0.5 * far))


def run(readings=400, drift=0.0, seed=1, **kwargs):
    rng = np.random.default_rng(2)
    opt = Optimizer(
        [0.1, 0.1], noise=0.01, maxfev=readings, rng=seed, initial_radius=1.5, **kwargs
    )
    while not opt.done:
        trial = opt.ask()
        value = two_valleys(trial.x) + drift * trial.id + 0.01 * rng.normal()
        opt.tell(trial, value)
    return opt


def test_off_by_default():
    result = run().result()
    distances = np.linalg.norm(result.history.x, axis=1)
    assert distances.max() < 4.0
    assert np.linalg.norm(result.x) < 0.2


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_the_lower_of_two_minima_is_found_and_kept(drift):
    found = [
        two_valleys(run(800, drift, s, restarts=True).result().x) for s in range(4)
    ]
    assert sum(value < -1.9 for value in found) >= 2
    assert max(found) < -0.9  # none ends higher than where it was


@pytest.mark.parametrize("method", ["adaptive", "paper", Paper(hessian="interpolated")])
def test_any_method_goes_on_until_its_budget_is_spent(method):
    opt = run(300, method=method, restarts=True)
    assert opt.nfev == 300
    assert opt.status is tobyqa.Status.MAXFEV
    x = opt.result().history.x
    start = x[: len(x) // 4]
    assert np.ptp(x, axis=0).max() > np.ptp(start, axis=0).max()


def test_saved_copied_and_resumed_runs_propose_the_same(tmp_path):
    whole = run(300, restarts=True)
    part = run(300, restarts=True, journal=tmp_path / "run.jsonl")
    part.close()
    resumed = Optimizer.resume(tmp_path / "run.jsonl", maxfev=320)
    np.testing.assert_array_equal(whole.result().history.x, part.result().history.x)
    whole.save(tmp_path / "whole.jsonl")
    loaded = Optimizer.resume(tmp_path / "whole.jsonl", maxfev=320)
    for _ in range(20):
        a, b = resumed.ask(), loaded.ask()
        np.testing.assert_array_equal(a.x, b.x)
        resumed.tell(a, two_valleys(a.x))
        loaded.tell(b, two_valleys(b.x))


def test_failures_elsewhere_lead_back(tmp_path):
    """All that fails beyond two radii: the answer is the one at home."""
    opt = Optimizer([0.1, 0.1], noise=0.01, maxfev=400, rng=1, restarts=True)
    rng = np.random.default_rng(0)
    while not opt.done:
        trial = opt.ask()
        if np.abs(trial.x).max() > 2.5:
            opt.tell_failed(trial, "out of range")
        else:
            opt.tell(trial, float(trial.x @ trial.x) + 0.01 * rng.normal())
    assert np.abs(opt.result().x).max() < 0.1


@pytest.mark.parametrize("value", [1, "yes", None])
def test_only_a_switch_will_do(value):
    with pytest.raises(TypeError, match="restarts must be True or False"):
        Optimizer([0.0], restarts=value)


def test_failures_from_the_first_reading_on_lead_to_no_comparison():
    """There is nothing to compare then: the noise of neither place is known."""
    opt = Optimizer([0.0, 0.0], restarts=True, maxfev=30, rng=0, max_failures=100)
    while not opt.done:
        opt.tell_failed(opt.ask())
    assert opt.nfev == 30
