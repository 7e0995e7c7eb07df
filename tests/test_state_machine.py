"""A random walk through the whole ask/tell interface, for every method."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tobyqa import Adaptive, Optimizer, Paper

MAXFEV = 40
VALUES = st.one_of(
    st.floats(-1e3, 1e3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(0.0),
)
TIMES = st.one_of(st.floats(-1e3, 1e3), st.floats(1.7e9, 1.7e9 + 1e5), st.just(0.0))
SIGMAS = st.one_of(st.none(), st.floats(0.0, 1e3))
COORDINATES = st.one_of(st.floats(-1e2, 1e2), st.floats(-1e49, 1e49))


class AskTell(RuleBasedStateMachine):
    """Whatever is told in whatever order: finite points, budget kept, replay exact."""

    methods: tuple = ()

    @initialize(
        n=st.integers(1, 4),
        noise=st.one_of(st.none(), st.floats(0.0, 10.0)),
        timed=st.booleans(),
        data=st.data(),
    )
    def begin(self, n, noise, timed, data):
        self.n, self.timed = n, timed
        self.opt = Optimizer(
            np.zeros(n),
            method=data.draw(st.sampled_from(self.methods)),
            noise=noise,
            maxfev=MAXFEV,
            rng=0,
        )
        self.folder = tempfile.TemporaryDirectory()
        self.readings = 0

    def time(self, t):
        """Readings are either all timed or all numbered."""
        return float(t) if self.timed else None

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @precondition(lambda self: not self.opt.done)
    @rule(value=VALUES, t=TIMES, sigma=SIGMAS)
    def ask_and_tell(self, value, t, sigma):
        self.opt.tell(self.opt.ask(), value, t=self.time(t), sigma=sigma)
        self.readings += 1

    @precondition(lambda self: not self.opt.done)
    @rule(value=st.floats(-10, 10))
    def several_plausible_readings(self, value):
        for _ in range(2 * self.n + 1):
            if self.opt.done:
                return
            trial = self.opt.ask()
            reading = float(np.clip(trial.x @ trial.x, 0, 1e6)) + value
            self.opt.tell(trial, reading, t=self.time(self.readings))
            self.readings += 1

    @precondition(lambda self: not self.opt.done)
    @rule(bad=st.sampled_from([None, math.nan, math.inf, -math.inf]), t=TIMES)
    def fail(self, bad, t):
        trial = self.opt.ask()
        if bad is None:
            self.opt.tell_failed(trial, "no reading", t=self.time(t))
        else:
            self.opt.tell(trial, bad, t=self.time(t))
        self.readings += 1

    @rule(data=st.data(), value=st.floats(-1e100, 1e100), t=TIMES, sigma=SIGMAS)
    def tell_unasked(self, data, value, t, sigma):
        x = data.draw(st.lists(COORDINATES, min_size=self.n, max_size=self.n))
        self.opt.tell(x, value, t=self.time(t), sigma=sigma)
        self.readings += 1

    @precondition(lambda self: self.readings)
    @rule()
    def undo(self):
        self.opt.undo()
        self.readings -= 1

    @precondition(lambda self: not self.opt.done)
    @rule()
    def ask_only(self):
        self.opt.ask()

    @precondition(lambda self: not self.opt.done)
    @rule(k=st.integers(2, 12))
    def ask_several(self, k):
        before = [trial.id for trial in self.opt.pending]
        trials = self.opt.ask(k)
        assert len({trial.id for trial in trials}) == len(trials) <= k
        assert [trial.id for trial in trials][: len(before)] == before[:k]
        assert all(np.isfinite(trial.x).all() for trial in trials)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=st.one_of(VALUES, st.none()), t=TIMES)
    def tell_any_that_waits(self, data, value, t):
        trial = data.draw(st.sampled_from(self.opt.pending))
        if value is None:
            self.opt.tell_failed(trial, "no reading", t=self.time(t))
        else:
            self.opt.tell(trial, value, t=self.time(t))
        self.readings += 1

    @precondition(lambda self: not self.opt.done)
    @rule(k=st.integers(2, 6), turned=st.booleans())
    def several_plausible_at_once(self, k, turned):
        for trial in self.opt.ask(k)[:: -1 if turned else 1]:
            reading = float(np.clip(trial.x @ trial.x, 0, 1e6))
            self.opt.tell(trial, reading, t=self.time(self.readings))
            self.readings += 1

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data())
    def give_up(self, data):
        trial, nfev = data.draw(st.sampled_from(self.opt.pending)), self.opt.nfev
        self.opt.give_up(trial)
        assert trial.id not in [other.id for other in self.opt.pending]
        assert self.opt.nfev == nfev

    @rule()
    def save_and_load(self):
        path = Path(self.folder.name) / "run.json"
        self.opt.save(path)
        again = Optimizer.load(path)
        assert [t.id for t in again.pending] == [t.id for t in self.opt.pending]
        if not self.opt.done:
            for one, other in zip(again.ask(3), self.opt.ask(3), strict=True):
                assert (one.id, one.why) == (other.id, other.why)
                np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(again.result().x, self.opt.result().x)
        self.opt = again

    @invariant()
    def proposals_are_finite(self):
        if hasattr(self, "opt") and not self.opt.done:
            assert np.isfinite(self.opt.ask().x).all()

    @invariant()
    def budget_is_kept_and_nothing_is_lost(self):
        if hasattr(self, "opt"):
            assert self.opt.nfev + len(self.opt.pending) <= MAXFEV
            res = self.opt.result()
            assert len(res.history) == self.readings
            assert np.isfinite(res.x).all()


class PaperMachine(AskTell):
    methods = (
        Paper(),
        Paper(hessian="interpolated"),
        Paper(curvature_prior="carried"),
        Paper(curvature_kernel=False, time_degree=2),
        Paper(time_degree=0, sigma_rule="frozen"),
    )


class AdaptiveMachine(AskTell):
    methods = (Adaptive(),)


# Readings as large as 1e100 overflow in estimates that are reported, not acted upon.
_EXTREME = [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

TestPaper = PaperMachine.TestCase
TestPaper.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, phases=_PHASES
)
TestPaper.pytestmark = _EXTREME

TestAdaptive = AdaptiveMachine.TestCase
TestAdaptive.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, phases=_PHASES
)
TestAdaptive.pytestmark = _EXTREME
