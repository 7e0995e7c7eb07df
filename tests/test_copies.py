"""Copies of a running search: independent, in memory, the same points bit by bit."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import time

import numpy as np
import pytest

from test_optimizer import assert_same, reading
from tobyqa import Adaptive, Optimizer, Paper, Status
from tobyqa.journal import Journal

WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda opt: pickle.loads(pickle.dumps(opt)),
}


def run(method="adaptive", readings=12, **kwargs):
    """A search with all that can happen to one, and a pending trial."""
    opt = Optimizer(np.zeros(3), method=method, noise=0.01, rng=1, **kwargs)
    for k in range(readings):
        advance(opt, k)
    opt.ask()
    return opt


def advance(opt, k):
    trial = opt.ask()
    if k % 5 == 2:
        opt.tell(trial.x + 0.1, reading(trial.x + 0.1, k))  # nobody asked for it
    if k % 7 == 3:
        opt.tell(trial, 1e6)
        opt.undo()
    if k % 7 == 4:
        opt.tell_failed(opt.ask(), "door open")
    else:
        opt.tell(opt.ask(), reading(trial.x, k), sigma=0.02 if k % 3 == 0 else None)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("pending_is_overtaken", [False, True])
@pytest.mark.parametrize("readings", [0, 3, 7, 25])
@pytest.mark.parametrize(
    "method", [Paper(), Paper(hessian="interpolated"), Adaptive()], ids=str
)
def test_a_copy_proposes_the_same_points(method, readings, pending_is_overtaken, way):
    opt = run(method, readings, maxfev=60)
    if pending_is_overtaken:
        opt.tell([0.5, 0.5, 0.5], 1.0)
    again = way(opt)
    assert again.pending[0].id == opt.pending[0].id
    np.testing.assert_array_equal(again.pending[0].x, opt.pending[0].x)
    assert_same(opt.result(), again.result())
    for k in range(readings, readings + 10):
        np.testing.assert_array_equal(again.ask().x, opt.ask().x)
        advance(opt, k)
        advance(again, k)
    assert_same(opt.result(), again.result())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_and_its_original_go_their_own_ways(way):
    opt = run()
    untouched = run()
    again = way(opt)
    [trial] = opt.pending
    again.tell(trial, 7.0)  # the original's trial is the copy's as well
    again.stop()
    assert opt.status is Status.RUNNING
    assert opt.pending[0] is trial
    assert_same(opt.result(), untouched.result())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_never_writes_to_the_journal(tmp_path, way):
    path = tmp_path / "run.jsonl"
    with run(journal=path) as opt:
        before = path.read_bytes()
        again = way(opt)
        again.tell(again.ask(), 7.0)
        again.undo()
        again.stop()
        again.close()
        assert path.read_bytes() == before


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_death_of_a_copy_closes_nothing(tmp_path, way):
    """It once closed the original's file, whose number another file then had."""
    path, others = tmp_path / "run.jsonl", []
    with run(journal=path) as opt, run() as same:
        again = way(opt)
        again.tell(again.ask(), 7.0)
        del again
        gc.collect()
        try:
            for k in range(8):  # whatever number was free is taken by these
                file = tmp_path / f"other-{k}"
                others.append((os.open(file, os.O_RDWR | os.O_CREAT), file))
            for k in range(12, 20):
                advance(opt, k)
                advance(same, k)
        finally:
            for number, _ in others:
                os.close(number)
        assert all(file.read_bytes() == b"" for _, file in others)
        expected = opt.result()
        np.testing.assert_array_equal(opt.ask().x, same.ask().x)
    with Optimizer.resume(path) as resumed:
        assert_same(expected, resumed.result())
        np.testing.assert_array_equal(resumed.ask().x, same.ask().x)


def test_a_copy_of_a_closed_run_goes_on_in_memory(tmp_path):
    opt = run(journal=tmp_path / "run.jsonl")
    opt.close()
    again = copy.deepcopy(opt)
    again.tell(again.ask(), 1.0)
    assert again.nfev == opt.nfev + 1


def test_an_open_journal_cannot_be_copied(tmp_path):
    with Journal(tmp_path / "run.jsonl", {}) as journal:
        for way in (copy.copy, *WAYS.values()):
            with pytest.raises(TypeError, match="cannot be copied"):
                way(journal)


def test_a_copy_has_the_clock_and_does_not_look_at_it():
    ticks = itertools.count(100)
    opt = Optimizer([0.0], clock=lambda: float(next(ticks)))  # looks once
    again = copy.deepcopy(opt)
    for each in (opt, again):
        each.tell(each.ask(), 1.0)
    assert [float(o.result().history.t[0]) for o in (opt, again)] == [101.0, 102.0]
    stamped = pickle.loads(pickle.dumps(Optimizer([0.0], clock=time.time)))
    assert stamped.clock is time.time


def test_a_clock_that_cannot_be_copied_is_not_left_out():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Optimizer([0.0], clock=lambda: 1.0))
