"""A packed file holds what the store holds, to the last bit."""

from __future__ import annotations

import lzma
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from same import comparable
from synthetic import run

import tobyqa
from tobyqa.bench.cli import gathered, main
from tobyqa.bench.packed import Bundle, load, pack
from tobyqa.bench.report import composed
from tobyqa.bench.run import run_study
from tobyqa.bench.study import Study, load_study

STUDY = Study(
    name="tiny",
    description="Two problems, with Ω.",
    problems=("power", "woods"),
    channels=("Static", "Hetero"),
    dimensions=(4,),
    seeds=(0, 1),
    budget=60,
    solvers=("paper", "nelder-mead"),
)
BUNDLE = Bundle("some", STUDY, {"numpy": "2"}, (run("paper", {1: 1.0, 9: 1 / 3}),))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run and its packed file, both called ``tiny``."""
    runs = tmp_path_factory.mktemp("runs")
    run_study(STUDY, runs / "tiny", workers=1, progress=False)
    assert main(["pack", str(runs / "tiny"), "--out", str(packed(runs))]) == 0
    return runs


def packed(runs, name="tiny"):
    return runs / "kept" / f"{name}.jsonl.xz"


def test_gives_back_what_the_store_holds(runs):
    stored, back = load(runs / "tiny"), load(packed(runs))
    assert back.name == stored.name == "tiny"
    assert back.study == stored.study == STUDY
    assert back.environment == stored.environment
    assert len(back.records) == 16
    assert comparable(back.records) == comparable(stored.records)
    seconds = [record.seconds for record in stored.records]
    assert [record.seconds for record in back.records] == seconds
    assert back.records[0].improved_at.dtype == np.int64


def test_the_report_is_that_of_the_store(runs):
    pytest.importorskip("matplotlib")
    stored, kept = (
        composed(records, **about)
        for records, about in (
            gathered([str(source)], None) for source in (runs / "tiny", packed(runs))
        )
    )
    assert "16 of 16" in stored.readme()
    assert kept.readme() == stored.readme()
    assert [t.csv() for t in kept.tables] == [t.csv() for t in stored.tables]


def test_parts_of_a_run_add_up_to_it(runs, capsys):
    for seed in (0, 1):
        part = ["--out", str(packed(runs, f"part-{seed}")), "--only", f"seed={seed}"]
        assert main(["pack", str(runs / "tiny"), *part]) == 0
        assert "8 of 16 records" in capsys.readouterr().out
    parts = [load(packed(runs, f"part-{seed}")) for seed in (0, 1)]
    both = [record for part in parts for record in part.records]
    assert comparable(both) == comparable(load(runs / "tiny").records)


def test_the_same_records_give_the_same_bytes(runs, tmp_path):
    pack(load(packed(runs)), tmp_path / "again.jsonl.xz")
    assert (tmp_path / "again.jsonl.xz").read_bytes() == packed(runs).read_bytes()


@given(
    hnp.arrays(np.float64, st.integers(0, 30), elements=st.floats(allow_nan=False)),
    st.floats(allow_nan=True),
    st.text(),
)
def test_every_value_comes_back(tmp_path_factory, improved_to, f_returned, error):
    (record,) = BUNDLE.records
    kept = replace(
        record,
        improved_at=np.arange(len(improved_to)) * 7,
        improved_to=improved_to,
        f_returned=f_returned,
        error=error,
    )
    path = tmp_path_factory.mktemp("packed") / "one.jsonl.xz"
    pack(replace(BUNDLE, records=(kept,)), path)
    (back,) = load(path).records
    assert comparable([back]) == comparable([kept])
    assert back.improved_to.tobytes() == kept.improved_to.tobytes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"not compressed",
        lambda data: data[: len(data) // 2],
        lambda data: lzma.compress(b""),
        lambda data: lzma.compress(b"{}\n"),
        lambda data: lzma.compress(b"[]\n"),
        lambda data: lzma.compress(b"no JSON\n"),
        lambda data: lzma.compress(lzma.decompress(data)[:-20]),
        lambda data: lzma.compress(lzma.decompress(data) + b"[1]\n"),
        lambda data: lzma.compress(
            lzma.decompress(data).replace(b"records 1", b"records 9")
        ),
        lambda data: lzma.compress(b"\xff\xfe"),
    ],
)
def test_a_spoilt_file_is_one_line_of_complaint(tmp_path, capsys, spoil):
    path = tmp_path / "spoilt.jsonl.xz"
    pack(BUNDLE, path)
    path.write_bytes(spoil(path.read_bytes()))
    assert main(["pack", str(path), "--out", str(tmp_path / "x.jsonl.xz")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "spoilt.jsonl.xz" in message
    assert message.count("\n") == 1


def test_mistakes_are_told_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"named \*\.jsonl\.xz, not"):
        pack(BUNDLE, tmp_path / "some.zip")
    with pytest.raises(ValueError, match="no records to pack"):
        pack(replace(BUNDLE, records=()), tmp_path / "some.jsonl.xz")
    with pytest.raises(ValueError, match="holds no study"):
        load(tmp_path / "absent")
    assert not list(tmp_path.iterdir())


def test_a_study_in_blocks_comes_back(tmp_path):
    study = load_study("hessian")
    pack(replace(BUNDLE, study=study), tmp_path / "blocks.jsonl.xz")
    assert load(tmp_path / "blocks.jsonl.xz").study == study


def test_records_are_never_packed_onto_a_run(tmp_path):
    path = tmp_path / "run.jsonl.xz"
    tobyqa.Optimizer([0.0], journal=path).close()
    before = path.read_bytes()
    with pytest.raises(OSError, match="not overwritten"):
        pack(BUNDLE, path)
    assert path.read_bytes() == before
