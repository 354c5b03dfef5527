"""`observation.check`: likelihoods that keep what they promise pass; others hear what is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest

from collegium import observation
from collegium.observation import Scalar, check
from likelihood_cases import ALL, every


@every
def test_likelihoods_of_the_package_pass(likelihood):
    check(likelihood)


@dataclass(frozen=True)
class Counts(Scalar):
    """Poisson's, written by a user."""

    scale: float = 1.0

    support = "counts"

    def log_density(self, y, f):
        from scipy.special import gammaln

        return y[..., 0] * f - np.exp(f) - gammaln(y[..., 0] + 1.0)

    def derivatives(self, y, f):
        return y[..., 0] - np.exp(f), -np.exp(f), -np.exp(f)

    def mean(self, f):
        return np.exp(f)

    def variance(self, f):
        return np.exp(f)


observation.Observation.registry.remove(Counts)
check(Counts())

BROKEN = {
    "first derivative of .* is wrong": {
        "derivatives": lambda s, y, f: (np.exp(f) - y[..., 0], np.exp(f), np.exp(f))
    },
    "third derivative of .* is wrong": {
        "derivatives": lambda s, y, f: (y[..., 0] - np.exp(f), -np.exp(f), np.exp(f))
    },
    "log_density of .* has shape": {"log_density": lambda s, y, f: y * f - np.exp(f)},
    "first derivative of .* has shape": {
        "derivatives": lambda s, y, f: (y - np.exp(f), -np.exp(f), -np.exp(f))
    },
    "must be three arrays": {"derivatives": lambda s, y, f: (y[..., 0], f)},
    "not finite": {"log_density": lambda s, y, f: np.log(f)},
    "has no derivatives": {"derivatives": observation.Observation.derivatives},
    "no mean and no variance": {"mean": Scalar.mean, "variance": Scalar.variance},
    "mean of .* falls": {"mean": lambda s, f: np.exp(-f)},
    "variance of .* is negative": {"variance": lambda s, f: -np.exp(f)},
    "identity = True": {"identity": True},
    "has no theta_derivatives": {"free": ("scale",)},
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("message", BROKEN)
def test_what_is_wrong_is_said(message):
    registry = list(observation.Observation.registry)
    own = dataclass(frozen=True)(type("Own", (Counts,), BROKEN[message]))
    observation.Observation.registry[:] = registry
    with pytest.raises(ValueError, match=message):
        check(own())


def test_a_support_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="support='positive' of Own: give one of"):
        type("Own", (Counts,), {"support": "positive"})


def test_what_is_no_likelihood_is_refused():
    for given in (observation.Logit, "logit", None):
        with pytest.raises(ValueError, match="no likelihood"):
            check(given)
    assert ALL


def test_counts_have_whole_quantiles_and_draws():
    f, v = np.array([-3.0, 0.0, 2.0, 12.0]), np.array([0.1, 1.0, 0.0, 0.3])
    for level in (0.001, 0.025, 0.5, 0.975):
        found, exact = Counts().quantile(level, f, v), observation.Poisson().quantile(level, f, v)
        assert (found == np.floor(found)).all() and (found >= 0.0).all()
        np.testing.assert_allclose(found, exact, rtol=0.06, atol=0.0)
    drawn = Counts().draw(np.tile(f[:3], (4000, 1)), np.random.RandomState(0))
    assert (drawn == np.floor(drawn)).all()
    np.testing.assert_allclose(drawn.mean(axis=0), np.exp(f[:3]), rtol=0.15)
    np.testing.assert_allclose(drawn.var(axis=0), np.exp(f[:3]), rtol=0.2)
