from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import unruly
from same import comparable

from tobyqa.bench import compare, run_study
from tobyqa.bench.records import Cell
from tobyqa.bench.run import run_cell
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study, study_text

CELL = Cell("power", 4, "LinearDrift", 0, 20, "nelder-mead")
TINY = Study(
    name="tiny",
    description="",
    problems=("power", "woods"),
    channels=("Static",),
    dimensions=(4,),
    seeds=(0, 1),
    budget=30,
    solvers=("nelder-mead", "cma", "paper"),
)


def stored(directory: Path) -> list[tuple[object, ...]]:
    with Store(directory) as store:
        return comparable(store.records())


class TestRunCell:
    def test_a_good_run(self):
        record = run_cell(CELL)
        assert (record.status, record.error, record.nfev) == ("ok", "", 20)
        assert record.best() < record.f_start
        assert record.seconds > 0

    @pytest.mark.parametrize(
        ("solver", "status", "error", "nfev"),
        [
            ("unruly.raises", "error", "ZeroDivisionError: as it must", 3),
            ("unruly.leaves", "error", "SystemExit: goodbye", 1),
            ("unruly.insatiable", "budget", "", 20),
            ("unruly.stubborn", "budget", "", 20),
            ("unruly.mute", "error", "the solver returned array(nan)", 1),
            ("absent", "error", "ValueError: unknown solver", 0),
        ],
    )
    def test_bad_solvers_leave_a_record(self, solver, status, error, nfev):
        record = run_cell(replace(CELL, solver=solver))
        assert (record.status, record.nfev) == (status, nfev)
        assert error in record.error
        assert record.f_returned == record.f_start  # no point handed back

    def test_takes_a_function(self):
        record = run_cell(replace(CELL, solver="mine"), unruly.honest)
        assert record.f_returned < record.f_start

    def test_blas_has_one_thread_and_gets_the_others_back(self):
        threadpoolctl = pytest.importorskip("threadpoolctl")
        seen = []

        def look(fun, x0, *, budget, noise):
            seen.extend(i["num_threads"] for i in threadpoolctl.threadpool_info())
            return x0

        before = threadpoolctl.threadpool_info()
        run_cell(CELL, look)
        assert set(seen) == {1}
        assert threadpoolctl.threadpool_info() == before


class TestRunStudy:
    def test_pool_threads_and_here_give_the_same(self, tmp_path):
        summary = run_study(TINY, tmp_path / "pool", workers=2, progress=False)
        assert (summary.cells, summary.ran, summary.earlier) == (12, 12, 0)
        assert not summary.failures
        with ThreadPoolExecutor(2) as threads:
            run_study(TINY, tmp_path / "threads", executor=threads, progress=False)
        here = comparable(map(run_cell, TINY.cells()))
        assert stored(tmp_path / "pool") == stored(tmp_path / "threads") == here

    def test_failed_cells_run_again_when_asked_to(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        study = replace(TINY, solvers=("unruly.fails_once",), reference_solvers=())
        with ThreadPoolExecutor(1) as threads:

            def run(**kwargs):
                return run_study(
                    study, "out", executor=threads, progress=False, **kwargs
                )

            assert run().failures == {"unruly.fails_once": 4}
            (tmp_path / "mended").touch()
            assert run().ran == 0
            mended = run(retry_failed=True)
            assert (mended.ran, dict(mended.failures)) == (4, {})

    def test_a_store_can_be_read_without_its_solvers(self, tmp_path):
        gone = replace(TINY, solvers=("gone.solver",), reference_solvers=())
        with Store(tmp_path, gone):
            pass
        with Store(tmp_path) as store:
            assert store.study.solvers == ("gone.solver",)

    def test_comparison_names_what_failed(self):
        text = str(compare([unruly.raises], TINY, workers=1, progress=False))
        assert "4 of 4 runs failed (ZeroDivisionError: as it must)" in text

    def test_goes_on_where_it_was(self, tmp_path):
        with ThreadPoolExecutor(1) as here:
            where = {"executor": here, "progress": False}
            first = run_study(TINY, tmp_path, only="seed=0", **where)
            again = run_study(TINY, tmp_path, **where)
        assert (first.cells, first.ran) == (6, 6)
        assert (again.cells, again.ran, again.earlier) == (12, 6, 6)
        nothing = run_study(TINY, tmp_path, progress=False)
        assert (nothing.ran, nothing.earlier) == (0, 12)

    def test_unruly_solvers_do_not_stop_it(self, tmp_path):
        solvers = ("nelder-mead", "unruly.kills", "unruly.raises", "unruly.insatiable")
        study = replace(TINY, solvers=solvers, reference_solvers=solvers)
        summary = run_study(study, tmp_path, only="seed=0", workers=2, progress=False)
        with Store(tmp_path) as store:
            records = store.records()
        statuses = {(r.cell.solver, r.status) for r in records}
        assert len(records) == 8
        assert statuses == {
            ("nelder-mead", "ok"),
            ("unruly.kills", "crash"),
            ("unruly.raises", "error"),
            ("unruly.insatiable", "budget"),
        }
        assert summary.failures == {"unruly.kills": 2, "unruly.raises": 2}
        crash = next(r for r in records if r.status == "crash")
        assert crash.error.startswith("BrokenProcessPool")
        assert (crash.nfev, crash.best()) == (0, np.inf)

    def test_a_broken_executor_of_the_callers_is_an_error(self, tmp_path):
        study = replace(TINY, solvers=("unruly.kills",), reference_solvers=())
        with (
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
            pytest.raises(RuntimeError, match="run again to go on"),
        ):
            run_study(study, tmp_path, executor=pool, progress=False)

    def test_absent_solvers_are_skipped_with_a_warning(self, tmp_path):
        pytest.importorskip("numpy", minversion="2")
        solvers = ("nelder-mead", "newuoa-pdfo")
        study = replace(TINY, solvers=solvers, reference_solvers=solvers)
        with (
            ThreadPoolExecutor(1) as here,
            pytest.warns(UserWarning, match=r"skipping newuoa-pdfo, .*pdfo"),
        ):
            summary = run_study(study, tmp_path, executor=here, progress=False)
        assert (summary.ran, list(summary.skipped)) == (4, ["newuoa-pdfo"])
        assert "newuoa-pdfo: skipped, " in str(summary)

    def test_says_how_fast_it_was(self, tmp_path, capsys):
        with ThreadPoolExecutor(1) as here:
            summary = run_study(TINY, tmp_path, only="seed=0", executor=here)
        assert [(r.solver, r.n, r.budget, r.instances) for r in summary.rates] == [
            ("cma", 4, 30, 2),
            ("nelder-mead", 4, 30, 2),
            ("paper", 4, 30, 2),
        ]
        assert all(rate.per_minute > 0 for rate in summary.rates)
        assert "instances/min/core" in str(summary)
        assert "6/6" in capsys.readouterr().err

    def test_two_places_are_too_many(self, tmp_path):
        with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="not both"):
            run_study(TINY, tmp_path, executor=pool, dask="tcp://127.0.0.1:1")

    def test_environment_is_left_alone(self, tmp_path):
        before = dict(os.environ)
        run_study(
            TINY, tmp_path, only="seed=0,problem=power", workers=1, progress=False
        )
        assert dict(os.environ) == before


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
class TestSignals:
    @pytest.fixture
    def running(self, tmp_path):
        """`python -m tobyqa.bench run` on slow cells, with at least one stored."""
        solvers = ("unruly.slow",)
        study = replace(
            TINY, solvers=solvers, reference_solvers=solvers, seeds=tuple(range(200))
        )
        (tmp_path / "slow.toml").write_text(study_text(study))
        process = subprocess.Popen(
            [sys.executable, "-m", "tobyqa.bench", "run", "slow.toml", "--out", "run"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a group of its own, like a terminal's
            # Shells make their background jobs deaf to Ctrl-C, tests among them.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _count(tmp_path / "run") < 1:
            time.sleep(0.05)
        with process:
            yield process
            process.kill()

    def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(self, running, tmp_path):
        os.killpg(running.pid, signal.SIGINT)
        errors = running.communicate(timeout=30)[1]
        assert running.returncode == 130
        assert "Traceback" not in errors
        assert "goes on" in errors
        assert 1 <= _count(tmp_path / "run") < 400

    def test_workers_do_not_outlive_a_killed_parent(self, running):
        psutil = pytest.importorskip("psutil")
        children = psutil.Process(running.pid).children(recursive=True)
        assert len(children) >= 2
        running.kill()
        _, alive = psutil.wait_procs(children, timeout=20)
        assert not alive


def _count(directory: Path) -> int:
    try:
        with Store(directory) as store:
            return len(store.done())
    except ValueError:  # not there yet
        return 0


class TestCompare:
    STUDY = replace(TINY, seeds=(0,))

    def test_names_functions_and_lambdas(self):
        def local(fun, x0, *, budget, noise):
            return unruly.honest(fun, x0, budget=budget, noise=noise)

        result = compare(
            ["paper", unruly.honest, local, lambda fun, x0, **_: local(fun, x0, **_)],
            self.STUDY,
            workers=1,
            progress=False,
        )
        solvers = {record.cell.solver for record in result.records}
        assert solvers == {"paper", "honest", "local", "lambda"}
        best = {r.cell.solver: r.best() for r in result.records}
        assert best["honest"] == best["local"] == best["lambda"]
        assert set(result.rates) == solvers
        assert result.rates["paper"][0.1] == 1.0
        assert "paper" in str(result)
        assert "| honest" in result._repr_markdown_()

    def test_equal_names_are_told_apart(self):
        twice = [unruly.mute, unruly.mute]
        result = compare(twice, self.STUDY, workers=1, progress=False)
        assert {r.cell.solver for r in result.records} == {"mute", "mute-2"}

    def test_keeps_named_runs_and_adds_to_them(self, tmp_path):
        for names in (["paper"], ["nelder-mead", unruly.honest], ["paper"]):
            result = compare(
                names, self.STUDY, workers=1, progress=False, directory=tmp_path
            )
            assert len(result.records) == 2 * len(names)
        assert len(stored(tmp_path)) == 4

    def test_mistakes_are_explained(self):
        with pytest.raises(ValueError, match="there is none"):
            compare([], self.STUDY)
        with pytest.raises(TypeError, match="neither a name nor a function"):
            compare([3], self.STUDY)  # type: ignore[list-item]


def test_a_script_without_guard_gets_advice(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from tobyqa.bench import compare\n"
        "compare(['nelder-mead'], workers=1, progress=False)\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]
