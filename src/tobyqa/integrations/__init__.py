"""Doors to other packages; each module says which one it needs.

================  ============================================================
module            for
================  ============================================================
``optuna``        studies of Optuna
``gest``          Xopt, optimas, libEnsemble: all that takes gest-api generators
``bluesky``       plans of bluesky-adaptive and blop
``optiprofiler``  benchmarks of OptiProfiler
================  ============================================================

SciPy's ``minimize``, ``basinhopping`` and ``dual_annealing`` take
`tobyqa.scipy_method`.
"""
