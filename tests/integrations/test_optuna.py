"""What a study of Optuna's with our sampler must hold."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobyqa import Optimizer

optuna = pytest.importorskip("optuna", reason="needs optuna")

from optuna.distributions import FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from tobyqa.integrations.optuna import TobyqaSampler  # noqa: E402

LIMITS = {"x": FloatDistribution(-2.0, 2.0), "y": FloatDistribution(-2.0, 2.0)}
START = {"x": 1.0, "y": -1.0}


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def value(params, t):
    """Lowest at (0.5, -0.3), with a drift and a reproducible noise."""
    noise = 0.01 * np.random.default_rng(int(t)).normal()
    return (params["x"] - 0.5) ** 2 + 2 * (params["y"] + 0.3) ** 2 + 0.05 * t + noise


def measure(study, trial, *, t=None, sign=1.0):
    t = float(trial.number) if t is None else t
    trial.set_user_attr("tobyqa:t", t)
    study.tell(trial, sign * value(trial.params, t))


def run(study, readings, space=LIMITS, **how):
    for _ in range(readings):
        measure(study, study.ask(space), **how)
    return points(study)


def points(study):
    return [tuple(trial.params[name] for name in sorted(trial.params))
            for trial in study.trials]  # fmt: skip


def study_of(sampler=None, **arguments):
    sampler = TobyqaSampler(START, noise=0.01) if sampler is None else sampler
    return optuna.create_study(sampler=sampler, **arguments)


# One trial after the other -----------------------------------------------------------


def test_a_study_asks_what_the_optimizer_asks():
    asked = run(study_of(), 40)
    opt = Optimizer(
        [1.0, -1.0], bounds=[(-2, 2)] * 2, noise=0.01, rng=0, maxfev=sys.maxsize
    )
    for t, point in enumerate(asked):
        trial = opt.ask()
        assert tuple(trial.x) == point
        opt.tell(trial, value({"x": trial.x[0], "y": trial.x[1]}, t), t)


def test_a_study_continued_elsewhere_is_the_same_study(tmp_path):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = study_of(storage=storage, study_name="kept")
    for _ in range(5):
        run(study, 4)
        study = optuna.load_study(
            study_name="kept",
            storage=storage,
            sampler=TobyqaSampler(START, noise=0.01),
        )
    assert points(study) == run(study_of(), 20)


def test_maximizing_is_minimizing_the_negative():
    up = run(study_of(direction="maximize"), 20, sign=-1.0)
    assert up == run(study_of(), 20)


def test_logarithms_and_grids_are_searched_as_such():
    space = {
        "rate": FloatDistribution(1e-5, 1e-1, log=True),
        "share": FloatDistribution(0.1, 0.9, step=0.05),
    }
    sampler = TobyqaSampler({"rate": 1e-4, "share": 0.3}, noise=0.01)
    study = optuna.create_study(sampler=sampler)
    for _ in range(60):
        trial = study.ask(space)
        rate, share = trial.params["rate"], trial.params["share"]
        steps = (share - 0.1) / 0.05
        assert steps == pytest.approx(round(steps), abs=1e-9)
        trial.set_user_attr("tobyqa:t", float(trial.number))
        bowl = (np.log10(rate) + 2.5) ** 2 + 20 * (share - 0.7) ** 2
        study.tell(trial, bowl + 0.02 * trial.number)
    assert points(study)[0] == pytest.approx((1e-4, 0.3))
    best = sampler.best_params(study)
    assert np.log10(best["rate"]) == pytest.approx(-2.5, abs=0.1)
    assert best["share"] == pytest.approx(0.7, abs=0.051)
    assert sampler.optimizer(study).names == ["log rate", "share - 0.1"]


def test_the_answer_is_that_of_the_model_and_no_lucky_trial():
    sampler = TobyqaSampler(START, noise=0.01)
    study = study_of(sampler)
    run(study, 60)
    found = sampler.best_params(study)
    assert found["x"] == pytest.approx(0.5, abs=0.05)
    assert found["y"] == pytest.approx(-0.3, abs=0.05)
    # The drift makes early trials look best.
    assert study.best_trial.number < 30
    assert sampler.optimizer(study).result().drift_rate == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED])
def test_a_failed_or_pruned_trial_is_a_failed_measurement(state):
    study = study_of()
    run(study, 2)
    trial = study.ask(LIMITS)
    study.tell(trial, state=state)
    measure(study, study.ask(LIMITS))
    start, _, failed, nearer = np.array(points(study))
    np.testing.assert_allclose(nearer - start, 0.5 * (failed - start))
    assert study.sampler.optimizer(study).result().nfail == 1


def test_integers_and_categories_are_left_to_the_other_sampler():
    class Threes(optuna.samplers.BaseSampler):
        def infer_relative_search_space(self, study, trial):
            return {}

        def sample_relative(self, study, trial, search_space):
            return {}

        def sample_independent(self, study, trial, name, distribution):
            return 3

    study = study_of(TobyqaSampler(START, noise=0.01, independent_sampler=Threes()))
    space = {**LIMITS, "k": IntDistribution(0, 9)}
    asked = run(study, 15, space)
    assert {k for k, _, _ in asked} == {3}
    assert [(x, y) for _, x, y in asked] == run(study_of(), 15)


def test_a_trial_with_a_fixed_value_is_best_placed_in_the_others():
    study = study_of()
    run(study, 30)
    study.enqueue_trial({"x": -1.5})
    measure(study, study.ask(LIMITS))
    *_, (x, y) = points(study)
    assert x == -1.5
    assert y == pytest.approx(-0.3, abs=0.3)
    study.enqueue_trial({"x": 1.5, "y": 1.5})
    measure(study, study.ask(LIMITS))
    assert points(study)[-1] == (1.5, 1.5)
    run(study, 3)
    assert len(study.sampler.optimizer(study).result().history) == 35


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_optunas_sampler_of_fixed_values_works_on_top():
    study = study_of()
    run(study, 8)
    study.sampler = optuna.samplers.PartialFixedSampler({"x": 0.25}, study.sampler)
    asked = run(study, 20)[8:]
    assert {x for x, _ in asked} == {0.25}
    assert len({y for _, y in asked}) > 5


# Several at once ---------------------------------------------------------------------


def test_trials_that_run_at_once_are_at_different_places():
    study = study_of()
    run(study, 1)
    for _ in range(4):
        trials = [study.ask(LIMITS) for _ in range(5)]
        assert len({tuple(trial.params.values()) for trial in trials}) == 5
        for trial in reversed(trials):
            measure(study, trial)
    assert len(study.sampler.optimizer(study).result().history) == 21


def test_the_first_points_are_measured_once_however_many_run():
    study = study_of()
    run(study, 1)
    trials = [study.ask(LIMITS) for _ in range(3)]  # all that is left of the probe
    for trial in trials[::-1]:
        measure(study, trial)
    assert sorted(points(study)) == sorted(run(study_of(), 4))
    assert study.sampler.optimizer(study).nfev == 4


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=25))
def test_a_sampler_that_knows_nothing_goes_on_as_one_that_was_there(steps):
    """Whatever runs at once, ends in whatever order, and fails."""
    studies = [study_of(), study_of()]
    running = [[], []]
    for study in studies:
        run(study, 1)  # from here on the parameters are known
    for which, fails in steps:
        studies[1].sampler = TobyqaSampler(START, noise=0.01)
        for study, trials in zip(studies, running, strict=True):
            if which >= len(trials):
                trials.append(study.ask(LIMITS))
                continue
            trial = trials.pop(which)
            if fails:
                study.tell(trial, state=TrialState.FAIL)
            else:
                measure(study, trial)
    assert points(studies[0]) == points(studies[1])


def test_threads_share_a_sampler():
    study = study_of()

    def objective(trial):
        x, y = trial.suggest_float("x", -2, 2), trial.suggest_float("y", -2, 2)
        return (x - 0.5) ** 2 + 2 * (y + 0.3) ** 2

    study.optimize(objective, n_trials=40, n_jobs=4)
    best = study.sampler.best_params(study)
    assert best["x"] == pytest.approx(0.5, abs=0.1)
    assert best["y"] == pytest.approx(-0.3, abs=0.1)


def test_a_trial_that_never_comes_back_holds_nothing_up():
    study = study_of()
    run(study, 2)
    lost = study.ask(LIMITS)
    run(study, 40)
    opt = study.sampler.optimizer(study)
    assert (opt.pending, opt.nfev) == ([], 42)
    assert study.sampler.best_params(study)["x"] == pytest.approx(0.5, abs=0.1)
    measure(study, lost)  # it does, after all
    assert len(study.sampler.optimizer(study).result().history) == 43


# Times -------------------------------------------------------------------------------


def test_without_a_time_of_its_own_a_trial_is_dated_by_its_completion():
    study = study_of()
    trial = study.ask(LIMITS)
    study.tell(trial, 1.0)
    (t,) = study.sampler.optimizer(study).result().history.t
    assert t == study.trials[0].datetime_complete.timestamp()


def test_trials_that_were_added_are_readings():
    study = study_of()
    known = {"x": 0.25, "y": 0.5}
    for begin, end in ((1, 2), (4, 3)):  # clocks of machines may differ
        trial = optuna.trial.create_trial(params=known, distributions=LIMITS, value=1.0)
        trial.datetime_start = datetime(2020, 1, 1, begin)
        trial.datetime_complete = datetime(2020, 1, 1, end)
        study.add_trial(trial)
    history = study.sampler.optimizer(study).result().history
    assert history.x.tolist() == [[0.25, 0.5]] * 2
    assert np.diff(history.t).tolist() == [3600.0]
    assert tuple(study.ask(LIMITS).params.values()) == (1.0, -1.0)


def test_a_standard_error_of_its_own_is_taken_over():
    study = study_of()
    trial = study.ask(LIMITS)
    trial.set_user_attr("tobyqa:sigma", 0.25)
    study.tell(trial, 1.0)
    assert study.sampler.optimizer(study).result().history.sigma == [0.25]


def test_two_clocks_in_one_study_are_an_error():
    study = study_of()
    run(study, 2)
    study.tell(study.ask(LIMITS), 1.0)
    with pytest.raises(ValueError, match="trial 2 has none"):
        study.ask(LIMITS)


# What is wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": -1.0}, "noise must be"),
        ({"method": "powell"}, "method = 'powell' is unknown"),
        ({"options": {"nonsense": 1}}, "nonsense"),
        ({"restarts": 2}, "restarts must be"),
    ],
)
def test_what_is_wrong_is_said_when_the_sampler_is_made(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TobyqaSampler(**arguments)


def test_a_start_of_no_parameter_is_an_error():
    study = study_of(TobyqaSampler({"z": 1.0}))
    run(study, 1)
    with pytest.raises(ValueError, match=r"x0 names \['z'\]"):
        study.ask(LIMITS)


def test_a_sampler_can_be_used_for_one_study_after_the_other():
    sampler = TobyqaSampler(START, noise=0.01)
    first, second = study_of(sampler), study_of(sampler)
    for _ in range(12):
        run(first, 1)
        run(second, 1)
    assert points(first) == points(second) == run(study_of(), 12)


def test_a_study_without_a_complete_trial_has_no_answer():
    study = study_of()
    with pytest.raises(ValueError, match="no complete trial"):
        study.sampler.best_params(study)


def test_the_core_does_not_import_it():
    code = "import sys, tobyqa.cli, tobyqa.bench; print('optuna' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"
