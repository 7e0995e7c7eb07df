"""What the benchmark's own processes leave behind."""

import threading
import time

import pytest

from tobyqa.bench.pool import process_pool


def test_left_by_an_exception_neither_process_nor_thread_remains():
    before = set(threading.enumerate())
    place = process_pool(workers=2)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(place, left := [])
    tasks, processes = left
    assert len(processes) == 2
    assert not any(process.is_alive() for process in processes)
    # A thread that is still closing its pipe breaks the interpreter's exit.
    assert set(threading.enumerate()) <= before
    assert all(task.done() for task in tasks)


def _interrupted(place, left):
    with place.open(place.size) as pool:
        left.append([pool.submit(time.sleep, 600) for _ in range(8)])
        left.append(list(pool._processes.values()))
        raise KeyboardInterrupt
