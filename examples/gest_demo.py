"""A generator as gest-api defines it, in a loop of one's own: three points at a time.

    python examples/gest_demo.py

Needs gest-api: ``pip install gest-api``. The brightness is highest at current 1.5, gap
0.8, and falls with time. `examples/xopt_demo.py` has the same generator in Xopt.
"""

from __future__ import annotations

import random

from gest_api.vocs import VOCS

from tobyqa.integrations.gest import TobyqaGenerator

PROBLEM = VOCS(
    variables={"current": [0.0, 3.0], "gap": [0.1, 2.0]},
    objectives={"brightness": "MAXIMIZE"},
    observables=["time"],
)


def measured(point: dict, minute: float) -> dict:
    """A suggestion with what was read there."""
    off = (point["current"] - 1.5) ** 2 + 3.0 * (point["gap"] - 0.8) ** 2
    noise = random.Random(minute).gauss(0.0, 0.02)
    return {**point, "brightness": 10.0 - off - 0.01 * minute + noise, "time": minute}


def main() -> None:
    generator = TobyqaGenerator(PROBLEM)
    for minute in range(0, 60, 3):
        points = generator.suggest(3)
        generator.ingest([measured(p, float(minute + k)) for k, p in enumerate(points)])
    print(generator.optimizer.result())


if __name__ == "__main__":
    main()
