"""The same study on a real Dask cluster: a scheduler and two worker processes."""

from __future__ import annotations

import pytest
from same import comparable

from tobyqa.bench import run_study
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study

distributed = pytest.importorskip("distributed")

# Clusters of processes leave sockets and event loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore")

STUDY = Study(
    name="spread",
    description="",
    problems=("power", "engval1"),
    channels=("LinearDrift",),
    dimensions=(6,),
    seeds=(0, 1),
    budget=60,
    solvers=("paper", "nelder-mead", "cma", "dfols"),
)


@pytest.fixture(scope="module")
def address():
    import dask

    # One death is enough to blame a task; the default of 3 only takes longer.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        yield cluster.scheduler_address


def records(directory):
    with Store(directory) as store:
        return store.records()


def test_gives_the_records_of_the_process_pool(address, tmp_path):
    summary = run_study(STUDY, tmp_path / "dask", dask=address, progress=False)
    run_study(STUDY, tmp_path / "pool", workers=2, progress=False)
    assert (summary.ran, summary.failures) == (16, {})
    assert comparable(records(tmp_path / "dask")) == comparable(
        records(tmp_path / "pool")
    )


def test_a_solver_that_kills_its_worker_is_a_crash(address, tmp_path):
    solvers = ("unruly.kills", "nelder-mead")
    study = Study("deadly", "", solvers, ("power",), ("Static",), (4,), (0,), budget=20)
    summary = run_study(study, tmp_path, dask=address, progress=False)
    assert summary.failures == {"unruly.kills": 1}
    assert {(r.cell.solver, r.status) for r in records(tmp_path)} == {
        ("unruly.kills", "crash"),
        ("nelder-mead", "ok"),
    }
