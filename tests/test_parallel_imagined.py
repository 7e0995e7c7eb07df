"""What is expected to be known once trials that are out have come back."""

from __future__ import annotations

import numpy as np
import pytest

from tobyqa.samples import SampleSet
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.fit import fit
from tobyqa.spacetime.imagined import gradient_covariance_with
from tobyqa.spacetime.window import window_around


@pytest.mark.parametrize("log_b", [-np.inf, -1.0])
@pytest.mark.parametrize("k", [1, 6])
def test_a_reading_counted_in_before_it_comes_tells_what_it_will_tell(log_b, k):
    """Whatever it is: the gradient's covariance is that of the longer fit."""
    n, rng = 3, np.random.default_rng(8)
    samples = SampleSet.of(
        rng.standard_normal((30, n)), np.arange(30.0), rng.standard_normal(30)
    )
    window = window_around(
        samples, 7, np.eye(n), reach=4.0, size=100, noise=1.0, spacing=1.0
    )
    shorter = longer = fit(window, Components(0.3, 1.0, -1.0, log_b), 1.0)
    extra = samples.points[:k] + 0.5 * rng.standard_normal((k, n))
    for x in extra:
        samples = samples.append(x, 29.0, float(rng.standard_normal()), np.nan)
        reading = longer.reading(longer.window.frame.u(x), 29.0)
        longer = longer.extended(longer.window.plus_newest(samples), reading, 1.0)
    U = shorter.window.frame.u(extra)
    counted = gradient_covariance_with(shorter, U, np.full(k, 29.0))
    np.testing.assert_allclose(counted, longer.gradient_covariance, rtol=1e-5)
    now = np.linalg.eigvalsh(shorter.gradient_covariance)
    assert (np.linalg.eigvalsh(counted) <= now).all()
