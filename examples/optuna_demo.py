"""An Optuna study of a measurement that drifts, two at a time.

    python examples/optuna_demo.py

Needs optuna: ``pip install optuna``. With a storage, such as
``create_study(storage="sqlite:///study.db", ...)``, the same study can be looked at in
Optuna's dashboard while it runs, and be continued. The loss is lowest at rate 0.003,
share 0.6, and rises by 0.002 with every reading.
"""

from __future__ import annotations

import math
import random

import optuna

from tobyqa.integrations.optuna import TobyqaSampler

READINGS = 50


def loss(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    share = trial.suggest_float("share", 0.0, 1.0)
    noise = random.Random(trial.number).gauss(0.0, 0.01)
    off = (math.log10(rate / 0.003)) ** 2 + 4.0 * (share - 0.6) ** 2
    trial.set_user_attr("tobyqa:t", float(trial.number))  # when it was read
    return off + 0.002 * trial.number + noise


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = TobyqaSampler({"rate": 1e-4, "share": 0.2})
    study = optuna.create_study(sampler=sampler)
    study.optimize(loss, n_trials=READINGS, n_jobs=2)
    lucky, best = study.best_params, sampler.best_params(study)
    print("luckiest trial:   rate {rate:.5f}, share {share:.3f}".format(**lucky))
    print("by all readings:  rate {rate:.5f}, share {share:.3f}".format(**best))
    print(sampler.optimizer(study).result())


if __name__ == "__main__":
    main()
