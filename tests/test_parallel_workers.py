"""`minimize(workers=...)`: threads, processes, a Dask cluster, and those that die."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import in_workers
from tobyqa import Optimizer, Status, minimize

X0, BEST = np.zeros(2), np.array([0.6, -0.3])


def settings(**more):
    return {"noise": 1e-4, "rng": 1, "maxfev": 60, **more}


# -- threads --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 1, "executor"])
def test_one_worker_is_the_sequential_search_bit_by_bit(workers):
    plain = minimize(in_workers.bowl, X0, **settings())
    with ThreadPoolExecutor(1) as executor:
        chosen = executor if workers == "executor" else workers
        res = minimize(in_workers.bowl, X0, **settings(workers=chosen))
    np.testing.assert_array_equal(res.history.x, plain.history.x)
    np.testing.assert_array_equal(res.x, plain.x)


@pytest.mark.parametrize("k", [2, 5])
def test_as_many_are_in_flight_as_there_are_workers(k):
    inside, most, lock = 0, [], threading.Lock()
    full = threading.Event()

    def measured(x):
        nonlocal inside
        with lock:
            inside += 1
            most.append(inside)
            if inside == k:
                full.set()
        full.wait(10)  # only all of them together get on
        with lock:
            inside -= 1
        return in_workers.bowl(x)

    res = minimize(measured, X0, **settings(workers=k))
    assert (max(most), res.nfev) == (k, 60)
    np.testing.assert_allclose(res.x, BEST, atol=1e-2)


def test_nobody_waits_for_the_slowest():
    """One evaluation ends only when all others have been made."""
    others, done, lock = [], threading.Event(), threading.Lock()

    def measured(x):
        with lock:
            others.append(x)
            number = len(others)
        if number == 3:
            assert done.wait(30)
        elif number == 60:
            done.set()
        return in_workers.bowl(x)

    res = minimize(measured, X0, **settings(workers=3))
    assert (res.nfev, res.nfail) == (60, 0)
    np.testing.assert_allclose(res.x, BEST, atol=1e-2)


def test_failures_in_workers_are_failed_trials():
    calls = iter(range(10**6))

    def measured(x):
        if next(calls) % 7 == 3:
            raise RuntimeError("lamp off")
        return in_workers.bowl(x)

    res = minimize(measured, X0, **settings(workers=4))
    assert res.nfev == 60
    assert res.nfail in (8, 9)
    np.testing.assert_allclose(res.x, BEST, atol=1e-2)


def test_a_mistake_in_the_first_calls_is_raised():
    with pytest.raises(NameError):
        minimize(lambda x: undefined, X0, workers=3)  # noqa: F821


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_ctrl_c_loses_nothing_that_was_measured(tmp_path):
    path, calls, gate = tmp_path / "run.jsonl", [], threading.Event()

    def measured(x):
        calls.append(x)
        if len(calls) > 20:
            os.kill(os.getpid(), signal.SIGINT)
            gate.wait(10)
        return in_workers.bowl(x)

    try:
        res = minimize(measured, X0, **settings(workers=3, journal=path))
    finally:
        gate.set()
    assert res.status == Status.STOPPED.code
    assert res.nfev >= 18
    opt = Optimizer.load(path)
    assert 1 <= len(opt.pending) <= 3
    again = minimize(in_workers.bowl, X0, **settings(workers=3, journal=path))
    assert again.nfev == 60
    np.testing.assert_array_equal(again.history.x[: res.nfev], res.history.x)


def test_a_callback_may_stop_it_and_what_runs_is_taken_in():
    res = minimize(
        in_workers.bowl,
        X0,
        callback=in_workers.StopAfter(10),
        **settings(workers=4),
    )
    assert res.status == Status.CALLBACK.code
    assert 10 <= res.nfev <= 14


@pytest.mark.parametrize(
    ("workers", "error", "text"),
    [
        (0, ValueError, "workers must be"),
        ("4", TypeError, "workers must be a number or an executor"),
        (True, TypeError, "workers must be a number or an executor"),
        (in_workers.never, TypeError, "workers must be a number or an executor"),
        (("x", 2), TypeError, "workers as a pair"),
    ],
)
def test_bad_workers_are_named_before_anything_runs(workers, error, text):
    with pytest.raises(error, match=text):
        minimize(in_workers.never, X0, workers=workers)


@pytest.mark.parametrize("as_pair", [False, True])
def test_a_cluster_s_client_is_no_executor_but_gives_one(as_pair):
    class Client:
        def submit(self, *call):
            raise AssertionError("never reached")

        def get_executor(self):
            raise AssertionError("never reached")

    workers = (Client(), 2) if as_pair else Client()
    with pytest.raises(TypeError, match=r"a Client: hand over what its get_executor"):
        minimize(in_workers.never, X0, workers=workers)


def test_an_executor_of_unknown_size_wants_a_number():
    class Silent(Executor):
        def submit(self, *call):
            raise AssertionError("never reached")

    with pytest.raises(ValueError, match=r"workers=\(executor, 8\)"):
        minimize(in_workers.never, X0, workers=Silent())


def test_one_instrument_that_moves_needs_one_worker():
    with pytest.raises(ValueError, match="workers must be 1 with max_move, but is 2"):
        minimize(in_workers.never, X0, workers=2, max_move=0.1)


# -- processes ------------------------------------------------------------------------


def test_a_worker_process_that_dies_is_a_failed_trial(tmp_path):
    """Two deaths: one breaks the pool, one comes when each has a process of its own."""
    path = tmp_path / "run.jsonl"
    with ProcessPoolExecutor(3, in_workers.SPAWN) as pool:
        res = minimize(
            in_workers.Deadly(str(tmp_path), deaths=2),
            X0,
            **settings(workers=pool, journal=path, maxfev=40),
        )
    assert (res.nfev, res.nfail) == (40, 2)
    np.testing.assert_allclose(res.x, BEST, atol=2e-2)
    reasons = [reason for reason in Optimizer.load(path).reasons if reason]
    assert len(reasons) == 2
    assert all("BrokenProcessPool" in reason for reason in reasons)


# -- a cluster ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # clusters leave sockets to the collector
def test_a_dask_cluster_whose_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    path, notes = tmp_path / "run.jsonl", tmp_path / "finished"
    notes.mkdir()
    with (
        distributed.LocalCluster(
            n_workers=3, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = threading.Thread(target=_kill_one, args=(client, notes))
        killer.start()
        res = minimize(
            in_workers.Noted(str(notes)),
            X0,
            **settings(workers=client.get_executor(), journal=path, maxfev=50),
        )
        killer.join()
    assert res.nfev == 50
    np.testing.assert_allclose(res.x, BEST, atol=1e-2)
    kept = {float(v).hex() for v in Optimizer.load(path).result().history.value}
    finished = {name.name for name in notes.iterdir()}
    lost = finished - kept  # of the worker that died with the reading in its hands
    assert len(lost) <= 1
    assert kept - {float("nan").hex()} <= finished


def _kill_one(client, notes: Path) -> None:
    while len(list(notes.iterdir())) < 12:
        time.sleep(0.01)
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
