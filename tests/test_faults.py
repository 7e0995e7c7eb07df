"""The attacks of ``python benchmarks/faults.py``, some of each, and their judgement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from fault_damage import Damaged  # noqa: E402
from fault_marks import Tally, end_marked, marked  # noqa: E402
from fault_parts import Ledger  # noqa: E402
from faults import LEGEND, table, write  # noqa: E402
from tobyqa import Optimizer  # noqa: E402

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes in /proc"
)


@pytest.mark.parametrize(
    ("name", "count"),
    [("SIGT", 1), ("SIGKILL of", 3), ("at once", 1), ("tell", 1), ("taken", 1)],
)
def test_some_attacks_find_nothing(name, count):
    """All of them: ``python benchmarks/faults.py``."""
    command = [sys.executable, BENCHMARKS / "faults.py", "--share", "0.02"]
    done = subprocess.run(
        [*command, "--only", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 findings") == count


def journaled(path, values):
    with Optimizer([0.0], method="paper", noise=0.1, journal=path) as opt:
        for value in values:
            opt.tell(opt.ask(), value)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("0 0.1\n1 1.1\n2 2.1\n", (0, 0, 0, 0, 0)),  # the last one was interrupted
        ("0 0.1\n1 1.1\n2 2.1\n3 3.1\n4 4.1\n", (2, 0, 0, 0, 0)),
        ("0 0.1\n1 1.2\n", (0, 1, 0, 0, 0)),
        ("0 0.1\n0 0.2\n1 1.1\n", (0, 0, 1, 0, 0)),
    ],
)
def test_what_a_journal_must_have_kept(tmp_path, calls, found):
    journal, tally = tmp_path / "run.jsonl", Tally()
    journaled(journal, [0.1, 1.1])
    ledger = Ledger(journal)
    ledger.calls.write_text(calls)
    assert ledger.check(tally)
    assert tally.findings == found
    assert ledger.told == [0.1, 1.1]


def test_what_was_on_the_disk_is_not_measured_again_and_stays(tmp_path):
    journal, tally = tmp_path / "run.jsonl", Tally()
    journaled(journal, [0.1, 1.1])
    ledger = Ledger(journal, told=[0.1, 1.1])
    ledger.calls.write_text("1 1.5\n")
    assert ledger.check(tally)
    assert tally.findings == (0, 0, 1, 0, 0)
    journal.write_text("{}\n")
    assert not ledger.check(tally)
    assert tally.findings == (0, 0, 1, 0, 1)
    journal.unlink()
    assert ledger.check(tally)
    assert tally.findings == (2, 0, 1, 0, 1)


def test_damage_is_told_from_an_earlier_moment(tmp_path):
    damaged, tally = Damaged(tmp_path), Tally()
    damaged.try_copy(damaged.data, tally, "as it is")
    damaged.try_copy(b"".join(damaged.lines[:-1]), tally, "cut")
    damaged.try_copy(b"".join(damaged.lines[1:]), tally, "refused")
    assert (tally.earlier, sum(tally.findings)) == (1, 0)
    other = damaged.data.replace(b'"sigma": 0.1,', b'"sigma": 0.2,', 1)
    without = [line.rpartition(b', "sum"')[0] + b"}\n" for line in other.splitlines()]
    unsealed = b"".join(without).replace(b'"format_version": 2', b'"format_version": 1')
    damaged.try_copy(unsealed, tally, "altered, in the format without checksums")
    assert tally.findings == (0, 1, 0, 0, 0)


def test_processes_are_known_by_their_mark():
    process = subprocess.Popen(["sleep", "300"], env={"FAULTS_MARK": "of a test"})
    try:
        assert marked("of a test") == [process.pid]
        assert marked("of another") == []
        end_marked("of a test")
        assert process.wait() == -9
    finally:
        process.kill()


def test_a_table_takes_the_place_of_the_one_with_its_title(tmp_path):
    path = tmp_path / "faults.md"
    tallies = {"fire": Tally(7, lost=1), "water": Tally(3, left=2, earlier=1)}
    assert table(tallies).splitlines()[-1].split("|")[2:-1] == [
        *("   10 ", "    1 ", "       0 ", "           0 ", "            2 "),
        *("     0 ", "       1 "),
    ]
    for title, text in [("now", "a"), ("before", "b"), ("now", "c")]:
        write(path, title, text)
    assert path.read_text() == f"{LEGEND}\n## before\n\nb\n\n## now\n\nc\n"


def test_an_attack_without_time_is_a_finding():
    tally = Tally(seconds=-1.0)
    assert list(tally.attacks("abc")) == []
    assert tally.findings == (0, 0, 0, 0, 1)
    assert "cut short" in tally.notes[0]
    tally = Tally()
    assert list(tally.attacks("abc")) == ["a", "b", "c"]
    assert (tally.runs, tally.findings) == (3, (0, 0, 0, 0, 0))
