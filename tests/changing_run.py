"""A program for the tests: a journaled search, changed on its way, to be killed."""

from __future__ import annotations

import sys
import time

import numpy as np

import tobyqa
from journaled_run import reading
from tobyqa import journal

CHANGES = {
    20: ("fix", lambda opt: opt.fix(b=0.5)),
    30: ("set", lambda opt: opt.set(noise=0.01)),
    33: ("correct", lambda opt: opt.correct(12, 0.3)),
    34: ("withdraw", lambda opt: opt.withdraw(25)),
    36: ("free", lambda opt: opt.free("b")),
    40: ("extend", lambda opt: opt.extend(48)),
}


def run(path, calls_path, pause=0.0):
    """Continue the journal to its end, noting every call in a file of its own."""
    with tobyqa.Optimizer.open(
        path, x0=np.zeros(3), maxfev=40, rng=7, names=list("abc")
    ) as opt:
        done = {event["event"] for event in journal.read(path).events}
        while True:
            kind, change = CHANGES.get(opt.nfev, ("", None))
            if change is not None and kind not in done:
                change(opt)
                done.add(kind)
            if opt.done:
                return opt.result()
            trial = opt.ask()
            with open(calls_path, "a") as calls:
                calls.write(f"{trial.id}\n")
            time.sleep(pause)
            opt.tell(trial, reading(trial.x, trial.id))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], pause=0.005)
