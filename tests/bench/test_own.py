"""Problems and channels of one's own, without editing the package."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import homemade
import numpy as np
import pytest

from tobyqa.bench import Context, Problem, Study, compare, load_study, run_study
from tobyqa.bench.catalogue import find_problem, has_dimension
from tobyqa.bench.elsewhere import channel_at
from tobyqa.bench.packed import load
from tobyqa.bench.run import run_cell
from tobyqa.bench.store import Store
from tobyqa.bench.study import Block, parse_study, study_text

HERE = Path(__file__).parent
OBJECTS = Study(
    name="mine",
    description="Objects.",
    solvers=("nelder-mead",),
    problems=(homemade.BOWL, "power"),
    channels=(homemade.STEEP, homemade.slow_sine, "Static"),
    dimensions=(3,),
    seeds=(0,),
    budget=60,
)
NAMES = replace(
    OBJECTS,
    problems=("homemade:BOWL", "homemade:valley", "power"),
    channels=("homemade:STEEP", "homemade:Kink", "homemade:slow_sine"),
    dimensions=(3, 4),
)


# A problem ---------------------------------------------------------------------------


def test_a_problem_is_a_name_a_function_and_a_start():
    problem = Problem("mine", lambda x: x @ x, [1, 2])
    assert (problem.n, problem.fun([3.0, 4.0])) == (2, 25.0)
    assert problem.x0.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        problem.x0[0] = 3.0


def test_the_start_is_copied():
    start = np.ones(2)
    problem = Problem("mine", homemade.bowl_value, start)
    start[0] = 5.0
    assert problem.x0.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("x0", [[], [[1.0]], [math.nan], [math.inf, 0.0]])
def test_a_start_that_is_no_point_is_named(x0):
    with pytest.raises(ValueError, match="x0: "):
        Problem("mine", homemade.bowl_value, x0)


def test_a_name_and_a_function_are_needed():
    with pytest.raises(ValueError, match="name: ''"):
        Problem("", homemade.bowl_value, [1.0])
    with pytest.raises(TypeError, match="fun: 3 is not a function"):
        Problem("mine", 3, [1.0])


def test_a_problem_of_ones_own_is_pickled_with_its_function():
    twin = pickle.loads(pickle.dumps(homemade.BOWL))
    assert twin == homemade.BOWL
    assert twin.fun([0.0, 0.0, 0.0]) == 3.0


# A study of them ---------------------------------------------------------------------


def test_a_study_takes_objects_and_names_them():
    assert OBJECTS.problems == ("bowl", "power")
    assert OBJECTS.channels == ("Kink", "slow_sine", "Static")
    cells = OBJECTS.cells()
    assert len(cells) == 2 * 3
    record = run_cell(cells[0], own=OBJECTS.own)
    assert record.f_start == homemade.bowl_value(homemade.BOWL.x0)
    assert record.best() < record.f_start


def test_dimensions_that_are_left_open_are_those_of_the_problems():
    study = replace(OBJECTS, problems=(homemade.BOWL,), dimensions=())
    assert study.dimensions == (3,)


def test_blocks_take_objects_too():
    block = Block(problems=(homemade.valley(4),), dimensions=(4,))
    study = replace(OBJECTS, blocks=(Block(), block))
    assert study.blocks[1].problems == ("valley",)
    assert {(c.problem, c.n) for c in study.instances()} == {
        ("bowl", 3), ("power", 3), ("valley", 4),
    }  # fmt: skip


def test_an_object_that_no_dimension_lets_in_is_an_error():
    with pytest.raises(ValueError, match=r"'bowl' has 3 variables; dimensions: \(4,\)"):
        replace(OBJECTS, problems=(homemade.BOWL,), dimensions=(4,))


def test_a_name_that_the_package_has_is_an_error():
    twin = Problem("power", homemade.bowl_value, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="the package has one of that name"):
        replace(OBJECTS, problems=(twin,))


def test_two_objects_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="twice"):
        replace(OBJECTS, channels=(homemade.Kink(0.1), homemade.Kink(0.2)))


def test_a_study_of_objects_is_kept_as_text():
    """The text is enough to read records, and says what it lacks to run."""
    again = parse_study(study_text(OBJECTS))
    assert again == OBJECTS
    assert again.cells() == OBJECTS.cells()
    with pytest.raises(ValueError, match="bowl"):
        run_cell(again.cells()[0], own=again.own)


# Names -------------------------------------------------------------------------------


def test_names_lead_to_objects_classes_and_functions_of_n():
    assert find_problem("homemade:BOWL", 3).fun([1.0, 1.0, 1.0]) == 0.0
    assert find_problem("homemade:valley", 4).name == "homemade:valley"
    assert has_dimension("homemade:valley", 6)
    assert not has_dimension("homemade:valley", 5)
    assert not has_dimension("homemade:BOWL", 4)
    context = Context(np.zeros(2), 2.0)
    assert channel_at("homemade:STEEP")(1.0, np.zeros(2), 22, context) == 3.0
    assert channel_at("homemade:Kink")(1.0, np.zeros(2), 45, context) == 2.0


def test_a_problem_by_name_is_pickled_by_it():
    problem = find_problem("homemade:valley", 4)
    assert len(pickle.dumps(problem)) < 150
    assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere:BOWL", "cannot be imported"),
        ("homemade:ABSENT", "cannot be imported"),
        ("homemade:NUMBER", "neither a tobyqa.bench.Problem nor"),
    ],
)
def test_names_that_lead_nowhere_are_errors(name, text):
    with pytest.raises(ValueError, match=text):
        replace(NAMES, problems=(name,))


def test_a_channel_must_be_callable():
    with pytest.raises(ValueError, match="'homemade:NUMBER' is 7, which cannot be"):
        replace(NAMES, channels=("homemade:NUMBER",))


def test_a_failed_evaluation_stays_one_in_any_channel():
    channel = channel_at("homemade:slow_sine")
    assert channel(math.inf, np.zeros(2), 1, Context(np.zeros(2), 1.0)) == math.inf


def test_a_name_and_the_object_give_the_same_run():
    by_name = {(c.problem, c.n): run_cell(c) for c in NAMES.cells() if c.seed == 0}
    assert set(by_name) >= {("homemade:BOWL", 3), ("homemade:valley", 4), ("power", 3)}
    record = by_name["homemade:BOWL", 3]
    assert record.f_start == homemade.bowl_value(homemade.BOWL.x0)
    assert record.best() < record.f_start


# Running -----------------------------------------------------------------------------


def test_compare_takes_problems_and_channels():
    """A lambda is run in this process, what can be imported in others."""
    for fun in (homemade.bowl_value, lambda x: float(x @ x)):
        mine = Problem("mine", fun, [2.0, 2.0])
        found = compare(
            ["nelder-mead"], "smoke", problems=[mine, "power"],
            channels=[homemade.STEEP], workers=1, progress=False,
        )  # fmt: skip
        cells = [record.cell for record in found.records]
        assert {(c.problem, c.n, c.channel) for c in cells} == {
            ("mine", 2, "Kink"), ("power", 2, "Kink"), ("power", 6, "Kink"),
        }  # fmt: skip
        assert all(r.status in ("ok", "budget") for r in found.records)


def test_run_study_keeps_runs_on_objects_and_goes_on(tmp_path):
    first = run_study(OBJECTS, tmp_path, workers=1, progress=False)
    again = run_study(OBJECTS, tmp_path, workers=1, progress=False)
    assert (first.ran, again.ran) == (6, 0)
    records = load(tmp_path).records
    assert {record.cell.problem for record in records} == {"bowl", "power"}
    assert all(record.nfev >= 30 for record in records)


def test_a_toml_file_names_them_and_its_runs_are_read_without_them(tmp_path):
    module = (HERE / "homemade.py").read_text(encoding="utf-8")
    (tmp_path / "at_home.py").write_text(module, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\ndescription = ""\nsolvers = ["nelder-mead"]\n'
        'problems = ["at_home:BOWL", "at_home:valley"]\n'
        'channels = ["at_home:Kink", "Static"]\n'
        "dimensions = [3, 4]\nseeds = [0]\nbudget = 50\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "tobyqa.bench"]
    run = [*command, "run", "mine.toml", "--out", "runs", "--workers", "1", "--quiet"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    status = [*command, "status", str(tmp_path / "runs")]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said = subprocess.run(
        status, cwd=elsewhere, check=True, capture_output=True, text=True
    )
    assert "4/4 cells" in said.stdout
    with Store(tmp_path / "runs") as store:
        assert {c.problem for c in dict(store.statuses())} == {
            "at_home:BOWL", "at_home:valley",
        }  # fmt: skip


def test_a_study_that_cannot_be_imported_says_so_before_anything_runs(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        study_text(OBJECTS).replace('"bowl"', '"nowhere:bowl"').partition("[own]")[0],
        encoding="utf-8",
    )
    with pytest.raises(ValueError, match="problem 'nowhere:bowl' cannot be imported"):
        load_study(path)


def test_the_example_runs():
    path = HERE.parents[1] / "examples" / "own_benchmark.py"
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("adaptive", "nelder-mead", "powell"))
    assert "6 instances" in done.stdout
