"""A random walk with all changes that a running search allows, undone and reopened."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from test_optimizer import assert_same
from tobyqa import Optimizer

LOW, HIGH = np.array([280.0, 0.0, -30.0]), np.array([320.0, 2.0, 30.0])
SCALE = HIGH - LOW
BEST = np.array([304.0, 0.7, 5.0])
SAFE = [303.0, 0.8, 0.0]
LIMIT = 3.0
NAMES = ["temp", "gap", "angle"]
VALUES = {
    "temp": st.sampled_from([300.0, 310.0, 304.5]),
    "gap": st.sampled_from([0.5, 1.0]),
    "angle": st.sampled_from([-10.0, 0.0]),
}


def bowl(x):
    u = (x - BEST) / SCALE * 8
    return float(u @ u)


class Changing(RuleBasedStateMachine):
    """Whatever is changed: what is promised holds, and memory and file are one run."""

    arguments: tuple = ()

    @initialize(data=st.data())
    def begin(self, data):
        self.said = data.draw(st.sampled_from(self.arguments))
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.jsonl"
        self.opt = Optimizer(
            [300.0, 1.0, 10.0],
            names=NAMES,
            bounds=list(zip(LOW, HIGH, strict=True)),
            maxfev=25,
            rng=0,
            max_failures=1000,
            journal=self.path,
            **self.said,
        )
        self.log = []  # what has happened and was not undone
        self.last = None  # the latest point asked for, unless something was undone

    def teardown(self):
        if hasattr(self, "folder"):
            self.opt.close()
            self.folder.cleanup()

    # -- what is known without the package -------------------------------------------

    @property
    def fixed(self):
        fixed = {}
        for kind, what in self.log:
            if kind == "fix":
                fixed |= what
            elif kind == "free":
                del fixed[what]
        return fixed

    @property
    def is_moved_slowly(self):
        return "max_move" in self.said

    def sign(self, value):
        return -value if self.said.get("maximize") else value

    @property
    def beyond(self):
        return [x for x, value in self.rows() if value > LIMIT]

    def rows(self):
        """Points and values as they are known by now; NaN where there is none."""
        rows = []
        for kind, what in self.log:
            if kind in ("tell", "fail"):
                rows.append(what or (None, np.nan))
            elif kind == "amend":
                row, value = what
                rows[row] = (rows[row][0], value)
        return rows

    def known(self):
        return [k for k, (_, value) in enumerate(self.rows()) if value == value]

    # -- what is done ----------------------------------------------------------------

    def ask(self):
        is_new = not self.opt.pending
        trial = self.opt.ask()
        if is_new:
            self.check(trial.x)
            self.last = trial.x
        return trial

    @precondition(lambda self: not self.opt.done)
    @rule()
    def ask_only(self):
        self.ask()

    @precondition(lambda self: not self.opt.done)
    @rule(times=st.sampled_from([1, 9]))
    def tell(self, times):
        for _ in range(times):
            if not self.opt.done:
                trial = self.ask()
                value = bowl(trial.x) + 0.01 * len(self.log)
                self.opt.tell(trial, self.sign(value))
                self.log.append(("tell", (trial.x, value)))

    @precondition(lambda self: not self.opt.done)
    @rule(k=st.integers(2, 4), order=st.randoms(use_true_random=False))
    def tell_several(self, k, order):
        """Out at the same time, told in any order."""
        waiting = self.opt.pending
        trials = self.opt.ask(k)
        for trial in trials:
            if trial not in waiting:
                self.check(trial.x)
                self.last = trial.x
        order.shuffle(trials)
        for trial in trials:
            value = bowl(trial.x) + 0.01 * len(self.log)
            self.opt.tell(trial, self.sign(value))
            self.log.append(("tell", (trial.x, value)))

    @rule(u=st.lists(st.floats(0, 1), min_size=3, max_size=3))
    def tell_elsewhere(self, u):
        x = LOW + np.array(u) * SCALE
        self.opt.tell(x, self.sign(bowl(x)))
        self.log.append(("tell", (x, bowl(x))))

    @precondition(lambda self: not self.opt.done)
    @rule()
    def fail(self):
        self.opt.tell_failed(self.ask(), "door open")
        self.log.append(("fail", None))

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def fix(self, data, name):
        value = data.draw(VALUES[name])
        if len({*self.fixed, name}) == len(NAMES):
            with pytest.raises(ValueError, match="leaves nothing to search"):
                self.opt.fix({name: value})
            return
        self.opt.fix({name: value})
        self.log.append(("fix", {name: value}))

    @precondition(lambda self: self.fixed)
    @rule(data=st.data())
    def free(self, data):
        name = data.draw(st.sampled_from(sorted(self.fixed)))
        self.opt.free(name)
        self.log.append(("free", name))

    @rule(noise=st.sampled_from([0.0, 0.01, 0.3]))
    def state_the_noise(self, noise):
        self.opt.set(noise=noise)
        self.log.append(("set", noise))

    @precondition(lambda self: self.known())
    @rule(data=st.data(), value=st.sampled_from([0.5, 2.0, 40.0, None]))
    def amend(self, data, value):
        row = data.draw(st.sampled_from(self.known()))
        if value is None:
            self.opt.withdraw(row)
        else:
            self.opt.correct(row, self.sign(value))
        self.log.append(("amend", (row, np.nan if value is None else value)))

    @rule(more=st.integers(1, 5))
    def extend(self, more):
        self.opt.extend(self.opt.maxfev + more)
        self.log.append(("extend", self.opt.maxfev))

    @precondition(lambda self: self.log)
    @rule()
    def undo(self):
        self.opt.undo()
        self.log.pop()
        self.last = None

    @rule(crash=st.booleans())
    def reopen(self, crash):
        """Bit by bit the run that was left, saved or not."""
        before = None if self.opt.done else self.ask().x
        result = self.opt.result()
        if crash:
            loaded = Optimizer.load(self.path)
            assert_same(loaded.result(), result)
            self.opt.close()
            self.opt = Optimizer.resume(self.path)
        else:
            self.opt.close()
            self.opt = Optimizer.resume(self.path)
            assert_same(self.opt.result(), result)
        if before is not None:
            np.testing.assert_array_equal(self.opt.ask().x, before)

    # -- what is promised ------------------------------------------------------------

    def check(self, x):
        assert (LOW <= x).all()
        assert (x <= HIGH).all()
        if "constraints" in self.said:
            assert x[1] + x[2] / 20 <= 2.0
        for name, value in self.fixed.items():
            # With a largest move it may still be on its way there.
            assert x[NAMES.index(name)] == value or self.is_moved_slowly
        for i, step in enumerate(self.said.get("resolution", [])):
            if NAMES[i] not in self.fixed:
                assert x[i] == float(f"{round(x[i] / step) * step:.15g}")
        if self.is_moved_slowly and self.last is not None:
            most = np.array(self.said["max_move"])
            assert (np.abs(x - self.last) <= most * (1 + 1e-9)).all()
        if "limit" in self.said and not self.is_moved_slowly:
            self.check_safety(x)

    def check_safety(self, x):
        safe = np.array(
            [self.fixed.get(n, v) for n, v in zip(NAMES, SAFE, strict=True)]
        )
        read = [value for x, value in self.rows() if x is not None]
        if read and read[-1] > LIMIT:
            np.testing.assert_array_equal(x, safe)
        for bad in self.beyond:
            to_safe, to_bad = (np.linalg.norm((x - y) / SCALE) for y in (safe, bad))
            assert to_safe <= to_bad + 1e-9 or np.allclose(bad, safe)

    @invariant()
    def the_books_are_right(self):
        if hasattr(self, "opt"):
            assert self.opt.fixed == self.fixed
            assert self.opt.nfev <= self.opt.maxfev
            rows = [e for e in self.log if e[0] in ("tell", "fail")]
            assert len(self.opt._log.course.rows) == len(rows)
            seen = [self.sign(row.seen.value) for row in self.opt._log.course.rows]
            np.testing.assert_array_equal(seen, [value for _, value in self.rows()])


SLOW = [4.0, 0.25, 7.0]
KINDS = (
    {},
    {"constraints": "gap + 0.05*angle <= 2"},
    {"resolution": [0.5, 0.05, 1.0]},
    {"max_move": SLOW},
    {"max_move": SLOW, "resolution": [0.5, 0.05, 1.0]},
    {"max_move": SLOW, "constraints": "gap + 0.05*angle <= 2", "noise": 0.01},
    {"safe": SAFE, "limit": LIMIT},
    {"safe": SAFE, "limit": LIMIT, "max_move": SLOW},
    {"safe": SAFE, "limit": -LIMIT, "maximize": True},
)


class PaperMachine(Changing):
    arguments = tuple({"method": "paper", **kind} for kind in KINDS)


class AdaptiveMachine(Changing):
    arguments = (*KINDS, {"restarts": True}, {"restarts": True, "max_move": SLOW})


TestPaper = PaperMachine.TestCase
TestPaper.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)

TestAdaptive = AdaptiveMachine.TestCase
TestAdaptive.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
