from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

from tobyqa.bench.channels import channel_names
from tobyqa.bench.only import chosen
from tobyqa.bench.solvers import ABLATIONS
from tobyqa.bench.study import (
    Block,
    Study,
    load_study,
    parse_study,
    study_names,
    study_text,
)

TINY = Study(
    name="tiny",
    description="Two problems.",
    problems=("power", "woods"),
    channels=("Static", "LinearDrift"),
    dimensions=(4, 6),
    seeds=(0, 1),
    budget=50,
    solvers=("paper", "nelder-mead"),
)


def test_the_parts_of_adaptive_are_compared_by_a_measure_of_their_own():
    """If the method defined f_L and its variants did not, it would seem better."""
    parts = load_study("adaptive-parts")
    assert all(s.startswith("adaptive") for s in parts.solvers)
    assert sorted(parts.solvers) == sorted(parts.reference_solvers)
    instances = parts.instances()
    assert len(instances) >= 400
    assert {cell.n for cell in instances} == {2, 3, 6, 10, 20}
    assert min(cell.seed for cell in instances) >= 20


def test_few_readings_in_boxes():
    short = load_study("short")
    instances = short.instances()
    assert len(instances) == 44 * 6 * 5 * 5
    assert {cell.n for cell in instances} == {2, 3, 4, 6, 8}
    budgets = {cell.budget for cell in instances if cell.n == 6}
    assert budgets == {23, 30, 60, 120, 240}


def test_walls():
    bounded = load_study("bounded")
    instances = bounded.instances()
    assert {(cell.n, cell.budget) for cell in instances} == {
        (n, 100 * n) for n in (2, 3, 6, 10)
    }
    assert {cell.channel for cell in instances} == set(channel_names())
    assert len({cell.problem for cell in instances}) == 65


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("ablation", 65 * 7 * 3 * 5 * 6),
        ("adaptive", 65 * 7 * 3 * 5 * 29),
        ("hessian", 65 * 7 * 2 * 5 * 2),
        ("paper", 65 * 7 * 3 * 5 * 11),
        ("peers", 65 * 7 * 3 * 5 * 8),
        ("smoke", 8 * 3 * 7),
    ],
)
def test_shipped_studies(name, cells):
    study = load_study(name)
    assert name in study_names()
    assert study.name == name
    assert len(set(study.cells())) == len(study.cells()) == cells
    own = [s for s in study.solvers if s.startswith("adaptive:")]
    assert set(study.reference_solvers) == set(study.solvers) - set(own)
    assert parse_study(study_text(study)) == study


def test_the_paper_study_is_the_papers():
    study = load_study("paper")
    assert study.dimensions == (6, 10, 20)
    assert study.seeds == (0, 1, 2, 3, 4)
    assert study.budget == 1500
    assert study.solvers[:6] == ("paper", *ABLATIONS)
    assert study.solvers[6:] == (
        "newuoa-pdfo",
        "bobyqa-pdfo",
        "dfols",
        "nelder-mead",
        "bfgs-fd",
    )


def test_complete_seeds_come_first():
    cells = TINY.cells()
    assert len(cells) == 32
    keys = [(c.seed, c.n, c.channel, c.problem, c.solver) for c in cells]
    for depth in range(1, 6):
        runs = [key for key, _ in groupby(keys, key=lambda k, d=depth: k[:d])]
        assert len(runs) == len(set(runs))


def test_too_small_dimensions_are_left_out():
    cells = replace(TINY, dimensions=(2, 4)).cells()
    assert {(c.problem, c.n) for c in cells} == {
        ("power", 2),
        ("power", 4),
        ("woods", 4),
    }


def test_blocks_override_and_overlap():
    blocks = (
        Block(dimensions=(6,), budget=20),
        Block(dimensions=(6,), budget=20, seeds=(1, 2)),
        Block(problems=("power",), dimensions=(10,)),
    )
    study = replace(TINY, blocks=blocks)
    cells = study.cells()
    assert len(set(cells)) == len(cells)
    assert {(c.n, c.budget) for c in cells} == {(6, 20), (10, 50)}
    assert {c.problem for c in cells if c.n == 10} == {"power"}
    assert [seed for seed, _ in groupby(cells, key=lambda c: c.seed)] == [0, 1, 2]
    assert parse_study(study_text(study)) == study


def test_loads_from_a_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(study_text(TINY), encoding="utf-8")
    assert load_study(file) == load_study(str(file)) == TINY


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"problems": ("powr",)}, "close to it: power"),
        ({"channels": ("Statik",)}, "did you mean Static"),
        ({"solvers": ()}, "solvers: .* at least one"),
        ({"solvers": "paper"}, "is not a list"),
        ({"dimensions": (6, 6)}, "dimensions: an entry is given twice"),
        ({"dimensions": (0,)}, "n < 1"),
        ({"dimensions": ("6",)}, "'6' is not of type int"),
        ({"seeds": (True,)}, "True is not of type int"),
        ({"budget": 0}, "budget: 0"),
        ({"version": 0}, "version: 0"),
        ({"name": ""}, "is not a name"),
    ],
)
def test_wrong_values_are_explained(change, text):
    with pytest.raises(ValueError, match=text):
        replace(TINY, **change)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("budget = 50", "budgets = 50", "mine.toml: unknown key budgets; allowed: "),
        ('name = "tiny"\n', "", "name is missing"),
        ("budget = 50", "budget = ", "mine.toml: Invalid value"),
        ("budget = 50", "[[block]]\nsolvers = []", "unknown key solvers"),
        ("budget = 50", "block = [1]", r"write \[\[block\]\]"),
    ],
)
def test_wrong_files_are_explained(tmp_path, old, new, text):
    file = tmp_path / "mine.toml"
    # A block must end the file, so the line it replaces goes there.
    lines = study_text(TINY).replace(old + "\n", "" if "block" in new else new + "\n")
    lines = study_text(TINY).replace(old, new) if old.endswith("\n") else lines
    file.write_text(lines + (new if "block" in new else ""), encoding="utf-8")
    with pytest.raises(ValueError, match=text):
        load_study(file)


def test_unknown_studies_are_explained(tmp_path):
    with pytest.raises(ValueError, match="one of ablation, adaptive, "):
        load_study("smok")
    with pytest.raises(ValueError, match="there is no study file"):
        load_study(tmp_path / "absent.toml")


class TestOnly:
    CELLS = replace(TINY, solvers=("paper", "paper:chi=10,eta=0.5", "cma")).cells()

    def test_nothing_chosen_is_everything(self):
        assert chosen(self.CELLS, None) == chosen(self.CELLS, []) == self.CELLS

    def test_keys_narrow_and_values_widen(self):
        cells = chosen(self.CELLS, "solver=paper|cma,n=6,seed=1")
        assert {(c.solver, c.n, c.seed) for c in cells} == {
            ("paper", 6, 1),
            ("cma", 6, 1),
        }
        assert cells == chosen(self.CELLS, ["solver=cma,n=6", "solver=paper,seed=1"])

    def test_solver_names_keep_their_commas(self):
        cells = chosen(self.CELLS, "solver=paper:chi=10,eta=0.5,n=4")
        assert {(c.solver, c.n) for c in cells} == {("paper:chi=10,eta=0.5", 4)}

    def test_wildcards(self):
        assert len(chosen(self.CELLS, "solver=paper*")) == 2 * len(self.CELLS) // 3

    @pytest.mark.parametrize(
        "only", ["solvers=paper", "n", "n=", "n=7", "solver=x|cma"]
    )
    def test_mistakes_are_explained(self, only):
        with pytest.raises(ValueError, match="only: "):
            chosen(self.CELLS, only)


@pytest.mark.parametrize("key", ["solvers", "reference_solvers"])
def test_unknown_solvers_in_a_file_are_explained(tmp_path, key):
    path = tmp_path / "mine.toml"
    path.write_text(study_text(replace(load_study("smoke"), **{key: ("papr",)})))
    with pytest.raises(ValueError, match="unknown solver 'papr'; close to it: paper"):
        load_study(path)
