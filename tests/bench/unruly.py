"""Solvers that behave badly, named in studies as ``unruly.<function>``."""

from __future__ import annotations

import os
import sys
import time


def raises(fun, x0, *, budget, noise):
    """Fails after three queries."""
    for _ in range(3):
        fun(x0)
    raise ZeroDivisionError("as it must")


def leaves(fun, x0, *, budget, noise):
    fun(x0)
    sys.exit("goodbye")


def kills(fun, x0, *, budget, noise):
    """Takes its process down, like a segmentation fault."""
    fun(x0)
    os._exit(7)


def insatiable(fun, x0, *, budget, noise):
    """Never stops of its own accord."""
    while True:
        fun(x0)


def stubborn(fun, x0, *, budget, noise):
    """Shrugs off whatever its objective raises."""
    while True:
        try:
            fun(x0)
        except Exception:
            continue


def fails_once(fun, x0, *, budget, noise):
    """Raises until a file says that it has been mended."""
    if not os.path.exists("mended"):
        raise RuntimeError("broken")
    return honest(fun, x0, budget=budget, noise=noise)


def mute(fun, x0, *, budget, noise):
    fun(x0)


def honest(fun, x0, *, budget, noise):
    """Reads x0 and one better point."""
    fun(x0)
    fun(0.5 * x0)
    return 0.5 * x0


def slow(fun, x0, *, budget, noise):
    """Gives a signal time to arrive."""
    time.sleep(0.1)
    return honest(fun, x0, budget=budget, noise=noise)
