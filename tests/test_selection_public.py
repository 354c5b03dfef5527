"""The public function that chooses anchors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as sk

from collegium import CommitteeRegressor, kernels
from collegium.selection import select

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(200, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=200)
KERNEL = kernels.RBF(1.3, [0.8, 1.1])


@pytest.mark.parametrize("rule", ["random", "kmeans", "sgma", "postapp", "pivoted-cholesky"])
def test_every_rule_returns_anchors_and_a_falling_curve(rule):
    chosen = select(X, Y, kernel=KERNEL, noise=0.01, rule=rule, n_anchors=15, random_state=0)
    assert chosen.Z.shape == (15, 2) and chosen.gains.shape == (15,)
    assert (np.diff(chosen.remaining) <= 1e-12).all() and 0 <= chosen.remaining[-1] < 1
    assert chosen.index.size == (0 if rule == "kmeans" else 15)
    model = CommitteeRegressor(
        KERNEL, noise=0.01, learn=False, anchors=chosen.Z, chunk_size=50, n_local=0
    ).fit(X, Y)
    assert_allclose(model.anchors_, chosen.Z)


def test_a_share_says_when_it_is_enough():
    tight = select(X, kernel=KERNEL, share=1e-4, random_state=0)
    loose = select(X, kernel=KERNEL, share=1e-2, random_state=0)
    assert tight.remaining[-1] <= 1e-4 and loose.remaining[-1] <= 1e-2
    assert len(loose.Z) < len(tight.Z) < 200


def test_scikit_learn_kernels_and_lists_will_do():
    chosen = select(X.tolist(), kernel=sk.RBF(0.8), n_anchors=5, random_state=1)
    assert chosen.Z.shape == (5, 2)


@pytest.mark.parametrize("arguments, words", [
    ({"rule": "best", "n_anchors": 5}, "rule='best'"),
    ({"rule": "postapp", "n_anchors": 5}, "needs y and noise"),
    ({}, "when is it enough"),
    ({"n_anchors": 0}, "n_anchors=0"),
    ({"share": -0.1}, "share=-0.1"),
    ({"gap": 0.1}, "rule='postapp' only"),
    ({"n_anchors": 5, "sample_weight": np.zeros(200)}, "sample_weight"),
    ({"n_anchors": 5, "sample_weight": np.ones(3)}, "inconsistent"),
    ({"n_anchors": 5, "kernel": "rbf"}, "not a kernel known here"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        select(X, **{"kernel": KERNEL, **arguments})
