"""Generalized least squares against dense inverses, and what it cannot depend on."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tobyqa.gls import cholesky, solve

# Jitter of 1e-10 on the signal's variance is all that the dense formulas leave out.
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
NAMES = ("beta", "lam", "nu", "misfit", "criterion")


class System:
    """Readings of a random signal, with functionals of it that nobody has read."""

    def __init__(self, seed, m, p, more=3):
        rng = np.random.default_rng(seed)
        # The signal at the readings and, in the last rows, that of the functionals.
        A = rng.normal(size=(m + more, m + more))
        covariance = A @ A.T * rng.uniform(0.01, 10.0)
        self.signal, self.k = covariance[:m, :m], covariance[m:, :m]
        self.v = covariance.diagonal()[m:]
        self.noise = rng.uniform(0.5, 2.0, size=m)
        self.X, self.x = rng.normal(size=(m, p)), rng.normal(size=(more, p))
        self.y = self.X @ rng.normal(size=p) + 3.0 * rng.normal(size=m)
        self.spread = rng.uniform(0.5, 5.0)

    def solved(self, **changed):
        """The solution, with some parts of the system replaced."""
        part = {name: changed.get(name, getattr(self, name)) for name in vars(self)}
        arguments = [part[name].copy() for name in ("signal", "noise", "X", "y")]
        solution = solve(*arguments, part["spread"])
        assert solution is not None
        return solution

    def by_inverses(self):
        """K^-1, the covariance of beta and its estimate, all for a noise of one."""
        inverse = np.linalg.inv(self.signal + np.diag(self.noise))
        covariance = np.linalg.inv(self.X.T @ inverse @ self.X)
        return inverse, covariance, covariance @ self.X.T @ inverse @ self.y


systems = st.builds(
    lambda seed, p, spare: System(seed, p + spare, p),
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 5),
    spare=st.integers(4, 15),
)


def assert_same(one, other, names=NAMES):
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, **CLOSE, err_msg=name)


@given(systems)
def test_an_extended_solution_is_that_of_the_longer_system(system):
    m = system.y.size - 1
    shorter = system.solved(
        signal=system.signal[:m, :m],
        noise=system.noise[:m],
        X=system.X[:m],
        y=system.y[:m],
    )
    extended = shorter.extended(
        system.signal[m, :m],
        float(system.signal[m, m]),
        system.X[m],
        float(system.y[m]),
        float(system.noise[m]),
        system.spread,
    )
    longer = system.solved()
    assert extended is not None
    assert_same(extended, longer)
    asked = system.k, system.v, system.x
    np.testing.assert_allclose(
        extended.variance(*asked), longer.variance(*asked), **CLOSE
    )


@given(systems)
def test_the_solution_is_that_of_the_textbook(system):
    solution = system.solved()
    inverse, _, beta = system.by_inverses()
    left, root = system.y - system.X @ beta, math.sqrt(solution.nu)
    np.testing.assert_allclose(solution.beta * root, beta, **CLOSE)
    np.testing.assert_allclose(solution.lam * root, inverse @ left, **CLOSE)
    m, p = system.X.shape
    square = float(left @ inverse @ left)
    np.testing.assert_allclose(solution.misfit, square / solution.nu / (m - p), **CLOSE)
    # nu is where the likelihood and the trust in the assumed noise hold each other.
    pull = 2.0 * math.log(solution.nu) / system.spread**2
    np.testing.assert_allclose(m - p - square / solution.nu + pull, 0.0, atol=1e-5)


@given(systems)
def test_functionals_have_the_mean_and_variance_of_the_textbook(system):
    solution = system.solved()
    inverse, covariance, beta = system.by_inverses()
    mean = system.x @ beta + system.k @ inverse @ (system.y - system.X @ beta)
    np.testing.assert_allclose(
        solution.mean(system.k, system.x) * math.sqrt(solution.nu), mean, **CLOSE
    )
    open_ = system.x - system.k @ inverse @ system.X
    variance = system.v - np.einsum("ij,jk,ik->i", system.k, inverse, system.k)
    variance += np.einsum("ij,jk,ik->i", open_, covariance, open_)
    np.testing.assert_allclose(
        solution.variance(system.k, system.v, system.x), variance, **CLOSE
    )


@given(systems)
def test_one_functional_is_asked_as_several_are(system):
    solution = system.solved()
    means = solution.mean(system.k, system.x)
    variances = solution.variance(system.k, system.v, system.x)
    for i in range(len(system.v)):
        k, v, x = system.k[i : i + 1], float(system.v[i]), system.x[i : i + 1]
        np.testing.assert_allclose(solution.mean(k, x), means[i], **CLOSE)
        np.testing.assert_allclose(solution.variance(k, v, x), variances[i], **CLOSE)


@given(systems, st.integers(0, 2**32 - 1))
def test_what_the_columns_span_moves_their_coefficients_alone(system, seed):
    c = 10.0 * np.random.default_rng(seed).normal(size=system.X.shape[1])
    before, after = system.solved(), system.solved(y=system.y + system.X @ c)
    assert_same(before, after, ("lam", "nu", "misfit", "criterion"))
    np.testing.assert_allclose(
        after.beta - before.beta, c / math.sqrt(before.nu), **CLOSE
    )


@given(systems, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_of_no_account(system, random):
    order = np.arange(system.y.size)
    random.shuffle(order)
    before = system.solved()
    after = system.solved(
        signal=system.signal[np.ix_(order, order)],
        noise=system.noise[order],
        X=system.X[order],
        y=system.y[order],
    )
    assert_same(before, after, ("beta", "nu", "misfit", "criterion"))
    np.testing.assert_allclose(after.lam, before.lam[order], **CLOSE)
    np.testing.assert_allclose(
        after.variance(system.k[:, order], system.v, system.x),
        before.variance(system.k, system.v, system.x),
        **CLOSE,
    )


@given(systems)
def test_a_column_twice_changes_no_functional_that_is_determined(system):
    """Such systems have no unique coefficients, but the same fit as without it."""
    twice = system.solved(X=np.column_stack([system.X, system.X[:, 0]]))
    once, root = system.solved(), math.sqrt(twice.nu)
    x = np.column_stack([system.x, system.x[:, 0]])
    np.testing.assert_allclose(
        twice.mean(system.k, x) * root,
        once.mean(system.k, system.x) * math.sqrt(once.nu),
        **CLOSE,
    )
    np.testing.assert_allclose(
        twice.variance(system.k, system.v, x),
        once.variance(system.k, system.v, system.x),
        **CLOSE,
    )


@given(systems, st.integers(0, 5))
def test_a_column_of_zeros_is_as_good_as_none(system, place):
    """Nothing was measured along it: it is no direction, whatever rounding leaves."""
    at = min(place, system.X.shape[1])
    without = system.solved()
    empty = system.solved(X=np.insert(system.X, at, 0.0, axis=1))
    assert (empty.V[at] == 0.0).all()
    assert empty.beta[at] == 0.0
    kept = np.delete(np.arange(system.X.shape[1] + 1), at)
    V = empty.V[kept]
    np.testing.assert_allclose(V @ V.T, without.V @ without.V.T, **CLOSE)
    x = np.insert(system.x, at, 0.0, axis=1)
    np.testing.assert_allclose(
        empty.variance(system.k, system.v, x),
        without.variance(system.k, system.v, system.x),
        **CLOSE,
    )


def test_a_misfit_beyond_all_numbers_is_noise_and_no_less():
    system = System(1, 8, 2)
    loud = system.solved(y=1e180 * system.y)
    louder = system.solved(y=1e190 * system.y)
    assert 1.0 < system.solved(y=1e9 * system.y).nu < loud.nu == louder.nu
    assert np.isfinite([loud.nu, loud.misfit, loud.criterion]).all()


def test_a_covariance_that_rounding_spoiled_is_factorised_all_the_same():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    spoiled = (Q * [1.0, 1.0, 1.0, 1.0, 1.0, -1e-9]) @ Q.T
    spoiled = 0.5 * (spoiled + spoiled.T)
    L = np.tril(cholesky(spoiled.copy(), np.zeros(6)))
    np.testing.assert_allclose(L @ L.T, spoiled, atol=2e-8)
