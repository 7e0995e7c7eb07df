"""What is written never replaces a run, and follows no link that someone planted."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys

import pytest

import journaled_run
import tobyqa
from test_optimizer import assert_same
from tobyqa import Optimizer, report
from tobyqa.cli import main
from tobyqa.journal import JournalError, write_output
from tobyqa.outfile import replace_file


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer([0.0, 0.0], noise=0.01, rng=1, journal=path) as opt:
        for k in range(8):
            opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
    return path


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("command", ["export", "report", "plot"])
@pytest.mark.parametrize("target", ["itself", "another", "a link", "damaged"])
def test_no_command_replaces_a_run(journal, capsys, command, target):
    pytest.importorskip("matplotlib")
    out = journal
    if target != "itself":
        out = journal.with_name("other.jsonl")
        out.write_bytes(journal.read_bytes())
    if target == "damaged":
        out.write_bytes(b"#" + journal.read_bytes()[1:])
    if target == "a link":
        out = journal.with_name("link.svg")
        out.symlink_to(journal)
    before = out.read_bytes()
    if command == "plot" and target != "a link":  # the name says the format
        out = out.rename(journal.with_name("run.svg"))
        journal = out if target == "itself" else journal
    assert main([command, str(journal), "-o", str(out)]) == 3
    assert "which is not overwritten" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert len(list(out.parent.glob(".*.part"))) == 0


def test_a_report_is_not_written_onto_its_run(journal):
    pytest.importorskip("matplotlib")
    before = journal.read_bytes()
    with pytest.raises(JournalError, match="not overwritten"):
        report.write(journal, journal)
    assert journal.read_bytes() == before


def test_commands_write_their_files(journal, tmp_path):
    pytest.importorskip("matplotlib")
    for command, name in (
        ("export", "run.csv"),
        ("report", "run.html"),
        ("plot", "run.svg"),
    ):
        out = tmp_path / name
        out.write_text("the one before")
        assert main([command, str(journal), "-o", str(out)]) == 0
        assert "the one before" not in out.read_text()
    assert main(["plot", str(journal), "-o", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(journal), "-o", str(tmp_path / "run.xyz")]) == 2


def test_a_journal_that_another_process_runs_is_not_saved_over(journal):
    code = (
        "import sys, tobyqa; opt = tobyqa.Optimizer.resume(sys.argv[1]);"
        "print('open', flush=True); sys.stdin.read();"
        "opt.tell(opt.ask(), 1.0); opt.close()"
    )
    runner = subprocess.Popen(
        [sys.executable, "-c", code, journal],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    assert runner.stdout.readline() == "open\n"
    other = Optimizer([0.0])
    with pytest.raises(JournalError, match=r"journal.*another name"):
        other.save(journal)
    runner.communicate("")
    assert runner.returncode == 0
    assert Optimizer.load(journal).nfev == 9
    with pytest.raises(JournalError, match=r"journal.*another name"):
        other.save(journal)  # nobody runs it now: it is a journal all the same


def test_a_saved_run_may_be_saved_again_until_someone_continues_it(tmp_path):
    path = tmp_path / "saved.jsonl"
    opt = Optimizer([0.0], noise=0.01)
    for k in range(3):
        opt.tell(opt.ask(), float(k))
        opt.save(path)
        assert Optimizer.load(path).nfev == k + 1
    Optimizer.load(path).save(path)
    with Optimizer.resume(path) as continued:
        with pytest.raises(JournalError, match="another name"):
            opt.save(path)  # someone has it open
        continued.tell(continued.ask(), 4.0)
        expected = continued.result()
    with pytest.raises(JournalError, match="another name"):
        opt.save(path)  # there is more in it by now
    assert_same(expected, Optimizer.load(path).result())


def test_a_planted_link_is_not_followed(tmp_path):
    """The name of the temporary file was once known: a link there led elsewhere."""
    victim, path = tmp_path / "victim", tmp_path / "run.json"
    victim.write_text("precious")
    (tmp_path / "run.json.part").symlink_to(victim)
    Optimizer([0.0]).save(path)
    write_output(tmp_path / "run.json.html", b"page")
    assert victim.read_text() == "precious"
    assert not path.is_symlink()


def test_permissions_are_kept(tmp_path, umask):
    path = tmp_path / "page.html"
    write_output(path, b"one")
    assert mode(path) == 0o666 & ~umask
    path.chmod(0o604)
    write_output(path, b"two")
    assert (mode(path), path.read_bytes()) == (0o604, b"two")
    Optimizer([0.0]).save(tmp_path / "run.json")
    assert mode(tmp_path / "run.json") == 0o600


def test_a_link_of_the_users_own_stays_one(tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    for text in (b"one", b"two"):  # not there at first
        write_output(tmp_path / "link.html", text)
        assert (tmp_path / "link.html").is_symlink()
        assert (tmp_path / "real.html").read_bytes() == text


def test_what_is_no_file_is_written_to(tmp_path):
    code = "from tobyqa.outfile import replace_file; replace_file('/dev/stdout', b'hi')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"hi")
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, b"hi")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    """A real limit on the size of files, as a full disk."""
    path = tmp_path / "run.json"
    opt = Optimizer([0.0])
    opt.save(path)
    before = path.read_bytes()
    opt.tell(opt.ask(), 1.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
        with pytest.raises(OSError, match=r"run\.json'"):
            opt.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_folder_that_is_not_there_is_named_as_the_user_knows_it(tmp_path, capsys):
    out = tmp_path / "nowhere" / "run.csv"
    tobyqa.minimize(sum, [0.0], maxfev=4, journal=tmp_path / "run.jsonl")
    assert main(["export", str(tmp_path / "run.jsonl"), "-o", str(out)]) == 2
    assert f"{out}: No such file" in capsys.readouterr().err
