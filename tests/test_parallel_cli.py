"""``tobyqa run --parallel`` and ``--dask``, several trials by hand: real programs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from test_cli_run import is_alive, obeys_interrupts, until
from tobyqa import Optimizer, Status
from tobyqa.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and shells")

BOWL = 'awk "BEGIN{print ($TOBYQA_X0-0.6)^2+0.5*($TOBYQA_X1+0.3)^2}"'


def command(journal, script, *flags, k=4, maxfev=40):
    plain = ["--x0", "0,0", "--noise", "1e-4", "--seed", "1", "--clock", "index"]
    return [
        *(sys.executable, "-m", "tobyqa", "run", *plain, "--maxfev", str(maxfev)),
        *("--parallel", str(k), "--journal", str(journal), *flags),
        *("--", "sh", "-c", script),
    ]


def tobyqa(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_programs_run_at_the_same_time_each_in_its_slot(tmp_path):
    """Each waits until four have begun: one after the other, nobody would end."""
    notes = tmp_path / "notes"
    notes.mkdir()
    script = (
        f"touch {notes}/$TOBYQA_INDEX-$TOBYQA_SLOT; "
        f"while [ $(ls {notes} | wc -l) -lt 4 ]; do sleep 0.02; done; {BOWL}"
    )
    journal = tmp_path / "run.jsonl"
    subprocess.run(command(journal, script), check=True, capture_output=True)
    opt = Optimizer.load(journal)
    assert (opt.nfev, opt.status, opt.pending) == (40, Status.MAXFEV, [])
    assert abs(opt.result().x - [0.6, -0.3]).max() < 0.02
    pairs = [name.name.split("-") for name in notes.iterdir()]
    assert sorted(int(index) for index, _ in pairs) == list(range(40))
    assert {slot for _, slot in pairs} == {"0", "1", "2", "3"}
    assert list(tmp_path.glob("run.jsonl.*")) == []  # no program is noted any more


def test_killed_at_random_moments_it_loses_nothing(tmp_path):
    """A reading that was told stays, and what was out is out again, in the end all."""
    journal, log = tmp_path / "run.jsonl", tmp_path / "began.txt"
    script = f"echo $TOBYQA_INDEX >> {log}; sleep 0.05; {BOWL}"
    moments, known, out = random.Random(4), {}, Counter()
    for _ in range(5):
        process = subprocess.Popen(
            command(journal, script), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        size = journal.stat().st_size if journal.exists() else 0
        until(lambda: journal.exists() and journal.stat().st_size > size)  # noqa: B023
        time.sleep(moments.uniform(0.0, 0.3))
        process.kill()
        process.communicate()
        opt = Optimizer.load(journal)
        told = {e["id"]: e["value"] for e in opt._log.events if e["event"] == "tell"}
        assert {key: told[key] for key in known} == known
        known = told
        left = opt.pending
        out.update(trial.id for trial in left)
    done = subprocess.run(
        command(journal, script), check=True, capture_output=True, text=True
    )
    opt = Optimizer.load(journal)
    assert (opt.nfev, opt.pending) == (40, [])
    began = Counter(map(int, log.read_text().split()))
    assert sorted(began) == list(range(40))
    assert all(count <= 1 + out[trial] for trial, count in began.items())
    waiting = ", ".join(str(trial.id) for trial in left)
    assert (f"pending from before, measured again: {waiting}" in done.stderr) is bool(
        left
    )


def test_interrupted_it_ends_all_programs_and_keeps_their_trials(tmp_path):
    journal, pids = tmp_path / "run.jsonl", tmp_path / "pids.txt"
    script = f"echo $$ >> {pids}; sleep 60; echo 1"
    process = subprocess.Popen(
        command(journal, script, k=3),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=obeys_interrupts,
    )
    until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
    assert len(list(tmp_path.glob("run.jsonl.programs*"))) == 3
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"to continue: tobyqa run" in errors
    assert not any(is_alive(pid) for pid in pids.read_text().split())
    opt = Optimizer.load(journal)
    assert (opt.nfev, [t.id for t in opt.pending]) == (0, [0, 1, 2])
    assert list(tmp_path.glob("run.jsonl.*")) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
def test_programs_left_over_are_ended_and_said(tmp_path):
    """The run and all that watched over its programs are killed together."""
    journal, pids = tmp_path / "run.jsonl", tmp_path / "pids.txt"
    script = f"echo $$ >> {pids}; [ -e {tmp_path}/go ] || sleep 60; {BOWL}"
    process = subprocess.Popen(
        command(journal, script, k=3, maxfev=12), stderr=subprocess.DEVNULL
    )
    until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
    left = pids.read_text().split()
    notes = list(tmp_path.glob("run.jsonl.programs*"))
    supervisors = [json.loads(n.read_text())["supervisor"][0] for n in notes]
    for pid in (process.pid, *supervisors):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert all(is_alive(pid) for pid in left)
    (tmp_path / "go").touch()
    done = subprocess.run(
        command(journal, script, k=3, maxfev=12), capture_output=True, text=True
    )
    for pid in left:
        assert f"ended process {pid}, which an earlier run had left" in done.stderr
        assert not is_alive(pid)
    assert "pending from before, measured again: 0, 1, 2" in done.stderr
    assert Optimizer.load(journal).nfev == 12


def test_failures_and_retries_of_programs_side_by_side(tmp_path):
    journal, log = tmp_path / "run.jsonl", tmp_path / "calls.txt"
    script = f"echo $TOBYQA_INDEX >> {log}; [ $TOBYQA_INDEX = 5 ] && exit 3; {BOWL}"
    done = subprocess.run(
        command(journal, script, "--retries", "1", maxfev=16),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "trial 5 failed, attempt 2: exit code 3" in done.stderr
    assert Counter(log.read_text().split())["5"] == 2
    opt = Optimizer.load(journal)
    assert [reason for reason in opt.reasons if reason] == ["exit code 3"]
    assert opt.nfev == 16


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--parallel", "0"], "parallel must be"),
        (["--parallel", "2", "--max-move", "x0=1"], "does not go together with max_mo"),
        (["--parallel", "2", "--name", "slot", "--name", "b"], "called 'slot' here"),
    ],
)
def test_bad_flags_are_named_before_anything_runs(flags, text, capsys, tmp_path):
    touched = tmp_path / "touched"
    arguments = ["run", "--x0", "0,0", *flags, "--", "touch", touched]
    code, _, errors = tobyqa(capsys, *arguments)
    assert code == 2
    assert text in errors
    assert not touched.exists()


def test_a_run_file_says_it_too(tmp_path):
    runfile = tmp_path / "run.toml"
    runfile.write_text(
        'x0 = [0, 0]\nparallel = 2\nmaxfev = 8\nclock = "index"\n'
        f'journal = "{tmp_path}/run.jsonl"\n'
        f'program = ["sh", "-c", "echo $TOBYQA_SLOT >> {tmp_path}/slots; echo 1"]\n'
    )
    subprocess.run(
        [sys.executable, "-m", "tobyqa", "run", str(runfile)],
        check=True,
        capture_output=True,
    )
    slots = (tmp_path / "slots").read_text().split()
    assert (len(slots), set(slots)) == (8, {"0", "1"})


@pytest.mark.filterwarnings("ignore")  # clusters leave sockets to the collector
def test_programs_on_a_dask_cluster(tmp_path):
    distributed = pytest.importorskip("distributed")
    journal = tmp_path / "run.jsonl"
    with distributed.LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        plain = [part for part in command(journal, BOWL, maxfev=24)]
        at = plain.index("--parallel")
        plain[at : at + 2] = ["--dask", cluster.scheduler_address]
        subprocess.run(plain, check=True, capture_output=True)
    opt = Optimizer.load(journal)
    assert opt.nfev == 24
    assert any("beside" in event for event in opt._log.events)
    assert abs(opt.result().x - [0.6, -0.3]).max() < 0.05


# -- by hand --------------------------------------------------------------------------


@pytest.mark.parametrize("which", [(3,), ("--trial", 3)])
def test_several_trials_by_hand(capsys, tmp_path, which):
    path = tmp_path / "run.jsonl"
    tobyqa(capsys, "init", path, "--x0", "0,0", "--maxfev", 5, "--clock", "index")
    _, out, _ = tobyqa(capsys, "ask", path, "-k", 4)
    assert re.findall(r"^trial (\d+): x0 = ", out, re.M) == ["0", "1", "2", "3"]
    _, again, _ = tobyqa(capsys, "ask", path, "-k", 4, "--json")
    assert [trial["id"] for trial in json.loads(again)] == [0, 1, 2, 3]
    code, _, errors = tobyqa(capsys, "tell", path, 1.5)
    assert (code, "several trials wait: say with --trial" in errors) == (2, True)
    code, out, _ = tobyqa(capsys, "tell", path, "--trial", 2, 1.5)
    assert (code, out.startswith("taken for trial 2 at x0 = ")) == (0, True)
    assert re.findall(r"^waiting: trial (\d+)", out, re.M) == ["0", "1", "3"]
    code, _, errors = tobyqa(capsys, "tell", path, "--trial", 2, 1.5)
    assert (code, "trial 2 does not wait" in errors) == (2, True)
    tobyqa(capsys, "fail", path, "--trial", 0, "--reason", "door")
    code, _, errors = tobyqa(capsys, "give-up", path)
    assert (code, "several trials wait: say with --trial" in errors) == (2, True)
    code, out, _ = tobyqa(capsys, "give-up", path, *which)
    assert (code, out.startswith("trial 3 at x0 = ")) == (0, True)
    tobyqa(capsys, "tell", path, 2.5)  # only one is left
    _, shown, _ = tobyqa(capsys, "status", path, "--json")
    facts = json.loads(shown)
    assert (facts["nfev"], facts["readings"], facts["pending"]) == (3, 2, [])
    _, out, _ = tobyqa(capsys, "ask", path, "-k", 9)
    assert re.findall(r"^trial (\d+)", out, re.M) == ["4", "5"]  # 5 in all
    _, out, _ = tobyqa(capsys, "status", path)
    assert len(re.findall(r"trial \d: x0 = ", out)) == 2
