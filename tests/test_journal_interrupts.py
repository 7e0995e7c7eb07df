"""Interrupts at any moment: an event on the disk has happened, and happened once."""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tobyqa
from test_optimizer import assert_same, reading
from tobyqa import Adaptive, Optimizer, Paper, Status
from tobyqa.counting import counting
from tobyqa.journal import read

PACKAGE = str(Path(tobyqa.__file__).parent)
STRIDE = 11  # with 1 it takes minutes, and every instruction is hit
METHODS = str(Path(PACKAGE) / "methods")


@contextlib.contextmanager
def interrupted_at(step):
    """Ctrl-C at the `step`-th instruction of the package's own code; yields a count.

    What a method computes counts as one instruction per line.
    """
    seen = [0]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = not frame.f_code.co_filename.startswith(METHODS)
        if event in ("opcode", "line"):
            seen[0] += 1
            if seen[0] == step:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield seen
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


def begun(path, method="paper", readings=4):
    opt = Optimizer([0.5], method=method, noise=0.01, rng=1, journal=path)
    for k in range(readings):
        opt.tell(opt.ask(), reading(opt.ask().x, k))
    return opt


CALLS = {
    "ask": lambda opt: opt.ask(),
    "tell": lambda opt: opt.tell(opt.ask(), 0.5),
    "tell elsewhere": lambda opt: opt.tell([3.0], 0.5),
    "tell_failed": lambda opt: opt.tell_failed(opt.ask(), "oops"),
    "stop": lambda opt: opt.stop(),
    "undo": lambda opt: opt.undo(),
}
LOOKS = {
    "result": lambda opt: len(opt.result().history),
    "status": lambda opt: opt.status,
    "pending": lambda opt: [trial.id for trial in opt.pending],
    "reasons": lambda opt: len(opt.reasons),
    "nfev": lambda opt: opt.nfev,
}


def assert_whole(opt, path, tmp_path):
    """What is in memory, on the disk and in a copy is one run, and goes on as one."""
    counts = {name: look(opt) for name, look in LOOKS.items()}
    again = Optimizer.load(path)
    assert counts == {name: look(again) for name, look in LOOKS.items()}
    assert_same(opt.result(), again.result())
    opt.save(tmp_path / "saved")
    assert_same(opt.result(), Optimizer.load(tmp_path / "saved").result())
    if opt.done:
        return
    np.testing.assert_array_equal(opt.ask().x, again.ask().x)
    for each in (opt, again):
        each.tell(each.ask(), 0.25)
    assert_same(opt.result(), again.result())
    told = [e["id"] for e in counting(read(path).events) if e["event"] == "tell"]
    trials = [trial for trial in told if trial is not None]
    assert len(trials) == len(set(trials))


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_at_any_instruction_leaves_a_whole_run(tmp_path, call):
    """Whatever is called next makes the run whole, a look at it included."""
    path, step, looks = tmp_path / "run.jsonl", 1, itertools.cycle(LOOKS.values())
    while True:
        with begun(path) as opt:
            before = len(opt.result().history)
            with interrupted_at(step) as seen:
                CALLS[call](opt)
            next(looks)(opt)
            change = {"ask": 0, "stop": 0, "undo": -1}.get(call, 1)
            assert len(opt.result().history) in (before, before + change)
            assert_whole(opt, path, tmp_path)
        path.unlink()
        if seen[0] < step:
            break
        step += STRIDE
    assert step > 100


# An interrupt between a file's opening and the next instruction leaves it to Python.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("method", [Paper(), Adaptive()], ids=["paper", "adaptive"])
def test_real_signals_at_random_moments_inside_tell(tmp_path, method):
    """SIGALRM from the system's timer, which comes as Ctrl-C does."""
    rng, hits, runs = random.Random(1), 0, 0

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        while hits < 40:
            runs += 1
            path = tmp_path / f"run-{runs}.jsonl"
            with Optimizer([0.5, 0.1], method=method, noise=0.01, journal=path) as opt:
                hits += interrupted_often(opt, rng)
                assert_whole(opt, path, tmp_path)
    finally:
        signal.signal(signal.SIGALRM, previous)
        gc.collect()  # what was left is closed here, and not in another test


def interrupted_often(opt, rng):
    """Some readings under fire; how many interrupts there were."""
    hits = 0
    for k in range(40):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-3))
            if not opt.done:
                opt.tell(opt.ask(), reading(np.ones(2), k))
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return hits


def test_minimize_interrupted_inside_tell_can_be_continued(tmp_path):
    """The whole loop as a user has it: stopped by Ctrl-C, called again, done."""
    path, kwargs = tmp_path / "run.jsonl", {"noise": 0.0, "maxfev": 12, "rng": 0}

    def fun(x):
        return float(np.sum((x - 1) ** 2))

    plain = tobyqa.minimize(fun, [0.0], method="paper", **kwargs)
    for step in range(2000, 9000, 1000):
        with interrupted_at(step):
            tobyqa.minimize(fun, [0.0], method="paper", journal=path, **kwargs)
        assert_same(
            plain, tobyqa.minimize(fun, [0.0], method="paper", journal=path, **kwargs)
        )
        path.unlink()


@dataclass(frozen=True)
class Fragile(Paper):
    """Method `paper` that cannot take in large readings."""

    limit: ClassVar[float]

    def absorb(self, state, observation):
        if observation.value > self.limit:
            raise np.linalg.LinAlgError("no luck")
        return super().absorb(state, observation)


def test_a_reading_that_no_replay_can_take_in_is_left_out(tmp_path, caplog):
    """As if its withdrawal had not been written, or another version had taken it in."""
    path = tmp_path / "run.jsonl"
    Fragile.limit = 1e9
    opt = Optimizer([0.0, 0.0], method=Fragile(), noise=0.01)
    for value in (1.0, 2.0, 3.0, 1e6, 4.0):
        opt.tell(opt.ask(), value)
    Fragile.limit = 1e3
    opt.undo()
    opt.tell(opt.ask(), 5.0)
    assert opt.nfev == len(opt.result().history) == 5
    assert "cannot take in the reading of trial 3" in caplog.text
    assert opt.result().history.value[3] == 1e6
    assert opt.ask().id == 5
    trial = opt.ask()
    with pytest.raises(np.linalg.LinAlgError):
        opt.tell(trial, 1e7)
    assert [t.id for t in opt.pending] == [trial.id] == [5]
    opt.save(path)
    assert [e["event"] for e in read(path).events][-3:] == ["tell", "undo", "saved"]


def test_a_stop_that_was_interrupted_has_happened_or_not(tmp_path):
    path = tmp_path / "run.jsonl"
    seen_stopped = set()
    for step in range(1, 900, 30):
        with begun(path, readings=2) as opt:
            with interrupted_at(step):
                opt.stop()
            stops = [e["event"] for e in read(path).events].count("stop")
            assert (opt.status is Status.STOPPED) == (stops == 1)
            seen_stopped.add(stops)
        path.unlink()
    assert seen_stopped == {0, 1}
