"""The order of things in one search: what a reading changes, and when."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import tobyqa
from golden import NOISE, latent, reading
from tobyqa import Adaptive
from tobyqa.methods.adaptive.belief import Belief
from tobyqa.methods.adaptive.plan import size_change
from tobyqa.state import Observation, Task

CHANNELS = ("Static", "LinearDrift", "ChaoticDrift", "Hetero")


def transitions(method, n, channel, seed, readings=120):
    """Beliefs before and after each reading that answers a plan."""
    task = Task(x0=np.zeros(n), noise=NOISE, seed=seed)
    search = method.begin(task)
    proposal, before = next(search)
    for k in range(readings):
        value = reading(proposal.x, k, channel, seed)
        seen = Observation(proposal.x, float(k), value, trial=k, answers=True)
        proposal, after = search.send(seen)
        if isinstance(before, Belief):
            yield before, after
        before = after


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("n", [2, 3])
def test_a_verdict_counts_though_a_comparison_follows_it(n, channel):
    """The region after a step is the one that the verdict on the step makes of it."""
    method, seen = Adaptive(repeats=1.0), 0
    for seed in range(4):
        for before, after in transitions(method, n, channel, seed):
            if before.plan.revisits or not after.plan.revisits:
                continue
            judged = replace(after, plan=before.plan)
            factor = size_change(judged, before.fitted, method)
            np.testing.assert_allclose(after.B, factor * before.B, rtol=1e-12)
            seen += factor != 1.0
    assert seen > 0


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("n", [2, 3])
def test_measuring_a_known_place_again_leaves_the_size_of_the_region_alone(n, channel):
    method, seen = Adaptive(repeats=1.0, reshape=False), 0
    for seed in range(4):
        for before, after in transitions(method, n, channel, seed):
            went_home = np.array_equal(after.B, before.best.B)
            if before.plan.revisits and not went_home:
                np.testing.assert_array_equal(after.B, before.B)
                seen += 1
    assert seen > 0


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("share", [0.0, 0.15, 0.4])
def test_comparisons_take_no_more_than_their_share_of_the_readings(share, channel):
    method = Adaptive(repeats=share)
    for before, after in transitions(method, 2, channel, 1):
        assert after.repeats >= before.repeats
        if after.plan.revisits:  # a comparison is under way: count all of it
            continue
        assert after.repeats <= share * len(after.samples)


def test_settings_that_are_no_more_are_not_settings():
    known = {field.name for field in dataclasses.fields(Adaptive)}
    assert not known & Adaptive.RETIRED


@pytest.mark.parametrize("seed", range(3))
def test_a_known_place_that_cannot_be_measured_again_ends_no_search(seed):
    opt = tobyqa.Optimizer(np.zeros(2), noise=NOISE, maxfev=150, rng=seed)
    seen = set()
    while not opt.done:
        trial = opt.ask()
        if tuple(trial.x) in seen and trial.id > 6:
            opt.tell_failed(trial, "seen before")
            continue
        seen.add(tuple(trial.x))
        opt.tell(trial, reading(trial.x, trial.id, "LinearDrift", seed))
    assert opt.status is tobyqa.Status.MAXFEV
    lowest = latent(np.array([0.95, 0.83]))
    assert latent(opt.result().x) < lowest + 10 * NOISE
