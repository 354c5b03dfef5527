"""Classifiers, labelled rows and comparisons that tests of classes share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeClassifier, Transductive, kernels

KERNEL = kernels.Matern32(variance=5.0, length_scale=[0.9, 1.7])


GIVEN = {"kernel": KERNEL, "learn": False, "random_state": 0}


TINY = {"chunks": 12, "anchors": 8, "random_state": 0}


#: One of each way to answer.
WAYS = {
    "one chunk": {},
    "local": {**TINY, "n_local": 9},
    "anchors only": {**TINY, "n_local": 0},
    "softmax": {**TINY, "likelihood": "softmax"},
    "probit": {**TINY, "likelihood": "probit"},
    "transductive": {**TINY, "inference": Transductive(20, sweeps=3)},
}


every_way = pytest.mark.parametrize("way", WAYS)


def classifier(way="local", **arguments):
    """Of a way to answer, with a given kernel."""
    return CommitteeClassifier(**{**GIVEN, **WAYS[way], **arguments})


def labelled(n=70, K=2, seed=0):
    """Classes along a bent line, some of them wrong, as words."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    f = X[:, 0] + 0.8 * np.sin(2.0 * X[:, 1]) + 0.4 * rng.normal(size=n)
    codes = np.digitize(f, np.quantile(f, np.arange(1, K) / K))
    return X, np.array(["ash", "elm", "fir", "oak"])[codes]


def queries(q=9, seed=1):
    return np.random.default_rng(seed).uniform(-2.5, 2.5, size=(q, 2))


def assert_same_answers(a, b, Xs, rtol=1e-9):
    """rtol = 0: to the last bit."""
    assert_array_equal(a.classes_, b.classes_)
    atol = 0.0 if rtol == 0.0 else 1e-11
    assert_allclose(a.predict_latent(Xs), b.predict_latent(Xs), rtol=rtol, atol=atol)
    assert_allclose(a.predict_proba(Xs), b.predict_proba(Xs), rtol=rtol, atol=atol)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=rtol)
