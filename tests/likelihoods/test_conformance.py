"""`likelihoods.check`: likelihoods that keep what they promise pass; others hear what is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest
from likelihood_cases import ALL, every
from own_likelihoods import Angles, Counts, Debts, Scores, Shares, Times, Visits, rate

from collegium import likelihoods
from collegium.likelihoods import Scalar, check


@every
def test_likelihoods_of_the_package_pass(likelihood):
    check(likelihood)


@pytest.mark.parametrize(
    "own",
    [Counts(), Times(), Times(0.4), Times(7.0), Angles(), Debts(3.0), Scores(), Shares(), Visits()],
    ids=repr,
)
def test_likelihoods_of_users_pass(own):
    check(own)


BROKEN = {
    "first derivative of .* is wrong": {
        "derivatives": lambda s, y, f: (rate(f) - y[..., 0], rate(f), rate(f))
    },
    "third derivative of .* is wrong": {
        "derivatives": lambda s, y, f: (y[..., 0] - rate(f), -rate(f), rate(f))
    },
    "log_density of .* has shape": {"log_density": lambda s, y, f: y * f - np.exp(f)},
    "first derivative of .* has shape": {
        "derivatives": lambda s, y, f: (y - np.exp(f), -np.exp(f), -np.exp(f))
    },
    "must be three arrays": {"derivatives": lambda s, y, f: (y[..., 0], f)},
    "not finite": {"log_density": lambda s, y, f: np.log(f)},
    "has no derivatives": {"derivatives": likelihoods.Observation.derivatives},
    "no mean and no variance": {"mean": Scalar.mean, "variance": Scalar.variance},
    "mean of .* falls": {"mean": lambda s, f: rate(-f)},
    "variance of .* is negative": {"variance": lambda s, f: -rate(f)},
    "identity = True": {"identity": True},
    "has no theta_derivatives": {"free": ("scale",)},
    "lets y = -1 pass": {"check": lambda s, y: None},
    "log_density of .* is not finite at f = 800": {
        "log_density": lambda s, y, f: Counts.log_density(s, y, f) + 0.0 * np.exp(f)
    },
    "third derivative of .* is not finite at f = 800": {
        "derivatives": lambda s, y, f: (*Counts.derivatives(s, y, f)[:2], -np.exp(f))
    },
    "nor bound below it": {"bound": lambda s, y, f: 0.5 * rate(f)},
    "integral over y of the density .* should be 1": {
        "log_density": lambda s, y, f: Counts.log_density(s, y, f) + 0.01
    },
    "mean of .* should be": {"mean": lambda s, f: 1.01 * rate(f)},
    "variance of .* should be": {"variance": lambda s, f: 1.01 * rate(f)},
    "predict of .* is wrong: .* its variance": {
        "predict": lambda s, m, v: (np.exp(m + 0.5 * v), np.exp(m + 0.5 * v))
    },
    "function of .* is wrong: .* its mean": {
        "function": lambda s, m, v: (np.exp(m), np.expm1(v) * np.exp(2.0 * m + v))
    },
    "log_predictive of .* is not the log": {
        "log_predictive": lambda s, y, m, v: s.log_density(y, m)
    },
    "quantile of .* gives .*, which y cannot be": {
        "quantile": lambda s, level, m, v: np.exp(m) + (level - 0.5)
    },
    "draw of .* gives -1, which y cannot be": {"draw": lambda s, f, rng: np.full(f.shape, -1.0)},
    "quantile of .* falls": {
        "quantile": lambda s, level, m, v: np.full(m.shape, 1.0 * (level < 0.1))
    },
    "quantile of .* has shape": {"quantile": lambda s, level, m, v: 1.0},
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("message", BROKEN)
def test_what_is_wrong_is_said(message):
    registry = list(likelihoods.Observation.registry)
    own = dataclass(frozen=True)(type("Own", (Counts,), BROKEN[message]))
    likelihoods.Observation.registry[:] = registry
    with pytest.raises(ValueError, match=message):
        check(own())


def test_a_support_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="support='angles' of Own is no Support: give .*POSITIVE"):
        type("Own", (Counts,), {"support": "angles"})


def test_integrals_that_fail_are_refused():
    """A mean of e^(3f) at a variance of 30: e^(6f) has its integral 33 deviations away."""
    registry = list(likelihoods.Observation.registry)
    parts = {"mean": lambda s, f: np.exp(3.0 * f), "variance": lambda s, f: np.exp(6.0 * f)}
    parts["log_density"] = lambda s, y, f: Times.log_density(s, y, 3.0 * f)
    parts["derivatives"] = lambda s, y, f: tuple(
        3.0**k * one for k, one in enumerate(Times.derivatives(s, y, 3.0 * f), 1)
    )
    own = dataclass(frozen=True)(type("Own", (Times,), parts))
    likelihoods.Observation.registry[:] = registry
    with pytest.raises(
        ValueError, match="predict of Own is by quadrature, which cannot be trusted"
    ):
        check(own())


def test_parameters_need_defaults_and_a_density():
    registry = list(likelihoods.Observation.registry)

    @dataclass(frozen=True, kw_only=True)
    class Own(Counts):
        size: float

    likelihoods.Observation.registry[:] = registry
    with pytest.raises(ValueError, match="size of Own has no default"):
        check(Own(size=2.0))
    with pytest.raises(ValueError, match="noise=0 of Gaussian has no density"):
        check(likelihoods.Gaussian(0.0))


def test_what_is_no_likelihood_is_refused():
    for given in (likelihoods.Logit, "logit", None):
        with pytest.raises(ValueError, match="no likelihood"):
            check(given)
    assert ALL
