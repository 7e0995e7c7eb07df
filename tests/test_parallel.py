"""Several trials at once: what is asked, in which order they come back, what stays."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tobyqa
from tobyqa import Optimizer, Status
from tobyqa.state import Why

C = np.array([0.7, -0.4, 0.2])
H = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])


def bowl(x, t=0.0):
    """A quadratic with its minimum at C, and a drift."""
    d = x - C[: x.size]
    return float(0.5 * d @ H[: x.size, : x.size] @ d + 0.03 * t)


def beginning(**arguments):
    return Optimizer(np.zeros(3), **{"noise": 1e-4, "rng": 3, **arguments})


def drawn(opt, k, readings, seed, value=bowl):
    """Keep `k` in flight and tell `readings` of them in a random order."""
    rng = np.random.default_rng(seed)
    for t in range(readings):
        if opt.done:
            return
        trials = opt.ask(k)
        trial = trials[rng.integers(len(trials))]
        opt.tell(trial, value(trial.x, t), t=float(t))


# -- what is asked --------------------------------------------------------------------


def test_one_in_flight_is_the_search_as_it_was():
    one, other = beginning(maxfev=60), beginning(maxfev=60)
    for t in range(60):
        trial, [same] = one.ask(), other.ask(1)
        np.testing.assert_array_equal(trial.x, same.x)
        assert trial.why is same.why
        one.tell(trial, bowl(trial.x, t))
        other.tell(same, bowl(same.x, t))
    assert [e for e in one._log.events if "beside" in e] == []


@pytest.mark.parametrize("method", ["adaptive", "paper"])
def test_all_first_points_can_be_out_at_once(method):
    one, several = beginning(method=method), beginning(method=method)
    needed = one.method.needs(3)
    points = []
    for t in range(needed):
        points.append(one.ask().x)
        one.tell(one.ask(), bowl(points[-1], t))
    trials = several.ask(needed)
    np.testing.assert_array_equal([trial.x for trial in trials], points)
    assert len({trial.id for trial in trials}) == needed
    # Whatever comes back first, none of them is asked for again.
    for trial in trials[::-1]:
        several.tell(trial, bowl(trial.x))
        fresh = [other.x for other in several.ask(needed) if other.id >= needed]
        again = [x for x in fresh if any(np.array_equal(x, p) for p in points)]
        assert not again
    assert np.isfinite(several.result().jac).all()  # there is a model


@pytest.mark.parametrize("method", ["adaptive", "paper"])
def test_trials_that_wait_are_at_different_places(method):
    opt = beginning(method=method)
    drawn(opt, 12, 60, seed=1)
    trials = opt.ask(12)
    repeats = (Why.COMPARISON, Why.RECHECK, Why.START_AGAIN)
    places = {trial.x.tobytes() for trial in trials if trial.why not in repeats}
    assert len(places) == len([t for t in trials if t.why not in repeats])


def test_asking_for_more_tops_up_those_that_wait():
    opt = beginning()
    first = opt.ask(2)
    assert opt.ask(5)[:2] == first
    assert opt.ask(3) == opt.pending[:3]
    assert opt.ask() is opt.pending[0] is first[0]
    assert [trial.id for trial in opt.pending] == [0, 1, 2, 3, 4]


def test_what_waits_counts_in_the_budget_and_what_is_given_up_does_not():
    opt = beginning(maxfev=9)
    trials = opt.ask(20)
    assert len(trials) == 9
    for trial in trials[:4]:
        opt.tell(trial, bowl(trial.x))
    opt.give_up(trials[5])
    assert (opt.nfev, len(opt.pending)) == (4, 4)
    assert [trial.id for trial in opt.ask(20)] == [4, 6, 7, 8, 9]
    for trial in opt.pending:
        assert not opt.done
        opt.tell(trial, bowl(trial.x))
    assert (opt.nfev, opt.status) == (9, Status.MAXFEV)
    with pytest.raises(ValueError, match="is not waiting"):
        opt.tell(trials[5], 1.0)
    opt.tell(trials[5].x, 1.0)  # it came after all
    assert opt.nfev == 9


@given(
    k=st.integers(1, 12),
    seed=st.integers(0, 10**6),
    resolution=st.sampled_from([None, [0.05, None, 0.02]]),
)
@settings(max_examples=15, deadline=None)
def test_settings_in_the_order_they_are_asked_are_within_one_move(k, seed, resolution):
    most = np.array([0.3, 0.2, 0.4])
    opt = beginning(max_move=most, resolution=resolution, noise=1e-3)
    drawn(opt, k, 50, seed)
    points = np.array([e["x"] for e in opt._log.events if e["event"] == "ask"])
    assert (np.abs(np.diff(points, axis=0)) <= most * (1.0 + 1e-9)).all()


def test_one_instrument_whose_readings_come_late_finds_the_minimum():
    """It is set in the order of asking; each value is known four settings later."""
    opt = beginning(max_move=0.5, noise=0.0, maxfev=10**4)
    for _ in range(150):
        trial = opt.ask(4)[0]
        opt.tell(trial, bowl(trial.x, trial.id), t=float(trial.id))
    np.testing.assert_allclose(opt.progress().x, C, atol=1e-2)


SAFE = np.array([0.1, 0.0, 0.0])


def test_after_a_reading_beyond_the_limit_only_the_safe_place_is_asked():
    opt = beginning(safe=SAFE, limit=50.0, noise=1e-3)
    drawn(opt, 4, 15, seed=1)
    trials = opt.ask(4)
    opt.tell(trials[1], 60.0)
    left = [trials[0], trials[2], trials[3]]
    *others, safe = opt.ask(9)
    assert others == left
    assert safe.why is Why.SAFE
    np.testing.assert_array_equal(safe.x, SAFE)
    # What is out stays out, and counts.
    opt.tell(left[0], bowl(left[0].x))
    assert opt.ask(9) == [*left[1:], safe]
    # Another one is beyond: it goes back as well.
    opt.tell(left[1], 70.0)
    *others, safer = opt.ask(9)
    assert others == [left[2], safe]
    np.testing.assert_array_equal(safer.x, SAFE)
    opt.tell(safe, bowl(safe.x))
    assert opt.ask(9) == [left[2], safer]
    opt.tell(safer, bowl(safer.x))
    assert len(opt.ask(9)) == 9
    for trial in opt.pending[1:]:
        for bad in (trials[1].x, left[1].x):
            assert np.linalg.norm(trial.x - SAFE) <= np.linalg.norm(trial.x - bad)


def test_a_safe_place_that_could_not_be_measured_is_asked_again():
    opt = beginning(safe=SAFE, limit=50.0, noise=1e-3)
    drawn(opt, 4, 15, seed=1)
    trials = opt.ask(4)
    opt.tell(trials[3], 60.0)
    for _ in range(3):
        safe = opt.ask(9)[-1]
        assert safe.why is Why.SAFE
        opt.tell_failed(safe, "stuck")
    safe = opt.ask(9)[-1]
    opt.tell(safe, 70.0)  # beyond as well
    again = opt.ask(9)[-1]
    assert again.why is Why.SAFE
    opt.give_up(again)
    safe = opt.ask(9)[-1]
    assert safe.why is Why.SAFE
    opt.tell(safe, 0.5)
    assert len(opt.ask(9)) == 9


@pytest.mark.parametrize("k", [1, 3, 8])
def test_a_limit_with_several_in_flight_does_not_keep_the_search_from_its_end(k):
    """Half of what is allowed reads beyond the limit: a wall that nobody knows of."""
    opt = beginning(safe=SAFE, limit=5.0, noise=1e-3)
    wall = lambda x, t: 9.0 if x[1] > 0.3 else bowl(x, t)  # noqa: E731
    drawn(opt, k, 150, seed=k, value=wall)
    np.testing.assert_allclose(opt.progress().x, C, atol=0.05)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize(
    "rules",
    [
        {"max_move": 0.2},
        {"safe": SAFE, "limit": 0.5},
        {"max_move": 0.3, "safe": SAFE, "limit": 0.5},
    ],
)
def test_moves_and_limits_with_several_in_flight_replay_bit_by_bit(k, rules, tmp_path):
    path = tmp_path / "run.jsonl"
    with beginning(journal=path, **rules) as opt:
        drawn(opt, k, 60, seed=k)
        opt.ask(k)
        whole = Optimizer.load(path)
        same(opt, whole)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None])
def test_a_number_of_trials_that_is_none(k):
    if k is None:
        assert isinstance(beginning().ask(k), tobyqa.Trial)
        return
    with pytest.raises((TypeError, ValueError), match="k must be"):
        beginning().ask(k)


@pytest.mark.parametrize("method", ["adaptive", "paper"])
@given(k=st.integers(2, 20), seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_limits_hold_for_all_that_is_in_flight(method, k, seed):
    opt = Optimizer(
        [0.2, 0.2, 0.2],
        method=method,
        noise=1e-3,
        rng=seed,
        bounds=[(0.0, 1.0), (-0.5, 0.5), (0.0, 0.6)],
        constraints=["x0 + x1 + x2 <= 0.9"],
        resolution=[0.01, None, 0.05],
    )
    drawn(opt, k, 40, seed)
    points = np.array([e["x"] for e in opt._log.events if e["event"] == "ask"])
    assert (points >= [0.0, -0.5, 0.0]).all()
    assert (points <= [1.0, 0.5, 0.6]).all()
    assert (points.sum(axis=1) <= 0.9).all()
    for column, step in ((0, 0.01), (2, 0.05)):
        turns = points[:, column] / step
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)


# -- what comes of it -----------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 16])
def test_several_in_flight_find_the_minimum_under_a_drift(k):
    opt = beginning(noise=0.0)
    drawn(opt, k, 100, seed=k)
    res = opt.result()
    np.testing.assert_allclose(res.x, C, atol=1e-3)
    assert res.drift_rate == pytest.approx(0.03, abs=1e-3)


@pytest.mark.parametrize("lost", [0, 3, 9, 20])
def test_nobody_waits_for_a_trial_that_does_not_come_back(lost):
    """Whichever it is: the start, another first point, a step, a further one."""
    opt, rng = beginning(noise=0.0), np.random.default_rng(lost)
    for t in range(110):
        if opt.done:  # it has found nothing left to gain
            break
        others = [trial for trial in opt.ask(5) if trial.id != lost]
        trial = others[rng.integers(len(others))]
        opt.tell(trial, bowl(trial.x, t), t=float(t))
    np.testing.assert_allclose(opt.progress().x, C, atol=1e-2)
    late = next(trial for trial in opt.pending if trial.id == lost)
    opt.tell(late, bowl(late.x, 110), t=110.0)
    np.testing.assert_allclose(opt.progress().x, C, atol=1e-2)


@pytest.mark.parametrize("name", [0, 3])
def test_there_is_no_model_before_every_coordinate_was_varied(name):
    """Level it would seem, and as sure of that as of anything."""
    opt = Optimizer(np.zeros(5), noise=1e-4, rng=3)

    def tell(trial):
        value = float(np.sum((trial.x - 0.3) ** 2))
        opt.tell(trial, value, t=float(opt.nfev))

    opt.ask(40)
    for trial in [trial for trial in opt.pending if trial.x[name] == 0.0]:
        tell(trial)
    assert opt.nfev > opt.method.needs(5)
    assert np.isnan(opt.result().jac).all()
    tell(next(trial for trial in opt.pending if trial.x[name] != 0.0))
    slope = opt.result().jac
    assert np.isfinite(slope).all()
    assert slope[name] != 0.0


def test_a_place_that_cannot_be_measured_does_not_hold_up_the_others():
    opt = beginning(noise=0.0, maxfev=10**4)
    rng = np.random.default_rng(5)
    for t in range(120):
        trials = opt.ask(6)
        trial = trials[rng.integers(len(trials))]
        if trial.x[0] > 0.9:
            opt.tell_failed(trial, "out of reach", t=float(t))
        else:
            opt.tell(trial, bowl(trial.x, t), t=float(t))
    np.testing.assert_allclose(opt.progress().x, C, atol=1e-2)


def test_restarts_with_several_in_flight_keep_the_answer():
    opt = Optimizer(np.zeros(2), noise=1e-3, rng=1, maxfev=400, restarts=True)
    rng = np.random.default_rng(1)
    while not opt.done:
        trials = opt.ask(4)
        trial = trials[rng.integers(len(trials))]
        opt.tell(trial, bowl(trial.x) + 1e-3 * rng.standard_normal())
    asked = {trial["why"] for trial in opt._log.events if trial["event"] == "ask"}
    assert "ELSEWHERE" in asked
    best = np.linalg.solve(H[:2, :2], H[:2, :2] @ C[:2])
    np.testing.assert_allclose(opt.result().x, best, atol=0.02)


# -- what stays -----------------------------------------------------------------------


def same(one, other):
    """Whether two runs stand at the same place, bit by bit."""
    assert [t.id for t in one.pending] == [t.id for t in other.pending]
    a, b = one.result(), other.result()
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.history.radius, b.history.radius)
    for p, q in zip(one.ask(7), other.ask(7), strict=True):
        assert (p.id, p.why) == (q.id, q.why)
        np.testing.assert_array_equal(p.x, q.x)


@pytest.mark.parametrize("method", ["adaptive", "paper"])
@pytest.mark.parametrize("readings", [0, 5, 11, 45])
def test_a_resumed_run_has_its_pending_trials_back(method, readings, tmp_path):
    path = tmp_path / "run.jsonl"
    whole = beginning(method=method)
    with beginning(method=method, journal=path) as opt:
        for each in (opt, whole):
            drawn(each, 5, readings, seed=readings)
            each.ask(5)
    with Optimizer.resume(path) as again:
        assert len(again.pending) == 5
        same(again, whole)
        for each in (again, whole):
            drawn(each, 6, 10, seed=9)
        same(again, whole)


def test_the_journal_says_which_trials_went_out_beside_others(tmp_path):
    path = tmp_path / "run.jsonl"
    with beginning(journal=path) as opt:
        opt.ask(3)
        opt.tell(opt.pending[1], 1.0)
        opt.give_up(opt.pending[0])
    events = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert [e.get("beside") for e in events[:3]] == [None, "further", "further"]
    assert (events[4]["event"], events[4]["drops"]) == ("give_up", [0])


def test_undo_leaves_the_others_that_are_out():
    opt = beginning()
    trials = opt.ask(4)
    opt.tell(trials[2], bowl(trials[2].x))
    fresh = opt.ask(4)[-1]
    opt.undo()
    assert [trial.id for trial in opt.pending] == [0, 1, 2, 3, fresh.id]
    for trial in (trials[2], fresh, trials[0]):
        opt.tell(trial, bowl(trial.x))
    assert opt.nfev == 3


def test_undo_with_one_in_flight_withdraws_the_next_trial_too():
    opt = beginning()
    opt.tell(opt.ask(), 1.0)
    opt.ask()
    opt.undo()
    assert [trial.id for trial in opt.pending] == [0]


def test_what_was_given_up_stays_so():
    opt = beginning()
    opt.ask(3)
    opt.tell(opt.pending[0], 1.0)
    opt.give_up(opt.pending[1])
    opt.undo()
    assert [trial.id for trial in opt.pending] == [0, 1]


def test_fixing_gives_up_those_that_wait_elsewhere():
    opt = beginning()
    drawn(opt, 5, 20, seed=2)
    waiting = opt.ask(5)
    opt.fix(x0=0.5)
    assert not opt.pending
    assert opt.nfev == 20
    for trial in opt.ask(4):
        assert trial.x[0] == 0.5
    opt.free("x0")
    assert len(opt.pending) == 4
    drawn(opt, 4, 40, seed=4)
    np.testing.assert_allclose(opt.progress().x, C, atol=0.05)
    with pytest.raises(ValueError, match="is not waiting"):
        opt.tell(waiting[0], 1.0)


def test_fixing_before_there_is_a_model_with_several_out():
    opt = beginning()
    trials = opt.ask(6)
    opt.tell(trials[3], bowl(trials[3].x))
    opt.fix(x2=0.0)
    left = [trial for trial in trials if trial.id != 3 and trial.x[2] == 0.0]
    assert [trial.id for trial in opt.pending] == [trial.id for trial in left]
    drawn(opt, 5, 60, seed=1)
    best = np.linalg.solve(H[:2, :2], H[:2, :2] @ C[:2] + H[:2, 2] * C[2])
    np.testing.assert_allclose(opt.progress().x, [*best, 0.0], atol=0.05)


def test_beliefs_of_the_past_are_not_kept():
    """All that a long run keeps of trials that have come back is their readings."""
    opt = beginning()
    drawn(opt, 4, 60, seed=1)
    told = [seen.observation for seen in opt._log.course._sent.as_amended()]
    flights = [o.flight for o in told if o is not None and o.flight is not None]
    assert len(flights) > 50
    assert all(flight.standing is None for flight in flights)


@pytest.mark.parametrize("k", [2, 8])
def test_a_comparison_is_asked_for_once_and_can_be_out_at_once(k):
    opt = beginning(noise=1e-3, maxfev=10**4)
    rng, most = np.random.default_rng(k), 0
    for t in range(160 // k):
        trials = opt.ask(k)
        most = max(most, sum(trial.why is Why.COMPARISON for trial in trials))
        for trial in rng.permutation(np.array(trials, dtype=object)):
            error = 1e-3 * rng.standard_normal()
            opt.tell(trial, bowl(trial.x, t) + error, t=float(t))
    asked = [e for e in opt._log.events if e.get("why") == "COMPARISON"]
    waiting = [trial for trial in opt.pending if trial.why is Why.COMPARISON]
    assert most == min(k, 3)
    assert len(asked) - len(waiting) == opt._state.repeats


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("odd", [12, 15, 20])
def test_a_place_that_is_odd_is_measured_a_few_times_and_then_believed(k, odd):
    """Two readings there agree, whatever comes back between them."""
    opt, place = beginning(noise=1e-3, maxfev=10**4), None
    rng, rechecks = np.random.default_rng(odd), 0
    for t in range(100):
        trials = opt.ask(k)
        trial = trials[rng.integers(len(trials))]
        place = trial.x if t == odd else place
        is_odd = place is not None and np.array_equal(trial.x, place)
        rechecks += trial.why is Why.RECHECK
        opt.tell(trial, bowl(trial.x, t) + 0.3 * is_odd, t=float(t))
    assert rechecks <= 6  # two doubts in vain, three readings each
    assert not opt._state.doubts.suspects
