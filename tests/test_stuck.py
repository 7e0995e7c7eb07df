"""A sensor that is stuck is said, and nothing else is taken for one."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tobyqa
from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.report import write
from tobyqa.stuck import step_of, stuck

SAID = "same value"
seeds = st.integers(0, 2**32 - 1)
quickly = settings(max_examples=40, deadline=None)


def readings(seed, m, noise=1.0):
    """Of a bowl, at scattered points."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m, 2))
    return points, 10 * (points**2).sum(axis=1) + noise * rng.normal(size=m)


# -- readings ------------------------------------------------------------------------


@quickly
@given(seeds, st.integers(4, 40), st.integers(4, 12))
def test_a_stuck_sensor_is_said_within_six_readings(seed, before, since):
    points, values = readings(seed, before + since)
    values[before:] = values[before]
    counts = range(before, before + since + 1)
    said = [bool(stuck(points[:m], values[:m], 1.0)) for m in counts]
    assert not any(said[:4])
    assert all(said[6:])
    if since > 6:
        assert f"rows {before} to {before + since - 1}" in stuck(points, values, 1.0)


@quickly
@given(seeds, st.integers(5, 60))
def test_scattered_readings_are_no_alarm(seed, m):
    assert stuck(*readings(seed, m), 1.0) == ""


@quickly
@given(seeds, st.integers(5, 60), st.floats(0.5, 50), st.floats(0.1, 1e4))
def test_coarse_steps_are_no_alarm(seed, m, step, flat):
    """Even where most readings are the same."""
    points, values = readings(seed, m, noise=0.0)
    noise = np.random.default_rng([seed]).normal(size=m)
    levels = step * np.round((values / flat + noise) / step)
    if len(np.unique(levels)) > 1:
        assert stuck(points, levels, 1.0) == ""


@quickly
@given(seeds, st.integers(10, 60), st.floats(0, 1e3))
def test_a_plateau_without_noise_is_no_alarm(seed, m, stated):
    """Whatever noise is stated: a place measured twice has shown that there is none."""
    points, values = readings(seed, m, noise=0.0)
    points[1], values[1] = points[0], values[0]
    assert stuck(points, np.maximum(values, np.median(values[2:])), stated) == "" or (
        values[0] <= np.median(values[2:])  # it is on the plateau itself
    )


@quickly
@given(seeds, st.floats(0, 1) | st.just(math.nan))
def test_without_a_noise_there_is_no_alarm(seed, share):
    points, values = readings(seed, 20)
    values[10:] = values[10]
    noise = 0.0 if share == share else math.nan
    assert stuck(points, values, noise) == ""


def test_one_place_measured_again_and_again_is_no_alarm():
    points, values = readings(0, 20)
    values[10:], points[10:] = values[10], points[10]
    assert stuck(points, values, 1.0) == ""


def test_what_has_passed_is_still_said_and_failures_do_not_hide_it():
    points, values = readings(0, 30)
    values[10:16] = values[10]
    values[12] = math.nan
    assert "rows 10 to 15" in stuck(points, values, 1.0)


def test_a_sensor_that_was_never_anything_but_dead_is_said_later():
    points, _ = readings(0, 16)
    assert stuck(points[:8], np.zeros(8), 1.0) == ""
    assert "rows 0 to 15" in stuck(points, np.zeros(16), 1.0)


@quickly
@given(
    st.lists(st.integers(-(10**4), 10**4), min_size=2, max_size=20),
    st.sampled_from([1e-3, 0.01, 0.25, 1.0, 7.0]),
)
def test_the_step_of_readings_is_their_largest_common_one(whole, step):
    found = step_of(step * np.array(whole))
    divisor = math.gcd(*(k - whole[0] for k in whole))
    assert found == pytest.approx(step * divisor, rel=1e-6)


# -- runs ----------------------------------------------------------------------------


def bowl(x):
    return float(10 * np.sum((x - 1.0) ** 2))


def run(path=None, since=12, readings=20, noise=0.1, **kind):
    """A run whose sensor gets stuck."""
    opt = Optimizer([0.0, 0.0], noise=noise, rng=0, maxfev=60, journal=path, **kind)
    rng, level = np.random.default_rng(0), None
    for k in range(readings):
        trial = opt.ask()
        value = bowl(trial.x) + 0.1 * rng.normal()
        level = value if k == since else level
        opt.tell(trial, value if k < since else level)
    return opt


@pytest.mark.parametrize("kind", [{}, {"noise": None}, {"maximize": True}], ids=str)
def test_everything_that_shows_a_run_says_it(kind, tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    with run(path, **kind) as opt:
        res = opt.result()
    assert "rows 12 to 19" in res.sensor
    assert SAID in res.sensor
    assert res.sensor in repr(res)
    assert main(["status", str(path)]) == 0
    assert SAID in capsys.readouterr().out
    page = write(path, tmp_path / "report.html").read_text()
    assert page.count(SAID) == 2  # for people and for machines


def test_all_is_well_in_a_run_of_a_sound_sensor():
    opt = run(since=99)
    assert opt.result().sensor == ""
    assert SAID not in repr(opt.result())


def test_the_log_has_it_once(caplog):
    with caplog.at_level(logging.WARNING, logger="tobyqa"):
        run(since=12, readings=30)
    assert [SAID in record.getMessage() for record in caplog.records] == [True]


def test_readings_withdrawn_are_no_matter_any_more():
    opt = run()
    for row in range(13, 20):
        opt.withdraw(row)
    assert opt.result().sensor == ""


def test_quantised_readings_and_plateaus_are_no_alarm_in_a_search():
    rng = np.random.default_rng(0)

    def quantised(x):
        return 0.5 * round((bowl(x) + 0.1 * rng.normal()) / 0.5)

    def flat(x):
        return max(bowl(x), 5.0)

    for fun in (quantised, flat):
        for noise in (0.1, None, 0.0):
            res = tobyqa.minimize(fun, [0.0, 0.0], noise=noise, maxfev=60, rng=0)
            assert res.sensor == ""


@pytest.mark.parametrize("noise", [0.1, None])
def test_readings_of_a_stuck_sensor_are_in_no_fit(noise):
    """It is asked at the centre until it reads something else; then all goes on."""
    for seed in range(4):
        rng, level = np.random.default_rng(seed), math.nan
        opt = Optimizer([3.0, -1.0], noise=noise, rng=seed, maxfev=70)
        asked = []
        while not opt.done:
            k, trial = opt.nfev, opt.ask()
            asked.append(trial.x)
            value = bowl(trial.x) + 0.1 * rng.normal()
            level = value if k == 20 else level
            opt.tell(trial, level if 20 <= k < 45 else value)
        res = opt.result()
        assert "rows 20 to 44" in res.sensor
        assert (res.history.weight[20:45] == 0.0).all()
        assert {suspect.row for suspect in res.suspects} >= set(range(20, 45))
        assert len(np.unique(asked[25:45], axis=0)) == 1  # the centre
        assert bowl(res.x) < 0.1
        assert repr(res).count("standard errors off") < 10


def test_what_saturates_far_out_is_believed_once_the_centre_reads_something_else():
    """The sensor lives: its largest value is what the function is worth there."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        res = tobyqa.minimize(
            lambda x, rng=rng: min(bowl(x) + 0.1 * rng.normal(), 30.0),
            [2.0, 1.5],
            noise=0.1,
            maxfev=80,
            rng=seed,
        )
        assert bowl(res.x) < 0.2
        repeated = res.history.value == 30.0
        assert (res.history.weight[~repeated] == 1.0).mean() > 0.95


@pytest.mark.parametrize("n", [2, 3])
def test_the_noise_is_not_less_than_the_steps_in_which_readings_come(n):
    """Where they are coarse, many are equal: a fit alone would see no noise at all."""
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def coarse(x, rng=rng):
            value = np.sum((x - 0.4) ** 2) + 0.1 * rng.normal()
            return 0.5 * round(float(value) / 0.5)

        for noise in (None, 1e-6):
            res = tobyqa.minimize(
                coarse, np.full(n, 1.5), maxfev=50, rng=seed, noise=noise
            )
            assert res.noise_std >= 0.999 * 0.5 / math.sqrt(12.0)
