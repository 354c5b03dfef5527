"""Likelihoods of your own in a regressor: units, parameters, messages; robust units of y."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln

from collegium import CommitteeRegressor, kernels, likelihoods
from collegium.committee.classes import LINKS
from collegium.likelihoods import COUNTS, POSITIVE, SIGNS, Gaussian, Scalar, StudentT, check
from collegium.pipeline.systems import LIKELIHOODS
from collegium.rows.scaling import Scaling


@dataclass(frozen=True)
class Dispersed(Scalar):
    """Counts of mean e^f and variance μ + μ²/r."""

    r: float = 1.0

    support = COUNTS
    free = ("r",)

    def log_density(self, y, f):
        y, r, mu = y[..., 0], self.r, rate(f)
        norm = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
        return norm - r * np.log1p(mu / r) + y * (f - np.log(r + mu))

    def derivatives(self, y, f):
        a, p = y[..., 0] + self.r, rate(f) / (self.r + rate(f))
        return y[..., 0] - a * p, -a * p * (1.0 - p), -a * p * (1.0 - p) * (1.0 - 2.0 * p)

    def theta_derivatives(self, y, f):
        y, r, mu = y[..., 0], self.r, rate(f)
        D = r + mu
        terms = (
            r * (digamma(y + r) - digamma(r) + np.log(r / D) + 1.0 - (y + r) / D),
            r * mu * (y - mu) / D**2,
            -r * mu * (r / D**2 + (y + r) / D**2 - 2.0 * r * (y + r) / D**3),
        )
        return tuple(term[None][: len(self._names())] for term in terms)

    def mean(self, f):
        return rate(f)

    def variance(self, f):
        return rate(f) + rate(f) ** 2 / self.r


@dataclass(frozen=True)
class Waiting(Scalar):
    """Exponential times of mean e^f, no more said than must be."""

    support = POSITIVE

    def log_density(self, y, f):
        return -f - y[..., 0] * rate(-f)

    def derivatives(self, y, f):
        x = y[..., 0] * rate(-f)
        return x - 1.0, -x, x

    def mean(self, f):
        return rate(f)

    def variance(self, f):
        return rate(f) ** 2


def rate(f):
    return np.exp(np.minimum(f, 300.0))


for own in (Dispersed, Waiting):
    likelihoods.Observation.registry.remove(own)


def rows(n=300, seed=0):
    X = np.random.default_rng(seed).uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0])


def test_a_free_parameter_is_learnt():
    check(Dispersed(1.7))
    X, f = rows()
    mu = np.exp(1.0 + f)
    y = np.random.default_rng(1).negative_binomial(3, 3.0 / (3.0 + mu)).astype(float)
    start = {"kernel": kernels.RBF(2.0, 1.0), "random_state": 0}
    model = CommitteeRegressor(likelihood=Dispersed(0.3), **start).fit(X, y)
    assert 1.8 < model.likelihood_.r < 5.0
    kept = CommitteeRegressor(likelihood=Dispersed(0.3, fixed=("r",)), **start).fit(X, y)
    assert kept.likelihood_.r == 0.3 and kept.log_evidence_ < model.log_evidence_ - 10.0
    lower, upper = model.predict_interval(X)
    assert (lower == np.floor(lower)).all() and (upper == np.floor(upper)).all()
    assert 0.93 < ((lower <= y) & (y <= upper)).mean() < 1.0
    drawn = model.sample_y(X[:5], 4)
    assert (drawn == np.floor(drawn)).all()


def test_a_link_on_positive_numbers_is_learnt_whatever_their_units():
    check(Waiting())
    X, f = rows()
    y = np.random.default_rng(1).exponential(np.exp(f))
    start = {"kernel": kernels.RBF(2.0, 1.0), "likelihood": Waiting(), "random_state": 0}
    one = CommitteeRegressor(**start).fit(X, y)
    assert_allclose(np.log(one.predict(X, level="function")), f, atol=0.8)
    small = CommitteeRegressor(**start).fit(X, 1e-3 * y)  # f moves by log 1e-3, no variance by 1e-6
    assert 0.1 < small.kernel_.variance / one.kernel_.variance < 100.0
    assert_allclose(1e3 * small.predict(X), one.predict(X), rtol=0.35)
    own = {"kernel": kernels.RBF(0.7, 0.9), "learn": False, "random_state": 0}
    plain, known = (
        CommitteeRegressor(likelihood=each, **own).fit(X, y / y.mean())
        for each in (Waiting(), "exponential")  # the latter sees y relative to its mean
    )
    assert_allclose(plain.predict(X, return_std=True), known.predict(X, return_std=True), rtol=1e-6)
    assert_allclose(plain.log_evidence_, known.log_evidence_, rtol=1e-9)
    for found, expected in zip(plain.predict_interval(X), known.predict_interval(X)):
        assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.slow
def test_waiting_times_are_covered_and_never_negative():
    X, f = rows(800)
    e = np.random.default_rng(3).uniform(0.2, 5.0, size=800)
    y = 30.0 * e * np.exp(f) * np.random.default_rng(1).exponential(size=800)
    model = CommitteeRegressor(likelihood="exponential", chunks=170, random_state=0)
    model.fit(X[:500], y[:500], exposure=e[:500])
    new, exposure = X[500:], e[500:]
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(new, coverage, exposure=exposure)
        inside = ((lower <= y[500:]) & (y[500:] <= upper)).mean()
        assert abs(inside - coverage) < 3.5 * np.sqrt(coverage * (1.0 - coverage) / 300)
        assert (lower > 0.0).all()
    z = np.log(model.predict(new, level="function", exposure=1.0) / 30.0) - f[500:]
    assert np.abs(z).mean() < 0.25
    assert (model.sample_y(new[:20], 50, exposure=2.0) > 0.0).all()
    assert_allclose(
        model.predict(new[:9], exposure=exposure[:9]),
        exposure[:9] * model.predict(new[:9], exposure=1.0), rtol=1e-12,
    )  # fmt: skip


def test_impossible_waiting_times_are_refused():
    X, f = rows(30)
    with pytest.raises(ValueError, match="y of Exponential must be positive"):
        CommitteeRegressor(likelihood="exponential").fit(X, f)
    with pytest.raises(ValueError, match="likelihood='exponential' or likelihood='poisson' .*only"):
        CommitteeRegressor(likelihood="student-t").fit(X, f, exposure=2.0)


def test_names_are_those_of_the_files():
    """Whatever has a name and one latent function is taken by it, labels by the classifier."""
    named = {name: own.support for name, own in Scalar.named().items()}
    assert {*LIKELIHOODS} == {name for name, support in named.items() if support != SIGNS}
    assert {*LINKS} == {name for name, support in named.items() if support == SIGNS} | {"softmax"}
    assert {"exponential", "gaussian", "poisson", "student-t"} <= {*LIKELIHOODS}
    assert {"logit", "probit"} <= {*LINKS}


def test_no_noise_is_no_likelihood_for_laplace():
    X, f = rows(30)
    with pytest.raises(ValueError, match="noise=0 of Gaussian has no density"):
        CommitteeRegressor(likelihood=Gaussian(0.0)).fit(X, f)


@pytest.mark.filterwarnings("ignore:Newton's method:UserWarning")  # noise 1e-14 of y²
def test_noise_is_measured_about_the_mean_of_y():
    X, f = rows()
    y = f + 0.1 * np.random.default_rng(1).normal(size=300)
    start = {"kernel": kernels.RBF(1e6, 3.0), "likelihood": Gaussian(1.0), "random_state": 0}
    model = CommitteeRegressor(**start).fit(X, 1e3 + y)
    assert 0.005 < model.noise_ < 0.02
    with pytest.warns(UserWarning, match="far from zero"):
        CommitteeRegressor(**start).fit(X[:40], 1e6 + y[:40])


def test_what_is_missing_is_named():
    X, _ = rows(30)
    broken = type("Broken", (Dispersed,), {"derivatives": likelihoods.Observation.derivatives})
    likelihoods.Observation.registry.remove(broken)
    with pytest.raises(ValueError, match="Broken has no derivatives"):
        CommitteeRegressor(likelihood=broken()).fit(X, np.ones(30))
    with pytest.raises(ValueError, match=r"give an instance, StudentT\(\)"):
        CommitteeRegressor(likelihood=StudentT).fit(X, np.ones(30))


@pytest.mark.parametrize("size", [1.0, 0.1, 1e-3])
def test_outliers_of_any_size_leave_the_robust_units_alone(size):
    X, f = rows(120)
    y = size * (f + 0.1 * np.random.default_rng(1).standard_t(3, size=120))
    bad = y.copy()
    bad[::17] = 1e12
    found, clean = (Scaling.robust(one[:, None], np.ones(120)) for one in (bad, y))
    assert 0.5 < found.scale[0] / clean.scale[0] < 2.0
    model = CommitteeRegressor(kernels.RBF(size**2, 1.0), likelihood="student-t", random_state=0)
    model.fit(X, bad)
    assert model.noise_ < 0.1 * size**2
    assert_allclose(model.predict(X), size * f, atol=0.4 * size)


def test_robust_units_of_nearly_constant_targets():
    for y in (np.full(9, 1e6) + 1e-9 * np.arange(9), np.zeros(9)):
        assert Scaling.robust(y[:, None], np.ones(9)).scale[0] > 1e-8
    mostly = np.where(np.arange(9) == 4, 5.0, 0.0)
    assert_allclose(Scaling.robust(mostly[:, None], np.ones(9)).scale[0], 1.2533 * 5.0 / 9.0)
