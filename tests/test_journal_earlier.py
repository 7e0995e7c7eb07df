"""Files of earlier versions: without checksums, and as interrupts had spoilt them."""

from __future__ import annotations

import numpy as np
import pytest

from test_optimizer import assert_same, reading
from tobyqa import Optimizer
from tobyqa.journal import read
from tobyqa.lines import full, plain


def begun(readings=4):
    opt = Optimizer([0.5], method="paper", noise=0.01, rng=1)
    for k in range(readings):
        opt.tell(opt.ask(), reading(opt.ask().x, k))
    return opt


def spoilt(path, records):
    """A file as an earlier version wrote it: without checksums, some records twice."""
    header = {**full(begun(readings=0).setup), "format_version": 1}
    path.write_bytes(b"".join(plain(line) + b"\n" for line in [header, *records]))


def records_of(opt, path):
    opt.save(path)
    events = [e for e in read(path).events if e["event"] != "saved"]
    path.unlink()
    return events


def test_a_trial_told_twice_by_an_earlier_version_is_corrected(tmp_path, caplog):
    """Ctrl-C inside `tell` once led to two answers; the run went on with the last."""
    path = tmp_path / "run.jsonl"
    opt = begun()
    events = records_of(opt, path)
    first = {**events[-1], "value": 77.0}
    spoilt(path, [*events[:-1], first, events[-1]])
    again = Optimizer.load(path)
    assert_same(opt.result(), again.result())
    assert "trial 3 was answered twice, the second answer counts" in caplog.text
    with Optimizer.resume(path) as resumed:
        resumed.undo()
        assert [t.id for t in resumed.pending] == [3]
        resumed.tell(resumed.ask(), events[-1]["value"])
    assert_same(opt.result(), Optimizer.load(path).result())


def test_a_failure_after_the_reading_that_a_method_refused_opens(tmp_path, caplog):
    """`minimize` once took the method's error for the measurement's."""
    path = tmp_path / "run.jsonl"
    opt = begun()
    opt.tell_failed(opt.ask(), "LinAlgError")
    events = records_of(opt, path)
    refused = {"event": "tell", "id": 4, "x": None, "t": 4.0, "value": 1.0}
    spoilt(path, [*events[:-1], {**refused, "sigma": None}, events[-1]])
    again = Optimizer.load(path)
    assert_same(opt.result(), again.result())
    assert again.reasons[-1] == "LinAlgError"
    assert "trial 4 was answered twice" in caplog.text


def test_a_trial_asked_twice_by_an_earlier_version_is_one(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    opt = begun()
    events = records_of(opt, path)
    spoilt(path, [*events[:-1], events[-2], events[-1]])
    assert_same(opt.result(), Optimizer.load(path).result())
    assert "trial 3 was asked for twice" in caplog.text


def test_the_answer_of_a_withdrawn_trial_is_a_reading_nobody_asked_for(tmp_path):
    """An earlier version could be interrupted in `undo` and go on without it."""
    path = tmp_path / "run.jsonl"
    opt = begun()
    trial = opt.ask()
    asked = records_of(opt, path)
    answer = {"event": "tell", "id": 4, "x": None, "t": 4.0, "value": 7.0}
    spoilt(path, [*asked, {"event": "undo"}, answer])
    again = Optimizer.load(path)
    assert [t.id for t in again.pending] == [3]
    np.testing.assert_array_equal(again.result().history.x[-1], trial.x)
    assert not again.result().history.asked[-1]


def test_a_withdrawal_of_nothing_is_passed_over(tmp_path, caplog):
    path, opt = tmp_path / "run.jsonl", begun()
    spoilt(path, [{"event": "undo"}, *records_of(opt, path)])
    assert_same(opt.result(), Optimizer.load(path).result())
    assert "a reading was withdrawn where there was none" in caplog.text


def test_a_file_without_checksums_opens_with_a_note(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    opt = begun()
    spoilt(path, records_of(opt, path))
    assert_same(opt.result(), Optimizer.load(path).result())
    assert "9 of 9 lines carry no checksum" in caplog.text


def test_what_is_added_to_such_a_file_seals_all_of_it(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    spoilt(path, records_of(begun(), path))
    with Optimizer.resume(path) as opt:
        opt.tell(opt.ask(), 1.0)
    caplog.clear()
    assert Optimizer.load(path).nfev == 5
    assert "9 of 11 lines carry no checksum" in caplog.text
    data = path.read_bytes()
    for line in range(9):  # an altered number in any of the old lines
        lines = data.split(b"\n")
        lines[line] = lines[line].replace(b"0", b"1", 1)
        path.write_bytes(b"\n".join(lines))
        if path.read_bytes() != data:
            with pytest.raises(ValueError, match=r"line \d+"):
                Optimizer.load(path)
    path.write_bytes(data)
    assert Optimizer.load(path).nfev == 5
