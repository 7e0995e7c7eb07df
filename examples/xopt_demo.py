"""The search inside Xopt: its evaluator measures, its table keeps the results.

    python examples/xopt_demo.py

Needs xopt 3 or later, which brings torch along: ``pip install xopt``. The instrument is
that of `examples/gest_demo.py`.
"""

from __future__ import annotations

import itertools

from xopt import Evaluator, Xopt

from gest_demo import PROBLEM, measured
from tobyqa.integrations.gest import TobyqaGenerator


def main() -> None:
    minutes = itertools.count()
    run = Xopt(
        generator=TobyqaGenerator(PROBLEM),
        evaluator=Evaluator(function=lambda point: measured(point, next(minutes))),
    )
    for _ in range(60):
        run.step()
    print(run.data[["current", "gap", "brightness", "time"]].tail(3))
    print(run.generator.optimizer.result())


if __name__ == "__main__":
    main()
