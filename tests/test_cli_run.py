"""``tobyqa run`` with real programs: killed, interrupted, timed out, resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from test_optimizer import assert_same
from tobyqa import Optimizer, Status
from tobyqa.cli import main

TOBYQA = [sys.executable, "-m", "tobyqa.cli"]
PROGRAM = [sys.executable, "-S", "-E", str(Path(__file__).with_name("measuring.py"))]
KILLS = 6
SEARCH = ["--x0", "0,-0.5,0", "--noise", "0.01", "--seed", "7", "--maxfev", "40"]


def until(condition):
    """Wait for something that another process does."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def is_alive(pid):
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except FileNotFoundError:
        return False


def obeys_interrupts():
    """What a shell begins in the background ignores some; what a user begins, none."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_killed_and_resumed_equals_the_uninterrupted_run(tmp_path):
    """At some moments; at hundreds: ``python benchmarks/faults.py``."""
    journal, log = tmp_path / "killed.jsonl", tmp_path / "calls.txt"

    def command(journal, log):
        flags = ["run", *SEARCH, "--journal", str(journal), "--quiet"]
        return [*TOBYQA, *flags, "--", *PROGRAM, str(log)]

    moments, kills, in_flight = random.Random(0), 0, []
    while kills < KILLS:
        size = journal.stat().st_size if journal.exists() else 0
        process = subprocess.Popen(
            command(journal, log), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        grown = moments.choice([1, 100, 200, 400, 600])
        until(lambda: journal.exists() and journal.stat().st_size >= size + grown)  # noqa: B023
        time.sleep(moments.uniform(0.0, 0.02))
        process.kill()
        assert process.wait() == -signal.SIGKILL
        kills += 1
        pending = Optimizer.load(journal).pending
        in_flight += [trial.id for trial in pending]
    subprocess.run(command(journal, log), check=True, stdout=subprocess.DEVNULL)

    straight = tmp_path / "straight.jsonl"
    subprocess.run(
        command(straight, tmp_path / "other.txt"),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    killed, whole = Optimizer.load(journal), Optimizer.load(straight)
    assert killed.status is Status.MAXFEV
    assert_same(killed.result(), whole.result())
    asked = Counter(map(int, lines(log)))
    assert sorted(asked) == list(range(40))
    allowed = Counter(in_flight)
    assert all(count <= 1 + allowed[k] for k, count in asked.items())


def test_interrupted_it_stops_its_program_and_says_how_to_go_on(tmp_path):
    journal, log = tmp_path / "run.jsonl", tmp_path / "calls.txt"
    pids = tmp_path / "pids.txt"
    script = (
        f"echo $$ >> {pids}; echo x >> {log}; "
        "[ $TOBYQA_INDEX = 3 ] && sleep 60; echo $TOBYQA_X0"
    )
    flags = ["--x0", "0,0", "--maxfev", "5", "--clock", "index"]
    flags += ["--journal", str(journal)]
    arguments = ["run", *flags, "--", "sh", "-c", script]
    process = subprocess.Popen(
        [*TOBYQA, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=obeys_interrupts,
    )
    until(lambda: len(lines(log)) == 4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "The search was stopped by the user." in out
    assert "to continue: tobyqa run --x0 0,0 --maxfev 5" in err
    assert "Traceback" not in err
    assert not is_alive(int(lines(pids)[-1]))
    opt = Optimizer.load(journal)
    assert (opt.nfev, [t.id for t in opt.pending]) == (3, [3])
    script_now = arguments[-1].replace("sleep 60", "true")
    assert main([*arguments[:-1], script_now]) == 0
    assert Optimizer.load(journal).nfev == 5
    assert len(lines(log)) == 6  # only the trial in flight was measured again


def test_a_polite_request_to_end_is_obeyed_too(tmp_path):
    log = tmp_path / "calls.txt"
    command = [
        *TOBYQA,
        "run",
        "--x0",
        "0",
        "--",
        "sh",
        "-c",
        f"echo >> {log}; sleep 60",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    until(lambda: lines(log))
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"nothing was kept" in err


def test_a_time_out_ends_all_that_the_program_started(tmp_path, capsys):
    pids, journal = tmp_path / "pids.txt", tmp_path / "run.jsonl"
    script = (
        f"sh -c 'trap \"\" TERM; echo $$ >> {pids}; sleep 60; sleep 60' & "
        f"echo $$ >> {pids}; echo waiting for beam >&2; sleep 60"
    )
    flags = ["--x0", "0", "--timeout", "0.3", "--max-failures", "1"]
    code = main(
        ["run", *flags, "--journal", str(journal), "--quiet", "--", "sh", "-c", script]
    )
    assert code == 1
    captured = capsys.readouterr()
    assert "not ended after 0.3 s; standard error: waiting for beam" in captured.out
    assert "trial 0 failed" in captured.err
    assert len(lines(pids)) == 2
    until(lambda: not any(is_alive(int(pid)) for pid in lines(pids)))
    record = json.loads(lines(journal)[-1])
    assert record["event"] == "fail"
    assert "waiting for beam" in record["reason"]


def test_retries_measure_the_same_trial_again(tmp_path, capsys):
    log = tmp_path / "calls.txt"
    script = (
        f"echo $TOBYQA_INDEX >> {log}; "
        f"[ $(grep -c . {log}) -le 2 ] && exit 9; "
        "[ $TOBYQA_INDEX = 1 ] && exit 8; echo 1"
    )
    flags = ["--x0", "0", "--maxfev", "3", "--retries", "2", "--json"]
    assert main(["run", *flags, "--", "sh", "-c", script]) == 0
    captured = capsys.readouterr()
    assert lines(log) == ["0", "0", "0", "1", "1", "1", "2"]
    facts = json.loads(captured.out)
    assert (facts["nfev"], facts["nfail"], facts["readings"]) == (3, 1, 2)
    assert "trial 0 failed, attempt 2 of 3: exit code 9" in captured.err


def test_a_second_process_is_turned_away_and_may_look(tmp_path, capsys):
    journal, log = tmp_path / "run.jsonl", tmp_path / "calls.txt"
    arguments = ["run", "--x0", "0", "--journal", str(journal), "--"]
    script = f"echo >> {log}; sleep 60"
    first = subprocess.Popen(
        [*TOBYQA, *arguments, "sh", "-c", script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: lines(log))
        for command in ([*arguments, "sh", "-c", script], ["tell", str(journal), "1"]):
            assert main(command) == 3
            err = capsys.readouterr().err
            assert (
                err == f"tobyqa: {journal}: another process is running this journal\n"
            )
        assert main(["status", str(journal)]) == 0
        assert "pending  trial 0: x0 = 0.0" in capsys.readouterr().out
        assert main(["export", str(journal), "--csv"]) == 0
    finally:
        first.terminate()
        first.wait()


def test_readings_are_timed_by_the_wall_clock_the_program_or_their_number(tmp_path):
    def times(name, script, *flags):
        path = tmp_path / name
        run = ["run", "--x0", "0", "--maxfev", "3", "--journal", str(path), *flags]
        assert main([*run, "--", "sh", "-c", script]) == 0
        return list(Optimizer.load(path).result().history.t)

    before = time.time()
    wall = times("wall", "echo 1")
    assert before <= wall[0] <= wall[1] <= wall[2] <= time.time()
    stated = 'echo "{\\"value\\": 1, \\"t\\": $TOBYQA_INDEX.5}"'
    assert times("stated", stated) == [0.5, 1.5, 2.5]
    assert times("index", "echo 1", "--clock", "index") == [0.0, 1.0, 2.0]


def test_a_run_file_and_flags_that_override_it(tmp_path, capsys):
    file, journal = tmp_path / "run.toml", tmp_path / "run.jsonl"
    file.write_text(
        f"""
        program = ["sh", "-c", "echo $TOBYQA_GAP"]
        x0 = [-1.5, 2]
        names = ["gap", "angle"]
        units = ["mm", "deg"]
        noise = 1e-6
        maxfev = 50
        journal = "{journal}"
        clock = "index"
        timeout = 20
        retries = 1
        method = "paper"
        [options]
        eta = 0.5
        hessian = "interpolated"
        """
    )
    flags = ["--maxfev", "7", "--option", "eta=0.6", "--radius", "0.5", "--json"]
    assert main(["run", str(file), *flags]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["nfev"], facts["names"]) == (7, ["gap", "angle"])
    assert facts["method"] == "paper:hessian=interpolated,eta=0.6"
    history = Optimizer.load(journal).result().history
    np.testing.assert_array_equal(history.x[0], [-1.5, 2.0])
    np.testing.assert_array_equal(history.value, history.x[:, 0])
    assert main(["run", str(file), *flags[:-1], "--maxfev", "9"]) == 0  # resumes
    assert Optimizer.load(journal).nfev == 9


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x_0 = [0]", "unknown key 'x_0'; allowed are x0, names, units, noise"),
        ("x0 = [", "is not a TOML file"),
        ("x0 = ['a']", "x0 must hold real numbers"),
        ("x0 = [0]\nnoise = 'loud'", "noise must be one real number"),
        ("x0 = [0]\nprogram = 'ls'", "program must be a list of texts"),
        ('x0 = [0]\nprogram = ["ls", "\\u0000"]', "program must hold no NUL"),
        ("x0 = [0]\nclock = 'sun'", "clock must be one of"),
        ("x0 = [0]\nretries = -1", "retries must be >= 0"),
        ("x0 = [0]\nretries = true", "retries must be a whole number"),
        ("x0 = [0]\ntimeout = 0", "timeout must be > 0"),
        ("x0 = [0]\nmax_output = 0", "max_output must be > 0"),
        ("x0 = [0]\nmax_output = 'a'", "max_output must be one real number"),
        ("x0 = [0]\nstderr_lines = -1", "stderr_lines must be >= 0"),
        ("x0 = [0]\nstderr_lines = 1.5", "stderr_lines must be a whole number"),
        ("x0 = [0]\noptions = 3", "options must be a table"),
        ("x0 = [0]\nmethod = 3", "method must be a text"),
        ("x0 = [0]\nmethod = 'best'", "method = 'best' is unknown"),
        ("x0 = [0]\nnames = ['x']", "cannot be called 'x' here"),
        ("x0 = [0]\nnames = ['t']", "cannot be called 't' here"),
        ("x0 = [0]\nnames = ['a', 'b']", "names must have 1 entries"),
        ("noise = 1", "x0 is needed"),
    ],
)
def test_bad_run_files_are_one_line_and_nothing_runs(tmp_path, capsys, text, complaint):
    file, log = tmp_path / "run.toml", tmp_path / "calls.txt"
    file.write_text(text)
    program = [] if "program" in text else ["--", "sh", "-c", f"echo 1 | tee {log}"]
    assert main(["run", str(file), *program]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tobyqa: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert not log.exists()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--x0", "1,a"], "'a' is not a number"),
        (["--x0", "1,,2"], "'' is not a number"),
        (["--x0", "nan"], "'nan' is not a number"),
        (["--x0", "0", "--option", "eta"], "'eta' is not of the form NAME=VALUE"),
        (["--x0", "0", "--option", "eat=1"], "unknown option 'eat'"),
        (["--x0", "0", "--option", "reach=0"], "Adaptive.reach = 0.0 is not allowed"),
        (["--x0", "0", "--noise", "-1"], "noise must be >= 0"),
        (["--x0", "0", "--maxfev", "2.5"], "maxfev must be a whole number"),
        (["--x0", "0", "--data", "none.csv"], "none.csv: No such file"),
        (["none.toml"], "no run file 'none.toml' (a program goes after --)"),
        (["--x0", "0", "--journal", "none/run.jsonl"], "none/run.jsonl: No such file"),
    ],
)
def test_bad_flags_are_one_line_and_nothing_runs(tmp_path, capsys, flags, complaint):
    log = tmp_path / "calls.txt"
    try:
        code = main(["run", *flags, "--", "sh", "-c", f"echo 1 | tee {log}"])
    except SystemExit as exit_:
        code = exit_.code
    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith("tobyqa: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert not log.exists()


def test_a_placeholder_that_names_no_variable_is_said_before_anything_runs(
    tmp_path, capsys
):
    log, journal = tmp_path / "calls.txt", tmp_path / "run.jsonl"
    flags = ["--x0", "0", "--name", "gap", "--journal", str(journal)]
    program = ["--", "sh", "-c", f"echo 1 | tee {log}", "{nope}"]
    assert main(["run", *flags, *program]) == 2
    err = capsys.readouterr().err
    assert "{nope} in the program's arguments names no variable" in err
    assert "there are x, index, gap" in err
    assert not log.exists()
    assert not journal.exists()


def test_a_run_without_a_single_reading_is_no_success(tmp_path, capsys):
    flags = ["--x0", "0", "--maxfev", "2", "--quiet"]
    assert main(["run", *flags, "--", "sh", "-c", "exit 1"]) == 1
    assert "2 of 2 answered, 2 of them failed" in capsys.readouterr().out
    half = "[ $TOBYQA_INDEX = 1 ] && echo 1"
    assert main(["run", *flags, "--", "sh", "-c", half]) == 0


def test_programs_that_cannot_be_started_are_named(capsys):
    assert main(["run", "--x0", "0", "--", "./no-such-program"]) == 2
    assert "cannot find the program './no-such-program'" in capsys.readouterr().err
    assert main(["run", "--x0", "0"]) == 2
    assert "no program is given" in capsys.readouterr().err


def test_another_problem_in_the_journal_is_an_error(tmp_path, capsys):
    journal = str(tmp_path / "run.jsonl")
    program = ["--", "sh", "-c", "echo 1"]
    flags = ["--maxfev", "3", "--journal", journal, "--clock", "index"]
    assert main(["run", "--x0", "0", *flags, *program]) == 0
    assert main(["run", "--x0", "1", *flags, *program]) == 2
    assert "x0: [0.0] in the file, [1.0] now" in capsys.readouterr().err
    assert main(["run", "--x0", "0", *flags[:-2], *program]) == 2
    assert "clock: None in the file, 'time.time' now" in capsys.readouterr().err


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    root = Path(__file__).parents[1]
    monkeypatch.chdir(tmp_path)
    text = (root / "examples" / "instrument.toml").read_text()
    (tmp_path / "run.toml").write_text(text.replace("examples/", f"{root}/examples/"))
    flags = ["--method", "paper", "--maxfev", "12", "--json"]
    assert main(["run", "run.toml", *flags]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["nfev"], facts["nfail"]) == (12, 0)
    assert os.path.exists("instrument.jsonl")


def test_the_crash_demo_loses_no_reading(tmp_path):
    pytest.importorskip("matplotlib")
    script = Path(__file__).parents[1] / "examples" / "crash_demo.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "demo"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    opt = Optimizer.load(tmp_path / "demo" / "run.jsonl")
    assert (opt.nfev, opt.result().nfail) == (60, 0)
    assert np.abs(opt.result().x - [1.0, 2.0, 0.5]).max() < 0.2
    assert "tobyqa-answer" in (tmp_path / "demo" / "report.html").read_text()
