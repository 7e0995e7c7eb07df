"""Two motors aligned for the highest flux by plans of bluesky-adaptive.

    python examples/bluesky_demo.py

Needs bluesky-adaptive 1.0 or later: ``pip install bluesky-adaptive``. Motors and diode
are pretended; the flux is highest at slit 1.2, mirror -0.4, and decays with the ring
current.
"""

from __future__ import annotations

import random

from bluesky import RunEngine
from bluesky_adaptive.plans import optimize
from bluesky_adaptive.protocols import OptimizationProblem

from tobyqa.integrations.bluesky import TobyqaOptimizer

BEST = {"slit": 1.2, "mirror": -0.4}
READINGS = 60


class Done:
    """The status of something that is over at once."""

    done = success = True

    def add_callback(self, callback):
        callback(self)

    def exception(self, timeout=None):
        return None


class Motor:
    """What bluesky needs to move a motor and to read where it is."""

    parent = None

    def __init__(self, name):
        self.name, self.position = name, 0.0

    def set(self, value):
        self.position = value
        return Done()

    def read(self):
        return {self.name: {"value": self.position, "timestamp": 0.0}}

    def describe(self):
        return {self.name: {"source": "pretended", "dtype": "number", "shape": []}}

    def read_configuration(self):
        return {}

    def describe_configuration(self):
        return {}


class Diode(Motor):
    """Reads the flux at the place of two motors; the n-th reading is at minute n."""

    def __init__(self, name, *motors):
        super().__init__(name)
        self.motors, self.taken = motors, []

    def read(self):
        place = {motor.name: motor.position for motor in self.motors}
        off = sum((place[name] - best) ** 2 for name, best in BEST.items())
        flux = 100.0 / (1.0 + off) * 0.998 ** len(self.taken) + random.gauss(0.0, 0.1)
        self.taken.append({"flux": flux, "time": float(len(self.taken))})
        return {self.name: {"value": flux, "timestamp": 0.0}}


def main():
    random.seed(1)
    slit, mirror = Motor("slit"), Motor("mirror")
    diode = Diode("flux", slit, mirror)

    def outcomes(uid, suggestions):
        """What was read at each of the suggested places."""
        latest = diode.taken[-len(suggestions) :]
        return [
            {"_id": suggestion["_id"], **reading}
            for suggestion, reading in zip(suggestions, latest, strict=True)
        ]

    optimizer = TobyqaOptimizer(
        {"slit": (0.0, 3.0), "mirror": (-2.0, 2.0)},
        "flux",
        maximize=True,
        maxfev=READINGS,
    )
    problem = OptimizationProblem(optimizer, [slit, mirror], [diode], outcomes)
    RunEngine({})(optimize(problem, iterations=None))
    print(optimizer.optimizer.result())


if __name__ == "__main__":
    main()
