"""What the pages say is what the studies found, and what they point to is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tobyqa.bench.cli import gathered
from tobyqa.bench.report import composed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LARGEST = 5_000_000  # bytes; a study's records go in parts if need be

ADAPTIVE = DOCS / "results" / "adaptive"
REPORTS = {
    ADAPTIVE: ("adaptive", "peers"),
    ADAPTIVE / "small": ("adaptive", "peers"),
    ADAPTIVE / "parts": ("parts",),
    DOCS / "results" / "short": ("own", "peers"),
}


def name(path):
    return str(path.relative_to(ROOT))


def test_the_tables_in_the_pages_are_the_generated_ones():
    command = [sys.executable, str(DOCS / "tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "variant" in (DOCS / "method.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", REPORTS, ids=name)
def test_a_kept_report_is_what_its_records_give(folder):
    """As ``tobyqa bench report`` writes it; nothing is drawn."""
    pytest.importorskip("matplotlib")
    runs = [str(folder / "records" / f"{run}.jsonl.xz") for run in REPORTS[folder]]
    records, about = gathered(runs, None)
    kept = (folder / "README.md").read_text(encoding="utf-8")
    assert composed(records, **about).readme() == kept


def test_the_page_of_several_in_flight_is_what_its_records_give(tmp_path):
    folder, made = DOCS / "results" / "parallel", tmp_path / "README.md"
    records = folder / "records" / "parallel.jsonl"
    script = str(ROOT / "benchmarks" / "parallel.py")
    flags = ["--full", "--kept", "--out", str(records), "--report", str(made)]
    subprocess.run([sys.executable, script, *flags], check=True, capture_output=True)
    kept = (folder / "README.md").read_text(encoding="utf-8")
    assert kept == made.read_text(encoding="utf-8")
    assert "| optuna: time |" in kept


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = {t.partition("#")[0] for t in targets if not re.match(r"\w+:|#", t)}
    assert [t for t in sorted(local) if not (page.parent / t).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_records_named_in_commands_are_there(page):
    text = page.read_text(encoding="utf-8")
    paths = set(re.findall(r"[\w./-]*\brecords/[\w.*-]+", text))
    found = {p for p in paths for top in (ROOT, page.parent) if any(top.glob(p))}
    assert paths == found


def test_no_tracked_file_is_large():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / path for path in listed.stdout.split("\0") if path]
    sizes = {name(path): path.stat().st_size for path in files if path.is_file()}
    assert {path: size for path, size in sizes.items() if size > LARGEST} == {}
