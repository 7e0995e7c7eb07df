"""The journal's file: what may be one, who has it, and what if it disappears."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import journaled_run
from test_optimizer import assert_same
from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.journal import JournalError, read


def begun(path, readings=3):
    opt = Optimizer([0.0, 0.0], method="paper", noise=0.01, rng=1, journal=path)
    for k in range(readings):
        opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
    return opt


def cut(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def appended(path):
    with path.open("ab") as file:
        file.write(b"a note of mine\n")


ATTACKS = {
    "deleted": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("elsewhere.jsonl")),
    "replaced by": lambda path: os.replace(copied(path), path),
    "cut short": cut,
    "written to": appended,
}


def copied(path):
    """The same bytes in another file."""
    other = path.with_name("copy.jsonl")
    other.write_bytes(path.read_bytes())
    return other


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_lost_journal_is_noticed_and_the_run_goes_on_beside_it(
    tmp_path, caplog, attack
):
    path, straight = tmp_path / "run.jsonl", begun(None)
    with begun(path) as opt:
        ATTACKS[attack](path)
        left = path.read_bytes() if path.exists() else None
        for each in (opt, straight):
            each.tell(each.ask(), 7.0)
            each.tell(each.ask(), 8.0)
        new = tmp_path / "run-continued-1.jsonl"
        assert opt.journal == new
        assert attack in caplog.text
        assert str(new) in caplog.text
        assert caplog.text.count(" while its run was going on") == 1
        with pytest.raises(JournalError, match="another process"):
            Optimizer.resume(new)
    assert (path.read_bytes() if path.exists() else None) == left
    assert_same(straight.result(), Optimizer.load(new).result())
    with Optimizer.resume(new) as again:
        again.tell(again.ask(), 9.0)


def test_a_file_lost_twice_goes_on_under_the_next_free_name(tmp_path):
    path = tmp_path / "run.jsonl"
    (tmp_path / "run-continued-1.jsonl").write_text("something else")
    with begun(path) as opt:
        path.unlink()
        opt.ask()
        assert opt.journal == tmp_path / "run-continued-2.jsonl"
        opt.journal.unlink()
        opt.tell(opt.ask(), 1.0)
        assert opt.journal.name == "run-continued-2-continued-1.jsonl"
        expected = opt.result()
    assert_same(expected, Optimizer.load(opt.journal).result())
    assert (tmp_path / "run-continued-1.jsonl").read_text() == "something else"


def test_a_lost_folder_loses_nothing(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    with begun(folder / "run.jsonl") as opt:
        (folder / "run.jsonl").unlink()
        folder.rmdir()
        with pytest.raises(JournalError, match="deleted, and no new file can be made"):
            opt.tell(opt.ask(), 7.0)
        assert opt.nfev == 3
        folder.mkdir()
        opt.tell(opt.ask(), 7.0)  # the same call again
        expected = opt.result()
    again = Optimizer.load(folder / "run-continued-1.jsonl")
    assert_same(expected, again.result())


def test_a_change_of_the_working_directory_is_no_loss(tmp_path):
    code = (
        "import os, sys, tobyqa; os.chdir(sys.argv[1]);"
        "opt = tobyqa.Optimizer([0.0], journal='run.jsonl');"
        "os.chdir('/'); opt.tell(opt.ask(), 1.0); opt.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]
    assert Optimizer.load(tmp_path / "run.jsonl").nfev == 1


def test_a_file_lost_after_that_is_continued_where_it_was(tmp_path):
    code = (
        "import os, sys, tobyqa; os.chdir(sys.argv[1]);"
        "opt = tobyqa.Optimizer([0.0], journal='run.jsonl');"
        "os.chdir('/'); os.remove(sys.argv[1] + '/run.jsonl');"
        "opt.tell(opt.ask(), 1.0); opt.close()"
    )
    subprocess.run(
        [sys.executable, "-c", code, tmp_path], check=True, stderr=subprocess.DEVNULL
    )
    assert Optimizer.load(tmp_path / "run-continued-1.jsonl").nfev == 1


# -- who has it ----------------------------------------------------------------------

FORKING = """
import os, sys, time, tobyqa
opt = tobyqa.Optimizer.resume(sys.argv[1])
child = os.fork()
if child == 0:  # as a daemon that the measurement starts
    try:
        opt.tell(opt.ask(), 1.0)
    except tobyqa.journal.JournalError as error:
        open(sys.argv[2], "w").write(str(error))
    print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_does_not_keep_the_lock_of_its_killed_parent(tmp_path):
    path, said = tmp_path / "run.jsonl", tmp_path / "said.txt"
    begun(path).close()
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKING, path, said], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        with pytest.raises(JournalError, match="another process"):
            Optimizer.resume(path)
        parent.kill()
        parent.wait()
        os.kill(child, 0)  # it lives
        with Optimizer.resume(path) as opt:
            opt.tell(opt.ask(), 1.0)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.kill()
        parent.stdout.close()
    assert "belongs to the process that opened it" in said.read_text()
    assert Optimizer.load(path).nfev == 4


def test_a_journal_is_for_its_owner_alone(tmp_path):
    begun(tmp_path / "run.jsonl").close()
    begun(None).save(tmp_path / "saved.jsonl")
    for name in ("run.jsonl", "saved.jsonl"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


# -- what may be one -----------------------------------------------------------------


def special(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    return [fifo, Path("/dev/null"), Path("/dev/zero"), Path("/dev/full"), tmp_path]


def test_only_a_regular_file_can_hold_a_run(tmp_path):
    """A FIFO would wait for ever, a device be read without end."""
    for path in special(tmp_path):
        for use in (
            lambda path: Optimizer([0.0], journal=path),
            lambda path: Optimizer.open(path, x0=[0.0]),
            Optimizer.resume,
            Optimizer.load,
            read,
        ):
            with pytest.raises(JournalError, match="only a regular file"):
                use(path)


def test_a_command_refuses_a_fifo_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    done = subprocess.run(
        [sys.executable, "-m", "tobyqa", "status", tmp_path / "fifo"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "only a regular file can hold a run" in done.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
@pytest.mark.parametrize(
    "command",
    [
        ["init", "run.jsonl", "--name", "a", "--data"],
        ["run", "--x0", "0", "--maxfev", "1"],
    ],
    ids=["data", "run file"],
)
def test_a_device_is_not_read(monkeypatch, tmp_path, capsys, command, device):
    if not os.path.exists(device):
        pytest.skip("no such device here")
    monkeypatch.chdir(tmp_path)
    assert main([*command, device]) == 2
    assert capsys.readouterr().err == f"tobyqa: {device} is a device, not a file\n"
    assert os.listdir(tmp_path) == []


def test_a_table_may_come_through_a_pipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("a,t,value\n1,0,3\n",))
    writer.start()
    assert main(["init", "run.jsonl", "--name", "a", "--data", str(fifo)]) == 0
    writer.join()
    assert Optimizer.load("run.jsonl").nfev == 0
    assert len(Optimizer.load("run.jsonl").result().history) == 1


# -- points beyond what a user may say -----------------------------------------------


@pytest.mark.parametrize("method", ["paper", "adaptive"])
def test_a_run_accepts_the_points_that_it_asked_for_itself(tmp_path, method):
    """x0 and the first radius add up to more than may be told, and it is not asked."""
    path = tmp_path / "run.jsonl"
    arguments = {"method": method, "initial_radius": 1e50, "noise": 1.0, "rng": 1}
    with Optimizer([1e50, -1e50], journal=path, **arguments) as opt:
        largest = 0.0
        for k in range(3):
            trial = opt.ask()
            largest = max(largest, abs(trial.x).max())
            opt.tell(trial.x.copy(), float(k))
        assert largest == 1e50
        assert opt.nfev == 3
        with pytest.raises(ValueError, match=r"x must be at most 1e\+50"):
            opt.tell([2e50, 0.0], 1.0)
        opt.save(tmp_path / "saved")
        expected = opt.ask()
    for again in (Optimizer.load(path), Optimizer.load(tmp_path / "saved")):
        assert again.nfev == 3
        assert (again.ask().x == expected.x).all()
