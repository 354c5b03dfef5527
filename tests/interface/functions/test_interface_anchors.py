"""The public functions that choose anchors and count degrees of freedom."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as sk

from collegium import (
    CommitteeRegressor,
    effective_dof,
    estimated_dof,
    kernels,
    match_dof,
    numerical_rank,
    select_anchors,
)
from collegium.learning.anchors import RULES
from collegium.learning.dof import exact_dof

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(200, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=200)
KERNEL = kernels.RBF(1.3, [0.8, 1.1])


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_returns_anchors_and_a_falling_curve(rule):
    chosen = select_anchors(
        X, Y, kernel=KERNEL, noise=0.01, rule=rule, n_anchors=15, random_state=0
    )
    assert chosen.Z.shape == (15, 2) and chosen.gains.shape == (15,)
    assert (np.diff(chosen.remaining) <= 1e-12).all() and 0 <= chosen.remaining[-1] < 1
    assert chosen.index.size == (0 if rule == "kmeans" else 15)
    model = CommitteeRegressor(
        KERNEL, noise=0.01, learn=False, anchors=chosen.Z, chunks=50, n_local=0
    ).fit(X, Y)
    assert_allclose(model.anchors_, chosen.Z)


def test_a_share_says_when_it_is_enough():
    tight = select_anchors(X, kernel=KERNEL, share=1e-4, random_state=0)
    loose = select_anchors(X, kernel=KERNEL, share=1e-2, random_state=0)
    assert tight.remaining[-1] <= 1e-4 and loose.remaining[-1] <= 1e-2
    assert len(loose.Z) < len(tight.Z) < 200


def test_scikit_learn_kernels_and_lists_will_do():
    chosen = select_anchors(X.tolist(), kernel=sk.RBF(0.8), n_anchors=5, random_state=1)
    assert chosen.Z.shape == (5, 2)


@pytest.mark.parametrize("arguments, words", [
    ({"rule": "best", "n_anchors": 5}, "rule='best'"),
    ({"rule": "postapp", "n_anchors": 5}, "needs y and noise"),
    ({}, "when is it enough"),
    ({"n_anchors": 0}, "n_anchors=0"),
    ({"share": -0.1}, "share=-0.1"),
    ({"gap": 0.1}, "rule='postapp' only"),
    ({"n_anchors": 5, "candidates": 3, "picks": 4}, "picks=4.*candidates=3"),
    ({"n_anchors": 5, "rule": "random", "candidates": 3}, "candidates and picks"),
    ({"n_anchors": 5, "sample_weight": np.zeros(200)}, "sample_weight"),
    ({"n_anchors": 5, "sample_weight": np.ones(3)}, "inconsistent"),
    ({"n_anchors": 5, "kernel": "rbf"}, "not a kernel known here"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        select_anchors(X, **{"kernel": KERNEL, **arguments})


def test_every_rule_is_described():
    """Each has a docstring, whose first line is part of the public one."""
    for name, rule in RULES.items():
        first = rule.__doc__.split("\n")[0]
        assert first.endswith(".") and f'"{name}": {first}\n' in select_anchors.__doc__


@pytest.mark.parametrize("dof", [4.0, 25.0])
def test_a_kernel_is_stretched_to_a_number_of_degrees_of_freedom(dof):
    X = RNG.uniform(size=(90, 2))
    kernel = kernels.RBF(1.3, [0.2, 0.6]) * kernels.Matern32(0.7, 100.0, fixed=("length_scale",))
    found = match_dof(kernel, 0.05, X, dof)
    assert effective_dof(found, 0.05, X) == pytest.approx(dof, rel=1e-3)
    change = found.theta - kernel.for_width(2).theta  # of the variance and two length scales
    assert_allclose(change, [0.0, change[1], change[1]], atol=1e-12)
    many = np.tile(X, (20, 1)) + 1e-3 * RNG.normal(size=(1800, 2))
    sampled = match_dof(kernel, 0.05, many, dof, sample=300, random_state=3)
    assert effective_dof(sampled, 0.05, many) == pytest.approx(dof, rel=0.2)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"dof": 0.0}, "dof=0.0"), ({"dof": 200}, "dof=200"), ({"dof": "ten"}, "dof='ten'"),
    ({"kernel": kernels.Linear()}, "no length scale"), ({"noise": -1.0}, "noise=-1.0"),
    ({"noise": 1e9, "dof": 150}, "beyond what length scales"),
])  # fmt: skip
def test_a_match_that_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        match_dof(**{"kernel": KERNEL, "noise": 0.1, "X": X, "dof": 5.0, **arguments})


def test_degrees_of_freedom_take_what_scikit_learn_users_have():
    X = RNG.normal(size=(20, 2))
    ours = exact_dof(kernels.RBF(1.0, [0.7, 0.7]), 0.1, X)
    assert effective_dof(sk.RBF(0.7), 0.1, X.tolist()) == pytest.approx(ours)
    assert estimated_dof(sk.RBF(0.7), 0.1, X) == pytest.approx(ours)
    assert numerical_rank(sk.DotProduct(0.0), X) in (2, 3)
    for arguments, words in (
        ((sk.RBF(), -1.0, X), "noise=-1.0"),
        (("rbf", 0.1, X), "not a kernel known here"),
        ((sk.RBF(), 0.1, X[0]), "1D array"),
    ):
        with pytest.raises(ValueError, match=words):
            effective_dof(*arguments)
