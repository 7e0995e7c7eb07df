"""The recorder: common noise, budget, and what the record says of a run."""

import itertools
import math

import numpy as np
import pytest

from tobyqa.bench.channels import Context, channel_names, get_channel
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import BudgetSpent, Recorder
from tobyqa.bench.records import Cell

PROBLEM = get_problem("power", 6)  # f(x) = sum (i x_i)^2, f(x0) = 91


def make(channel: str = "Static", seed: int = 0, budget: int = 100) -> Recorder:
    return Recorder(PROBLEM, channel, seed, budget)


def cell_of(channel: str = "Static", seed: int = 0, budget: int = 100) -> Cell:
    return Cell("power", 6, channel, seed, budget, solver="any")


def errors(recorder: Recorder, points: np.ndarray, channel: str) -> np.ndarray:
    """Readings at `points` minus what they would be without noise."""
    f_start = PROBLEM.fun(PROBLEM.x0)
    context, phi = Context(PROBLEM.x0, max(abs(f_start), 1.0)), get_channel(channel)
    clean = [phi(PROBLEM.fun(x), x, t, context) for t, x in enumerate(points, 1)]
    return np.array([recorder(x) for x in points]) - clean


def walk(k: int, steps: int) -> np.ndarray:
    return np.random.default_rng(k).standard_normal((steps, 6))


def test_scale_of_the_noise() -> None:
    assert make().noise == pytest.approx(0.091)
    tiny = get_problem("fletcbv3", 6)  # |f(x0)| < 1: the scale is 1
    assert Recorder(tiny, "Static", 0, 10).noise == 1e-3


@pytest.mark.parametrize("channel", channel_names())
def test_all_solvers_meet_the_same_noise(channel: str) -> None:
    first = errors(make(channel), walk(1, 60), channel)
    second = errors(make(channel), walk(2, 60), channel)
    np.testing.assert_allclose(first, second, atol=1e-10)
    assert np.ptp(first) > 0.091


def test_same_points_same_readings() -> None:
    points = walk(1, 40)
    a, b = make("Hetero", seed=3), make("Hetero", seed=3)
    assert [a(x) for x in points] == [b(x) for x in points]


@pytest.mark.parametrize("channel", channel_names())
def test_smaller_budget_sees_a_prefix(channel: str) -> None:
    points = walk(4, 50)
    short, long = make(channel, budget=50), make(channel, budget=5000)
    assert [short(x) for x in points] == [long(x) for x in points]


def test_noise_differs_between_problem_dimension_channel_and_seed() -> None:
    recorders = [
        Recorder(get_problem(name, n), channel, seed, 50)
        for name, n, channel, seed in [
            ("power", 6, "Static", 0),
            ("power", 6, "Static", 1),
            ("power", 6, "Static", 10),
            ("power", 7, "Static", 0),
            ("vardim", 6, "Static", 0),
            ("power", 6, "MultCoupling", 0),
        ]
    ]
    streams = []
    for recorder in recorders:
        # At the minimiser f = 0 (vardim too: at ones), where both channels agree.
        at = np.ones(6) if recorder.noise != recorders[0].noise else np.zeros(6)
        at = np.zeros(7) if len(recorder.x0) == 7 else at
        streams.append([recorder(at) / recorder.noise for _ in range(50)])
    for a, b in itertools.combinations(streams, 2):
        assert np.abs(np.subtract(a, b)).min() > 0
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.6


def test_noise_is_standard_normal_times_its_scale() -> None:
    recorder = make(budget=20_000)
    z = np.array([recorder(np.zeros(6)) for _ in range(20_000)]) / recorder.noise
    assert abs(z.mean()) < 4 / math.sqrt(len(z))
    assert abs(z.var() - 1) < 4 * math.sqrt(2 / len(z))
    assert abs((z**4).mean() - 3) < 4 * math.sqrt(96 / len(z))
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 4 / math.sqrt(len(z))


def test_first_query_has_index_one() -> None:
    drifting, still = make("LinearDrift", budget=3), np.zeros(6)
    # 0.01 s0 t is ten standard deviations of the noise per query.
    assert drifting(still) == pytest.approx(0.91, abs=6 * drifting.noise)
    assert drifting.nfev == 1
    drifting(still)
    assert drifting(still) == pytest.approx(2.73, abs=6 * drifting.noise)


def test_budget() -> None:
    recorder = make(budget=3)
    for k in range(3):
        recorder(recorder.x0)
        assert recorder.nfev == k + 1
    for _ in range(3):
        with pytest.raises(BudgetSpent, match="all 3 queries"):
            recorder(recorder.x0)
    assert recorder.nfev == recorder.budget == 3


def test_budget_must_be_positive() -> None:
    with pytest.raises(ValueError, match="budget: 0"):
        make(budget=0)


def test_unknown_channel() -> None:
    with pytest.raises(ValueError, match="Statik"):
        make("Statik")


def test_a_solver_cannot_disturb_it() -> None:
    recorder = make("Hetero")
    recorder.x0[:] = 1e6
    x = np.zeros(6)
    recorder(x)
    x[:] = 50.0  # the recorder must have kept the point, not the array
    record = recorder.record(cell_of("Hetero"), None, "budget", "", 0.0)
    assert record.f_returned == 0.0
    fresh = make("Hetero")
    assert fresh(np.ones(6)) == make("Hetero")(np.ones(6))
    np.testing.assert_array_equal(fresh.x0, PROBLEM.x0)


def test_leaves_the_query_alone() -> None:
    x = np.arange(6.0)
    make()(x)
    np.testing.assert_array_equal(x, np.arange(6.0))


@pytest.mark.parametrize("x", [np.zeros(5), np.zeros((1, 6)), 0.0])
def test_wrong_shape_is_an_error_and_not_a_query(x: object) -> None:
    recorder = make()
    with pytest.raises(ValueError, match="shape"):
        recorder(x)  # type: ignore[arg-type]
    assert recorder.nfev == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("channel", channel_names())
def test_a_point_that_is_not_finite_reads_infinity_and_counts(
    channel: str, bad: float
) -> None:
    problem = get_problem("arglinc", 6)  # x_1 enters nowhere: f alone would not see it
    recorder = Recorder(problem, channel, 0, 10)
    x = np.zeros(6)
    x[0] = bad
    assert recorder(x) == math.inf
    assert recorder.nfev == 1
    record = recorder.record(
        Cell("arglinc", 6, channel, 0, 10, "any"), x, "ok", "", 0.0
    )
    assert record.f_returned == math.inf
    assert record.best() == math.inf


def test_record_keeps_the_improvements_of_the_latent_value() -> None:
    recorder = make(seed=5)
    scales = [3.0, 4.0, 2.0, 2.0, 1e300, 1.0, 1.5, 0.0, 0.5]
    for scale in scales:
        recorder(scale * np.ones(6))
    record = recorder.record(cell_of(seed=5), np.full(6, 2.0), "ok", "", 1.25)
    assert record.improved_at.tolist() == [1, 3, 6, 8]
    assert record.improved_to.tolist() == [91.0 * 9, 91.0 * 4, 91.0, 0.0]
    assert record.improved_at.dtype == np.int64
    assert record.improved_to.dtype == np.float64
    assert (record.nfev, record.f_start, record.f_returned) == (9, 91.0, 91.0 * 4)
    assert (record.status, record.error, record.seconds) == ("ok", "", 1.25)
    assert record.cell == cell_of(seed=5)
    assert [record.best(k) for k in (1, 2, 3, 7, 8)] == [819.0, 819.0, 364.0, 91.0, 0.0]
    assert record.evaluations_to(100.0) == 6


def test_improvements_are_those_of_the_running_minimum() -> None:
    recorder, points = make("ChaoticDrift"), walk(7, 100)
    for x in points:
        recorder(x)
    latent = np.minimum.accumulate([PROBLEM.fun(x) for x in points])
    record = recorder.record(cell_of("ChaoticDrift"), None, "ok", "", 0.0)
    assert [record.best(t) for t in range(1, 101)] == latent.tolist()


def test_without_an_answer_the_smallest_reading_counts() -> None:
    """Under a drift that is not the point of smallest latent value."""
    recorder = make("LinearDrift")
    for scale in (0.2, *[0.1] * 98, 0.0):
        recorder(scale * np.ones(6))
    record = recorder.record(cell_of("LinearDrift"), None, "budget", "spent", 0.0)
    assert record.best() == 0.0
    assert record.f_returned == pytest.approx(0.01 * 91)  # query 2; by t = 100 +91
    assert (record.status, record.error) == ("budget", "spent")


def test_without_any_finite_reading_the_start_counts() -> None:
    recorder = make()
    untouched = recorder.record(cell_of(), None, "error", "ValueError: no", 0.0)
    assert (untouched.nfev, untouched.f_returned) == (0, 91.0)
    recorder(np.full(6, np.nan))
    failed = recorder.record(cell_of(), None, "error", "ValueError: no", 0.0)
    assert (failed.nfev, failed.f_returned) == (1, 91.0)
    assert len(failed.improved_at) == len(failed.improved_to) == 0
    assert failed.evaluations_to(1e9) == math.inf


def test_recording_is_not_a_query() -> None:
    recorder = make(budget=1)
    recorder(recorder.x0)
    record = recorder.record(cell_of(budget=1), np.zeros(6), "ok", "", 0.0)
    assert (record.nfev, record.f_returned, record.best()) == (1, 0.0, 91.0)


@pytest.mark.parametrize(
    "cell", [cell_of("Hetero"), cell_of(seed=1), cell_of(budget=99)]
)
def test_refuses_the_cell_of_another_run(cell: Cell) -> None:
    with pytest.raises(ValueError, match="cell"):
        make().record(cell, None, "ok", "", 0.0)
