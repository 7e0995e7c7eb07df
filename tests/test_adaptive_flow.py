"""The order of things in one search: what a reading changes, and when."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

import tobyqa
from golden import NOISE, latent, reading
from tobyqa import Adaptive
from tobyqa.methods.adaptive.belief import Belief
from tobyqa.methods.adaptive.region import resized
from tobyqa.state import Observation, Task

CHANNELS = ("Static", "LinearDrift", "ChaoticDrift", "Hetero")


def transitions(method, n, channel, seed, readings=120, wrong_at=()):
    """Beliefs before and after each reading that answers a plan."""
    task = Task(x0=np.zeros(n), noise=NOISE, seed=seed)
    search = method.begin(task)
    proposal, before = next(search)
    for k in range(readings):
        value = reading(proposal.x, k, channel, seed) - 1e3 * (k in wrong_at)
        seen = Observation(proposal.x, float(k), value, trial=k, answers=True)
        proposal, after = search.send(seen)
        if isinstance(before, Belief):
            yield before, after
        before = after


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("n", [2, 3])
def test_every_reading_of_a_plan_is_judged_once(n, channel):
    """The region after it is what the verdict makes of it, but for its shape."""
    changes = set()
    for seed in range(4):
        for before, after in transitions(Adaptive(reshape=False), n, channel, seed):
            change = float(np.linalg.norm(after.B) / np.linalg.norm(before.B))
            seen = Observation(after.samples.points[-1], 0.0, 0.0, answers=True)
            judged = resized(replace(after, B=before.B), before, seen)
            if after.newest not in after.doubts.rows:
                np.testing.assert_allclose(after.B, judged.B, rtol=1e-12)
                changes.add(round(change, 6))
    assert {0.85, 1.0} < changes


@pytest.mark.parametrize("n", [2, 3])
def test_measuring_a_known_place_again_leaves_the_region_alone(n):
    method, seen = Adaptive(reshape=False), 0
    for seed in range(4):
        for before, after in transitions(method, n, "Static", seed, wrong_at=(30, 45)):
            if before.plan.rechecks:
                np.testing.assert_array_equal(after.B, before.B)
                seen += 1
    assert seen > 0


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_gauges_are_those_of_the_newest_fit(channel):
    """None is kept from another belief."""
    for _, after in transitions(Adaptive(), 2, channel, 1, wrong_at=(30,)):
        in_fit = after.newest not in after.left_out
        assert (after.fitted.window.rows[-1] == after.newest) == in_fit
        assert after.gauges == replace(after).gauges


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("n", [1, 3])
def test_what_a_search_has_learnt_it_keeps(n, channel):
    for before, after in transitions(Adaptive(), n, channel, 2):
        is_there = np.array_equal(after.centre_point, after.samples.points[-1])
        assert is_there or not after.accepted
        assert after.accepted or after.centre != after.newest
        assert after.iterations == before.iterations + 1
        assert after.noise.spread >= before.noise.spread


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


def test_one_failure_leaves_the_region_alone_the_second_in_a_row_halves_it():
    """Each goes half as far; where readings fail by chance, regions do not fade."""
    task = Task(x0=np.zeros(2), noise=NOISE, seed=0)
    search, failing = Adaptive().begin(task), 0
    proposal, b = next(search)
    for k in range(60):
        fails = k in (20, 30, 31, 50, 51, 52)
        value = math.nan if fails else reading(proposal.x, k, "Static", 0)
        seen = Observation(proposal.x, float(k), value, trial=k, answers=True)
        before, (proposal, b) = b, search.send(seen)
        failing = failing + 1 if fails else 0
        if fails:
            shrunk = 0.5 if failing > 1 else 1.0
            np.testing.assert_array_equal(b.B, shrunk * before.B)
            halfway = 0.5 * (before.centre_point + before.plan.x)
            np.testing.assert_allclose(proposal.x, halfway, rtol=1e-12)
    assert b.samples.points.shape[0] < 60
