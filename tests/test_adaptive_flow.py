"""The order of things in one search: what a reading changes, and when."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

import tobyqa
from beliefs import HERE, THERE, belief, samples_of
from golden import NOISE, latent, reading
from tobyqa import Adaptive
from tobyqa.methods.adaptive.belief import Belief
from tobyqa.methods.adaptive.region import resized
from tobyqa.methods.adaptive.search import compare, rival_of
from tobyqa.state import Observation, Task, Why

ELSEWHERE = np.array([1.0, 1.0])
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
    method, changes = Adaptive(reshape=False, compare=False), set()
    for seed in range(4):
        for before, after in transitions(method, n, channel, seed):
            change = float(np.linalg.norm(after.B) / np.linalg.norm(before.B))
            seen = Observation(after.samples.points[-1], 0.0, 0.0, answers=True)
            judged = resized(replace(after, B=before.B), before, seen)
            if after.newest not in after.doubts.rows:
                np.testing.assert_allclose(after.B, judged.B, rtol=1e-12)
                changes.add(round(change, 6))
    assert {0.85, 1.0} < changes


@pytest.mark.parametrize("n", [2, 3])
def test_measuring_a_known_place_again_leaves_the_region_alone(n):
    method, seen = Adaptive(reshape=False, compare=False), 0
    for seed in range(4):
        for before, after in transitions(method, n, "Static", seed, wrong_at=(30, 45)):
            if before.plan.rechecks:
                np.testing.assert_array_equal(after.B, before.B)
                seen += 1
    assert seen > 0


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("share", [0.0, 0.15, 0.4])
def test_comparisons_take_no_more_than_their_share_at_any_time(share, channel):
    """Also while one is under way; the first of them once it is due and affordable."""
    n, waited, compared = 2, 0, False
    for before, after in transitions(
        Adaptive(repeats=share, robust=False), n, channel, 1
    ):
        waited += not before.plan.rechecks
        assert after.repeats - before.repeats == before.plan.revisits
        begins = after.plan.revisits and not before.plan.revisits
        asked = len(after.samples)
        if begins:
            assert after.repeats + 3 <= share * (asked + 3)
        elif not (compared or after.plan.revisits):
            # Too early, nothing to compare yet, or too dear.
            rival = rival_of(after, after)
            is_due = waited > 6 * n and not after.plan.rechecks
            assert not is_due or rival is None or 3 > share * (asked + 3)
        compared |= begins
    assert compared == (share > 0.0)


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_comparison_is_one_round_and_the_next_one_waits(channel):
    n, waited, rounds, places = 2, 0, 0, []
    for before, after in transitions(
        Adaptive(repeats=1.0, robust=False), n, channel, 1
    ):
        if before.plan.revisits:
            places.append(before.plan.x)
        else:
            waited += 1
        if after.plan.revisits and not before.plan.revisits:
            assert waited > (n + 20 if rounds else 6 * n)
            waited, places = 0, []
        if before.plan.revisits and not after.plan.revisits:
            best, rival, again = places
            np.testing.assert_array_equal(best, again)
            assert not np.array_equal(best, rival)
            rounds += 1
    assert rounds >= 1


@pytest.mark.parametrize("channel", CHANNELS)
def test_without_comparisons_no_place_is_measured_again_on_purpose(channel):
    for before, after in transitions(Adaptive(compare=False), 2, channel, 1):
        assert not after.plan.revisits or after.plan.rechecks
        assert (after.repeats, after.local, after.best) == (0, False, before.best)


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_gauges_are_those_of_the_newest_fit(channel):
    """Also while places are compared; none is kept from another belief."""
    compared = 0
    for _, after in transitions(Adaptive(repeats=1.0, robust=False), 2, channel, 1):
        in_fit = after.newest not in after.left_out
        assert (after.fitted.window.rows[-1] == after.newest) == in_fit
        assert after.gauges == replace(after).gauges
        compared += after.plan.revisits
    assert compared >= 3


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("n", [1, 3])
def test_what_a_search_has_learnt_it_keeps(n, channel):
    for before, after in transitions(Adaptive(repeats=1.0), n, channel, 2):
        is_there = np.array_equal(after.centre_point, after.samples.points[-1])
        assert is_there or not after.accepted
        assert after.accepted or after.centre != after.newest
        assert len(after.samples.rows_at(after.best.x)) > 0
        assert after.local >= before.local
        assert after.aside[: len(before.aside)] == before.aside
        assert after.iterations == before.iterations + 1
        assert after.noise.spread >= before.noise.spread
        for place in after.aside:
            there = after.samples.rows_at(place)
            assert not np.isin(there, after.fitted.window.rows).any()


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


class Compared:
    """A comparison under way in a search whose best place is the origin."""

    def __init__(self):
        self.before = belief(
            samples_of([(HERE, 0.0, 2.0), (THERE, 1.0, 3.0), (HERE, 2.0, 1.0)])
        )
        self.asking = compare(self.before, THERE)
        self.plan, self.belief = next(self.asking)
        self.is_complete = None  # until it is over

    def hear(self, value=2.0, x=None):
        """A reading of the plan, or of `x`, which nobody asked for."""
        t = float(self.belief.samples.times[-1] + 1.0)
        place, asked = (self.plan.x, True) if x is None else (x, False)
        trial = len(self.belief.samples) if asked else None
        seen = Observation(place, t, value, trial=trial, answers=asked)
        try:
            self.plan, self.belief = self.asking.send(seen)
        except StopIteration as end:
            self.belief, self.is_complete = end.value

    def fail(self):
        self.hear(math.nan)


@pytest.mark.parametrize("heard", range(3))
@pytest.mark.parametrize("between", ["nothing", "a failure", "a guest", "an end"])
def test_a_comparison_measures_here_there_and_here_again(between, heard):
    """Through a failed reading, one that nobody asked for, and an end that was none."""
    run = Compared()
    for k, place in enumerate((HERE, THERE, HERE)):
        assert run.is_complete is None
        if k == heard:
            if between == "a failure":
                run.fail()
            elif between == "a guest":
                plan = run.plan
                run.hear(5.0, x=ELSEWHERE)
                assert run.plan is plan
            elif between == "an end":  # failures before it count no more
                run.fail()
                run.plan, run.belief = run.asking.send(None)
                run.fail()
        assert run.plan.revisits
        np.testing.assert_array_equal(run.plan.x, place)
        run.hear()
    assert run.is_complete
    new = run.belief.samples.points[len(run.before.samples) :]
    asked = new[(new != ELSEWHERE).any(axis=1)]
    np.testing.assert_array_equal(asked, [HERE, THERE, HERE])
    assert run.belief.repeats == run.before.repeats + 3
    np.testing.assert_array_equal(run.belief.B, run.before.B)


@pytest.mark.parametrize("doubted", range(3))
def test_only_the_place_of_a_doubted_reading_is_measured_again_for_that(doubted):
    """The other places of the comparison are asked for by what they are."""
    run, reasons = Compared(), []
    for k in range(4):
        reasons.append(run.plan.why)
        run.hear(1e6 if k == doubted else 2.0)
    wanted = [Why.COMPARISON] * 3
    wanted.insert(doubted + 1, Why.RECHECK)
    assert reasons == wanted
    assert run.is_complete


@pytest.mark.parametrize("heard", range(3))
def test_a_comparison_ends_where_a_place_cannot_be_measured(heard):
    run = Compared()
    for _ in range(heard):
        run.hear()
    run.fail()
    assert run.is_complete is None
    run.fail()
    assert run.is_complete is False
    assert run.belief.repeats == run.before.repeats + heard
    np.testing.assert_array_equal(run.belief.B, run.before.B)


def test_one_failure_leaves_the_region_alone_two_more_in_a_row_halve_it():
    """Each goes half as far; where readings fail by chance, regions do not fade."""
    task = Task(x0=np.zeros(2), noise=NOISE, seed=0)
    search, failing = Adaptive().begin(task), 0
    proposal, b = next(search)
    for k in range(60):
        fails = k in (20, 30, 31, *range(50, 57)) and b.plan.why is not Why.COMPARISON
        value = math.nan if fails else reading(proposal.x, k, "Static", 0)
        seen = Observation(proposal.x, float(k), value, trial=k, answers=True)
        before, (proposal, b) = b, search.send(seen)
        failing = failing + 1 if fails else 0
        if fails:
            shrunk = 0.5 if failing in (2, 3) else 1.0
            np.testing.assert_array_equal(b.B, shrunk * before.B)
            halfway = 0.5 * (before.centre_point + before.plan.x)
            np.testing.assert_allclose(proposal.x, halfway, rtol=1e-12)
    assert b.samples.points.shape[0] < 60
