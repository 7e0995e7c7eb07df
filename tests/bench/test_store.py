from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from same import comparable

from tobyqa.bench.records import Cell, Record
from tobyqa.bench.store import FILE, Store
from tobyqa.bench.study import load_study

STUDY = load_study("smoke")
CELLS = STUDY.cells()


def record(cell: Cell = CELLS[0], **changes: object) -> Record:
    values = {
        "status": "ok",
        "error": "",
        "nfev": 12,
        "f_start": 3.5,
        "f_returned": 0.1,
        "improved_at": np.array([1, 4, 9], dtype=np.int64),
        "improved_to": np.array([3.5, 1 / 3, 1e-300]),
        "seconds": 0.25,
    }
    return Record(cell, **{**values, **changes})  # type: ignore[arg-type]


def test_gives_back_what_it_got(tmp_path):
    records = [
        record(),
        record(CELLS[1], f_start=np.inf, f_returned=np.nan),
        record(CELLS[2], status="error", error="ValueError: Ω 'quoted'\nline"),
        record(CELLS[3], improved_at=np.array([], int), improved_to=np.array([])),
    ]
    with Store(tmp_path, STUDY) as store:
        for each in records:
            store.add(each)
    with Store(tmp_path) as store:
        assert comparable(store.records()) == comparable(records)
        assert store.records()[0].seconds == 0.25
        assert store.done() == set(CELLS[:4])
        assert dict(store.statuses())[CELLS[2]] == "error"
        assert store.study == STUDY
        only = store.records([CELLS[0].solver])
        assert {r.cell.solver for r in only} == {CELLS[0].solver}


@given(
    hnp.arrays(np.float64, st.integers(0, 30), elements=st.floats(allow_nan=True)),
    st.floats(allow_nan=True),
)
def test_floats_come_back_bit_for_bit(tmp_path_factory, improved_to, f_returned):
    kept = record(
        improved_at=np.arange(len(improved_to)) * 7,
        improved_to=improved_to,
        f_returned=f_returned,
    )
    with Store(tmp_path_factory.mktemp("store"), STUDY) as store:
        store.add(kept)
        (back,) = store.records()
    assert back.improved_to.tobytes() == kept.improved_to.tobytes()
    assert back.improved_at.tolist() == kept.improved_at.tolist()
    assert back.improved_at.dtype == np.int64
    assert repr(back.f_returned) == repr(kept.f_returned)


def test_is_on_disk_before_it_is_closed(tmp_path):
    with Store(tmp_path, STUDY) as writer, Store(tmp_path) as reader:
        writer.add(record())
        assert reader.done() == {CELLS[0]}


def test_the_last_record_of_a_cell_counts(tmp_path):
    with Store(tmp_path, STUDY) as store:
        store.add(record(nfev=1))
        store.add(record(nfev=2))
        assert [r.nfev for r in store.records()] == [2]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": "smoke2"}, "name: 'smoke' against 'smoke2'"),
        ({"version": 2}, "version: 1 against 2"),
        ({"budget": 301}, "budget: 300 against 301"),
        ({"seeds": (0, 1)}, "seeds: "),
    ],
)
def test_another_study_is_refused(tmp_path, change, text):
    Store(tmp_path, STUDY).close()
    with pytest.raises(ValueError, match=f"another study: {text}"):
        Store(tmp_path, replace(STUDY, **change))


def test_solvers_can_be_added(tmp_path):
    Store(tmp_path, STUDY).close()
    more = replace(STUDY, solvers=("cma", "paper"), reference_solvers=("paper",))
    Store(tmp_path, more).close()
    with Store(tmp_path) as store:
        assert store.study.solvers == (*STUDY.solvers, "cma")
        assert store.study.reference_solvers == STUDY.solvers


def test_other_versions_are_warned_about(tmp_path):
    Store(tmp_path, STUDY).close()
    db = sqlite3.connect(tmp_path / FILE)
    with db:
        db.execute(
            "UPDATE meta SET value = '{\"numpy\": \"1.0\"}' WHERE key = 'environment'"
        )
    db.close()
    with pytest.warns(UserWarning, match=r"begun with .*numpy 1\.0, now "):
        Store(tmp_path, STUDY).close()


def test_a_directory_without_a_study_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no study"):
        Store(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE).write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(ValueError, match="cannot be opened"):
        Store(tmp_path)


def test_runs_that_begin_a_directory_at_the_same_time_share_it(tmp_path):
    """As when two parts of a study are started side by side."""
    count = 4
    for attempt in range(5):
        together = threading.Barrier(count)

        def begin(_: int, directory=tmp_path / str(attempt), together=together) -> int:
            together.wait()
            with Store(directory, STUDY) as store:
                return len(store.study.cells())

        with ThreadPoolExecutor(count) as pool:
            assert list(pool.map(begin, range(count))) == [len(CELLS)] * count
