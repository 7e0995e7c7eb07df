"""One thread of the linear algebra library while a method computes.

The matrices of a search are small. A library that spreads them over all cores gains
little on an idle machine and loses everything on a busy one: its threads wait for each
other in loops (412 readings of 200 variables: 63 s of processor time instead of 0.5 s).

What numpy and scipy come with is OpenBLAS with threads of its own, whose number is a
setting of the process; there is none per thread. So it is set to one only while a
method is at work, and set back by the last one that leaves. Whoever computes in another
thread meanwhile does so on one core. Other libraries, and an OpenBLAS that uses OpenMP,
are left as they are.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from .state import Estimate, Method, Observation, Proposal, Standing, Task

Search = Generator[tuple[Proposal, Standing], Observation | None, None]

_USERS = ("numpy.linalg._umath_linalg", "scipy.linalg.cython_blas")
_NAMES = [  # of functions of the library, as built by different people
    (f"{prefix}openblas_", f"{suffix}")
    for prefix in ("scipy_", "")
    for suffix in ("64_", "")
]
_OWN_THREADS = 1  # what get_parallel says; 0: none at all, 2: OpenMP's


class Library(NamedTuple):
    """A loaded OpenBLAS: how many threads it uses, and what changes that."""

    get: Callable[[], int]
    set: Callable[[int], None]


@functools.cache
def libraries() -> tuple[Library, ...]:
    """Those behind numpy and scipy, each once."""
    found: dict[int | None, Library] = {}
    for path in _files():
        try:
            handle = ctypes.CDLL(str(path))
        except OSError:
            continue
        for start, end in _NAMES:
            if not hasattr(handle, f"{start}set_num_threads{end}"):
                continue
            if handle[f"{start}get_parallel{end}"]() == _OWN_THREADS:
                setter = handle[f"{start}set_num_threads{end}"]
                setter.restype = None
                address = ctypes.cast(setter, ctypes.c_void_p).value
                getter = handle[f"{start}get_num_threads{end}"]
                found[address] = Library(getter, setter)
            break
    return tuple(found.values())


def _files() -> Iterator[Path]:
    """Extension modules: the system looks for a name in what they are linked to.

    Windows does not; there the libraries lie in a folder beside the package.
    """
    for name in _USERS:
        try:
            path = Path(str(importlib.import_module(name).__file__))
        except ImportError:
            continue
        yield path
        if sys.platform == "win32":
            folder = path.parents[2] / f"{name.partition('.')[0]}.libs"
            yield from folder.glob("*openblas*.dll")


class OneThread:
    """A context in which the libraries use one thread; not to be nested.

    It knows which threads are inside, not how many: one that was interrupted on its
    way in or out is forgotten, and its lock opened, when it comes again.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside: set[int] = set()
        self._before: list[tuple[Library, int]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def __enter__(self) -> None:
        self._open()
        with self._lock:
            if not self._inside:
                self._before = [(library, library.get()) for library in libraries()]
            self._inside.add(threading.get_ident())
            for library, number in self._before:
                if number > 1:
                    library.set(1)

    def __exit__(self, *error: object) -> None:
        self._open()
        with self._lock:
            self._inside.discard(threading.get_ident())
            if not self._inside:
                self._restore()

    def _open(self) -> None:
        """No thread may come here with the lock: an interrupt has left it locked."""
        try:
            while True:
                self._lock.release()
        except RuntimeError:  # which says that it is another's, or nobody's
            return

    def _restore(self) -> None:
        for library, number in self._before:
            if number > 1 and library.get() == 1:  # else it was changed meanwhile
                library.set(number)
        self._before = []

    def _forget(self) -> None:
        """In a new process only the thread that made it goes on."""
        self._lock = threading.RLock()
        self._inside.clear()
        self._restore()


# The number of threads belongs to the process, and so does who is using it.
one_thread = OneThread()


@dataclass(frozen=True)
class OneThreaded:
    """A method that computes on one thread of the linear algebra library."""

    method: Method

    RETIRED: ClassVar[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        return str(self.method)

    def needs(self, n: int) -> int:
        """As the method itself."""
        return self.method.needs(n)

    def begin(self, task: Task) -> Search:
        """The method's own search, each step of it on one thread."""
        return _steps(self.method.begin(task))

    def continued(self, task: Task, state: Any) -> Search | None:
        """The same with another task."""
        with one_thread:
            search = self.method.continued(task, state)
        return None if search is None else _steps(search)

    def amended(
        self, task: Task, state: Any, place: int, value: float
    ) -> Search | None:
        """The same with another reading."""
        with one_thread:
            search = self.method.amended(task, state, place, value)
        return None if search is None else _steps(search)

    def further(
        self, state: Any, proposal: Proposal | None, waiting: tuple[Any, ...]
    ) -> Proposal:
        """The method's own."""
        with one_thread:
            return self.method.further(state, proposal, waiting)

    def estimate(self, state: Any, *, quick: bool = False) -> Estimate:
        """The method's own."""
        with one_thread:
            return self.method.estimate(state, quick=quick)


def _steps(search: Search) -> Search:
    observation = None  # which begins a search
    while True:
        with one_thread:
            proposal, standing = search.send(observation)
        observation = yield proposal, standing
