"""The journal: nothing measured is lost, and a replay is the run itself."""

from __future__ import annotations

import errno
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import journaled_run
import tobyqa
from test_optimizer import assert_same
from tobyqa import Optimizer, Status
from tobyqa.journal import JournalError, read


def begun(path, readings=8, **kwargs):
    """A journaled search with some readings and a pending trial, closed."""
    with Optimizer([0.0, 0.0], noise=0.01, rng=1, journal=path, **kwargs) as opt:
        for k in range(readings):
            opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
        opt.ask()
        return opt.result()


def test_killed_at_any_moment_and_resumed_equals_the_uninterrupted_run(tmp_path):
    straight = journaled_run.run(tmp_path / "straight.jsonl", tmp_path / "calls.txt")
    path, calls = tmp_path / "run.jsonl", tmp_path / "killed-calls.txt"
    script = Path(journaled_run.__file__)
    kills = 0
    for attempt in range(200):
        process = subprocess.Popen([sys.executable, script, path, calls])
        seen = len(calls.read_text().split()) if calls.exists() else 0
        deadline = time.monotonic() + 60
        # Let it make some progress, then kill it wherever it happens to be.
        while process.poll() is None and time.monotonic() < deadline:
            now = len(calls.read_text().split()) if calls.exists() else 0
            if now >= seen + 8:
                time.sleep(0.003 * (attempt % 4))
                process.send_signal(signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
                break
            time.sleep(0.001)
        if process.returncode == 0:
            break
    assert kills >= 4
    assert_same(straight, Optimizer.load(path).result())
    asked = [int(line) for line in calls.read_text().split()]
    assert sorted(set(asked)) == list(range(60))
    # Only what was in flight when it died may have been measured twice.
    assert len(asked) - 60 <= kills


def test_a_torn_last_record_is_dropped_at_every_byte(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path)
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    torn = tmp_path / "torn.jsonl"
    for cut in range(last, len(data) + 1):
        torn.write_bytes(data[:cut])
        log = read(torn)
        is_whole = cut >= len(data) - 1  # only the line end may be missing
        assert len(log.events) == (17 if is_whole else 16)
        assert bool(log.torn) == (last < cut < len(data) - 1)
        with Optimizer.resume(torn) as opt:
            assert opt.nfev == 8
            opt.tell(opt.ask(), 1.0)
        assert Optimizer.load(torn).nfev == 9  # repaired: nothing torn in the middle


def test_a_torn_header_is_no_run(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path)
    header = path.read_bytes().partition(b"\n")[0]
    path.write_bytes(header[: len(header) // 2])
    with pytest.raises(ValueError, match="line 1 is corrupt"):
        Optimizer.resume(path)
    begun(path)  # a crash before the first event: begin again
    assert Optimizer.load(path).nfev == 8


@pytest.mark.parametrize("damage", [b"\x00\xff", b"{}", b"[]", b""])
def test_a_corrupt_earlier_record_is_an_error_that_names_the_line(tmp_path, damage):
    path = tmp_path / "run.jsonl"
    begun(path)
    lines = path.read_bytes().split(b"\n")
    lines[4] = damage
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match="line 5 is corrupt"):
        Optimizer.resume(path)


def test_reopening_keeps_the_pending_trial_and_every_bit(tmp_path):
    path = tmp_path / "run.jsonl"
    before = begun(path)
    with Optimizer.resume(path) as opt:
        assert_same(before, opt.result())
        pending = json.loads(path.read_text().splitlines()[-1])
        assert opt.ask().id == pending["id"] == 8
        np.testing.assert_array_equal(opt.ask().x, pending["x"])
    assert len(path.read_text().splitlines()) == 18  # asking again wrote nothing


def test_two_processes_cannot_run_one_journal(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path)
    code = "import sys, tobyqa; tobyqa.Optimizer.resume(sys.argv[1])"
    command = [sys.executable, "-c", code, str(path)]
    with Optimizer.resume(path):
        second = subprocess.run(command, capture_output=True, text=True)
        assert "another process is running this journal" in second.stderr
        with pytest.raises(JournalError, match="another process"):
            Optimizer.resume(path)
        assert Optimizer.load(path).nfev == 8  # looking is allowed
    assert subprocess.run(command).returncode == 0


def test_the_lock_dies_with_its_process(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path)
    code = (
        "import sys, time, tobyqa; opt = tobyqa.Optimizer.resume(sys.argv[1]);"
        "print('open', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    Optimizer.resume(path).close()


def test_an_existing_run_is_not_overwritten(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match="continue it with"):
        Optimizer([0.0], journal=path)
    assert path.read_bytes() == before


def test_another_file_is_not_overwritten(tmp_path):
    path = tmp_path / "precious.json"
    path.write_text('{"precious": 1}')
    with pytest.raises(JournalError, match="no journal"):
        Optimizer([0.0], journal=path)
    assert path.read_text() == '{"precious": 1}'


def test_saving_into_the_own_journal_changes_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer([0.0, 0.0], noise=0.01, journal=path) as opt:
        for k in range(8):
            opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
            opt.save(path)
    assert Optimizer.load(path).nfev == 8


def test_a_run_ended_by_failures_can_be_continued(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer([0.0], journal=path, max_failures=2) as opt:
        for _ in range(2):
            opt.tell_failed(opt.ask(), "beam lost")
        assert opt.status is Status.FAILURES
    with Optimizer.resume(path) as opt:
        opt.tell(opt.ask(), 1.0)
        assert not opt.done


def test_disk_full_loses_nothing_and_the_run_goes_on(tmp_path):
    """A real limit on the size of files: the write fails half-way."""
    path = tmp_path / "run.jsonl"
    begun(path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Optimizer.resume(path) as opt:
            trial = opt.ask()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
            with pytest.raises(JournalError, match="cannot write") as caught:
                opt.tell(trial, 1.0)
            assert caught.value.errno == errno.EFBIG
            assert path.read_bytes() == before
            assert opt.nfev == 8
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            opt.tell(trial, 1.0)  # the same call again, now that there is room
            expected = opt.result()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert_same(expected, Optimizer.load(path).result())


def test_minimize_continues_its_journal(tmp_path):
    path = tmp_path / "run.jsonl"
    calls = []

    def fun(x):
        calls.append(0)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return float(np.sum((x - 1) ** 2))

    kwargs = {"noise": 0.0, "maxfev": 40, "rng": 0, "journal": path}
    stopped = tobyqa.minimize(fun, np.zeros(3), **kwargs)
    assert (stopped.status, stopped.nfev) == (Status.STOPPED.code, 19)
    res = tobyqa.minimize(fun, np.zeros(3), **kwargs)
    assert (res.status, res.nfev, len(calls)) == (Status.MAXFEV.code, 40, 41)
    plain = tobyqa.minimize(
        lambda x: float(np.sum((x - 1) ** 2)), np.zeros(3), noise=0.0, maxfev=40, rng=0
    )
    assert_same(plain, res)
    again = tobyqa.minimize(fun, np.zeros(3), **kwargs)  # nothing left to do
    assert len(calls) == 41
    assert_same(again, res)
    more = tobyqa.minimize(fun, np.zeros(3), **{**kwargs, "maxfev": 50})
    assert more.nfev == 50


def test_another_problem_in_the_file_is_an_error_that_says_what_differs(tmp_path):
    path = tmp_path / "run.jsonl"
    tobyqa.minimize(np.sum, [0.0, 0.0], noise=0.1, maxfev=6, journal=path)
    for change, text in [
        ({"x0": [0.0, 1.0]}, r"x0: \[0.0, 0.0\] in the file, \[0.0, 1.0\] now"),
        ({"noise": 0.2}, "noise: 0.1 in the file, 0.2 now"),
        ({"options": {"window": 99}}, "settings"),
        ({"initial_radius": 3.0}, "initial_radius: None in the file, 3.0 now"),
    ]:
        with pytest.raises(ValueError, match=text):
            tobyqa.minimize(
                np.sum,
                **{"x0": [0.0, 0.0], "noise": 0.1, "journal": path, **change},
            )


def test_undo_withdraws_the_latest_reading(tmp_path):
    path = tmp_path / "run.jsonl"
    straight = Optimizer([0.0, 0.0], noise=0.01, rng=1)
    with Optimizer([0.0, 0.0], noise=0.01, rng=1, journal=path) as opt:
        with pytest.raises(ValueError, match="no reading to withdraw"):
            opt.undo()
        for k in range(12):
            wrong = opt.ask()
            opt.tell(wrong, 1e6)  # mistyped
            if k % 2:
                opt.ask()  # even if the next trial was already on its way
            opt.undo()
            assert opt.ask().id == wrong.id
            np.testing.assert_array_equal(opt.ask().x, wrong.x)
            value = journaled_run.reading(wrong.x, k)
            opt.tell(opt.ask(), value)
            straight.tell(straight.ask(), value)
        opt.tell([1.0, 1.0], 5.0)
        opt.tell_failed(opt.ask(), "oops")
        opt.undo()
        opt.undo()
        straight.ask()
        assert_same(straight.result(), opt.result())
    assert_same(straight.result(), Optimizer.load(path).result())
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert events.count("undo") == 14  # withdrawn by a record, never by editing


def test_undo_lifts_the_end_that_the_reading_brought():
    opt = Optimizer([0.0], maxfev=4)
    for value in (1.0, 2.0, 3.0, 1.0):
        opt.tell(opt.ask(), value)
    assert opt.status is Status.MAXFEV
    opt.undo()
    assert not opt.done


def test_the_header_says_what_was_begun(tmp_path):
    path = tmp_path / "run.jsonl"
    begun(path, names=["current", "gap"], units=["A", "mm"], maxfev=99)
    header = read(path).header
    assert header["names"] == ["current", "gap"]
    assert header["units"] == ["A", "mm"]
    assert header["package_version"] == tobyqa.__version__
    assert header["settings"]["radius"] == 2.0
    assert {"format_version", "x0", "bounds", "maxfev", "seed"} <= header.keys()
    for bad in (["a"], ["a", "a"], ["a", ""], "ab", [1, 2]):
        with pytest.raises((TypeError, ValueError), match="names"):
            Optimizer([0.0, 0.0], names=bad)


def test_a_closed_journal_takes_no_more(tmp_path):
    opt = Optimizer([0.0], journal=tmp_path / "run.jsonl")
    opt.close()
    with pytest.raises(JournalError, match="the journal is closed"):
        opt.ask()
    opt.close()  # twice does no harm
