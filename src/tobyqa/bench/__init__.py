"""Benchmark of derivative-free solvers on drifting, noisy measurements.

`compare` runs a few solvers, your own functions among them, on a small study;
`run_study` runs a large one so that it can be stopped, resumed and spread over
machines. Problems of your own are made with `Problem`; a `Channel` is anything that can
be called as one. ``python -m tobyqa.bench list`` shows what there is.
"""

from tobyqa.bench.channels import Channel, Context, channel_names
from tobyqa.bench.compare import compare
from tobyqa.bench.problems import Problem, get_problem, problem_names
from tobyqa.bench.run import run_study
from tobyqa.bench.solvers import solver_names
from tobyqa.bench.study import Study, load_study

__all__ = [
    "Channel",
    "Context",
    "Problem",
    "Study",
    "channel_names",
    "compare",
    "get_problem",
    "load_study",
    "problem_names",
    "run_study",
    "solver_names",
]
