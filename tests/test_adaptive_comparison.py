"""Two places compared by their readings, with no model of the function between."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefs import HERE, NOISE, THERE, belief, samples_of
from tobyqa import Adaptive
from tobyqa.kernels import integrated_wiener
from tobyqa.methods.adaptive.belief import Place
from tobyqa.methods.adaptive.contrast import contrast
from tobyqa.methods.adaptive.noise import BELIEVED, GUESSED
from tobyqa.methods.adaptive.plan import next_plan_at_best
from tobyqa.methods.adaptive.search import decided, is_affordable, rival_of
from tobyqa.samples import SampleSet

ELSEWHERE = np.array([1.0, 1.0])
seeds = st.integers(0, 2**32 - 1)
slopes = st.floats(-1e3, 1e3)
trust = pytest.mark.parametrize("spread", [BELIEVED, GUESSED], ids=["stated", "guess"])


def rounds(value, starts, at_first=()):
    """Readings here, there and here again, beginning at each of these times."""
    readings = [(x, t, value(x, t)) for x, t in at_first]
    for t in starts:
        for k, x in enumerate((HERE, THERE, HERE)):
            readings.append((x, t + k, value(x, t + k)))
    return samples_of(readings)


def two_places(seed, lower=0.0, rate=0.0, count=3, noise=NOISE):
    """Rounds at random times; there, readings are higher and drift at another rate."""
    rng = np.random.default_rng(seed)

    def value(x, t):
        return (lower + rate * t) * (x[0] > 0.0) + noise * rng.normal()

    return rounds(value, np.cumsum(rng.uniform(3.0, 40.0, size=count)))


def changed(samples, *, scale=1.0, drift=0.0, times=1.0, rows=slice(None)):
    values = scale * samples.values + drift * samples.times
    parts = samples.points, times * samples.times, values
    return SampleSet.of(*(part[rows] for part in parts))


def same_lead(one, other):
    assert other.ahead == pytest.approx(one.ahead, rel=1e-5, abs=1e-5)
    assert other.drifts_apart == one.drifts_apart


# Lower by much, and whether the rival drifts on its own, and whether that is known.
cases = pytest.mark.parametrize(
    ("rate", "local"), [(0.0, False), (3.0, False), (0.0, True), (3.0, True)]
)


@cases
@given(seed=seeds, slope=slopes, level=slopes)
def test_a_steady_drift_cancels(rate, local, seed, slope, level):
    samples = two_places(seed, 7.0, rate)
    b = belief(samples, local=local)
    moved = changed(samples, drift=slope)
    same_lead(contrast(b, THERE), contrast(replace(b, samples=moved), THERE))


@cases
@given(seed=seeds, size=st.integers(-40, 40), unit=st.integers(-40, 40))
def test_units_of_readings_and_of_time_are_of_no_account(rate, local, seed, size, unit):
    samples, scale = two_places(seed, 7.0, rate), 2.0**size
    lead = contrast(belief(samples, local=local), THERE)
    other = belief(
        changed(samples, scale=scale, times=2.0**unit),
        noise=scale * NOISE,
        spacing=2.0**unit,
        local=local,
    )
    same_lead(lead, contrast(other, THERE))


@cases
@given(seed=seeds, random=st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_of_no_account(rate, local, seed, random):
    """So neither is a clock that was set back."""
    samples = two_places(seed, 7.0, rate)
    b, rows = belief(samples, local=local), list(range(1, len(samples) - 3))
    random.shuffle(rows)
    # Ages are counted from the first; the last three are the comparison's own.
    shuffled = changed(samples, rows=[0, *rows, -3, -2, -1])
    same_lead(contrast(b, THERE), contrast(replace(b, samples=shuffled), THERE))


@cases
@pytest.mark.parametrize("value", [-50.0, 1e30])
@given(seed=seeds)
def test_readings_elsewhere_are_of_no_account(rate, local, value, seed):
    samples = two_places(seed, 7.0, rate)
    b = belief(samples, local=local)
    more = samples.append(ELSEWHERE, samples.times[-1] + 9.0, value, np.nan)
    same_lead(contrast(b, THERE), contrast(replace(b, samples=more), THERE))


@pytest.mark.parametrize(("rate", "local"), [(3.0, False), (0.0, True), (3.0, True)])
@given(seed=seeds)
def test_who_is_the_rival_decides_the_sign(rate, local, seed):
    b = belief(two_places(seed, 7.0, rate), local=local)
    swapped = contrast(replace(b, best=Place(THERE, b.B)), HERE)
    same_lead(contrast(b, THERE), swapped._replace(ahead=-swapped.ahead))


@given(seed=seeds, lower=st.floats(-50.0, 50.0))
def test_a_calm_comparison_is_the_middle_reading_against_the_chord(seed, lower):
    """Plane algebra, but for the noise estimate; earlier readings have no say."""
    samples = two_places(seed, lower)
    b = belief(samples, q=1e-9)
    y, t = samples.values[-3:], samples.times[-3:]
    lead = contrast(b, THERE)
    assert lead.error == pytest.approx(math.sqrt(1.5), rel=1e-6)
    above = y[1] - np.interp(t[1], t[[0, 2]], y[[0, 2]])
    noise = above / (lead.ahead * lead.error)
    assert 0.2 * NOISE < noise < 5.0 * NOISE


def test_a_restless_drift_makes_a_comparison_less_sure():
    b, leads = belief(two_places(0, 7.0, count=1)), []
    for log_q in (-8.0, 0.0, 3.0):
        restless = replace(b.fitted.components, log_q=log_q)
        b = replace(b, fitted=replace(b.fitted, components=restless))
        leads.append(contrast(b, THERE).ahead)
    assert leads == sorted(leads, reverse=True)
    assert 0.0 < leads[-1] < 0.5 * leads[0]


@pytest.mark.parametrize("lower", [-50.0, 50.0])
@pytest.mark.parametrize("pause", [1e3, 1e6, 1e9, 1e12])
def test_a_pause_between_the_places_leaves_everything_open(pause, lower):
    """Whatever happened to the drift meanwhile; what was read before, too."""
    times = [0.0, 1.0, 2.0]
    readings = [(HERE, t, 0.0) for t in times]
    readings += [(THERE, t + pause, lower) for t in times]
    lead = contrast(belief(samples_of(readings)), THERE)
    assert abs(lead.ahead) < 1.0


@trust
def test_readings_of_one_time_show_a_difference_and_no_drift(spread):
    readings = [(HERE, 5.0, 0.0), (THERE, 5.0, 7.0)] * 3
    lead = contrast(belief(samples_of(readings), spread=spread), THERE)
    assert lead.ahead > 3.0
    assert not lead.drifts_apart


@trust
@pytest.mark.parametrize("misjudged", [0.1, 1.0, 10.0])
@given(seed=seeds, slope=slopes)
def test_a_common_drift_never_drives_places_apart(spread, misjudged, seed, slope):
    """Whatever its slope; a noise that was guessed may be far from the true one."""
    noise = NOISE * (misjudged if spread == GUESSED else 1.0)
    samples = changed(two_places(seed, 7.0), drift=slope)
    for rows in range(4, len(samples) + 1):
        b = belief(changed(samples, rows=slice(rows)), noise=noise, spread=spread)
        assert not contrast(b, THERE).drifts_apart


def test_in_thousands_of_comparisons_chance_drives_no_places_apart():
    """Five standard errors are one in millions, also by a handful of readings."""
    b = belief(two_places(0, 7.0))
    for seed in range(3000):
        samples = changed(two_places(seed, 7.0), rows=slice(7))
        assert not contrast(replace(b, samples=samples), THERE).drifts_apart


@pytest.mark.parametrize("off", [-100.0, 100.0])
@given(seed=seeds, which=st.integers(0, 5))
def test_a_wrong_reading_at_the_best_place_drives_no_places_apart(off, seed, which):
    samples = two_places(seed, 7.0)
    values = samples.values.copy()
    values[samples.rows_at(HERE)[which]] += off * NOISE
    wrong = SampleSet.of(samples.points, samples.times, values)
    assert not contrast(belief(wrong), THERE).drifts_apart


@pytest.mark.parametrize("off", [-100.0, 100.0])
@given(seed=seeds, slope=st.floats(-30.0, 30.0))
def test_readings_of_one_moment_are_no_rate(off, seed, slope):
    """Two at the best place at once, and a wrong one before them, under any drift."""
    rng = np.random.default_rng(seed)
    places = [THERE, HERE, THERE, HERE, HERE, THERE]
    times = np.array([3.0, 6.0, 10.0, 26.0, 26.0, 26.0])
    values = slope * times + NOISE * rng.normal(size=6)
    values[1] += off * NOISE
    samples = SampleSet.of(np.array(places), times, values)
    assert not contrast(belief(samples, q=0.01), THERE).drifts_apart


@trust
@pytest.mark.parametrize("q", [0.01, 0.1, 1.0])
def test_a_restless_drift_of_both_places_seldom_drives_them_apart(spread, q):
    """They were measured at other times; the fit knows how restless it is."""
    t = np.array([0.0, 5.0, 30.0, 50.0, 51.0, 52.0])
    places = np.array([HERE, HERE, THERE, HERE, THERE, HERE])
    wander = np.linalg.cholesky(integrated_wiener(t) + 1e-9 * np.eye(6))
    apart = 0
    for seed in range(300):
        drawn = np.random.default_rng(seed).normal(size=(2, 6))
        values = NOISE * (q * wander @ drawn[0] + drawn[1])
        b = belief(SampleSet.of(places, t, values), spread=spread, q=q)
        apart += contrast(b, THERE).drifts_apart
    assert apart <= 3


@given(seed=seeds, slope=slopes, lower=slopes)
def test_rates_that_clearly_differ_drive_places_apart(seed, slope, lower):
    samples = changed(two_places(seed, lower, 20.0, count=5), drift=slope)
    lead = contrast(belief(samples), THERE)
    assert lead.drifts_apart
    # As they were at the first reading of all.
    begin = samples.times[0]
    truly = lower + 20.0 * begin
    assert np.sign(lead.ahead) == np.sign(truly) or abs(truly) < 5.0 * NOISE


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("drift", "is_local"),
    [
        (lambda x, t: 0.0, False),
        (lambda x, t: 40.0 * t, False),
        (lambda x, t: 30.0 * np.sin(0.02 * t), False),
        (lambda x, t: (2.0 + 0.5 * x[0]) * t, True),
        (lambda x, t: 20.0 * x[0] * np.sin(0.2 * t), False),
    ],
    ids=["none", "affine", "restless", "of place", "goes up and down"],
)
def test_only_a_steady_drift_that_depends_on_the_place_is_called_local(
    drift, is_local, seed
):
    rng = np.random.default_rng(seed)

    def value(x, t):
        return 5.0 * x[0] + drift(x, t) + NOISE * rng.normal()

    samples = rounds(value, [1.0, 8.0, 15.0, 45.0, 75.0])
    assert contrast(belief(samples), THERE).drifts_apart == is_local


# -- what follows from it -------------------------------------------------------------


def after_comparison(ahead, *, local=False, at_rival=True, rate=0.0):
    """A belief whose comparison gave about `ahead`; the centre is the rival or not."""

    def value(x, t):
        return (0.7 * NOISE * ahead + rate * (t - 1.0)) * (x[0] > 0.0)

    samples = rounds(value, [2.0, 20.0, 40.0], [(HERE, 1.0), (THERE, 1.0)])
    # Errors as large as the noise that leave level and rate at each place alone.
    there, t = samples.points[:, 0] > 0.0, samples.times
    X = np.column_stack([~there, there, ~there * t, there * t])
    errors = np.random.default_rng(0).normal(size=len(samples))
    errors -= X @ np.linalg.lstsq(X, errors, rcond=None)[0]
    values = samples.values + NOISE * errors / errors.std()
    samples = SampleSet.of(samples.points, t, values)
    b = belief(samples, local=local, centre=1 if at_rival else 0, q=1e-3)
    lead = contrast(b, THERE)
    assert np.sign(lead.ahead) == np.sign(ahead)
    assert (abs(lead.ahead) > 3.0) == (abs(ahead) > 3.0)
    assert lead.drifts_apart == (rate != 0.0)
    return b


@pytest.mark.parametrize("at_rival", [True, False])
@pytest.mark.parametrize(
    ("local", "ahead", "winner"),
    [
        (False, -2.0, THERE),
        (False, 2.0, HERE),
        (False, 20.0, HERE),
        (True, -0.5, HERE),
        (True, -20.0, THERE),
        (True, 20.0, HERE),
    ],
)
def test_the_lower_place_is_the_best_one_from_now_on(local, ahead, winner, at_rival):
    """Where drift is local by late readings only if sure: the sign would be chance."""
    b = after_comparison(ahead, local=local, at_rival=at_rival)
    after, goes_back = decided(b, THERE, is_centre=at_rival)
    np.testing.assert_array_equal(after.best.x, winner)
    is_new = winner is THERE
    # The region that belongs to the place: the centre's is the one of now.
    np.testing.assert_array_equal(
        after.best.B, b.B if is_new and at_rival else b.best.B
    )
    # It is left for the best place if far behind; a step turned down is gone to.
    assert goes_back == (ahead > 3.0 if at_rival else is_new)
    assert after.local == local
    assert after.aside == ()


@pytest.mark.parametrize("at_rival", [True, False])
def test_a_place_that_has_lost_and_drifts_in_its_own_way_is_put_aside(at_rival):
    """It is in no fit from then on, whoever has won: it would bend them all."""
    b = after_comparison(-20.0, at_rival=at_rival, rate=4.0)
    after, goes_there = decided(b, THERE, is_centre=at_rival)
    assert after.local
    np.testing.assert_array_equal(after.best.x, THERE)
    np.testing.assert_array_equal(after.aside, [HERE])
    assert goes_there == (not at_rival)
    after = next_plan_at_best(after) if goes_there else after
    assert not np.isin(b.samples.rows_at(HERE), after.fitted.window.rows).any()


@pytest.mark.parametrize("turned_down", [True, False])
@pytest.mark.parametrize(("distance", "is_apart"), [(0.1, False), (1.0, True)])
def test_the_rival_is_a_centre_apart_or_else_a_step_turned_down(
    distance, is_apart, turned_down
):
    b = belief(two_places(0))
    best = Place(b.centre_point - [0.0, 2.0 * distance], np.eye(2))
    b = replace(b, B=2.0 * np.eye(2), best=best)
    # The region was larger when the step was planned.
    plan = replace(b.plan, x=b.samples.points[-1], explores=False)
    before = replace(b, B=(2.0 if turned_down else 1.0) * b.B, plan=plan)
    rival = rival_of(b, before)
    if is_apart:
        np.testing.assert_array_equal(rival, b.centre_point)
    elif turned_down:
        np.testing.assert_array_equal(rival, b.samples.points[-1])
    else:
        assert rival is None
    assert rival_of(replace(b, s=Adaptive(compare=False)), before) is None


@given(asked=st.integers(1, 99), repeats=st.integers(0, 99), share=st.floats(0.0, 1.0))
def test_a_comparison_is_affordable_if_its_share_is_kept_after_it(
    asked, repeats, share
):
    samples = SampleSet.of(np.zeros((asked, 2)), np.arange(float(asked)), 0.0)
    for guests in range(3):  # they pay for nothing
        b = replace(
            belief(two_places(0)),
            samples=samples,
            repeats=repeats,
            s=Adaptive(repeats=share),
        )
        assert is_affordable(b) == (repeats + 3 <= share * (asked + 3))
        samples = samples.append(HERE, 99.0 + guests, 0.0, np.nan, asked=False)
