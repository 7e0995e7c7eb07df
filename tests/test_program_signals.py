"""Nothing is left running: real signals, real processes, at the worst moments."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from test_cli_run import TOBYQA, is_alive, lines, obeys_interrupts, until
from tobyqa import Optimizer, Status, Trial
from tobyqa._supervise import stat
from tobyqa.child import Job, run_plainly
from tobyqa.cli import main
from tobyqa.journal import JournalError
from tobyqa.program import Program, ProgramError
from tobyqa.running import Notes, Process

TRIAL = Trial(7, np.array([0.5, -1.0]))
# Deaf to requests, and so is the child that it leaves in its group.
STUBBORN = "trap '' TERM HUP INT QUIT; sleep 300 & echo $$ $! >> {pids}; wait; wait"
MEEK = "sleep 300 & echo $$ $! >> {pids}; wait"
POLITE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


def shell(script, **kwargs):
    return Program(("sh", "-c", script), ("a", "b"), **kwargs)


def pids_in(path):
    return [int(pid) for line in lines(path) for pid in line.split()]


def none_is_alive(path):
    return not any(map(is_alive, pids_in(path)))


def begun(journal, script, *flags, **kwargs):
    """A run in a process of its own."""
    arguments = ["run", "--x0", "0", "--journal", str(journal), *flags]
    return subprocess.Popen(
        [*TOBYQA, *arguments, "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=obeys_interrupts,
        **kwargs,
    )


def killed(process):
    process.kill()
    process.communicate()


@pytest.fixture
def path(tmp_path):
    """Where the processes of a test are listed; afterwards none of them is left."""
    listed = tmp_path / "pids.txt"
    yield listed
    for pid in pids_in(listed):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", POLITE, ids=lambda n: n.name)
def test_a_signal_that_asks_to_end_stops_run_and_program(tmp_path, path, number):
    journal = tmp_path / "run.jsonl"
    process = begun(journal, MEEK.format(pids=path))
    until(lambda: lines(path))
    assert all(map(is_alive, pids_in(path)))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped by the user" in out
    assert "to continue: tobyqa run" in err
    assert none_is_alive(path)
    assert Optimizer.load(journal).status is Status.STOPPED
    assert sorted(os.listdir(tmp_path)) == ["pids.txt", "run.jsonl"]


@pytest.mark.parametrize("script", [MEEK, STUBBORN], ids=["meek", "stubborn"])
def test_a_killed_run_takes_its_program_with_it(tmp_path, path, script):
    process = begun(tmp_path / "run.jsonl", script.format(pids=path))
    until(lambda: lines(path))
    killed(process)
    until(lambda: none_is_alive(path))


def test_a_run_killed_at_any_moment_leaves_nothing_running(tmp_path, path):
    script = f"echo $$ >> {path}; sleep 0.02; echo 1"
    moments = random.Random(3)
    for k in range(5):
        process = begun(tmp_path / "run.jsonl", script, "--maxfev", "4000")
        until(lambda k=k: len(lines(path)) > 3 * k)
        time.sleep(moments.uniform(0.0, 0.1))
        process.send_signal(moments.choice([*POLITE, signal.SIGKILL]))
        process.communicate(timeout=60)
    until(lambda: none_is_alive(path))


@pytest.mark.parametrize("form", ["flag", "file"])
def test_after_a_lost_journal_the_command_to_continue_names_the_new_one(
    tmp_path, path, form
):
    """The command is taken from the terminal and repeated."""
    journal, answers = tmp_path / "run.jsonl", tmp_path / "answers"
    script = f"test -e {answers} && echo 1 && exit; {MEEK.format(pids=path)}"
    settings = tmp_path / "run.toml"
    settings.write_text(f'journal = "{journal}"\n')
    where = ["--journal", str(journal)] if form == "flag" else [str(settings)]
    command = ["run", *where, "--x0", "0", "--maxfev", "3", "--", "sh", "-c", script]
    process = subprocess.Popen(
        [*TOBYQA, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=obeys_interrupts,
    )
    until(lambda: lines(path))
    journal.unlink()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    answers.touch()
    _, *again = shlex.split(err.rpartition("to continue: ")[2])
    assert again.count("--journal") == 1
    assert main(again) == 0
    assert Optimizer.load(tmp_path / "run-continued-1.jsonl").nfev == 3
    assert not journal.exists()


def test_a_second_interrupt_during_the_grace_time_kills_the_program(tmp_path, path):
    process = begun(tmp_path / "run.jsonl", STUBBORN.format(pids=path))
    until(lambda: lines(path))
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert all(map(is_alive, pids_in(path)))  # it has two seconds to think
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    until(lambda: none_is_alive(path))


def test_the_end_of_the_terminal_ends_run_and_program(tmp_path, path):
    master, slave = os.openpty()
    arguments = ["run", "--x0", "0", "--journal", str(tmp_path / "run.jsonl")]
    script = MEEK.format(pids=path)
    code = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *TOBYQA[1:], *arguments, "--", "sh", "-c", script],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=obeys_interrupts,
    )
    os.close(slave)
    until(lambda: lines(path))
    os.close(master)  # the system sends SIGHUP
    assert process.wait(timeout=60) == 130
    assert none_is_alive(path)
    assert Optimizer.load(tmp_path / "run.jsonl").status is Status.STOPPED


def test_what_is_ignored_stays_ignored(tmp_path, path):
    """As under nohup; the program must ignore it too."""
    go_on = tmp_path / "go"
    script = f"echo $$ >> {path}; while [ ! -e {go_on} ]; do sleep 0.02; done; echo 1"

    def ignores_hangups():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = subprocess.Popen(
        [*TOBYQA, "run", "--x0", "0", "--maxfev", "1", "--", "sh", "-c", script],
        stdout=subprocess.DEVNULL,
        preexec_fn=ignores_hangups,
    )
    until(lambda: lines(path))
    process.send_signal(signal.SIGHUP)
    os.kill(pids_in(path)[0], signal.SIGHUP)
    go_on.touch()
    assert process.wait(timeout=60) == 0


def test_a_program_has_the_signals_of_a_fresh_process():
    """Python ignores two, the process in between the four that end others."""
    own = {n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN}
    script = "print(int(open('/proc/self/status').read().split('SigIgn:')[1][:17], 16))"
    command = ("sh", "-c", f'exec {sys.executable} -S -c "{script}"')
    mask = int(Program(command, ("a", "b")).measure(TRIAL).value)
    ignored = {n for n in signal.valid_signals() if mask >> (n - 1) & 1}
    # The second Python ignores them again.
    assert ignored - {signal.SIGPIPE, signal.SIGXFSZ} == own - {
        signal.SIGPIPE,
        signal.SIGXFSZ,
    }
    with pytest.raises(ProgramError, match="ended by SIGPIPE"):
        shell("kill -PIPE $$; echo 1").measure(TRIAL)


def test_a_run_repeated_at_once_never_has_two_programs_at_work(tmp_path, path):
    journal, clash = tmp_path / "run.jsonl", tmp_path / "clash"
    slow = f"trap '' TERM; echo $$ >> {path}; sleep 300; sleep 300"
    process = begun(journal, slow)
    until(lambda: lines(path))
    killed(process)
    is_alive_still = f"grep -qs '^State:.[^Z]' /proc/$(cat {path})/status"
    fast = f"{is_alive_still} && touch {clash}; echo 1"
    again = ["run", "--x0", "0", "--journal", str(journal), "--maxfev", "1", "--"]
    assert main([*again, "sh", "-c", fast]) == 0
    assert none_is_alive(path)
    assert not clash.exists()


def supervisor_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_continued_run_ends_what_nobody_could(tmp_path, path, capsys):
    """Run and supervisor killed together: only the note beside the journal is left."""
    journal = tmp_path / "run.jsonl"
    process = begun(journal, STUBBORN.format(pids=path))
    until(lambda: lines(path) and (tmp_path / "run.jsonl.programs").exists())
    program = pids_in(path)[0]
    until(lambda: str(program) in (tmp_path / "run.jsonl.programs").read_text())
    mode = (tmp_path / "run.jsonl.programs").stat().st_mode
    assert mode & 0o777 == 0o600
    os.kill(process.pid, signal.SIGSTOP)  # it must not notice first
    os.kill(supervisor_of(program), signal.SIGKILL)
    killed(process)
    assert all(map(is_alive, pids_in(path)))
    again = ["run", "--x0", "0", "--journal", str(journal), "--maxfev", "1", "--"]
    assert main([*again, "sh", "-c", "echo 1"]) == 0
    err = capsys.readouterr().err
    assert f"ended process {program}, which an earlier run had left running" in err
    assert none_is_alive(path)
    assert not (tmp_path / "run.jsonl.programs").exists()


def test_a_program_whose_supervisor_is_killed_is_ended_and_its_trial_failed(path):
    script = MEEK.format(pids=path).replace("; wait", "; kill -9 $PPID; wait")
    with pytest.raises(ProgramError, match="watched over it was killed"):
        shell(script).measure(TRIAL)
    until(lambda: none_is_alive(path))


def note_of(notes, process):
    notes.write(process.pid, process.pid)
    return json.loads(notes.path.read_text())


@pytest.mark.parametrize(
    "change", ["start", "boot", "pid", "garbage", "link", "nothing"]
)
def test_only_what_is_surely_ours_is_ended(tmp_path, change):
    """Numbers of processes are used again; a start time and a boot are not."""
    notes = Notes.beside(tmp_path / "run.jsonl")
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        note = note_of(notes, process)
        note |= {"run": [999_999_999, 1], "supervisor": None}
        if change == "start":
            note["program"][1] += 1
        elif change == "boot":
            note["boot"] += "0"
        elif change == "pid":
            note["program"][0] = -process.pid
        text = "{" if change == "garbage" else json.dumps(note)
        notes.path.write_text(text)
        if change == "link":
            notes.path.rename(tmp_path / "elsewhere")
            notes.path.symlink_to(tmp_path / "elsewhere")
        ended = notes.end_what_is_left(0.5)
        assert ended == ([process.pid] if change == "nothing" else [])
        assert is_alive(process.pid) == (change != "nothing")
        assert not notes.path.exists()
    finally:
        process.kill()
        process.wait()


def test_a_run_that_is_not_over_is_left_alone(tmp_path):
    notes = Notes.beside(tmp_path / "run.jsonl")
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        note = note_of(notes, process)
        notes.path.write_text(json.dumps({**note, "run": note["program"]}))
        with pytest.raises(JournalError, match="is measuring for this journal"):
            notes.end_what_is_left(0.5)
        assert is_alive(process.pid)
    finally:
        process.kill()
        process.wait()


def test_a_note_that_cannot_be_taken_is_no_failed_trial(tmp_path, capsys):
    journal, log = tmp_path / "run.jsonl", tmp_path / "calls.txt"
    (tmp_path / "run.jsonl.programs.part").mkdir()
    arguments = ["run", "--x0", "0", "--journal", str(journal), "--maxfev", "1", "--"]
    assert main([*arguments, "sh", "-c", f"echo 1 | tee {log}"]) == 3
    assert "run.jsonl.programs: cannot be written" in capsys.readouterr().err
    assert not log.exists()
    assert Optimizer.load(journal).nfev == 0


def test_a_process_is_itself_and_no_other(tmp_path):
    """Its name may look like anything, also like the end of its name."""
    program = tmp_path / "a) Z 1 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "300"])
    until(lambda: stat(process.pid)[0] == "S")
    assert Process.of(process.pid).is_alive
    assert Process.of(process.pid) == Process.of(process.pid)
    process.kill()
    until(lambda: stat(process.pid)[0] == "Z")
    assert not Process.of(process.pid).is_alive
    process.wait()
    assert Process.of(process.pid) is None


def test_children_left_in_the_group_end_with_the_trial(path):
    script = f"sleep 300 & echo $! >> {path}; echo 4"
    assert shell(script).measure(TRIAL).value == 4.0
    assert none_is_alive(path)


def test_children_that_do_not_end_cost_no_reading(path):
    """The time-out falls into the time that they are given."""
    script = f"(trap '' TERM; exec sleep 300) & echo $! >> {path}; echo 4"
    assert shell(script, timeout=1.0).measure(TRIAL).value == 4.0
    assert none_is_alive(path)


def test_what_leaves_the_group_stays_and_holds_up_nothing(path):
    """As --help says; its open standard output does not count."""
    away = f"setsid sh -c 'echo $$ >> {path}; exec sleep 300' & "
    script = f"{away} while [ ! -s {path} ]; do sleep 0.01; done; echo 4"
    assert shell(script, timeout=60).measure(TRIAL).value == 4.0
    assert is_alive(pids_in(path)[-1])


@dataclass
class Interrupting:
    """Notes whose taking is interrupted: the program is about to begin."""

    seen: list[int] = field(default_factory=list)

    def write(self, supervisor, program):
        self.seen += [supervisor, program]
        assert all(map(is_alive, self.seen))
        signal.raise_signal(signal.SIGINT)

    def clear(self):
        assert not any(map(is_alive, self.seen))


def test_an_interrupt_while_it_starts_leaves_no_program_running():
    """Found on a busy machine: the program ran before its parent knew of it."""
    notes = Interrupting()
    # What a shell starts in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            shell("sleep 60; echo 1", notes=notes).measure(TRIAL)
        assert len(notes.seen) == 2
        assert not any(map(is_alive, notes.seen))
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_cannot_be_started_says_so(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    with pytest.raises(ProgramError, match=r"cannot be started: .*format error"):
        Program((str(program),), ("a", "b")).measure(TRIAL)


# Floods ------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["", ">&2"])
def test_a_program_that_prints_without_end_is_ended_and_named(tmp_path, path, where):
    journal = tmp_path / "run.jsonl"
    script = f"echo $$ >> {path}; yes {where}"
    flags = ["--max-output", "2.5", "--max-failures", "1", "--quiet"]
    arguments = ["run", "--x0", "0", "--journal", str(journal), *flags]
    assert main([*arguments, "--", "sh", "-c", script]) == 1
    reason = Optimizer.load(journal).reasons[-1]
    assert reason.startswith("ended, since it printed more than 2.5 MiB")
    assert len(reason) < 600
    assert none_is_alive(path)


def test_a_flood_is_not_kept_in_memory():
    """What goes through a process is three times what it may have."""
    code = (
        "import resource, numpy as np; from tobyqa import Trial;"
        "from tobyqa.program import Program;"
        "size = int(open('/proc/self/statm').read().split()[0]) * 4096 + 10**8;"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size));"
        "p = Program(('sh', '-c', 'yes | head -c 300000000; echo; echo 7'), ('a',),"
        " max_output=1000);"
        "print(p.measure(Trial(0, np.zeros(1))).value)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("7.0\n", 0), done.stderr


def test_output_within_the_limit_is_no_flood():
    noisy = "yes chatter | head -c 1000000; echo; echo 3.25"
    assert shell(noisy, max_output=1.0).measure(TRIAL).value == 3.25


# Where no process can be set in between ----------------------------------------------


def job(script, **changes):
    fields = {"timeout": None, "max_output": 1.0, **changes}
    return Job(["sh", "-c", script], dict(os.environ), b"5\n", **fields)


def test_the_plain_way_hears_and_ends_a_program_too():
    ending = run_plainly(job("read a; echo $a; echo oh >&2; exit 3"))
    assert (ending.code, ending.why, ending.out, ending.err) == (3, "", b"5\n", b"oh\n")
    assert run_plainly(job("sleep 60", timeout=0.1)).why == "not ended after 0.1 s"
    assert "more than 1 MiB" in run_plainly(job("exec yes")).why
    assert run_plainly(job("kill -9 $$")).code == -9
    assert len(run_plainly(job("yes | head -c 900000")).out) == 131072
