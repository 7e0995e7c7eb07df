"""Replays: only when one is needed, once, and with a word if it takes long."""

from __future__ import annotations

import contextlib
import copy
import logging
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import journaled_run
from test_optimizer import assert_same
from tobyqa import Optimizer, Paper
from tobyqa.cli import main
from tobyqa.replay import replayed


@contextlib.contextmanager
def counted_replays():
    """A list with one entry for each replay from the beginning."""
    seen = []

    def profile(frame, event, _):
        if event == "call" and frame.f_code is replayed.__code__:
            seen.append(frame)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def begun(path=None, readings=9, **kwargs):
    opt = Optimizer([0.0, 0.0], noise=0.01, rng=1, journal=path, **kwargs)
    for k in range(readings):
        opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
    return opt


def test_a_run_that_goes_on_is_never_replayed(tmp_path):
    with counted_replays() as seen, begun(tmp_path / "run.jsonl") as opt:
        opt.tell([0.5, 0.5], 1.0)
        opt.tell_failed(opt.ask())
        opt.result()
        opt.save(tmp_path / "saved")
    assert not seen


@pytest.mark.parametrize(
    "use",
    [
        lambda opt: opt.ask(),
        lambda opt: opt.tell(opt.ask(), 1.0),
        lambda opt: opt.undo() or opt.ask(),
        lambda opt: opt.undo() or opt.undo() or opt.undo() or opt.result(),
        lambda opt: copy.deepcopy(opt).ask(),
    ],
    ids=["ask", "tell", "undo", "undo thrice", "copy"],
)
def test_a_run_from_a_file_is_replayed_once(tmp_path, use):
    begun(tmp_path / "run.jsonl").close()
    with counted_replays() as seen, Optimizer.resume(tmp_path / "run.jsonl") as opt:
        assert not seen  # not before it is needed
        assert (opt.nfev, opt.pending) == (9, [])
        use(opt)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "command", [["undo"], ["ask"], ["tell", "1.5"], ["status"], ["undo", "--json"]]
)
def test_a_command_replays_once(tmp_path, capsys, command):
    path = tmp_path / "run.jsonl"
    with begun(path) as opt:
        opt.ask()
    with counted_replays() as seen:
        assert main([command[0], str(path), *command[1:]]) == 0
    assert len(seen) == 1
    assert capsys.readouterr().out


def test_several_readings_are_withdrawn_as_if_they_had_never_been():
    opt, straight = begun(readings=12), begun(readings=7)
    for _ in range(5):
        opt.undo()
    for each in (opt, straight):
        each.tell(each.ask(), 3.0)
    assert_same(straight.result(), opt.result())
    np.testing.assert_array_equal(straight.ask().x, opt.ask().x)


@dataclass(frozen=True)
class Slow(Paper):
    """Method `paper`, at its leisure."""

    pause: ClassVar[float] = 0.0

    def absorb(self, state, observation):
        time.sleep(self.pause)
        return super().absorb(state, observation)


def test_a_long_replay_says_how_far_it_is(caplog):
    Slow.pause = 0.0
    opt = begun(readings=6, method=Slow())
    Slow.pause = 0.3
    opt.undo()
    with caplog.at_level(logging.INFO, logger="tobyqa"):
        opt.ask()
    assert "reopening the run: " in caplog.text
    assert " of 11 events" in caplog.text


def test_the_command_shows_notes_and_progress_and_then_is_quiet(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    begun(path).close()
    with path.open("ab") as file:
        file.write(b'{"event": "as')
    assert main(["status", str(path)]) == 0
    said = capsys.readouterr().err
    assert said == f"tobyqa: {path}: its last record is torn and left out\n"
    assert not logging.getLogger("tobyqa").handlers
    assert not logging.getLogger("tobyqa.replay").isEnabledFor(logging.INFO)
