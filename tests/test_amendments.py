"""Readings corrected and withdrawn later: events that the model is made anew by."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_journal_interrupts import interrupted_at
from test_optimizer import assert_same
from tobyqa import Adaptive, Optimizer, Paper
from tobyqa.cli import main
from tobyqa.journal import read

BEST = np.array([1.0, 2.0])
KINDS = [
    {"method": "adaptive"},
    {"method": "paper"},
    {"restarts": True},
    {"bounds": [(-4, 4)] * 2, "resolution": [0.01, 0.01], "noise": 0.1},
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(kind))


def reading(x, k):
    noise = 0.1 * np.sin(12.9898 * k + 78.233 * float(np.sum(x)))
    return float(np.sum((np.asarray(x) - BEST) ** 2)) + 0.01 * k + noise


def begun(readings, wrong=None, path=None, **kind):
    """A run in which the reading of the row `wrong` has slipped."""
    opt = Optimizer([0.0, 0.0], rng=1, maxfev=80, journal=path, **kind)
    go_on(opt, readings, wrong)
    return opt


def go_on(opt, readings, wrong=None):
    points = []
    for _ in range(readings):
        if opt.done:  # `paper` ends where the latest readings show no slope
            break
        trial, k = opt.ask(), len(opt.result().history)
        value = reading(trial.x, k)
        opt.tell(trial, 100 * value + 50 if k == wrong else value)
        points.append(trial.x)
    return points


def right_value(opt, row):
    return reading(opt.result().history.x[row], row)


# -- what it comes to ----------------------------------------------------------------


@kinds
@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_corrected_before_there_is_a_model_it_was_right_from_the_start(kind, wrong):
    late, early = begun(3, wrong, **kind), begun(3, **kind)
    late.correct(wrong, right_value(late, wrong))
    np.testing.assert_array_equal(go_on(late, 15), go_on(early, 15))
    assert_same(late.result(), early.result())


@kinds
@settings(deadline=None, max_examples=6)
@given(readings=st.integers(7, 24), wrong=st.integers(0, 6), waits=st.booleans())
def test_what_happened_stays_when_a_reading_is_corrected(kind, readings, wrong, waits):
    opt = begun(readings, wrong, **kind)
    trial = opt.ask() if waits else None
    before = opt.result()
    opt.correct(wrong, 1.25)
    after = opt.result()
    assert after.history.value[wrong] == 1.25
    rest = np.arange(readings) != wrong
    np.testing.assert_array_equal(after.history.value[rest], before.history.value[rest])
    for name in ("x", "t", "sigma", "asked", "centre", "accepted", "radius"):
        np.testing.assert_array_equal(
            getattr(after.history, name), getattr(before.history, name)
        )
    assert (after.nfev, after.nfail) == (readings, 0)
    assert [t.id for t in opt.pending] == ([trial.id] if waits else [])
    if waits:
        opt.tell(trial, reading(trial.x, readings))
        assert opt.nfev == readings + 1


@kinds
@settings(deadline=None, max_examples=6)
@given(
    readings=st.integers(1, 24),
    withdrawn=st.integers(0, 23),
    more=st.integers(0, 2),
)
def test_an_undone_amendment_has_never_been(kind, readings, withdrawn, more):
    opt, row = begun(readings, **kind), min(withdrawn, readings - 1)
    before, point = opt.result(), copy.deepcopy(opt).ask().x
    opt.withdraw(row)
    assert opt.reasons[row] == "withdrawn"
    assert np.isnan(opt.result().history.value[row])
    go_on(opt, more)
    for _ in range(more + 1):
        opt.undo()
    opt.correct(row, -7.0)
    opt.undo()
    assert_same(opt.result(), before)
    assert opt.reasons == [""] * readings
    np.testing.assert_array_equal(opt.ask().x, point)


@kinds
def test_no_model_uses_a_reading_that_was_withdrawn(kind):
    """Whatever it was: all that follows is the same."""
    for row in (3, 9):
        slipped, other = begun(10, row, **kind), begun(10, **kind)
        for opt in (slipped, other):
            opt.withdraw(row)
        if row == 9:  # nothing was asked for by that time that knew of it
            a, b = slipped.result(), other.result()
            np.testing.assert_allclose(a.x, b.x, atol=0.05)
            assert a.fun == pytest.approx(b.fun, abs=0.05)
        assert slipped.nfev == other.nfev == 10
        assert slipped.result().nfail == 1
        best = slipped.result().history.best()
        assert best != row


@kinds
@pytest.mark.parametrize(("wrong", "noise"), [(1, 0.1), (8, None)])
@pytest.mark.parametrize("end", ["correct", "withdraw"])
def test_a_slip_that_is_amended_does_no_harm(kind, wrong, noise, end):
    kind = {"noise": noise, **kind}
    opt = begun(15, wrong, **kind)
    if end == "correct":
        opt.correct(wrong, right_value(opt, wrong))
    else:
        opt.withdraw(wrong)
    go_on(opt, 30)
    tolerance = 1.0 if kind.get("method") == "paper" else 0.2
    assert np.abs(opt.result().x - BEST).max() < tolerance


def test_a_withdrawn_start_is_measured_again():
    for kind in ({}, {"method": "paper"}):
        opt = begun(4, **kind)
        opt.withdraw(0)
        points = go_on(opt, 12)
        assert any((x == 0.0).all() for x in points)
        assert np.isfinite(opt.result().jac).all()


@kinds
def test_all_readings_can_be_withdrawn_and_the_search_goes_on(kind):
    opt = begun(12, **kind)
    for row in range(12):
        opt.withdraw(row)
    assert opt.result().history.failed.all()
    assert not opt.done  # none of them is a failure of the instrument
    go_on(opt, 20)
    assert np.isfinite(opt.result().jac).all()


def test_readings_of_several_trials_out_together_are_amended_alike():
    opt = Optimizer([0.0, 0.0], rng=0, maxfev=60, noise=0.1)
    for _ in range(8):
        for trial in reversed(opt.ask(3)):
            opt.tell(trial, reading(trial.x, trial.id))
    waiting = opt.ask(3)
    opt.correct(4, 55.0)
    opt.withdraw(7)
    assert [t.id for t in opt.pending] == [t.id for t in waiting]
    for trial in waiting:
        opt.tell(trial, reading(trial.x, trial.id))
    assert_same(copy.deepcopy(opt).result(), opt.result())
    assert np.abs(opt.result().x - BEST).max() < 0.5


def test_a_fixed_variable_and_an_amended_reading_know_of_each_other():
    for kind in ({}, {"method": "paper"}):
        opt = begun(9, 2, **kind)
        opt.fix(x0=0.5)
        opt.correct(2, right_value(opt, 2))
        opt.free("x0")
        go_on(opt, 25)
        assert np.abs(opt.result().x - BEST).max() < 1.0


def test_a_place_is_allowed_again_whose_reading_was_not_beyond_the_limit():
    opt = Optimizer([0.0, 0.0], rng=0, maxfev=60, safe=[0.0, 0.0], limit=30.0)
    go_on(opt, 2)
    trial = opt.ask()
    opt.tell(trial, 40.0)
    assert (opt.ask().x == 0.0).all()
    go_on(opt, 1)
    forbidden = go_on(opt, 20)
    nearest = min(np.linalg.norm(x - trial.x) for x in forbidden)
    assert nearest > 0.4 * np.linalg.norm(trial.x)
    opt.correct(2, reading(trial.x, 2))
    assert opt._log.course._border.allowed.beyond == ()
    opt.correct(2, 40.0)
    assert len(opt._log.course._border.allowed.beyond) == 1
    go_on(opt, 3)


# -- files ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", [Adaptive(), Paper()], ids=str)
def test_copies_and_files_have_the_amendments(method, tmp_path):
    opt = begun(9, 3, tmp_path / "run.jsonl", method=method)
    opt.correct(3, right_value(opt, 3))
    go_on(opt, 2)
    opt.withdraw(10)
    go_on(opt, 2)
    copies = [copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    opt.save(tmp_path / "saved")
    copies.append(Optimizer.load(tmp_path / "saved"))
    opt.close()
    with Optimizer.resume(tmp_path / "run.jsonl") as again:
        for other in (*copies, again):
            assert_same(other.result(), opt.result())
            assert other.reasons == opt.reasons
            np.testing.assert_array_equal(other.ask().x, copies[0].ask().x)
    events = read(tmp_path / "run.jsonl").events
    told = [e["value"] for e in events if e["event"] == "tell"]
    assert told[3] > 50.0  # what was written stays written
    kinds = [e["event"] for e in events if e["event"] not in ("ask", "tell")]
    assert kinds == ["correct", "withdraw"]


def test_an_interrupted_correction_has_happened_or_not(tmp_path):
    step, outcomes = 1, set()
    while True:
        path = tmp_path / f"{step}.jsonl"
        opt = begun(7, 2, path, method="paper")
        opt.ask()
        with interrupted_at(step) as seen:
            opt.correct(2, 1.0)
        with Optimizer.load(path) as again:
            assert_same(again.result(), opt.result())
            np.testing.assert_array_equal(again.ask().x, opt.ask().x)
        opt.close()
        outcomes.add(bool(opt.result().history.value[2] == 1.0))
        if seen[0] < step:
            break
        step += 293
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        ({"event": "correct", "row": 9, "value": 1.0}, "0 to 4, but is 9"),
        ({"event": "correct", "row": -1, "value": 1.0}, "row must be a whole"),
        ({"event": "correct", "row": 1}, "'value' is missing"),
        ({"event": "withdraw"}, "'row' is missing"),
        ({"event": "withdraw", "row": 1.5}, "row must be a whole"),
    ],
)
def test_a_file_with_an_amendment_of_nothing_is_no_run(event, complaint, tmp_path):
    from tobyqa import journal

    opt = begun(5)
    journal.write(tmp_path / "run", opt.setup, [*opt._log.events, event])
    with pytest.raises(ValueError, match=complaint):
        Optimizer.load(tmp_path / "run")


# -- slips ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda opt: opt.correct(8, 1.0), "row must be .* 0 to 7, but is 8"),
        (lambda opt: opt.withdraw(-1), "row must be a whole number >= 0, but is -1"),
        (lambda opt: opt.withdraw(2.0), "row must be a whole number, but is 2.0"),
        (lambda opt: opt.correct(7, 1.0), "row 7 is a failed measurement, which has"),
        (lambda opt: opt.withdraw(7), "row 7 is a failed measurement"),
        (lambda opt: opt.correct(5, 1.0), "row 5 is withdrawn already"),
        (lambda opt: opt.correct(1, float("nan")), "value must be finite"),
        (lambda opt: opt.correct(1, 1e101), "value must be finite and at most"),
        (lambda opt: opt.correct(1, "high"), "value must be"),
    ],
)
def test_what_cannot_be_amended_is_said_and_changes_nothing(change, complaint):
    opt = begun(7)
    opt.tell_failed(opt.ask(), "door open")
    opt.withdraw(5)
    before, point = opt.result(), opt.ask().x
    with pytest.raises((ValueError, TypeError), match=complaint):
        change(opt)
    assert_same(opt.result(), before)
    np.testing.assert_array_equal(opt.ask().x, point)


def test_before_there_is_a_row_none_can_be_amended():
    with pytest.raises(ValueError, match="none yet, but is 0"):
        Optimizer([0.0]).withdraw(np.int64(0))


# -- by hand -------------------------------------------------------------------------


@pytest.fixture
def tobyqa(capsys, tmp_path):
    """The command on a run with readings; returns what it prints, and its exit code."""
    begun(9, 4, tmp_path / "run.jsonl").close()

    def run(command, *arguments):
        code = main([command, str(tmp_path / "run.jsonl"), *arguments])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def test_amendments_by_hand_are_those_by_program(tobyqa, tmp_path):
    path, opt = tmp_path / "run.jsonl", begun(9, 4)
    code, said = tobyqa("correct", "4", "-1.25")
    opt.correct(4, -1.25)
    assert code == 0
    assert said.startswith("corrected: row 4 is -1.25, read at x0 = ")
    assert "t = 4\n" in said
    code, said = tobyqa("withdraw", "6")
    opt.withdraw(6)
    assert code == 0
    assert said.startswith("withdrawn: row 6, read at x0 = ")
    assert_same(Optimizer.load(path).result(), opt.result())
    table = tobyqa("export")[1].splitlines()
    assert table[1 + 4].split(",")[3] == "-1.25"
    assert table[1 + 6].split(",")[3:] == ["", "", "yes", "withdrawn"]
    assert "1 of them failed" in tobyqa("status")[1]
    assert "change is withdrawn; in the log: 9 readings" in tobyqa("undo")[1]
    assert "change is withdrawn; in the log: 9 readings" in tobyqa("undo")[1]
    assert_same(Optimizer.load(path).result(), begun(9, 4).result())
    assert '"readings": 8' in tobyqa("withdraw", "6", "--json")[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["correct", "9", "1.0"], "0 to 8, but is 9"),
        (["correct", "1", "nan"], "number"),
        (["withdraw", "-3"], "row must be"),
        (["withdraw", "last"], "invalid int value"),
    ],
)
def test_slips_by_hand_are_one_line(tobyqa, arguments, complaint, capsys):
    try:
        code, said = tobyqa(*arguments)
    except SystemExit as exit:
        code, said = exit.code, capsys.readouterr().err
    assert code == 2
    assert complaint in said
    assert said.count("\n") == 1


def test_the_help_says_which_number_a_row_has(capsys):
    for command in ("correct", "withdraw"):
        with pytest.raises(SystemExit) as exit:
            main([command, "--help"])
        assert exit.value.code == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "the first below the head is 0, and failures count" in said
