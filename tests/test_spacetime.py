"""Which readings a fit is made of, how it counts time, how components are chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tobyqa.samples import SampleSet
from tobyqa.spacetime.clock import Clock
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.fit import fit
from tobyqa.spacetime.likelihood import bounded, improve, limits, start_components
from tobyqa.spacetime.window import (
    FARTHEST,
    coefficients,
    relative_variances,
    window_around,
    window_size,
)
from windows import Readings, one_each, window_of

seeds = st.integers(0, 2**32 - 1)
NOISE = 0.1
ALL = limits("smooth", "fitted")

# -- which readings -------------------------------------------------------------------


class Choice:
    """A window of readings near and far, some of them at places that are left out."""

    def __init__(self, seed, m, n, size, reach, all_times=False):
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(m, n)) * rng.choice([0.5, 3.0, 30.0], size=(m, 1))
        points = places[rng.integers(0, m, size=m)]
        self.samples = SampleSet.of(points, np.arange(float(m)), np.zeros(m))
        self.centre = int(rng.integers(0, m))
        others = points[(points != points[self.centre]).any(axis=1)]
        aside = tuple(others[:: max(m // 4, 1)])
        B = np.diag(rng.uniform(0.5, 2.0, size=n))
        self.window = window_around(
            self.samples,
            self.centre,
            B,
            reach=reach,
            size=size,
            noise=1.0,
            spacing=1.0,
            all_times=all_times,
            left_out=np.flatnonzero(
                [any((p == x).all() for x in aside) for p in points]
            ),
        )
        u = (points - points[self.centre]) / B.diagonal()
        self.far = np.linalg.norm(u, axis=1)
        for x in aside:
            self.far[(points == x).all(axis=1)] = math.inf
        self.chosen = set(self.window.rows.tolist())

    def within(self, distance):
        """Rows that may be taken so far out, in order."""
        return np.flatnonzero(self.far <= distance).tolist()


choices = {
    "seed": seeds,
    "m": st.integers(1, 60),
    "n": st.integers(1, 3),
    "size": st.integers(1, 60),
    "reach": st.floats(1.0, FARTHEST),
}


@given(**choices, all_times=st.booleans())
def test_a_window_holds_what_it_must_and_nothing_that_it_must_not(n, size, **drawn):
    choice = Choice(n=n, size=size, **drawn)
    window, chosen, far = choice.window, choice.chosen, choice.far
    np.testing.assert_array_equal(window.rows, np.unique(window.rows))
    assert window.rows[window.centre] == choice.centre
    newest = len(far) - 1
    assert (newest in chosen) == (far[newest] < FARTHEST)
    assert all(far[row] < FARTHEST for row in chosen)  # so nothing put aside either
    few, eligible = 2 * n + 2, np.sort(far[far < FARTHEST])
    assert len(chosen) <= max(size, few) + few + 2
    # As many as tell a gradient, if there are: the nearest ones.
    assert len(chosen) >= min(few, eligible.size)
    if len(choice.within(drawn["reach"])[-size:]) < few:
        nearest = eligible[: min(few, eligible.size)]
        assert set(np.flatnonzero(far <= nearest[-1] * (1 - 1e-12))) <= chosen


@given(**choices)
def test_a_window_holds_the_newest_within_reach(n, size, reach, **drawn):
    choice = Choice(n=n, size=size, reach=reach, **drawn)
    newest = choice.within(reach)[-size:]
    assert set(newest) <= choice.chosen
    if len(newest) >= 2 * n + 2:
        rest = choice.chosen - set(newest)
        assert rest <= {choice.centre, len(choice.far) - 1}


@given(seed=seeds, n=st.integers(1, 3), size=st.integers(4, 12))
def test_a_window_of_all_times_is_half_new_and_half_of_all_before(seed, n, size):
    choice = Choice(seed, 80, n, size, FARTHEST - 1.0, all_times=True)
    rows = choice.within(FARTHEST - 1.0)
    assume(len(rows) > size)
    old, new = np.split(rows, [len(rows) - size // 2])
    assert set(new) <= choice.chosen
    taken = np.flatnonzero(np.isin(old, list(choice.chosen)))
    assert taken[0] == 0
    assert taken[-1] == old.size - 1
    assert np.diff(taken).max() <= math.ceil((old.size - 1) / (size - size // 2 - 1))


@given(
    n=st.integers(1, 40),
    limit=st.integers(20, 2000),
    wider=st.integers(1, 8),
    local=st.booleans(),
)
def test_a_window_is_as_large_as_a_quadratic_needs_or_the_limit(n, limit, wider, local):
    size = window_size(n, limit, local=local)
    assert min(3 * coefficients(n), limit) <= size <= limit
    assert size <= window_size(n, limit, wider, local=local) <= max(1000, size)
    assert window_size(n, limit) <= window_size(n + 1, limit)
    assert window_size(n, limit) <= window_size(n, limit, local=True)


def test_a_quadratic_has_as_many_coefficients_as_monomials():
    assert [coefficients(n) for n in (1, 2, 3)] == [3, 6, 10]


# -- in which units -------------------------------------------------------------------


@given(seed=seeds)
def test_a_window_is_in_units_of_its_region_noise_and_centre(seed):
    readings = Readings(seed, stated=True)
    rng = np.random.default_rng(seed)
    B, u = (
        np.linalg.qr(rng.normal(size=(2, 2)))[0] * [0.5, 2.0],
        rng.normal(size=(5, 2)),
    )
    window = window_of(readings.samples(), B=B, noise=0.2, centre=3)
    points = np.array([window.frame.point(v) for v in u])
    np.testing.assert_allclose(points, readings.points[3] + u @ B.T, atol=1e-12)
    np.testing.assert_allclose(window.frame.u(points), u, atol=1e-9)
    assert not window.U[window.centre].any()
    assert window.y[window.centre] == 0.0
    above = (readings.values - readings.values[3]) / 0.2
    np.testing.assert_allclose(window.y, above[window.rows], atol=1e-12)
    np.testing.assert_allclose(window.variances, (readings.sigmas / 0.2) ** 2)
    np.testing.assert_allclose(window.age, readings.times - readings.times[0])


@given(sigma=st.floats(0.0, 1e100), noise=st.floats(1e-100, 1e100))
def test_variances_are_those_stated_and_keep_their_digits(sigma, noise):
    none, own = relative_variances(np.array([np.nan, sigma]), noise)
    assert none == 1.0
    assert 1e-12 <= own <= 1e12
    if 1e-6 < sigma / noise < 1e6:
        assert own == pytest.approx((sigma / noise) ** 2)


@given(
    seed=seeds,
    where=st.sampled_from(["near", "centre", "far"]),
    wait=st.sampled_from([0.0, 1.0, 1e3, 1e9]),
)
def test_the_newest_reading_joins_unless_it_needs_another_frame(seed, where, wait):
    readings = Readings(seed)
    part = window_of(readings.samples())
    place = {"near": np.ones(2), "centre": np.zeros(2), "far": np.full(2, 15.0)}[where]
    time = readings.times[-1] + wait
    samples = readings.samples().append(place, time, 7.0, np.nan)
    longer = part.plus_newest(samples)
    is_late = wait > 1000.0 * np.median(np.diff(readings.times))
    assert (longer is None) == (is_late or where != "near")
    if longer is not None:
        np.testing.assert_array_equal(longer.rows, np.arange(25))
        assert longer.extended == 1
        np.testing.assert_array_equal(longer.U[:-1], part.U)
        np.testing.assert_array_equal(longer.t[:-1], part.t)
        np.testing.assert_array_equal(longer.y[:-1], part.y)


# -- how time is counted --------------------------------------------------------------

gaps = st.lists(
    st.one_of(st.floats(0.0, 10.0), st.sampled_from([0.0, 1e4, 1e7, 1e12])),
    min_size=1,
    max_size=20,
)


@given(gaps=gaps, seed=seeds)
def test_pauses_count_in_part_and_time_never_runs_back(gaps, seed):
    gaps = np.array(gaps)
    times = np.append(0.0, np.cumsum(gaps))
    usual = np.median(np.diff(times)[np.diff(times) > 0.0]) if gaps.any() else 0.0
    clock = Clock.of(np.random.default_rng(seed).permutation(times), 0.5)
    t = clock.t(times)
    assert t[0] == 0.0
    assert not clock.t(np.array([-3.0, -1e9])).any()  # before the window: straight
    counted = np.minimum(np.diff(times), 1000.0 * usual) / 0.5
    np.testing.assert_allclose(np.diff(t), counted, rtol=1e-6, atol=1e-9 * t[-1])
    later = times[-1] + np.array([0.1, 1.0, 10.0, 1e6, 1e12])
    assert (np.diff(clock.t(np.append(times, later))) >= 0.0).all()


@given(gaps=gaps)
def test_theta_is_a_straight_line_that_is_zero_now(gaps):
    times = np.append(0.0, np.cumsum(gaps))
    assume(times[-1] > 0.0)
    theta = Clock.of(times, 0.5).theta(times)
    assert theta[-1] == 0.0
    np.testing.assert_allclose(theta, times / times[-1] - 1.0, atol=1e-12)


@given(
    st.lists(
        st.sampled_from([-1e100, -1.0, 0.0, 1e-308, 1.0, 2.0, 3.0, 1e9, 1e100]),
        min_size=2,
        max_size=8,
    ),
    st.sampled_from([1e-300, 1e-9, 1.0, 1e9, 1e100]),
)
@example([0.0, 2.0, 1e-308], 1.0)
def test_all_legal_times_are_numbers_that_can_be_cubed(times, spacing):
    times = np.array(times)
    clock = Clock.of(times, spacing)
    samples = SampleSet.of(np.zeros((times.size, 1)), times, times)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(clock.t(times) ** 3).all()
        assert np.isfinite(clock.theta(times)).all()
        assert np.isfinite(window_of(samples, spacing=spacing).age ** 2).all()


# -- how components are chosen --------------------------------------------------------


@pytest.mark.parametrize("drift", ["smooth", "straight"])
@pytest.mark.parametrize("length", ["fitted", "infinite"])
@given(logs=st.lists(st.floats(-50.0, 50.0), min_size=4, max_size=4), b=st.booleans())
def test_components_are_moved_into_their_limits_and_no_farther(drift, length, logs, b):
    within = limits(drift, length)
    log_b = logs[3] if b else -math.inf
    moved = bounded(Components(*logs[:3], log_b), within)
    assert moved.interacts == b
    for name, (low, high) in within.items():
        before = dict(zip(within, [*logs[:3], log_b], strict=True))[name]
        if name == "log_b" and not b:
            continue
        assert getattr(moved, name) == min(max(before, low), high)
    assert bounded(moved, within) == moved
    assert (within["log_q"][0] == within["log_q"][1]) == (drift == "straight")
    assert (within["log_l"][0] == within["log_l"][1]) == (length == "infinite")


def improved(window, components, *, local=False, sweeps=3, within=ALL):
    start = fit(window, bounded(components, within), 1.0)
    return improve(start, 1.0, sweeps, within, local=local)


@pytest.mark.parametrize("within", [ALL, limits("straight", "infinite")])
@given(seed=seeds, rate=st.floats(-100.0, 100.0))
def test_components_are_within_limits_and_blind_to_affine_drift(within, seed, rate):
    readings, found = Readings(seed), []
    for beta in (0.0, rate):
        values = readings.values + 5.0 + beta * readings.times
        window = window_of(readings.samples(values=values))
        start = start_components(window, within)
        assert bounded(start, within) == start
        better = improved(window, start, within=within)
        assert bounded(better.components, within) == better.components
        again = improve(better, 1.0, 8, within, local=False)
        assert again.solution.criterion <= better.solution.criterion + 30.0
        found.append(better.components)
    same = [[c.log_a, c.log_l, c.log_q] for c in found]
    np.testing.assert_allclose(same[1], same[0], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("misjudged", [-2.8, 2.8])
def test_components_are_found_though_the_noise_was_misjudged(misjudged, seed):
    """All are relative to the noise, so that an error in it is one in all of them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 6)) / math.sqrt(6)
    points[0] = 0.0
    drift = 10.0 * np.sin(np.arange(60) / 8)
    readings = np.sum(points**2, axis=1) + drift + NOISE * rng.standard_normal(60)
    window = one_each(points, readings)
    right = improved(window, Components(2.0, 2.0, 0.5))
    wrong = improved(window, Components(2.0 + misjudged, 2.0, 0.5 + misjudged))
    assert abs(math.log(wrong.nu / right.nu)) < math.log(2.0)
    assert wrong.solution.criterion == pytest.approx(right.solution.criterion, abs=3.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("log_b", [-math.inf, -2.0], ids=["not yet", "already"])
@pytest.mark.parametrize("rate", [0.0, 1.0], ids=["common", "local"])
def test_a_local_drift_is_fitted_if_and_only_if_it_is_there(rate, log_b, seed):
    rng = np.random.default_rng(seed)
    points, t = rng.uniform(-1.0, 1.0, size=(60, 2)), np.arange(60.0)
    points[0] = 0.0
    readings = 3.0 * np.sum((points - 0.3) ** 2, axis=1) + 0.5 * t
    readings += rate * points[:, 0] * t + NOISE * rng.standard_normal(60)
    window, start = one_each(points, readings), Components(3.0, 1.4, -2.0, log_b)
    assert improved(window, start, local=True).components.interacts == (rate > 0.0)
    # Nobody looks for it where comparisons have not shown it.
    assert improved(window, start).components.interacts == start.interacts
