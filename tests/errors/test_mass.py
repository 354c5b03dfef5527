"""Values that y takes again and again: a warning, and a line of the summary."""

import warnings

import numpy as np
import pytest

from collegium import CommitteeRegressor, SparseGPRegressor
from collegium.errors.mass import PointMass, PointMassWarning, masses, warn_of_masses


def amounts(zeros, n=200, at=0.0):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.exp(X[:, 1] + 0.2 * rng.normal(size=n))
    y[rng.permutation(n)[: int(zeros * n)]] = at
    return X, y


def test_the_share_of_the_most_frequent_value_is_found():
    y = np.array([3.0] * 12 + [5.0] * 10 + [*np.arange(10.0, 18.0)])
    assert PointMass.of(y, np.ones(30)) == PointMass(3.0, 0.4)
    heavy = np.where(y == 5.0, 3.0, 1.0)
    assert PointMass.of(y, heavy) == PointMass(5.0, 0.6)


@pytest.mark.parametrize(
    "y", [np.arange(40.0), np.zeros(40), np.repeat([0.0, 1.0], 20), np.repeat([0.0, 1.0, 2.0], 6),
          np.append(np.zeros(11), np.arange(1.0, 30.0))],
    ids=["distinct", "constant", "labels", "few rows", "below the share"],
)  # fmt: skip
def test_other_values_are_no_mass(y):
    assert PointMass.of(y, np.ones(y.size)) is None


def test_each_output_has_its_own():
    _, y = amounts(0.5)
    both = np.column_stack([y, np.arange(200.0), np.where(y == 0, 7.0, -y)])
    assert [one.value for one in masses(both, np.ones(200))] == [0.0, 7.0]


def test_the_words_say_what_to_do():
    with pytest.warns(PointMassWarning, match="40 % of the rows have y = 2.5.*whether y is 2.5"):
        warn_of_masses(amounts(0.4, at=2.5)[1][:, None], np.ones(200))


@pytest.mark.parametrize(
    "model",
    [CommitteeRegressor(learn=True), CommitteeRegressor(chunks=50, n_local=0, anchors=10),
     SparseGPRegressor()],
)  # fmt: skip
def test_fit_warns_and_a_committee_says_so_later(model):
    X, y = amounts(0.6)
    with pytest.warns(PointMassWarning) as found:
        model.set_params(random_state=0).fit(X, y)
    assert len(found) == 1
    if isinstance(model, CommitteeRegressor):
        assert "60 % of the rows have y = 0" in model.summary()


def test_other_targets_are_fitted_without_a_word():
    X, y = amounts(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PointMassWarning)
        model = CommitteeRegressor(learn=True, random_state=0).fit(X, y)
        CommitteeRegressor(likelihood="poisson").fit(X, np.round(0.3 * y))
    assert "point mass" not in model.summary()
