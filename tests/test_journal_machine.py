"""A random walk with interrupts, errors of the method, undo and resume after each."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import tobyqa
from test_journal_interrupts import CALLS, interrupted_at
from test_optimizer import assert_same
from tobyqa import Optimizer

VALUES = st.integers(-1000, 1000).map(lambda k: k / 100)
STEPS = st.integers(1, 3000)


class Refused:
    """The reading that methods cannot take in."""

    value: ClassVar[float] = np.inf

    @classmethod
    def check(cls, observation):
        if observation is not None and observation.value == cls.value:
            raise np.linalg.LinAlgError("no luck")


@dataclass(frozen=True)
class Paper(tobyqa.Paper):
    """The method of that name, in files too; it refuses what it is told to."""

    def absorb(self, state, observation):
        Refused.check(observation)
        return super().absorb(state, observation)


@dataclass(frozen=True)
class Adaptive(tobyqa.Adaptive):
    """The same, of a method that is a generator: it is of no use once it has raised."""

    def begin(self, task):
        search = super().begin(task)
        standing = next(search)
        while True:
            observation = yield standing
            Refused.check(observation)
            standing = search.send(observation)


class Journaled(RuleBasedStateMachine):
    """Memory and file are one run, and only undo takes a reading away."""

    method: ClassVar[tobyqa.Paper | tobyqa.Adaptive]

    @initialize(noise=st.sampled_from([None, 0.01]))
    def begin(self, noise):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.jsonl"
        self.opt = Optimizer(
            [0.5], method=self.method, noise=noise, rng=0, journal=self.path
        )
        self.rows = 0

    def teardown(self):
        if hasattr(self, "folder"):
            self.opt.close()
            self.folder.cleanup()

    @precondition(lambda self: not self.opt.done)
    @rule(value=VALUES)
    def tell(self, value):
        self.opt.tell(self.opt.ask(), value)
        self.rows += 1

    @rule(value=VALUES)
    def tell_elsewhere(self, value):
        self.opt.tell([value], value)
        self.rows += 1

    @precondition(lambda self: not self.opt.done)
    @rule()
    def fail(self):
        self.opt.tell_failed(self.opt.ask(), "door open")
        self.rows += 1

    @precondition(lambda self: self.rows)
    @rule()
    def undo(self):
        self.opt.undo()
        self.rows -= 1

    @precondition(lambda self: not self.opt.done)
    @rule(call=st.sampled_from(sorted(CALLS)), step=STEPS)
    def interrupted(self, call, step):
        if call == "undo" and not self.rows:
            return
        with interrupted_at(step):
            CALLS[call](self.opt)
        change = {"ask": 0, "stop": 0, "undo": -1}.get(call, 1)
        rows = len(self.opt.result().history)
        assert rows in (self.rows, self.rows + change)
        self.rows = rows

    # A run from a file has the package's own method, which refuses nothing.
    @precondition(lambda self: not self.opt.done and self.opt.method is self.method)
    @rule(step=STEPS)
    def refused(self, step):
        """Also if the withdrawal of the reading is interrupted."""
        Refused.value = 11.0
        try:
            with interrupted_at(step), contextlib.suppress(np.linalg.LinAlgError):
                self.opt.tell(self.opt.ask(), 11.0)
            values = self.opt.result().history.value
            if len(values) > self.rows:
                assert values[-1] == 11.0
                self.opt.undo()
        finally:
            Refused.value = np.inf

    @rule()
    def resume(self):
        before = self.opt.result()
        has_ended = self.opt.done
        self.opt.close()
        self.opt = Optimizer.resume(self.path)
        after = self.opt.result()
        if not has_ended:
            assert_same(before, after)
        assert len(after.history) == self.rows

    @invariant()
    def file_and_memory_are_one_run(self):
        if hasattr(self, "opt"):
            again = Optimizer.load(self.path)
            assert len(self.opt.result().history) == self.rows
            assert again.status is self.opt.status
            assert_same(self.opt.result(), again.result())
            waiting = [[trial.id for trial in o.pending] for o in (again, self.opt)]
            assert waiting[0] == waiting[1]


class JournaledPaper(Journaled):
    method = Paper()


class JournaledAdaptive(Journaled):
    method = Adaptive()


TestJournaledPaper = JournaledPaper.TestCase
TestJournaledPaper.settings = settings(
    max_examples=50, stateful_step_count=15, deadline=None
)
TestJournaledAdaptive = JournaledAdaptive.TestCase
TestJournaledAdaptive.settings = settings(
    max_examples=30, stateful_step_count=15, deadline=None
)
