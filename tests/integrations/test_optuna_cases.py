"""Optuna's own test cases for samplers."""

from __future__ import annotations

import pytest

cases = pytest.importorskip(
    "optuna.testing.pytest_samplers", reason="needs optuna 5, which has the cases"
)

from tobyqa.integrations.optuna import TobyqaSampler  # noqa: E402


class TestSampler(
    cases.BasicSamplerTestCase,
    cases.RelativeSamplerTestCase,
    cases.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return TobyqaSampler
