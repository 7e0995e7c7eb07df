"""Derivative-free optimization of noisy, drifting measurements.

`minimize` owns the loop, `Optimizer` leaves it to you (ask/tell), and `scipy_method`
plugs into `scipy.optimize.minimize`.
"""

from ._version import __version__
from .books import Trial
from .measurement import Measurement
from .methods import Adaptive, Paper
from .minimize import minimize
from .optimizer import Optimizer
from .result import History, Result, Status
from .scipy_method import scipy_method

__all__ = [
    "Adaptive",
    "History",
    "Measurement",
    "Optimizer",
    "Paper",
    "Result",
    "Status",
    "Trial",
    "__version__",
    "minimize",
    "scipy_method",
]
