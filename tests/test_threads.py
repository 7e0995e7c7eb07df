"""One thread of the linear algebra library while a method computes, and only then.

Each test is a process of its own, since the number of threads belongs to the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tobyqa._threads import libraries

THREADS = 3  # whatever the number of cores

pytestmark = pytest.mark.skipif(
    not libraries(), reason="no OpenBLAS with threads of its own is behind numpy"
)

PREAMBLE = f"""
import os, threading
import numpy as np
import tobyqa
from tobyqa._threads import libraries, one_thread

def used():
    return {{library.get() for library in libraries()}}

for library in libraries():
    library.set({THREADS})
assert used() == {{{THREADS}}}, used()
"""


def run(script):
    """The script's output; it fails the test by an assertion of its own."""
    code = PREAMBLE + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_numpy_and_scipy_are_found_and_set_back():
    script = """
    with one_thread:
        print(*used())
    print(*used())
    try:
        with one_thread:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print(*used())
    """
    assert run(script) == ["1", str(THREADS), str(THREADS)]


def test_the_last_of_several_threads_sets_it_back():
    script = """
    first, second = threading.Event(), threading.Event()

    def work():
        with one_thread:
            first.set()
            second.wait()

    other = threading.Thread(target=work)
    other.start()
    first.wait()
    with one_thread:
        second.set()
        other.join()
        print(*used())
    print(*used())
    """
    assert run(script) == ["1", str(THREADS)]


def test_what_others_set_meanwhile_stays():
    script = """
    with one_thread:
        for library in libraries():
            library.set(2)
    print(*used())
    """
    assert run(script) == ["2"]


def test_a_way_out_that_was_interrupted_is_made_good_by_the_next():
    script = """
    one_thread.__enter__()  # and never out again
    print(*used())
    with one_thread:
        pass
    print(*used())
    """
    assert run(script) == ["1", str(THREADS)]


def test_a_lock_that_an_interrupt_left_is_opened_by_its_owner():
    script = """
    one_thread._lock.acquire()  # as an interrupt before its release leaves it
    with one_thread:
        print(*used())
    print(*used())
    other = threading.Thread(target=one_thread.__enter__)
    other.start(), other.join(10)
    print(other.is_alive())
    """
    assert run(script) == ["1", str(THREADS), "False"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_forked_meanwhile_is_free():
    script = """
    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork among threads
    inside, go_on = threading.Event(), threading.Event()

    def work():
        with one_thread:
            inside.set()
            go_on.wait()

    other = threading.Thread(target=work)
    other.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        free = used()
        with one_thread:
            limited = used()
        os._exit(0 if (free, limited, used()) == ({3}, {1}, {3}) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    go_on.set()
    other.join()
    """
    assert run(script) == ["0"]


@pytest.mark.parametrize("restarts", [False, True])
def test_methods_compute_on_one_thread_and_the_users_code_does_not(restarts):
    """In the search and in its estimates; the objective has what it had."""
    script = f"""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Watched(tobyqa.Paper):
        def absorb(self, state, observation):
            print("absorb", *used())
            return super().absorb(state, observation)

        def estimate(self, state, *, quick=False):
            print("estimate", *used())
            return super().estimate(state, quick=quick)

    opt = tobyqa.Optimizer(
        np.zeros(2), method=Watched(), noise=0.1, maxfev=60, restarts={restarts}
    )
    while not opt.done:
        trial = opt.ask()
        print("fun", *used())
        opt.tell(trial, float(trial.x @ trial.x))
    opt.result()
    opt.progress()
    """
    words = run(script)
    seen = set(zip(words[::2], words[1::2], strict=True))
    assert seen == {("absorb", "1"), ("estimate", "1"), ("fun", str(THREADS))}
