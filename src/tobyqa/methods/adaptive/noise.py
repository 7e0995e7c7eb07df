"""The noise of a reading: what is assumed of it, and how far that is trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...samples import SampleSet
from ...state import Task

BELIEVED, GUESSED = 1.0, 3.0  # prior std of log nu: a noise stated, and one guessed
_GUESS = 0.01  # of the range of the first readings
NOISE_FLOOR = 1e-6  # of the variation; finer, the fit has no digits left
_LEAST = 1e-207  # readings of up to 1e100 divided by it are still numbers
_DENIED = 3.0  # size of log nu at which a fit denies the noise stated


@dataclass(frozen=True)
class Noise:
    """What is assumed of the noise and how far that is trusted."""

    unit: float  # assumed standard deviation of a reading, the unit of all fits
    stated: float  # the same as stated by the user, or guessed; maybe 0
    spread: float  # prior std of log nu: how much it is trusted
    nu: float = 1.0  # variance by the last search of the likelihood
    is_stated: bool = True  # by the user, whatever has become of it

    @property
    def loudest(self) -> float:
        """The noise that a fit of this function may need, in units of the assumed."""
        return credible_noise(BELIEVED if self.is_stated else GUESSED) ** 2

    @property
    def is_guessed(self) -> bool:
        return self.spread > BELIEVED

    @property
    def least(self) -> float:
        """The least noise to be believed in, in units of the assumed one."""
        return 1.0 / credible_noise(max(self.spread - 1.0, 1.0))

    @property
    def most(self) -> float:
        """The largest noise to be believed in, in units of the assumed one."""
        return credible_noise(self.spread)

    def after(self, nu: float, *, doubts: bool) -> Noise:
        """After a search of the likelihood found the variance `nu`.

        `doubts`: what was stated is a mere guess from the fit on that denies it. Not
        where readings are finer than the fit has digits for: that is no noise at all.
        """
        is_denied = abs(math.log(nu)) > _DENIED and self.unit == self.stated
        spread = GUESSED if doubts and is_denied else self.spread
        return replace(self, nu=nu, spread=max(spread, self.spread))


def first_noise(stated: float | None, reads: float) -> tuple[float, float]:
    """The noise to begin with and its spread, if the first readings range so far."""
    return (_GUESS * reads, GUESSED) if stated is None else (stated, BELIEVED)


def noise_of_probe(task: Task, samples: SampleSet, old: int, new: int) -> Noise:
    """What is assumed once the first readings are known; two of them are at one place.

    Less the drift that these two show: no drift is to change the guess.
    """
    times, values = samples.times[samples.asked], samples.values[samples.asked]
    gap = float(samples.times[new] - samples.times[old])
    passed = (times - samples.times[old]) / gap if gap else np.zeros_like(times)
    reads = np.ptp(values - passed * (samples.values[new] - samples.values[old]))
    stated, spread = first_noise(task.noise, float(reads))
    rounding = digits(float(np.abs(values).max()))
    floor = max(NOISE_FLOOR * float(reads), rounding)
    return Noise(max(stated, floor), stated, spread, is_stated=task.noise is not None)


def credible_noise(spread: float) -> float:
    return math.exp(1.5 * spread)


def digits(value: float) -> float:
    """What a reading of this size is rounded to."""
    return max(float(np.spacing(abs(value))), _LEAST)
