"""Kernels of features of one's own: linear models as Gaussian processes (Tresp 2000, eqs 11–13)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeRegressor, SparseGPRegressor, Transductive
from collegium.engines import Serial
from collegium.kernels import FeatureMap, Leaf
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block
from collegium.messages.message import normalise
from collegium.rows.chunk import cut

RNG = np.random.default_rng(0)
X, XS = RNG.uniform(-1, 1, (40, 2)), RNG.uniform(-1, 1, (9, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=40)
NOISE = 0.03
ROOT = RNG.normal(size=(4, 4))
COVARIANCES = {"identity": None, "diagonal": [0.5, 2.0, 1.0, 0.0], "full": ROOT @ ROOT.T}


@dataclass(frozen=True)
class Bends:
    """1, x₁, x₂ and sin(scale·x₁)."""

    scale: float = 2.0

    def __call__(self, X):
        return np.column_stack([np.ones(len(X)), X, np.sin(self.scale * X[:, 0])])


def dense(covariance):
    if covariance is None:
        return np.eye(4)
    return np.diag(covariance) if np.ndim(covariance) == 1 else covariance


@pytest.mark.parametrize("name", COVARIANCES)
def test_it_is_the_covariance_of_a_linear_model(name):
    kernel = FeatureMap(Bends(), COVARIANCES[name], variance=1.7)
    S = 1.7 * dense(COVARIANCES[name])
    phi = Bends()
    assert_allclose(kernel.value(X, XS), phi(X) @ S @ phi(XS).T, atol=1e-12)
    assert_allclose(kernel.value(X), phi(X) @ S @ phi(X).T, atol=1e-12)
    assert_allclose(kernel.diag(X), np.diag(phi(X) @ S @ phi(X).T), atol=1e-12)
    draws = kernel.sample(XS, 4000, np.random.default_rng(1))
    assert_allclose(np.cov(draws), phi(XS) @ S @ phi(XS).T, atol=0.15 * S.max() * 4)


@pytest.mark.parametrize("name", ["identity", "full"])
def test_estimators_are_bayesian_linear_regressions(name):
    """Mean and variance of φᵀw given rows, by the normal equations of the weights."""
    kernel, phi = FeatureMap(Bends(), COVARIANCES[name], variance=1.7), Bends()
    precision = np.linalg.inv(1.7 * dense(COVARIANCES[name])) + phi(X).T @ phi(X) / NOISE
    centre = Y.mean()
    w = np.linalg.solve(precision, phi(X).T @ (Y - centre) / NOISE)
    variance = np.einsum("ij,jk,ik->i", phi(XS), np.linalg.inv(precision), phi(XS))
    given = {"noise": NOISE, "learn": False, "random_state": 0}
    for model in (
        CommitteeRegressor(kernel, **given),
        SparseGPRegressor(kernel, method="dtc", anchors=X[:12], **given),
        CommitteeRegressor(kernel, chunks=10, inference=Transductive(9), **given),
    ):
        mean, std = model.fit(X, Y).predict(XS, return_std=True, level="function")
        assert_allclose(mean, centre + phi(XS) @ w, atol=2e-3)
        assert_allclose(std, np.sqrt(variance), rtol=2e-2)


def test_a_committee_is_exact_with_as_many_queries_as_features():
    """Sec. 4: f at four independent points determines the weights, and so every chunk is exact."""
    kernel, phi = FeatureMap(Bends(), COVARIANCES["full"]), Bends()
    basis = Anchors.at(kernel, XS[:4])
    chunks = cut(X, Y[:, None], np.ones(40), np.array_split(np.arange(40), 6))
    belief = normalise(Serial().sum(partial(Block(NOISE).send, basis), chunks, basis.prior()))
    precision = np.linalg.inv(COVARIANCES["full"]) + phi(X).T @ phi(X) / NOISE
    w = np.linalg.solve(precision, phi(X).T @ Y / NOISE)
    assert_allclose(basis.factor @ belief.mean[:, 0], phi(XS[:4]) @ w, rtol=1e-4)
    few = Anchors.at(kernel, XS[:2])
    belief = normalise(Serial().sum(partial(Block(NOISE).send, few), chunks, few.prior()))
    assert np.abs(few.factor @ belief.mean[:, 0] - phi(XS[:2]) @ w).max() > 1e-3


def test_it_is_learnt_and_stored_where_its_function_is_a_record(tmp_path):
    assert FeatureMap not in Leaf.registry
    model = CommitteeRegressor(FeatureMap(Bends(), [1.0, 2.0, 0.5, 1.0]), random_state=0).fit(X, Y)
    assert model.kernel_.variance != 1.0
    model.save(tmp_path / "bends")
    again = collegium.load(tmp_path / "bends", types=[Bends])
    assert_array_equal(again.predict(XS), model.predict(XS))
    assert again.kernel_.function == Bends()


def test_a_function_that_cannot_be_stored_says_so(tmp_path):
    model = CommitteeRegressor(FeatureMap(lambda X: X), noise=0.1, learn=False).fit(X, Y)
    with pytest.raises(ValueError, match=r"function.*no place in a model file.*dataclasses"):
        model.save(tmp_path / "plain")


@pytest.mark.parametrize(("change", "words"), [
    ({"function": "squares"}, "function of FeatureMap must be callable"),
    ({"function": lambda X: X[:, 0]}, r"function of FeatureMap gave an array of shape \(40,\)"),
    ({"function": lambda X: np.full((len(X), 4), np.inf)}, "give finite features"),
    ({"covariance": [1.0, 2.0]}, "covariance of FeatureMap is for 2 features, function gave 4"),
    ({"covariance": [1.0, -1.0, 1.0, 1.0]}, "negative eigenvalues"),
    ({"covariance": np.diag([1.0, -1.0, 1.0, 1.0])}, "negative eigenvalues"),
    ({"covariance": np.triu(np.ones((4, 4)))}, r"covariance of FeatureMap: give a finite array"),
    ({"covariance": "wide"}, "covariance of FeatureMap: give a finite array"),
    ({"variance": 0.0}, "variance of FeatureMap"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        FeatureMap(**{"function": Bends(), **change}).value(X)
