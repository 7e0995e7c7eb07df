"""Attacks on runs, on their files and on their programs, and what each has done.

    python benchmarks/faults.py            # minutes; Linux only
    python benchmarks/faults.py --share 0.1
    python benchmarks/faults.py --source ../before --out faults.md --title Before

Each kind of attack is a process of its own in a temporary directory; whatever it starts
is known by an environment variable, and ended with it. A row is written as soon as it
is known. The exit code is 1 if there is any finding, or an attack was cut short.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from fault_marks import MARK, Tally, end_marked

LIMIT = 600.0  # seconds, after which no further attack of a kind is begun
EXTRA = 120.0  # seconds, after which the last one has to be over
TITLES = ("lost", "altered", "asked twice", "left running", "other")
LEGEND = """\
# What attacks do to runs

Made by `benchmarks/faults.py`, one section for each version of the package.

- lost: readings that had been acknowledged are missing.
- altered: a file opens without a word, with other contents than were written.
- asked twice: a trial was measured although its reading was on the disk, or by two
  programs at once.
- left running: processes alive some seconds after the run was over.
- other: a file that cannot be opened, a hang, a crash, a wrong exit code.
- earlier: the end of a file was cut off, and it opens as what the run was at an earlier
  moment. That is no finding: a journal can end anywhere.
"""


@dataclass(frozen=True)
class Attack:
    """A row of the table."""

    text: str
    count: int
    function: str  # with its module, beside this one
    signal: int | None = None

    def scaled(self, share: float) -> int:
        return max(1, round(self.count * share))


# Cut at every byte: 8,000 are more than the journal has.
ATTACKS = (
    Attack("SIGKILL of `run`", 250, "fault_processes.signals_to_run", signal.SIGKILL),
    Attack("SIGKILL of `minimize`", 250, "fault_processes.kills_of_minimize"),
    Attack("SIGKILL of `run --parallel 4`", 20, "fault_parallel.kills_side_by_side"),
    Attack("SIGINT to `run`", 100, "fault_processes.signals_to_run", signal.SIGINT),
    Attack("SIGTERM to `run`", 100, "fault_processes.signals_to_run", signal.SIGTERM),
    Attack("SIGHUP to `run`", 100, "fault_processes.signals_to_run", signal.SIGHUP),
    Attack("SIGQUIT to `run`", 100, "fault_processes.signals_to_run", signal.SIGQUIT),
    Attack("signal, repeated at once", 50, "fault_processes.repeats_at_once"),
    Attack("`fun` forks, SIGKILL", 20, "fault_processes.kills_after_a_fork"),
    Attack("interrupts inside `tell`", 200, "fault_files.interrupts_of_tell"),
    Attack("journal cut at every byte", 8000, "fault_damage.truncations"),
    Attack("one bit flipped", 2000, "fault_damage.bit_flips"),
    Attack("line deleted, repeated, swapped", 500, "fault_damage.lines_moved"),
    Attack("disk full", 40, "fault_files.full_disks"),
    Attack("file taken away or replaced", 50, "fault_files.files_taken_away"),
    Attack("3 processes, one journal", 30, "fault_processes.races"),
    Attack("program leaves children", 20, "fault_processes.programs_that_fork"),
    Attack("program ignores signals", 24, "fault_processes.programs_that_ignore"),
    Attack("program floods its output", 20, "fault_processes.programs_that_flood"),
)


def attacked(attack: Attack, share: float, source: Path | None) -> Tally:
    """What an attack has done, in a process of its own."""
    mark = secrets.token_hex(8)
    environment = os.environ | {MARK: mark}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve() / "src")
    place, count = str(ATTACKS.index(attack)), str(attack.scaled(share))
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        command = [sys.executable, __file__, "--attack", place, count, folder]
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                timeout=LIMIT + EXTRA,
            )
            return Tally(**json.loads(done.stdout))
        except subprocess.TimeoutExpired:
            return Tally(other=1, notes=[f"not over after {LIMIT + EXTRA:g} s"])
        except ValueError:
            return Tally(other=1, notes=[f"exit code {done.returncode}"])
        finally:
            end_marked(mark)


def attack_here(attack: Attack, count: int, folder: Path) -> Tally:
    """What an attack has done, made by this process."""
    # What the package says of damaged files is not what is looked at.
    logging.getLogger("tobyqa").setLevel(logging.ERROR)
    module, name = attack.function.split(".")
    # Late: it imports the package that is attacked.
    function = getattr(importlib.import_module(module), name)
    arguments = () if attack.signal is None else (attack.signal,)
    tally = Tally(seconds=LIMIT)
    try:
        function(*arguments, tally, count, folder)
    except Exception:
        tally.note("other", "the attack failed: " + traceback.format_exc()[-250:])
    return tally


def table(tallies: dict[str, Tally]) -> str:
    """The counts, one row for each attack, as Markdown."""
    rows = [["attack", "runs", *TITLES, "earlier"]]
    for text, tally in tallies.items():
        counts = (tally.runs, *tally.findings, tally.earlier)
        rows.append([text, *map(str, counts)])
    totals = zip(*(t.findings for t in tallies.values()), strict=True)
    sums = [sum(t.runs for t in tallies.values()), *map(sum, totals)]
    earlier = sum(t.earlier for t in tallies.values())
    rows.append(["all", *map(str, sums), str(earlier)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    dashes = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([lines[0], _line(dashes, widths), *lines[1:]])


def _line(cells: list[str], widths: list[int]) -> str:
    first, *others = (
        cell.rjust(w) if k else cell.ljust(w)
        for k, (cell, w) in enumerate(zip(cells, widths, strict=True))
    )
    return " | ".join(["| " + first, *others]) + " |"


def write(path: Path, title: str, text: str) -> None:
    """Put a table into a file, in place of the one that has its title there."""
    old = path.read_text(encoding="utf-8") if path.exists() else LEGEND
    head, *sections = old.split("\n## ")
    kept = [s for s in sections if s.partition("\n")[0] != title]
    parts = [head.rstrip(), *(s.rstrip() for s in kept), f"{title}\n\n{text}"]
    path.write_text("\n\n## ".join(parts) + "\n", encoding="utf-8")


def attack_all(args: argparse.Namespace) -> int:
    """Make the table row by row; gives the exit code."""
    tallies: dict[str, Tally] = {}
    start = time.monotonic()
    for attack in (a for a in ATTACKS if args.only in a.text):
        begin = time.monotonic()
        tally = tallies[attack.text] = attacked(attack, args.share, args.source)
        found, seconds = sum(tally.findings), time.monotonic() - begin
        print(f"{attack.text}: {tally.runs} runs, {found} findings, {seconds:.0f} s")
        print(*(f"    {note}\n" for note in tally.notes), sep="", end="", flush=True)
        if args.out is not None:
            write(args.out, args.title, f"{_command(args)}\n\n{table(tallies)}")
    print(f"\n{table(tallies)}\n\n{time.monotonic() - start:.0f} s")
    return int(any(any(t.findings) for t in tallies.values()))


def _command(args: argparse.Namespace) -> str:
    """The command that makes the same table."""
    share = "" if args.share == 1.0 else f" --share {args.share:g}"
    only = f" --only '{args.only}'" if args.only else ""
    source = f" --source {args.source}" if args.source else ""
    return f"`python benchmarks/faults.py{share}{only}{source}`"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the full number of attacks"
    )
    parser.add_argument("--only", default="", help="attacks with this in their name")
    parser.add_argument("--source", type=Path, help="attack the package of this tree")
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    parser.add_argument("--title", default="This version", help="of the table there")
    parser.add_argument("--attack", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.attack:
        # So that what is running is ended then, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return attack_all(args)
    place, count, folder = args.attack
    tally = attack_here(ATTACKS[int(place)], int(count), Path(folder))
    print(json.dumps(asdict(tally)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
