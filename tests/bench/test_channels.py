"""The seven channels against the table of the paper, and the Lorenz path."""

import json
import math
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from tobyqa.bench.channels import (
    Context,
    baseline_names,
    channel_names,
    get_channel,
    lorenz_x,
)

LORENZ = json.loads(
    (Path(__file__).parent / "data" / "channel_values.json").read_text()
)["lorenz_x"]
X0 = np.array([1.0, -2.0, 0.5])
X = np.array([1.0, 1.0, 4.5])  # at distance 5 from X0
CONTEXT = Context(x0=X0, s0=40.0)


def test_names_and_order() -> None:
    assert channel_names() == (
        "Static",
        "LinearDrift",
        "PeriodicAdd",
        "ChaoticDrift",
        "Hetero",
        "MultCoupling",
        "PeriodicMult",
    )


@pytest.mark.parametrize("name", channel_names())
def test_name_is_the_class_name(name: str) -> None:
    assert type(get_channel(name)).__name__ == name


@pytest.mark.parametrize("t", [int(t) for t in LORENZ])
def test_lorenz_reference(t: int) -> None:
    rel = 1e-9 if t <= 1000 else 1e-5  # chaos amplifies the order of rounding
    assert lorenz_x(t) == pytest.approx(LORENZ[str(t)], rel=rel, abs=0.0)


def test_lorenz_does_not_depend_on_how_far_it_was_asked() -> None:
    near = [lorenz_x(t) for t in range(2048)]
    far = lorenz_x(10_000)
    assert [lorenz_x(t) for t in range(2048)] == near
    # The attractor is bounded and visits both wings.
    path = [lorenz_x(t) for t in range(10_001)]
    assert path[-1] == far
    assert -25 < min(path) < -10
    assert 10 < max(path) < 25


def test_lorenz_path_has_no_seam() -> None:
    """Around the lengths at which the path is extended, steps stay Euler steps."""
    for t in (2046, 2047, 2048, 4095, 4096):
        assert 0 < abs(lorenz_x(t + 1) - lorenz_x(t)) < 2.0


def test_lorenz_needs_a_time() -> None:
    with pytest.raises(ValueError, match="t: -1"):
        lorenz_x(-1)


@pytest.mark.parametrize(
    ("name", "t", "expected"),
    [
        ("Static", 1, 7.0),
        ("Static", 999, 7.0),
        ("LinearDrift", 1, 7.4),
        ("LinearDrift", 1500, 607.0),
        ("PeriodicAdd", 50, 7.0),
        ("PeriodicAdd", 1, 7.0 + 2.0 * math.sin(math.pi / 25)),
        ("PeriodicAdd", 137, 7.0 + 2.0 * math.sin(37 * math.pi / 25)),
        ("ChaoticDrift", 1, 7.0 + 1.2 * 1.0),
        ("ChaoticDrift", 2, 7.0 + 1.2 * 1.026),
        ("ChaoticDrift", 500, 7.0 + 1.2 * 10.296197687879204),
        ("Hetero", 10, 7.0 + 4.0 * (1.0 + math.tanh(5.0))),
        ("MultCoupling", 1, 7.0007),
        ("MultCoupling", 1500, 8.05),
        ("PeriodicMult", 25, 7.0),
        ("PeriodicMult", 1, 7.0 * (1.0 + 0.05 * math.sin(math.pi / 25))),
        ("PeriodicMult", 62, 7.0 * (1.0 + 0.05 * math.sin(12 * math.pi / 25))),
    ],
)
def test_values(name: str, t: int, expected: float) -> None:
    assert get_channel(name)(7.0, X, t, CONTEXT) == pytest.approx(expected, rel=1e-13)


def test_hetero_at_the_start_is_linear_drift() -> None:
    for t in (1, 30, 1500):
        hetero = get_channel("Hetero")(7.0, X0, t, CONTEXT)
        assert hetero == get_channel("LinearDrift")(7.0, X0, t, CONTEXT)


def test_hetero_far_away_saturates_without_overflow() -> None:
    far = np.full(3, 1e200)
    assert get_channel("Hetero")(7.0, far, 10, CONTEXT) == pytest.approx(15.0)


@pytest.mark.parametrize("name", channel_names())
@pytest.mark.parametrize("f_value", [math.inf, -math.inf, math.nan])
def test_a_failed_evaluation_is_plus_infinity(name: str, f_value: float) -> None:
    assert get_channel(name)(f_value, X, 3, CONTEXT) == math.inf


@pytest.mark.parametrize("name", channel_names())
def test_leaves_the_point_alone(name: str) -> None:
    x = X.copy()
    get_channel(name)(7.0, x, 3, CONTEXT)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("LinearDrift", "rate"),
        ("PeriodicAdd", "amplitude"),
        ("ChaoticDrift", "amplitude"),
        ("Hetero", "rate"),
        ("MultCoupling", "rate"),
        ("PeriodicMult", "period"),
    ],
)
def test_is_immutable(name: str, parameter: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(get_channel(name), parameter, 1.0)


def test_unknown_channel() -> None:
    with pytest.raises(ValueError, match=r"'Lineardrift'.*did you mean LinearDrift"):
        get_channel("Lineardrift")
    with pytest.raises(ValueError, match=r"'zzz'; known: Static, .*PeriodicMult"):
        get_channel("zzz")


@pytest.mark.parametrize("name", baseline_names())
class TestBaselines:
    """Baselines that differ by chance, but not from one look to the next."""

    def drift(self, name: str, chance: int, length: int = 700) -> np.ndarray:
        context, phi = Context(x0=X0, s0=2.0, chance=chance), get_channel(name)
        return np.array([phi(7.0, X, t, context) for t in range(1, length)]) - 7.0

    def test_name_is_the_class_name(self, name: str) -> None:
        assert type(get_channel(name)).__name__ == name

    def test_repeats_itself_and_differs_by_chance(self, name: str) -> None:
        paths = [self.drift(name, chance) for chance in range(8)]
        np.testing.assert_array_equal(paths[0], self.drift(name, 0))
        # The end of a longer path does not change its beginning.
        np.testing.assert_array_equal(paths[1][:60], self.drift(name, 1, 61))
        assert len({tuple(path) for path in paths}) > 1

    def test_follows_the_scale_and_not_the_place(self, name: str) -> None:
        phi = get_channel(name)
        one, ten = Context(X0, 1.0, 5), Context(X0, 10.0, 5)
        for t in (1, 40, 300):
            drift = phi(0.0, X0, t, one)
            assert phi(0.0, X, t, ten) == pytest.approx(10.0 * drift)
        assert phi(math.inf, X, 3, one) == math.inf

    def test_size(self, name: str) -> None:
        paths = np.array([self.drift(name, chance) for chance in range(60)]) / 2.0
        first_steps = np.abs(np.diff(paths, axis=1))
        expected = {
            "SlowWave": 0.25 * 2 * math.pi / 80 * 2 / math.pi,  # mean slope of a sine
            "RandomWalk": 0.02 * math.sqrt(2 / math.pi),
            "WarmUp": 0.5 / 698,  # all of it, over the whole path
            "Steps": 0.25 / 25,
        }
        assert first_steps.mean() == pytest.approx(expected[name], rel=0.1)
