"""A search by hand through the command line, and searches that begin with old data."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_runs import drifting_apart
from test_optimizer import assert_same, reading
from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.cli.times import parse_time
from tobyqa.journal import read
from tobyqa.view import LOCAL_DRIFT

X = [[-1.0, 0.5], [0.25, 1.0], [2.0, 2.0]]
T = [10.0, 20.5, 31.0]
VALUES = [3.5, -1.5, 2.0]
NAMED = ["--name", "gap", "--name", "angle"]
OLD = "gap,angle,t,value,sigma\n-1,0.5,10,3.5,\n.25,1,20.5,-1.5,0.2\n2,2,31,2e0,0.1\n"


@pytest.fixture
def tobyqa(capsys):
    """Run a command; gives the exit code, what it printed and what it complained."""

    def run(*arguments):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_search_by_hand_is_the_search_by_program(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    flags = ["--noise", "0.01", "--maxfev", "12", "--clock", "index", "--seed", "3"]
    assert tobyqa("init", path, "--x0", "-1,-2", *flags)[0] == 0
    opt = Optimizer([-1.0, -2.0], noise=0.01, maxfev=12, rng=3)
    while not opt.done:
        trial = opt.ask()
        asked = json.loads(tobyqa("ask", path, "--json")[1])
        assert asked["id"] == trial.id
        np.testing.assert_array_equal(asked["x"], trial.x)
        assert asked["point"] == dict(zip(["x0", "x1"], asked["x"], strict=True))
        if trial.id % 5 == 4:
            opt.tell_failed(trial, "door open")
            assert tobyqa("fail", path, "--reason", "door open")[0] == 0
            continue
        value = reading(trial.x, trial.id) - 5.0
        opt.tell(trial, value)
        assert tobyqa("tell", path, "1e6")[0] == 0  # mistyped
        assert tobyqa("undo", path)[0] == 0
        assert tobyqa("tell", path, repr(value))[0] == 0
    assert_same(opt.result(), Optimizer.load(path).result())
    events = [event["event"] for event in read(path).events]
    assert events.count("undo") == 10
    code, out, err = tobyqa("ask", path)
    assert (code, out) == (1, "")
    assert err.startswith("tobyqa: nothing to ask, the search has ended")


def test_through_real_processes(tmp_path):
    def tobyqa(*arguments):
        command = [sys.executable, "-m", "tobyqa", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    named = ["--name", "gap", "--unit", "mm", "--name", "angle", "--unit", "deg"]
    assert tobyqa("init", "run.jsonl", "--x0", "-1,.5", *named)[0] == 0
    before = time.time()
    code, out, err = tobyqa("ask", "run.jsonl")
    asked = "trial 0: gap = -1.0 mm, angle = 0.5 deg\n  the start\n"
    assert (code, out, err) == (0, asked, "")
    assert tobyqa("tell", "run.jsonl", "-1.5e-3", "--sigma", "0.1")[0] == 0
    assert tobyqa("tell", "run.jsonl", "-2", "--x", "-.5,-1", "--t", "-3.5")[0] == 0
    history = Optimizer.load(tmp_path / "run.jsonl").result().history
    assert list(history.value) == [-0.0015, -2.0]
    assert before <= history.t[0] <= time.time()
    assert history.t[1] == -3.5
    np.testing.assert_array_equal(history.x[1], [-0.5, -1.0])
    code, out, err = tobyqa("tell", "run.jsonl", "1")
    assert (code, out) == (2, "")
    assert err.startswith("tobyqa: no trial waits for a reading")


def test_status_is_readable(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    with Optimizer(
        [0.0, 0.0],
        noise=0.01,
        maxfev=60,
        journal=path,
        names=["gap", "angle"],
        units=["mm", ""],
        method="adaptive",
    ) as opt:
        assert "no reading yet" in tobyqa("status", path)[1]
        for k in range(50):
            trial = opt.ask()
            if k == 20:
                opt.tell_failed(trial, "beam lost")
            else:
                opt.tell(trial, reading(trial.x, k))
        trial = opt.ask()
        before = path.read_bytes()
        code, out, _ = tobyqa("status", path)  # while the journal is locked
        facts = json.loads(tobyqa("status", path, "--json")[1])
        assert path.read_bytes() == before
        res = opt.result()
    assert code == 0
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert rows["search"] == "The search has not ended."
    assert rows["trials"] == "50 of 60 answered, 1 of them failed"
    assert rows["pending"].startswith("trial 50: gap = ")
    assert rows["answer"].startswith("gap = ")
    assert "±" in rows["answer"]
    assert rows["answer"].endswith(" mm")
    assert "±" in rows["drift"]
    assert rows["failure"] == "the last one: beam lost"
    np.testing.assert_array_equal(facts["x"], res.x)
    assert facts["drift_rate_std"] == res.drift_rate_std
    assert [trial["id"] for trial in facts["pending"]] == [50]
    assert (facts["nfev"], facts["nfail"], facts["readings"]) == (50, 1, 49)


def test_status_tells_of_a_drift_that_depends_on_the_place(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    drifting_apart(journal=path).close()
    assert LOCAL_DRIFT in tobyqa("status", path)[1]
    assert json.loads(tobyqa("status", path, "--json")[1])["drift_is_local"] is True


@pytest.mark.parametrize("command", ["init", "tell", "fail", "undo"])
def test_json_of_every_step_parses(tmp_path, tobyqa, command):
    path = tmp_path / "run.jsonl"
    if command != "init":
        tobyqa("init", path, "--x0", "0")
        tobyqa("ask", path)
    if command == "undo":
        tobyqa("tell", path, "5")
    more = {"init": ["--x0", "0"], "tell": ["-2"]}.get(command, [])
    code, out, _ = tobyqa(command, path, *more, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["readings"] == (command == "tell")
    assert facts["nfail"] == (command == "fail")


def test_export_and_back(tmp_path, tobyqa):
    path, table = tmp_path / "run.jsonl", tmp_path / "run.csv"
    with Optimizer([0.0, -1.0], journal=path, names=["gap", "angle"]) as opt:
        opt.tell(opt.ask(), -0.1, t=1.7e9 + 1 / 3, sigma=0.2)
        opt.tell_failed(opt.ask(), 'lost, "again"')
        opt.tell([1 / 3, 2.0], 4.0, t=1.7e9 + 2)
    assert tobyqa("export", path, "--csv", "-o", table)[0] == 0
    assert tobyqa("export", path)[1] == table.read_text()
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["value"] for row in rows] == ["-0.1", "", "4.0"]
    assert [row["asked"] for row in rows] == ["yes", "yes", "no"]
    assert rows[1]["reason"] == 'lost, "again"'
    code, _, err = tobyqa("init", tmp_path / "next.jsonl", "--data", table)
    assert (code, err) == (0, f"tobyqa: {table}: 1 rows without a value passed over\n")
    opt = Optimizer.load(tmp_path / "next.jsonl")
    history, old = opt.result().history, Optimizer.load(path).result().history
    np.testing.assert_array_equal(history.x, old.x[[0, 2]])
    np.testing.assert_array_equal(history.t, old.t[[0, 2]])
    np.testing.assert_array_equal(history.sigma, old.sigma[[0, 2]])
    assert opt.names == ["gap", "angle"]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["tell", "run.jsonl", "nan"], "'nan' is not a number"),
        (["tell", "run.jsonl", "-inf"], "'-inf' is not a number"),
        (["tell", "run.jsonl", "-1e200"], "value must be at most 1e+100 in size"),
        (["tell", "run.jsonl", "1_0"], "'1_0' is not a number"),
        (["tell", "run.jsonl", "1", "--sigma", "-1"], "sigma must be >= 0"),
        (["tell", "run.jsonl", "1", "--x", "1,2"], "x must be of shape (1,)"),
        (["tell", "run.jsonl", "1", "--", "sh"], "only run takes a program"),
        (["undo", "run.jsonl"], "there is no reading to withdraw"),
        (["init", "run.jsonl", "--x0", "1"], "holds a run already"),
        (["init", "new.jsonl"], "x0 is needed"),
        (["init", "new.jsonl", "--x0", "1", "--name", "value"], "called 'value' here"),
        (["ask", "missing.jsonl"], "missing.jsonl: No such file or directory"),
        (["status", "text.txt"], "text.txt, line 1 is corrupt"),
        (["tell", "run.jsonl"], "the following arguments are required: VALUE"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, tobyqa, command, complaint):
    monkeypatch.chdir(tmp_path)
    tobyqa("init", "run.jsonl", "--x0", "0")
    tobyqa("ask", "run.jsonl")
    (tmp_path / "text.txt").write_text("hello\n")
    before = (tmp_path / "run.jsonl").read_bytes()
    code, out, err = tobyqa(*command)
    assert (code, out) == (2, "")
    assert err.startswith("tobyqa: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert (tmp_path / "run.jsonl").read_bytes() == before
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize("command", ["report", "plot"])
def test_without_matplotlib_the_extra_is_named(tmp_path, command):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        f"from tobyqa.cli import main; sys.exit(main([{command!r}, 'run.jsonl']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install matplotlib" in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_help_has_examples_and_exit_codes(tobyqa):
    for command in "run init ask tell fail undo status export report plot".split():
        code, out, _ = tobyqa(command, "--help")
        assert code == 0
        assert f"  tobyqa {command} " in out
        assert "exit codes:" in out


# Old data ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["paper", "adaptive"])
def test_from_data_is_telling_each_reading(tmp_path, method):
    path = tmp_path / "run.jsonl"
    sigma = [np.nan, 0.2, 0.1]
    kwargs = {"method": method, "noise": 0.1, "maxfev": 20, "rng": 0}
    told = Optimizer(X[1], **kwargs)
    for k in range(3):
        told.tell(X[k], VALUES[k], T[k], None if k == 0 else sigma[k])
    with Optimizer.from_data(X, T, VALUES, sigma=sigma, journal=path, **kwargs) as opt:
        while not opt.done:
            for each in (opt, told):
                trial = each.ask()
                each.tell(trial, reading(trial.x, trial.id), t=40.0 + trial.id)
        assert_same(told.result(), opt.result())
    assert_same(told.result(), Optimizer.load(path).result())
    events = [event["event"] for event in read(path).events]
    assert events[:4] == ["tell", "tell", "tell", "ask"]


def test_from_data_without_times_numbers_the_readings():
    opt = Optimizer.from_data(X, None, VALUES, x0=[7.0, 7.0])
    opt.tell(opt.ask(), 1.0)
    assert list(opt.result().history.t) == [0.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(opt.result().history.x[3], [7.0, 7.0])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"x": [1.0, 2.0]}, r"x must be of shape \(N, n\)"),
        ({"x": [[1.0], [2.0]]}, "value must hold 2 real numbers"),
        ({"t": [1.0, 2.0]}, "t must hold 3 real numbers"),
        ({"t": [1.0, 2.0, np.nan]}, r"t\[2\] must be finite"),
        ({"value": [1.0, np.nan, 2.0]}, r"value\[1\] must be finite"),
        ({"value": [1.0, 1e200, 2.0]}, "at most 1e"),
        ({"sigma": [1.0, -1.0, 2.0]}, "sigma must be >= 0"),
        ({"x": np.zeros((0, 2)), "t": [], "value": []}, "x0 is needed"),
        ({"t": None, "clock": time.time}, "t is needed: there is a clock"),
    ],
)
def test_bad_old_data_is_named_before_the_journal_begins(tmp_path, change, complaint):
    path = tmp_path / "run.jsonl"
    arguments = {"x": X, "t": T, "value": VALUES, "journal": path, **change}
    with pytest.raises(ValueError, match=complaint):
        Optimizer.from_data(**arguments)
    assert not path.exists()


def test_a_run_begins_with_a_table_and_resumes_with_it(tmp_path, tobyqa):
    data, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text(OLD)
    command = ["run", "--data", data, *NAMED, "--journal", path, "--json"]
    command += ["--maxfev", "4"]
    program = ["--", "sh", "-c", "echo $TOBYQA_GAP"]
    assert json.loads(tobyqa(*command, *program)[1])["nfev"] == 4
    history = Optimizer.load(path).result().history
    np.testing.assert_array_equal(history.x[:4], [*X, X[1]])
    np.testing.assert_array_equal(history.value[:4], [*VALUES, X[1][0]])
    np.testing.assert_array_equal(history.sigma[:3], [np.nan, 0.2, 0.1])
    again = tobyqa(*command, "--maxfev", "5", *program)
    assert json.loads(again[1])["nfev"] == 5
    assert len(Optimizer.load(path).result().history) == 8  # not told twice


def test_a_crash_while_old_readings_are_told_loses_none(tmp_path, tobyqa):
    data, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text(OLD)
    assert tobyqa("init", path, "--data", data, *NAMED, "--maxfev", "2")[0] == 0
    kept = path.read_bytes().splitlines(keepends=True)[:2]
    path.write_bytes(b"".join(kept))  # the header and one reading
    flags = ["--data", data, *NAMED, "--journal", path, "--maxfev", "2"]
    assert tobyqa("run", *flags, "--", "sh", "-c", "echo 1")[0] == 0
    history = Optimizer.load(path).result().history
    assert list(history.value) == [*VALUES, 1.0, 1.0]
    assert list(history.asked) == [False, False, False, True, True]


A = ["--name", "a"]


@pytest.mark.parametrize(
    ("table", "flags", "complaint"),
    [
        ("", [], "is empty"),
        ("a,t,value\n", A, "holds no reading"),
        ("a,t\n1,2\n", A, "line 1: column 'value' is missing; there are a, t"),
        ("a,value\n1,2\n", A, "line 1: column 't' is missing (--clock index"),
        ("a,a,t,value\n1,1,1,1\n", A, "line 1: column 'a' occurs twice"),
        ("a,t,value\n1,2,3\n\n1,2\n", A, "line 4: 2 entries, but 3 columns"),
        ("a,t,value\n1,2,3\n1,2,x\n", A, "line 3, column 'value': 'x' is not a"),
        ("a,t,value\n,2,3\n", A, "line 2, column 'a': '' is not a number"),
        ("a,t,value\n1,nan,3\n", A, "line 2, column 't': 'nan' is not a number"),
        ("a,t,value,sigma\n1,2,3,-1\n", A, "line 2, column 'sigma': it must be >= 0"),
        ("a,t,value\n1,2,3\n", ["--name", "b"], "column 'b' is missing"),
        ("a,t,value\n1,2,3\n", [*A, "--x0", "1,2"], "names must have 2 entries"),
    ],
)
def test_bad_tables_name_line_and_column(tmp_path, tobyqa, table, flags, complaint):
    data, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text(table)
    code, _, err = tobyqa("init", path, "--data", data, *flags)
    assert code == 2
    assert err.startswith("tobyqa: ")
    assert complaint in err
    assert not path.exists()


def test_columns_that_mean_nothing_are_said(tmp_path, tobyqa):
    data, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text("\ufeffa,shift,t,value\n1,late,5,2\n", encoding="utf-8")
    flags = ["--name", "a", "--clock", "index"]
    code, _, err = tobyqa("init", path, "--data", data, *flags)
    assert (code, err) == (0, f"tobyqa: {data}: columns not used: shift, t\n")
    assert list(Optimizer.load(path).result().history.t) == [0.0]


def test_a_column_is_no_variable_unless_it_is_named(tmp_path, tobyqa):
    data, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text("gap,=p,t,value\n1,990,5,2\n2,991,6,1\n")
    code, _, err = tobyqa("init", path, "--data", data)
    assert code == 2
    assert err.startswith(f"tobyqa: {data}: which columns are variables?")
    assert "--name=gap --name==p" in err
    assert not path.exists()
    code, _, err = tobyqa("init", path, "--data", data, "--name", "gap")
    assert (code, err) == (0, f"tobyqa: {data}: columns not used: =p\n")
    assert Optimizer.load(path).names == ["gap"]


# Times -------------------------------------------------------------------------------


@pytest.fixture
def at_noon(tmp_path, tobyqa):
    """A run on the wall clock with one reading, typed in at a known time."""
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0,0", "--seed", "0")
    tobyqa("ask", path)
    assert tobyqa("tell", path, "5.89", "--t", "2026-11-18T12:00:00Z")[0] == 0
    return path


def times(path):
    return list(Optimizer.load(path).result().history.t)


NOON = 1795003200.0


def test_a_correction_keeps_the_time_of_the_reading(at_noon, tobyqa):
    path = at_noon
    assert tobyqa("undo", path)[0] == 0
    code, _, err = tobyqa("tell", path, "4.89")
    assert code == 0
    assert "taken for a correction" in err
    assert times(path) == [NOON]
    assert list(Optimizer.load(path).result().history.value) == [4.89]
    tobyqa("undo", path)
    before = time.time()
    code, _, err = tobyqa("tell", path, "4.89", "--t", "now")  # measured again
    assert (code, err) == (0, "")
    assert before - 0.001 <= times(path)[0] <= time.time()


def test_corrections_of_several_readings_keep_their_times(at_noon, tobyqa):
    path = at_noon
    for k in (1, 2):
        tobyqa("ask", path)
        tobyqa("tell", path, "1.5", "--t", str(NOON + k))
    tobyqa("tell", path, "7", "--x", "9,9", "--t", str(NOON + 3))
    for _ in range(3):
        tobyqa("undo", path)
    assert times(path) == [NOON]
    tobyqa("tell", path, "1.25")
    tobyqa("ask", path)  # the same point: the first ones do not depend on readings
    tobyqa("tell", path, "2.25")
    tobyqa("tell", path, "8", "--x", "9,9")
    assert times(path) == [NOON, NOON + 1, NOON + 2, NOON + 3]
    before = time.time()
    tobyqa("tell", path, "8", "--x", "9,9")  # another reading there
    assert times(path)[-1] >= before


def test_a_trial_that_failed_is_measured_again_now(at_noon, tobyqa):
    path = at_noon
    tobyqa("ask", path)
    tobyqa("fail", path)
    tobyqa("undo", path)
    before = time.time()
    tobyqa("tell", path, "1")
    assert times(path)[-1] >= before


def test_numbered_readings_stay_numbered_after_corrections(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0", "--clock", "index")
    tobyqa("ask", path)
    tobyqa("tell", path, "1")
    tobyqa("undo", path)
    tobyqa("tell", path, "3", "--x", "2")
    code, _, err = tobyqa("tell", path, "1.5")
    assert (code, err, times(path)) == (0, "", [0.0, 1.0])


def test_without_a_clock_a_correction_needs_no_time(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0", "--clock", "index")
    for k in range(2):
        tobyqa("ask", path)
        tobyqa("tell", path, "1", "--t", 10 + k)
    tobyqa("undo", path)
    assert tobyqa("tell", path, "1.5")[0] == 0
    assert times(path) == [10.0, 11.0]


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-18T12:00Z",
        "2026-11-18 12:00:00+00:00",
        "2026-11-18T13:30+01:30",
        "2026-11-18T12:00:00.000Z",
        "1795003200",
    ],
)
def test_dates_with_a_zone_are_moments(text):
    moment = parse_time(text)
    assert (moment if isinstance(moment, float) else moment.timestamp()) == NOON


@given(
    st.datetimes(datetime(2001, 9, 10), datetime(2100, 1, 1)).filter(
        lambda moment: datetime.fromtimestamp(moment.timestamp()) == moment
    )
)
def test_local_dates_and_clock_times_go_round(moment):
    """Those that occur: clocks that are put forward leave some out."""
    whole = moment.replace(microsecond=0)
    assert parse_time(whole.isoformat()) == whole
    assert parse_time(f"{whole:%Y-%m-%d %H:%M:%S}") == whole
    for later in (0.0, 60.0, 3600.0 * 20):
        assert parse_time(f"{whole:%H:%M:%S}", whole.timestamp() + later) == whole


def test_a_clock_time_still_to_come_was_yesterday():
    now = datetime(2026, 11, 18, 4, 0).timestamp()
    assert parse_time("03:58", now) == datetime(2026, 11, 18, 3, 58)
    assert parse_time("4:03", now) == datetime(2026, 11, 18, 4, 3)  # clocks differ
    assert parse_time("23:15", now) == datetime(2026, 11, 17, 23, 15)


@pytest.mark.parametrize(
    "text",
    ["25:00", "3:5", "12:60", "2026-11-18", "2026-13-01T00:00", "noon", "", "1e999"],
)
def test_what_is_no_time_is_named(at_noon, tobyqa, text):
    tobyqa("ask", at_noon)
    code, _, err = tobyqa("tell", at_noon, "1", "--t", text)
    assert code == 2
    assert f"{text!r} is no time; allowed are" in err
    assert times(at_noon) == [NOON]


def test_a_date_is_no_time_without_a_wall_clock(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0", "--clock", "index")
    tobyqa("ask", path)
    code, _, err = tobyqa("tell", path, "1", "--t", "2026-11-18T12:00")
    assert code == 2
    assert "this run does not go by the wall clock: a number is needed" in err
    assert times(path) == []


@pytest.mark.parametrize(
    ("t", "distance"), [("5", 56.9), ("2036-11-18T12:00Z", 10.0), ("-3.5", 56.9)]
)
def test_a_time_years_off_is_taken_with_a_warning(at_noon, tobyqa, t, distance):
    tobyqa("ask", at_noon)
    code, _, err = tobyqa("tell", at_noon, "1", "--t", t)
    assert code == 0
    assert err.startswith("tobyqa: warning: the time of this reading, ")
    assert f"is {distance:.3g} years away from the other readings" in err
    assert len(times(at_noon)) == 2


def test_the_first_time_is_compared_with_now(tmp_path, tobyqa):
    """Times of the user's own are fine if they agree with each other."""
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0")
    warned = []
    for k in range(3):
        tobyqa("ask", path)
        warned.append("away from now" in tobyqa("tell", path, "1", "--t", 5 + k)[2])
    tobyqa("ask", path)
    assert "away from the other readings" in tobyqa("tell", path, "1")[2]
    assert warned == [True, False, False]
