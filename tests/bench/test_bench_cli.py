from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from tobyqa.bench.cli import add_parser, gathered, main
from tobyqa.bench.report import composed
from tobyqa.bench.study import Study, study_text

STUDY = Study(
    name="tiny",
    description="One problem.",
    problems=("power",),
    channels=("Static",),
    dimensions=(4,),
    seeds=(0, 1),
    budget=60,
    solvers=("paper", "nelder-mead"),
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(study_text(STUDY))
    return tmp_path


def ran(*names):
    for name in names:
        run = ["run", f"{name}.toml", "--out", name, "--workers", "1", "--quiet"]
        assert main(run) == 0


def test_run_status_report(files, capsys):
    pytest.importorskip("matplotlib")
    run = ["run", "tiny.toml", "--out", "out", "--workers", "1"]
    assert main([*run, "--only", "seed=0"]) == 0
    assert "tiny: 2 cells in " in capsys.readouterr().out

    assert main(["status", "out"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tiny, version 1: 2/4 cells"
    assert lines[1].split() == ["solver", "n", "budget", "done", "failed"]
    assert lines[2].split() == ["paper", "4", "60", "1/2", "0"]

    assert main([*run, "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "tiny: 2 cells in " in captured.out
    assert "2 done before" in captured.out
    assert captured.err == ""

    assert main(["report", "out", "--out", "report", "--only", "seed=1"]) == 0
    printed = capsys.readouterr().out
    assert "| nelder-mead" in printed
    written = [line for line in printed.splitlines() if line.startswith("report")]
    assert len(written) > 10
    assert all((files / name).is_file() for name in written)
    assert "2 of 2" in (files / "report" / "README.md").read_text(encoding="utf-8")


def test_report_of_several_runs_and_some_cells(files, capsys):
    pytest.importorskip("matplotlib")
    longer = replace(STUDY, name="longer", budget=90)
    (files / "longer.toml").write_text(study_text(longer))
    ran("tiny", "longer")
    records, about = gathered(["tiny", "longer"], ["seed=1"])
    text = composed(records, **about).readme()
    assert "# Study tiny and longer" in text
    assert text.count("2 of 2") == 2
    assert re.search(r"seeds in longer +\| 1 ", text)
    capsys.readouterr()
    assert main(["report", "tiny", "tiny", "--out", "twice"]) != 0
    assert "in several of the runs" in capsys.readouterr().err


def test_a_choice_may_name_what_only_one_of_the_runs_has(files):
    pytest.importorskip("matplotlib")
    other = replace(STUDY, solvers=("bfgs-fd",))
    (files / "other.toml").write_text(study_text(other))
    ran("tiny", "other")
    records, about = gathered(["tiny", "other"], ["solver=paper|bfgs-fd"])
    (overall,) = (t for t in composed(records, **about).tables if t.name == "overall")
    rows = overall.csv().splitlines()[1:]
    assert {row.split(",")[0] for row in rows} == {"paper", "bfgs-fd"}


def test_list_shows_everything():
    done = subprocess.run(
        [sys.executable, "-m", "tobyqa.bench", "list"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "65 problems: " in done.stdout
    assert "7 channels: " in done.stdout
    assert "10 studies:" in done.stdout
    for name in ("nelder-mead", "newuoa-pdfo", "ChaoticDrift", "woods", "hessian"):
        assert name in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("run smok --out out", "unknown study 'smok'"),
        ("run absent.toml --out out", "there is no study file"),
        ("run tiny.toml --out out --only n=7", "no cell has n=7"),
        ("run tiny.toml --out tiny.toml", "tiny.toml"),
        ("status absent", "holds no study"),
        ("report absent --out report", "holds no study"),
        ("pack absent --out some.jsonl.xz", "holds no study"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(files, capsys, command, text):
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert text in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["", "run", "run smoke --out x --workers 0", "sing"]
)
def test_misspelt_commands_give_usage(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    assert "usage: " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "status", "report", "pack", "list"])
def test_help_has_an_example(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"example:\n  tobyqa bench {command}" in capsys.readouterr().out


def test_fits_into_a_larger_parser(files, capsys):
    parser = argparse.ArgumentParser("tobyqa")
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["bench", "status", "absent"])
    assert args.func(args) == 2


def test_importing_the_benchmark_is_light():
    heavy = ("matplotlib", "tqdm", "distributed", "nlopt", "cma", "scipy.stats")
    code = f"import sys, tobyqa.bench; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
