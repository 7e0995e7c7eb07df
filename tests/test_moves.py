"""Largest moves, and the way back to a safe place: never farther, never nearer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa as package
from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.lines import read_header
from tobyqa.space_arguments import checked_space
from tobyqa.state import Why
from tobyqa.within import nearer_to, on_the_way, one_move

seeds = st.integers(0, 2**32 - 1)
NAMES = ["temp", "gap", "angle"]


def drawn_space(rng):
    """Random knobs: with bounds or without, some on a grid, maybe with constraints."""
    lower = rng.choice([-10.0, 0.0, 279.5], 3)
    upper = lower + rng.choice([0.7, 8.0, 40.0], 3)
    is_bounded = rng.random((2, 3)) < 0.6
    lower = np.where(is_bounded[0], lower, -np.inf)
    upper = np.where(is_bounded[1], upper, np.inf)
    steps = [
        rng.choice([0.01, 0.05, 0.5]) if rng.random() < 0.4 else None for _ in "abc"
    ]
    most = [rng.choice([0.5, 1.0, 3.3]) if rng.random() < 0.8 else None for _ in "abc"]
    start = np.clip(rng.choice([-3.0, 1.0, 290.0], 3), lower, upper)
    rows = []
    if rng.random() < 0.5:
        a = rng.choice([-1.0, 0.5, 1.0], 3)
        limit = float(f"{a @ start + rng.choice([0.6, 2.0]):.6g}")
        rows = [" + ".join(f"{c}*{n}" for c, n in zip(a, NAMES, strict=True))]
        rows = [f"{rows[0]} <= {limit}".replace("+ -", "- ")]
    space = checked_space(
        3,
        names=NAMES,
        bounds=list(zip(lower, upper, strict=True)),
        resolution=steps,
        max_move=most,
        constraints=rows,
    )
    return space, start


def drawn_place(space, start, rng):
    """A setting that is allowed, up to some moves from the start."""
    x = start + rng.normal(size=3) * rng.choice([0.1, 3.0, 20.0])
    return space.to_user(space.to_search(x))


def most_of(space):
    return np.array([v.max_move or math.inf for v in space.variables])


def is_on_grid(space, x):
    return all(
        v.resolution is None
        or v.fixed is not None
        or value == float(f"{round(value / v.resolution) * v.resolution:.15g}")
        for v, value in zip(space.variables, x.tolist(), strict=True)
    )


@given(seeds)
def test_one_move_after_the_other_leads_anywhere_within_the_limits(seed):
    rng = np.random.default_rng(seed)
    space, start = drawn_space(rng)
    x, goal = (drawn_place(space, start, rng) for _ in range(2))
    most = most_of(space)
    needed = math.ceil((np.abs(goal - x) / most).max())
    for _ in range(2 * needed + 2):
        following = on_the_way(space.setpoints, x, goal, most)
        low, high = one_move(x, most)
        assert (low <= following).all()
        assert (following <= high).all()
        assert space.holds(following)
        assert is_on_grid(space, following)
        x = following
    np.testing.assert_array_equal(x, goal)


@given(seeds)
def test_moves_are_compared_as_decimal_numbers(seed):
    rng = np.random.default_rng(seed)
    step = float(rng.choice([0.1, 0.01, 0.3]))
    places = [float(f"{k * step:.15g}") for k in rng.integers(-10_000, 10_000, 50)]
    for x in places:
        low, high = one_move(np.array([x]), np.array([step]))
        k = round(x / step)
        assert low[0] <= float(f"{(k - 1) * step:.15g}")
        assert float(f"{(k + 1) * step:.15g}") <= high[0]


@pytest.mark.parametrize("method", ["adaptive", "paper"])
@given(seed=seeds)
def test_consecutive_points_are_within_a_move(method, seed):
    """Whatever is read, fails, or comes from elsewhere."""
    rng = np.random.default_rng(seed)
    space, start = drawn_space(rng)
    opt = Optimizer(
        space.to_user(space.to_search(start)),
        method=method,
        names=NAMES,
        bounds=[(v.lower, v.upper) for v in space.variables],
        resolution=[v.resolution for v in space.variables],
        max_move=[v.max_move for v in space.variables],
        constraints=[_linear(row) for row in space.constraints],
        maxfev=14,
        rng=0,
        max_failures=100,
    )
    most, last = most_of(space), None
    while not opt.done:
        trial = opt.ask()
        assert space.holds(trial.x)
        assert is_on_grid(space, trial.x)
        if last is not None:
            low, high = one_move(last, most)
            assert (low <= trial.x).all()
            assert (trial.x <= high).all()
        last = trial.x
        if rng.random() < 0.1:
            opt.tell_failed(trial)
        else:
            opt.tell(trial, float(np.sum((trial.x - start) ** 2) + rng.normal()))
        if rng.random() < 0.1:
            opt.tell(drawn_place(space, start, rng), rng.normal())


def _linear(row):
    from scipy.optimize import LinearConstraint

    return LinearConstraint([row.coefficients], row.lower, row.upper)


def quiet(x):
    return float((x[0] - 305) ** 2 / 16 + (x[1] - 0.7) ** 2 * 25)


KNOBS = {"names": ["temp", "gap"], "bounds": [(280, 320), (0, 2)]}


def test_a_slow_search_finds_its_minimum_and_its_first_points_need_no_detour():
    opt = Optimizer([290.0, 1.5], **KNOBS, max_move=[1.0, None], maxfev=60, rng=0)
    points = []
    while not opt.done:
        trial = opt.ask()
        points.append(trial.x)
        opt.tell(trial, quiet(trial.x))
    assert np.abs(points[1] - points[0]).max() <= 0.5
    np.testing.assert_array_equal(points[3], points[0])  # the probe was as planned
    assert np.abs(opt.result().x - [305, 0.7]).max() < 0.1


def test_a_stated_radius_is_kept_and_the_way_there_is_walked():
    opt = Optimizer(
        [300.0, 1.0],
        **KNOBS,
        initial_radius=[6.0, 0.3],
        max_move=[2.0, None],
        maxfev=40,
        rng=0,
    )
    temps = []
    for _ in range(40):
        trial = opt.ask()
        temps.append(trial.x[0])
        opt.tell(trial, quiet(trial.x))
    assert {294.0, 306.0} & set(temps)  # on one side
    assert np.abs(np.diff(temps)).max() == 2.0


def test_a_fixed_value_is_approached_in_moves():
    opt = Optimizer([310.0, 1.0], **KNOBS, max_move=[2.0, None], rng=0)
    opt.tell(opt.ask(), 1.0)
    opt.fix(temp=301)
    temps = []
    for _ in range(7):
        trial = opt.ask()
        temps.append(trial.x[0])
        opt.tell(trial, quiet(trial.x))
    assert temps == [308.0, 306.0, 304.0, 302.0, 301.0, 301.0, 301.0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"max_move": -1.0}, "max_move must be > 0"),
        ({"max_move": [1.0]}, "max_move must have 2 entries"),
        (
            {"max_move": [1.0, 0.1], "resolution": [None, 0.5]},
            "max_move of gap must be at least its resolution, 0.5, but is 0.1",
        ),
        ({"safe": [300.0, 1.0]}, "safe needs limit"),
        ({"limit": 3.0}, "limit needs safe"),
        ({"safe": [200.0, 1.0], "limit": 3.0}, r"safe .* does not meet temp >= 280"),
        ({"safe": [300.0], "limit": 3.0}, "safe"),
        ({"safe": [300.0, 1.0], "limit": math.nan}, "limit must be"),
    ],
)
def test_bad_rules_are_named(arguments, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        Optimizer([300.0, 1.0], **KNOBS, **arguments)


# -- the safe place ------------------------------------------------------------------


@given(seeds)
def test_what_is_nearer_to_another_place_cannot_be_set(seed):
    rng = np.random.default_rng(seed)
    space, start = drawn_space(rng)
    safe = space.place(space.to_search(start))
    others = [rng.normal(size=safe.z.size) * rng.choice([0.1, 3.0]) for _ in range(4)]
    others = [safe.z + way for way in others]
    points = nearer_to(space.setpoints, safe, [*others, safe.z])
    np.testing.assert_array_equal(points.place(safe.z).x, safe.x)
    for _ in range(5):
        x = points.place(safe.z + rng.normal(size=safe.z.size) * 5.0).x
        assert space.holds(x)
        assert is_on_grid(space, x)
        z = space.to_search(x)
        away = np.linalg.norm(z - safe.z)
        room = 1e-9 * (1.0 + np.abs(z).max())
        assert all(away <= np.linalg.norm(z - other) + room for other in others)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("method", ["adaptive", "paper"])
@pytest.mark.parametrize("readings", [1, 3, 20])
def test_a_reading_beyond_the_limit_leads_back(method, readings, sign):
    """Before there is a model and with one; however far the budget goes."""
    opt = Optimizer(
        [312.0, 1.2],
        **KNOBS,
        method=method,
        safe=[303.0, 0.8],
        limit=sign * 50.0,
        maximize=sign < 0,
        maxfev=40,
        rng=0,
    )
    for _ in range(readings - 1):
        trial = opt.ask()
        opt.tell(trial, sign * quiet(trial.x))
    bad = opt.ask()
    opt.tell(bad, sign * 50.1)
    back = opt.ask()
    np.testing.assert_array_equal(back.x, [303.0, 0.8])
    opt.tell(back, sign * 51.0)
    np.testing.assert_array_equal(opt.ask().x, back.x)  # not safe yet
    opt.tell([300.0, 1.0], 0.0)
    np.testing.assert_array_equal(opt.ask().x, back.x)  # nor by a reading elsewhere
    opt.tell(opt.ask(), sign * quiet(back.x))
    scale = np.array([40.0, 2.0])
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, sign * quiet(trial.x))
        to_safe = np.linalg.norm((trial.x - back.x) / scale)
        assert to_safe <= np.linalg.norm((trial.x - bad.x) / scale) + 1e-9


@pytest.mark.parametrize("move", [None, [5.0, 0.3]])
def test_a_cliff_is_met_less_often_and_the_minimum_found(move):
    met = []
    for rules in ({}, {"safe": [303.0, 0.8], "limit": 20.0}):
        opt = Optimizer(
            [312.0, 1.2], **KNOBS, **rules, max_move=move, maxfev=40, noise=0.01, rng=0
        )
        beyond = 0
        while not opt.done:
            trial = opt.ask()
            cliff = 300.0 if trial.x[0] > 313 or trial.x[1] > 1.25 else 0.0
            beyond += cliff > 0
            opt.tell(trial, quiet(trial.x) + cliff)
        met.append(beyond)
    assert 0 < met[1] <= met[0]
    assert np.abs(opt.result().x - [305, 0.7]).max() < 0.1


def test_the_limit_itself_is_within():
    opt = Optimizer([312.0, 1.2], **KNOBS, safe=[303.0, 0.8], limit=50.0, rng=0)
    opt.tell(opt.ask(), 50.0)
    assert not np.array_equal(opt.ask().x, [303.0, 0.8])


def test_a_withdrawn_reading_leads_nowhere():
    runs = [
        Optimizer([312.0, 1.2], **KNOBS, safe=[303.0, 0.8], limit=50.0, rng=0)
        for _ in range(2)
    ]
    for opt in runs:
        opt.tell(opt.ask(), 3.0)
    runs[0].tell(runs[0].ask(), 500.0)
    runs[0].ask()
    runs[0].undo()
    for _ in range(9):
        a, b = (opt.ask() for opt in runs)
        np.testing.assert_array_equal(a.x, b.x)
        for opt in runs:
            opt.tell(opt.ask(), quiet(a.x))


def test_the_way_back_is_made_of_moves():
    opt = Optimizer(
        [312.0, 1.2],
        **KNOBS,
        safe=[303.0, 0.8],
        limit=50.0,
        max_move=[4.0, 0.5],
        rng=0,
    )
    opt.tell(opt.ask(), 60.0)
    temps = []
    for _ in range(3):
        trial = opt.ask()
        temps.append((trial.x[0], trial.why))
        opt.tell(trial, 1.0)
    assert temps == [
        (308.0, Why.ON_THE_WAY),
        (304.0, Why.ON_THE_WAY),
        (303.0, Why.SAFE),
    ]


def test_a_failure_at_the_safe_place_is_tried_again():
    opt = Optimizer([312.0, 1.2], **KNOBS, safe=[303.0, 0.8], limit=50.0, rng=0)
    opt.tell(opt.ask(), 60.0)
    opt.tell_failed(opt.ask())
    np.testing.assert_array_equal(opt.ask().x, [303.0, 0.8])


# -- all doors -----------------------------------------------------------------------

RULES = {"max_move": [4.0, None], "safe": [303.0, 0.8], "limit": 50.0}


def test_every_door_leads_to_the_same_run(tmp_path, capsys):
    opt = Optimizer([310.0, 1.0], **KNOBS, **RULES, rng=3)
    table = """
        x0 = [310, 1]
        names = ["temp", "gap"]
        bounds = {temp = [280, 320], gap = [0, 2]}
        max_move = {temp = 4}
        safe = {gap = 0.8, temp = 303}
        limit = 50
        seed = 3
        clock = "index"
        maxfev = 3
        journal = "JOURNAL"
        program = ["true"]
    """
    path = tmp_path / "table.jsonl"
    runfile = tmp_path / "run.toml"
    runfile.write_text(table.replace("JOURNAL", str(path)))
    main(["run", str(runfile)])  # its program says nothing: all trials fail
    flags = "--x0 310,1 --name temp --name gap --bound temp=280:320 --bound gap=0:2"
    rules = "--max-move temp=4 --safe 303,0.8 --limit 50 --seed 3 --clock index"
    by_hand = str(tmp_path / "flags.jsonl")
    assert main(["init", by_hand, *flags.split(), *rules.split()]) == 0
    capsys.readouterr()
    for other in (path, by_hand):
        header = read_header(other)
        for key, value in opt.setup.items():
            if key not in ("maxfev", "clock"):
                assert header[key] == (
                    value.tolist() if isinstance(value, np.ndarray) else value
                )
    assert main(["status", by_hand]) == 0
    shown = capsys.readouterr().out
    assert "4 at a time at the most" in shown
    assert "after a reading above 50: temp = 303.0, gap = 0.8" in shown


@pytest.mark.parametrize("safe", ["{temp = 303}", "{temp = 303, nope = 1}", "303"])
def test_a_safe_place_in_a_file_has_all_variables(tmp_path, capsys, safe):
    runfile = tmp_path / "run.toml"
    runfile.write_text(
        f'x0 = [1, 2]\nnames = ["temp", "gap"]\nsafe = {safe}\nlimit = 2'
    )
    assert main(["run", str(runfile), "--", "true"]) == 2
    assert "safe" in capsys.readouterr().err


def test_a_journal_with_other_rules_is_another_problem(tmp_path):
    path = tmp_path / "run.jsonl"
    Optimizer([310.0, 1.0], **KNOBS, **RULES, rng=3, journal=path).close()
    plain = {"max_move": None, "safe": None, "limit": None}
    for change in ({"limit": 51.0}, {"max_move": [3.0, None]}, plain):
        said = {**KNOBS, **RULES, **change}
        with pytest.raises(ValueError, match="run of another problem"):
            Optimizer.open(path, x0=[310.0, 1.0], rng=3, **said)
    Optimizer.open(path, x0=[310.0, 1.0], rng=3, **KNOBS, **RULES).close()


def test_minimize_keeps_the_rules():
    seen = []

    def fun(x):
        seen.append(x)
        return quiet(x)

    package.minimize(fun, [310.0, 1.0], bounds=KNOBS["bounds"], **RULES, maxfev=25)
    assert np.abs(np.diff([x[0] for x in seen])).max() <= 4.0 + 1e-9
