"""The search inside libEnsemble: three workers, each given a new point when it is free.

    python examples/libensemble_demo.py

Needs libensemble 1.6 or later: ``pip install libensemble``. The instrument is that of
`examples/gest_demo.py`.
"""

from __future__ import annotations

import itertools

from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

from gest_demo import PROBLEM, measured
from tobyqa.integrations.gest import TobyqaGenerator

MINUTES = itertools.count()


def simulator(point: dict) -> dict:
    """A reading; each worker is a thread."""
    return measured(point, float(next(MINUTES)))


def main() -> None:
    generator = TobyqaGenerator(PROBLEM)
    workers = LibeSpecs(
        nworkers=3, comms="threads", gen_on_manager=True, disable_log_files=True
    )
    ensemble = Ensemble(parse_args=False, libE_specs=workers)
    ensemble.gen_specs = GenSpecs(
        generator=generator, vocs=PROBLEM, initial_batch_size=3
    )
    ensemble.sim_specs = SimSpecs(simulator=simulator, vocs=PROBLEM)
    ensemble.alloc_specs = AllocSpecs(
        alloc_f=only_persistent_gens, user={"async_return": True}
    )
    ensemble.exit_criteria = ExitCriteria(sim_max=60)
    ensemble.run()
    print(generator.optimizer.result())


if __name__ == "__main__":
    main()
