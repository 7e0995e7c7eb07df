"""The variables in a journal's header: whatever a file says of them is checked."""

from __future__ import annotations

import copy
import json

import pytest

from tobyqa import Optimizer
from tobyqa.lines import End, sealed

FIRST = ("space", "variables", 0)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    opt = Optimizer(
        [0.5, 0.5],
        bounds=[(0, 1), (0, 2)],
        constraints="x0 + x1 <= 2",
        resolution=[0.1, None],
        max_move=0.5,
        safe=[0.1, 0.1],
        limit=9.0,
    )
    opt.tell(opt.ask(), 1.0)
    opt.save(path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(records, path):
    for record in records:
        record.pop("sum", None)
    path.write_bytes(sealed(records, End())[0])
    return path


@pytest.mark.parametrize(
    ("keys", "value", "complaint"),
    [
        ((*FIRST, "scale"), -1, r"variables\[0\].scale must be > 0"),
        ((*FIRST, "scale"), "a", r"variables\[0\].scale must be one real number"),
        ((*FIRST, "lower"), 5, "lower must be at most 1"),
        ((*FIRST, "resolution"), -1, r"variables\[0\].resolution must be > 0"),
        ((*FIRST, "resolution"), 0, r"variables\[0\].resolution must be > 0"),
        ((*FIRST, "max_move"), -1, r"variables\[0\].max_move must be > 0"),
        ((*FIRST, "fixed"), 99, r"variables\[0\].fixed must be within its bounds"),
        ((*FIRST, "name"), "x1", "names of their own"),
        ((*FIRST, "name"), 3, r"variables\[0\].name must be a text"),
        ((*FIRST, "colour"), 3, "unknown field 'colour'"),
        (FIRST, {"name": "x0"}, r"variables\[0\]: the field 'unit' is missing"),
        (("space", "radius"), -1, "radius must be > 0"),
        (("space", "maximize"), 3, "maximize must be True or False"),
        (("space", "constraints", 0, "coefficients"), [1], "must be of shape"),
        (("space", "constraints", 0, "upper"), "a", r"constraints\[0\].upper must be"),
        (("space", "variables"), 3, "variables must be a list"),
        (("space",), 3, "space must be an object"),
    ],
)
def test_journal_with_bad_variables_names_the_field(
    records, tmp_path, keys, value, complaint
):
    """Negative scales used to be taken, and a negative resolution never ended."""
    bad = copy.deepcopy(records)
    place = bad[0]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(ValueError, match=f"line 1: .*{complaint}"):
        Optimizer.load(written(bad, tmp_path / "bad.jsonl"))


def test_journal_with_sound_variables_is_taken(records, tmp_path):
    path = written(copy.deepcopy(records), tmp_path / "good.jsonl")
    assert Optimizer.load(path).names == ["x0", "x1"]
