"""One case of the fuzzer: a run drawn from a seed, and the calls that it gets."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fuzz_instrument import Instrument, size
from fuzz_limits import limits
from tobyqa import Optimizer, Status, Trial

METHODS = ["paper", "adaptive"]

# Settings at the ends of what they may be.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"hessian": "interpolated"},
        {"curvature_prior": "carried"},
        {"curvature_kernel": False},
        {"hessian": "interpolated", "curvature_prior": "carried", "time_degree": 4},
        {"drift_compensation": False, "sigma_rule": "frozen"},
        {"time_degree": 0},
        {"time_degree": 4},
        {"sigma_min": 0.0, "gamma_1": 1e30, "eta": 0.0, "kappa_tol": 0.0},
        {"sigma_max": 1e300, "gamma_2": 1e30},
        {"chi": 1e300, "resolution": 0.0},
    ],
    "adaptive": [{"ftol": 1e-3}, {"local": False}],
}
ILLEGAL_SETUPS: list[dict[str, Any]] = [
    {"x0": []},
    {"x0": [math.nan]},
    {"x0": [1e51]},
    {"x0": "here"},
    {"noise": -1.0},
    {"noise": 1e101},
    {"initial_radius": 0.0},
    {"initial_radius": 1e60},
    {"maxfev": 0},
    {"maxfev": 2.5},
    {"options": {"nope": 1}},
    {"rng": "dice"},
    {"max_failures": 0},
    {"names": ["a", "a"]},
]


class NoRun(Exception):
    """There is nothing to make calls on."""


class Watcher(Protocol):
    """Who makes the calls and takes the findings."""

    def call(self, name: str, function: Any, *args: Any, **kwargs: Any) -> Any: ...
    def check_point(
        self, name: str, x: np.ndarray, lower: Any = ..., upper: Any = ...
    ) -> None: ...
    def check_same(self, name: str, a: Any, b: Any) -> None: ...


class Case:
    """A run and the calls on it, all drawn from one seed."""

    def __init__(self, method: str, seed: int, watch: Watcher, folder: Path) -> None:
        self.key = METHODS.index(method), seed
        self.rng = np.random.default_rng(self.key)
        self.watch, self.folder, self.method = watch, folder, method
        self.files = 0
        self.journal: Path | None = None
        self.opt = self._begin()
        self.stale: Trial | None = None  # told already

    def _begin(self) -> Optimizer:
        rng = self.rng
        n = int(rng.choice([1, 2, 3, 5, 12], p=[0.2, 0.3, 0.25, 0.2, 0.05]))
        x0, r = rng.normal(size=n), 2.0
        if rng.random() < 0.3:
            x0 = np.array([size(rng, -300, 50) for _ in range(n)])
            if rng.random() < 0.3:
                x0[0] = rng.choice([-1e50, 1e50])
        setup: dict[str, Any] = {"x0": x0, "method": self.method, "rng": 1}
        if rng.random() < 0.4:
            r = abs(size(rng, -49.9, 49.9) if rng.random() < 0.5 else size(rng, -3, 3))
            setup["initial_radius"] = r
        self.instrument = Instrument(n, rng, x0, r)
        stated = 0.01 * self.instrument.unit
        setup["noise"] = [None, 0.0, stated, abs(size(rng, -323, 100))][
            rng.choice(4, p=[0.3, 0.1, 0.5, 0.1])
        ]
        setup["maxfev"] = [None, int(rng.integers(1, 60))][rng.integers(2)]
        setup["max_failures"] = int(rng.integers(1, 12))
        if rng.random() < 0.3:
            setup["options"] = OPTIONS[self.method][
                rng.integers(len(OPTIONS[self.method]))
            ]
        setup["restarts"] = bool(rng.random() < 0.15)
        if rng.random() < 0.2:
            self.journal = setup["journal"] = self._path()
        # Of its own source, so that the rest of a case stays what it was.
        said = limits(np.random.default_rng([*self.key, 1]), x0, r)
        setup |= said
        # They may leave no room.
        documented = (ValueError,) if said else ()
        bounds = np.array(said.get("bounds", [(-math.inf, math.inf)] * n)).T
        self.lower, self.upper = bounds
        is_illegal = bool(rng.random() < 0.02)
        if is_illegal:
            setup |= ILLEGAL_SETUPS[rng.integers(len(ILLEGAL_SETUPS))]
        opt = self.watch.call(
            "Optimizer",
            Optimizer,
            documented=documented,
            is_illegal=is_illegal,
            **setup,
        )
        if opt is None:
            raise NoRun
        return opt

    def _path(self) -> Path:
        self.files += 1
        return self.folder / f"run{self.files}.jsonl"

    def run(self) -> None:
        """Some dozen calls, then whether what was saved is what there is."""
        actions = {
            self.measure: 60,
            self.guest: 10,
            self.fail: 6,
            self.illegal: 5,
            self.undo: 4,
            self.result: 5,
            self.progress: 3,
            self.saved: 2,
            self.copied: 1,
            self.pickled: 1,
            self.resumed: 1,
            self.stop: 0.3,
        }
        weights = np.array(list(actions.values()), dtype=float)
        for k in self.rng.choice(
            len(actions), size=self.rng.integers(5, 90), p=weights / weights.sum()
        ):
            list(actions)[k]()
        self.saved()
        self.opt.close()

    # -- what is done ----------------------------------------------------------------

    def _ask(self) -> Trial | None:
        documented = (RuntimeError,) if self.opt.done else ()
        trial: Trial | None = self.watch.call(
            "ask", self.opt.ask, documented=documented
        )
        if trial is not None:
            self.watch.check_point("ask", trial.x, self.lower, self.upper)
        return trial

    def _tell(self, trial: Any, value: float, at: float | None) -> None:
        # Without a time it is an error as soon as another reading had one.
        documented = (ValueError,) if at is None else ()
        sigma = self.instrument.error()
        self.watch.call(
            "tell",
            self.opt.tell,
            trial,
            value,
            t=at,
            sigma=sigma,
            documented=documented,
        )

    def measure(self) -> None:
        if self.opt.done and self.rng.random() < 0.9:
            return self.guest()  # what is told goes on to count
        trial = self._ask()
        if trial is None:
            return
        value = self.instrument.value(trial.x)
        if self.rng.random() < 0.03:
            value = float(self.rng.choice([math.nan, math.inf, 1e101]))
        self._tell(trial, value, self.instrument.time())
        self.stale = trial

    def guest(self) -> None:
        """A reading that nobody asked for."""
        pending, rng = self.opt.pending, self.rng
        x = pending[0].x if pending else self.instrument.x0
        kind = rng.integers(4)
        if kind == 0:
            x = np.array([size(rng, -320, 50) for _ in x])
        elif kind == 1:
            x = np.clip(
                x + self.instrument.radius * rng.normal(size=x.size), -1e50, 1e50
            )
        elif kind == 2:
            x = np.clip(x * (1.0 + 1e-15 * rng.normal()), -1e50, 1e50)
        self._tell(x, self.instrument.value(x), self.instrument.time())

    def fail(self) -> None:
        trial = self._ask()
        if trial is not None:
            at = self.instrument.time()
            self.watch.call("tell_failed", self.opt.tell_failed, trial, "broken", t=at)

    def illegal(self) -> None:
        n = self.instrument.x0.size
        x, trial, tell = np.zeros(n), Trial(10**6, np.zeros(n)), self.opt.tell
        calls = [
            (tell, (x, "high")),
            (tell, (x, math.nan)),
            (tell, (x, 1e101)),
            (tell, (np.zeros(n + 1), 1.0)),
            (tell, (np.full(n, 1e51), 1.0)),
            (tell, (x, 1.0, math.nan)),
            (tell, (x, 1.0, 1e101)),
            (tell, (x, 1.0, 0.0, -1.0)),
            (tell, (x, 1.0, 0.0, 1e101)),
            (tell, (trial, 1.0)),
            (tell, (self.stale or trial, 1.0)),
            (self.opt.tell_failed, (x,)),
            (self.opt.tell_failed, (trial,)),
            (self.opt.stop, (Status.RUNNING,)),
        ]
        function, args = calls[self.rng.integers(len(calls))]
        self.watch.call(function.__name__, function, *args, is_illegal=True)

    def undo(self) -> None:
        is_empty = not self.opt.reasons
        documented = (ValueError,) if is_empty else ()
        self.watch.call("undo", self.opt.undo, documented=documented)
        self.stale = None  # it may wait again

    def result(self) -> None:
        result = self.watch.call("result", self.opt.result)
        if result is not None:
            self.watch.check_point("result", result.x)

    def progress(self) -> None:
        self.watch.call("progress", self.opt.progress)

    def stop(self) -> None:
        self.watch.call("stop", self.opt.stop)

    # -- what must not make a difference ---------------------------------------------

    def _compare(self, name: str, other: Optimizer | None) -> None:
        """Where both stand, and what they ask for next."""
        if other is None:
            return
        same = self.watch.check_same
        same(f"{name}: status", self.opt.status.name, other.status.name)
        a = self.watch.call("result", self.opt.result)
        b = self.watch.call("result", other.result)
        if a is not None and b is not None:
            same(f"{name}: x", a.x, b.x)
            same(f"{name}: fun", a.fun, b.fun)
        if self.opt.done:
            return
        ours, theirs = self._ask(), self.watch.call("ask", other.ask)
        if ours is not None and theirs is not None:
            same(f"{name}: next point", ours.x, theirs.x)

    def saved(self) -> None:
        path = self._path()
        self.watch.call("save", self.opt.save, path)
        if path.exists():
            self._compare("load", self.watch.call("load", Optimizer.load, path))

    def copied(self) -> None:
        self._compare("deepcopy", self.watch.call("deepcopy", copy.deepcopy, self.opt))

    def pickled(self) -> None:
        data = self.watch.call("pickle", pickle.dumps, self.opt)
        if data is not None:
            self._compare("pickle", self.watch.call("unpickle", pickle.loads, data))

    def resumed(self) -> None:
        """The run goes on in its journal, which lifts a stop."""
        if self.journal is None:
            return
        self.opt.close()
        opt = self.watch.call("resume", Optimizer.resume, self.journal)
        if opt is None:
            raise NoRun
        self.opt = opt
