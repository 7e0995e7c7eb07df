"""Changes of a running search: each an event, taken up at once, withdrawn by undo."""

from __future__ import annotations

import copy
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import changing_run
from test_journal_interrupts import interrupted_at
from test_optimizer import assert_same
from tobyqa import Adaptive, Optimizer, Paper, Status
from tobyqa.cli import main
from tobyqa.journal import read

METHODS = [Adaptive(), Paper()]
KNOBS = {
    "names": ["temp", "gap"],
    "bounds": [(280, 320), (0, 2)],
    "maxfev": 60,
    "rng": 1,
}


def bowl(x, k):
    """Correlated, so that the best gap depends on where the temperature stays."""
    u, v = (x[0] - 305) / 4, (x[1] - 0.7) / 0.2
    return u * u + v * v + u * v + 0.02 * k


def begun(readings=0, path=None, **kwargs):
    opt = Optimizer([310.0, 1.0], **{**KNOBS, **kwargs}, journal=path)
    go_on(opt, readings)
    return opt


def go_on(opt, readings):
    """So many further readings, and where they were asked for."""
    points = []
    for _ in range(readings):
        if opt.done:  # `paper` ends where it sees no slope any more
            break
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x, opt._log.books.rows))
        points.append(trial.x)
    return points


def test_a_fixed_variable_stays_in_the_model_and_needs_no_new_probe():
    opt = begun(20)
    opt.fix(temp=301)
    points = go_on(opt, 4)
    res = opt.result()
    assert [x[0] for x in points] == [301.0] * 4
    assert res.x[0] == 301.0
    # Its slope across is known from readings that the fixed value forbids now.
    assert res.x[1] == pytest.approx(0.7 + 0.2 * 0.5, abs=0.01)
    assert res.x_std[0] == 0.0
    opt.free("temp")
    go_on(opt, 3)
    assert (np.abs(opt.result().x - [305, 0.7]) < [0.2, 0.01]).all()


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("restarts", [False, True])
def test_fixed_before_there_is_a_model_is_fixed_from_the_start(method, restarts):
    kwargs = {"method": method, "restarts": restarts}
    late, early = begun(**kwargs), begun(fixed={"temp": 300}, **kwargs)
    late.fix({"temp": 300})
    np.testing.assert_array_equal(go_on(late, 25), go_on(early, 25))
    assert late.fixed == early.fixed == {"temp": 300.0}


def test_readings_at_the_fixed_value_are_known_to_the_search_of_the_others():
    opt = begun(1)
    opt.fix(temp=310)
    other = Optimizer.from_data(
        [[310.0, 1.0]], None, [bowl([310.0, 1.0], 0)], fixed={"temp": 310}, **KNOBS
    )
    np.testing.assert_array_equal(go_on(opt, 12), go_on(other, 12))


@pytest.mark.parametrize("readings", [0, 1, 3])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_noise_stated_before_there_is_a_model_is_stated_from_the_start(
    method, readings
):
    late = begun(readings, method=method)
    early = begun(readings, method=method, noise=0.1)
    late.set(noise=0.1)
    np.testing.assert_array_equal(go_on(late, 25), go_on(early, 25))
    assert_same(late.result(), early.result())


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_noise_stated_later_is_the_noise(method):
    opt = begun(method=method)
    rng = np.random.default_rng(0)
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x, opt.nfev) + 0.1 * rng.normal())
    opt.set(noise=0.1)
    assert opt.result().noise_std == pytest.approx(0.1, rel=0.5)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_an_extended_run_is_one_with_more_from_the_start(method):
    short, long = begun(12, method=method, maxfev=12), begun(12, method=method)
    if short.status is Status.MAXFEV:
        with pytest.raises(RuntimeError, match="maxfev"):
            short.ask()
    short.extend(60)
    assert (short.maxfev, short.done) == (60, long.done)
    while not long.done:
        np.testing.assert_array_equal(go_on(short, 1), go_on(long, 1))
    assert_same(short.result(), long.result())


def test_a_trial_that_waits_elsewhere_is_given_up_and_not_counted():
    opt = begun(3)
    trial = opt.ask()
    opt.fix(temp=300)
    assert not opt.pending
    with pytest.raises(ValueError, match="not waiting"):
        opt.tell(trial, 1.0)
    assert opt.ask().id == trial.id + 1
    assert opt.ask().x[0] == 300.0
    assert opt.nfev == 3
    opt.free("temp")
    assert opt.pending[0].x[0] == 300.0  # it can still be answered
    opt.tell(opt.pending[0], 1.0)
    assert opt.nfev == 4


def test_changes_are_withdrawn_in_order():
    opt = begun(8)
    results = [opt.result()]
    changes = [
        lambda: opt.fix(temp=300),
        lambda: opt.set(noise=0.1),
        lambda: go_on(opt, 1),
        lambda: opt.fix(temp=302),
        lambda: opt.free("temp"),
        lambda: opt.extend(100),
    ]
    facts = [(dict(opt.fixed), opt.maxfev)]
    for change in changes:
        change()
        results.append(opt.result())
        facts.append((dict(opt.fixed), opt.maxfev))
    for result, fact in list(zip(results, facts, strict=True))[-2::-1]:
        opt.undo()
        assert_same(opt.result(), result)
        assert (opt.fixed, opt.maxfev) == fact
    assert_same(opt.result(), begun(8).result())


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_copies_and_files_have_the_changes(method, tmp_path):
    opt = begun(9, tmp_path / "run.jsonl", method=method)
    opt.fix(gap=0.5)
    opt.set(noise=0.01)
    go_on(opt, 3)
    opt.free("gap")
    opt.extend(70)
    copies = [copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    opt.save(tmp_path / "saved")
    copies.append(Optimizer.load(tmp_path / "saved"))
    opt.close()
    with Optimizer.resume(tmp_path / "run.jsonl") as again:
        for other in (*copies, again):
            assert_same(other.result(), opt.result())
            assert (other.maxfev, other.fixed) == (70, {})
            np.testing.assert_array_equal(other.ask().x, copies[0].ask().x)
    kinds = [e["event"] for e in read(tmp_path / "run.jsonl").events]
    assert [k for k in kinds if k not in ("ask", "tell")] == [
        *("fix", "set", "free", "extend")
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda opt: opt.fix(temp=500), "within its bounds, 280 to 320, but is 500"),
        (lambda opt: opt.fix(tmp=300), "'tmp', which is no variable; they are temp"),
        (lambda opt: opt.fix(temp=300, gap=1), "nothing to search"),
        (lambda opt: opt.fix(temp="hot"), "temp must be"),
        (lambda opt: opt.fix(3.0), "values must map names to numbers, but is 3.0"),
        (lambda opt: opt.fix(), "needs a variable"),
        (lambda opt: opt.fix(gap=1.9), "no point within the constraints has gap=1.9"),
        (lambda opt: opt.free("temp"), "temp is not one that was fixed"),
        (lambda opt: opt.free(), "needs the name"),
        (lambda opt: opt.extend(60), "more than the 60 trials"),
        (lambda opt: opt.extend(60.5), "maxfev"),
        (lambda opt: opt.set(noise=-1), "noise must be"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(change, complaint):
    opt = begun(7, constraints="100*gap <= temp - 140")
    before, point = opt.result(), opt.ask().x
    with pytest.raises((ValueError, TypeError), match=complaint):
        change(opt)
    assert_same(opt.result(), before)
    np.testing.assert_array_equal(opt.ask().x, point)
    assert opt.fixed == {}


def test_what_never_was_searched_cannot_be_fixed_or_freed():
    opt = Optimizer([1.0, 2.0, 3.0], fixed={"x0": 1.5})
    assert opt.fixed == {"x0": 1.5}
    with pytest.raises(ValueError, match="x0 has been fixed since the search began"):
        opt.fix(x0=1.0)
    with pytest.raises(ValueError, match="x0 is not one that was fixed"):
        opt.free("x0")
    with pytest.raises(ValueError, match="no limit"):
        opt.extend(100)


def test_an_interrupted_change_has_happened_or_not(tmp_path):
    step, outcomes = 1, set()
    while True:
        path = tmp_path / f"{step}.jsonl"
        opt = begun(7, path, method="paper")
        opt.ask()
        with interrupted_at(step) as seen:
            opt.fix(temp=300)
        with Optimizer.load(path) as again:
            assert again.fixed == opt.fixed
            assert_same(again.result(), opt.result())
            np.testing.assert_array_equal(again.ask().x, opt.ask().x)
        opt.close()
        outcomes.add(bool(opt.fixed))
        if seen[0] < step:
            break
        step += 293
    assert outcomes == {True, False}


def test_changes_survive_kills(tmp_path):
    """As the same run without them, changes included."""
    straight = changing_run.run(tmp_path / "straight.jsonl", tmp_path / "calls.txt")
    path, calls = tmp_path / "run.jsonl", tmp_path / "killed-calls.txt"
    script, kills = Path(changing_run.__file__), 0
    for attempt in range(100):
        process = subprocess.Popen([sys.executable, script, path, calls])
        seen = len(calls.read_text().split()) if calls.exists() else 0
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            now = len(calls.read_text().split()) if calls.exists() else 0
            if now >= seen + 9:
                time.sleep(0.003 * (attempt % 4))
                process.send_signal(signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
                break
            time.sleep(0.001)
        if process.returncode == 0:
            break
    assert kills >= 3
    again = Optimizer.load(path)
    assert_same(again.result(), straight)
    assert (again.nfev, again.maxfev) == (48, 48)


def test_a_search_that_ended_by_itself_goes_on_where_something_is_fixed():
    opt = Optimizer([310.0, 1.0], **{**KNOBS, "maxfev": None}, noise=0.01)
    while not opt.done:
        go_on(opt, 1)
    assert opt.status is Status.SETTLED
    opt.fix(temp=300)
    assert not opt.done
    assert go_on(opt, 2)[-1][0] == 300.0


# -- by hand -------------------------------------------------------------------------


@pytest.fixture
def tobyqa(capsys, tmp_path):
    """The command on a run with readings; returns what it prints, and its exit code."""
    begun(7, tmp_path / "run.jsonl").close()

    def run(command, *arguments):
        code = main([command, str(tmp_path / "run.jsonl"), *arguments])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def test_changes_by_hand_are_those_by_program(tobyqa, tmp_path):
    opt = begun(7)
    assert tobyqa("fix", "temp=300") == (
        0,
        f"fixed: temp = 300\nnext: tobyqa ask {tmp_path / 'run.jsonl'}\n",
    )
    opt.fix(temp=300)
    assert "300.0" in tobyqa("ask")[1]
    assert "fixed    temp = 300" in tobyqa("status")[1]
    assert tobyqa("set", "noise=0.1")[1].startswith("set: the noise is 0.1\nwaiting")
    opt.ask()
    opt.set(noise=0.1)
    assert "120 trials in all" in tobyqa("extend", "--maxfev", "120")[1]
    assert '"maxfev": 130' in tobyqa("extend", "--maxfev", "130", "--json")[1]
    opt.extend(130)
    assert "fixed: no variable" in tobyqa("free", "temp")[1]
    opt.free("temp")
    assert_same(Optimizer.load(tmp_path / "run.jsonl").result(), opt.result())
    assert tobyqa("fix", "temp=300")[1].startswith("fixed: temp = 300\nwaiting")
    assert "is given up" in tobyqa("fix", "temp=301")[1]
    assert "withdrawn" in tobyqa("undo")[1]
    assert Optimizer.load(tmp_path / "run.jsonl").fixed == {"temp": 300.0}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fix", "temp"], "is not of the form NAME=NUMBER"),
        (["fix", "temp=300", "temp=301"], "given twice"),
        (["fix", "temp=900"], "within its bounds"),
        (["free", "gap"], "those that were: none"),
        (["extend", "--maxfev", "2"], "more than the 60"),
        (["set", "radius=2"], "'radius' cannot be set later"),
        (["set", "noise=-2"], "noise must be"),
    ],
)
def test_slips_by_hand_are_one_line(tobyqa, arguments, complaint):
    code, said = tobyqa(*arguments)
    assert code == 2
    assert complaint in said
    assert said.count("\n") == 1


def test_repeating_a_command_takes_no_extension_back(tmp_path):
    path = tmp_path / "run.jsonl"
    with begun(12, path, maxfev=12) as opt:
        opt.extend(20)
    arguments = {"x0": [310.0, 1.0], **KNOBS}
    for maxfev, allowed in ((12, 20), (30, 30), (12, 20)):
        with Optimizer.open(path, **{**arguments, "maxfev": maxfev}) as opt:
            assert opt.maxfev == allowed
