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


def noise_of_probe(task: Task, samples: SampleSet, old: int, new: int) -> Noise:
    """What is assumed after the first readings, two of which are at one place."""
    reads = _range_without_drift(samples, old, new)
    rounding = digits(float(np.abs(samples.values[samples.asked]).max()))
    floor = max(NOISE_FLOOR * reads, rounding)
    if task.noise is None:
        guess = _GUESS * reads
        return Noise(max(guess, floor), guess, GUESSED, is_stated=False)
    return Noise(max(task.noise, floor), task.noise, BELIEVED)


def _range_without_drift(samples: SampleSet, old: int, new: int) -> float:
    """Of the readings, less the drift that two of them at one place show.

    So that no straight drift changes what is guessed of the noise.
    """
    t, y = samples.times[samples.asked], samples.values[samples.asked]
    gap = samples.times[new] - samples.times[old]
    change = samples.values[new] - samples.values[old]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        left = float(np.ptp(y - (t - samples.times[old]) / gap * change))
    return left if math.isfinite(left) else float(np.ptp(y))


def credible_noise(spread: float) -> float:
    """How many times as loud as assumed it may be."""
    return math.exp(1.5 * spread)


def digits(value: float) -> float:
    """What a reading of this size is rounded to."""
    return max(float(np.spacing(abs(value))), _LEAST)
