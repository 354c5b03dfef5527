"""Members of a classifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.ensemble import HistGradientBoostingClassifier

from collegium.errors.decision import Gain
from collegium.members.classes import (
    ClassMembers,
    ClassOpinions,
    GrownClasses,
    _forests,
    grow_classes,
    hopeless_classes,
    judge_classes,
    learn_class_weight,
    mixed,
)
from collegium.members.columns import TreeColumns
from collegium.members.tuning import TUNING
from collegium.members.weighing import Weight
from collegium.rows.rows import Prediction, Rows


def labelled(n=900, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, 0] > 0) + (X[:, 1] * X[:, 2] > 0.4) * (K - 2)).astype(int)


@pytest.mark.parametrize("K", [2, 3])
def test_log_odds_are_those_of_scikit_learn(K):
    X, codes = labelled(K=K)
    own = HistGradientBoostingClassifier(max_iter=11, random_state=1).fit(X, codes)
    columns = TreeColumns.of(X, codes.astype(float), np.ones(codes.size), ())
    found = GrownClasses(columns, _forests(own))(X[:200])
    assert_allclose(np.exp(found), own.predict_proba(X[:200]), rtol=1e-10)


def opinions(n=800, K=3, skill=1.5, seed=0):
    """A committee and a member, each with noisy log odds of the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, K)) * 1.5
    codes = np.array([rng.choice(K, p=p) for p in _softmax(truth)])
    own, other = (
        np.log(_softmax(0.8 * truth + noise * rng.normal(size=(n, K)))) for noise in (1.0, skill)
    )
    return ClassOpinions(codes, own, other, rng.normal(size=n), rng.uniform(0.5, 1.5, n))


def _softmax(f):
    p = np.exp(f - f.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def slow_loss(at, theta):
    a, b, l = theta
    start = Weight.start(at.log_sd, at.weight)
    omega = 1.0 / (1.0 + np.exp(-a - b * (at.log_sd - start.centre) / start.spread))
    total = 0.0
    for i, code in enumerate(at.codes):
        f = np.exp(l) * ((1.0 - omega[i]) * at.own[i] + omega[i] * at.other[i])
        total -= at.weight[i] * (f[code] - np.log(np.exp(f).sum()))
    t = TUNING.weighing
    return total + t.level * a**2 + t.slope * b**2 + t.scale * l**2


def test_the_weight_is_at_the_minimum_of_the_log_loss():
    at = opinions(400)
    weight, l = learn_class_weight(at)
    best = np.array([weight.a, weight.b, l])
    slopes = approx_fprime(best, lambda theta: slow_loss(at, theta), 1e-6)
    free = np.array([True, weight.b > 0.0, True])
    assert_allclose(slopes[free], 0.0, atol=0.1)


def test_mixtures_are_probabilities_between_the_two():
    at = opinions(50)
    none, whole = (
        mixed(at.own, at.other, np.zeros(50), 1.0),
        mixed(at.own, at.other, np.ones(50), 1.0),
    )
    assert_allclose(none, at.own, atol=1e-12)
    assert_allclose(whole, at.other, atol=1e-12)
    half = mixed(at.own, at.other, np.full(50, 0.5), 1.3)
    assert_allclose(np.exp(half).sum(axis=1), 1.0, rtol=1e-12)


def test_far_away_probabilities_are_the_committees():
    """Where latent functions are less certain than at any held-out row, weight and sharpness
    fade."""
    weight = Weight(1.0, 0.5, 0.0, 1.0, -2.0, 0.5)
    own, other = np.log(_softmax(np.random.default_rng(0).normal(size=(5, 3)))), -np.ones(3)
    members = ClassMembers((lambda X: np.tile(other, (5, 1)),), 0, weight, 1.6, Gain(), 0.9)
    for log_sd, same in ((0.5 + TUNING.weighing.fades, True), (0.5, False)):
        latents = [Prediction(np.zeros((5, 1)), np.full(5, np.exp(2.0 * log_sd)))]
        found = members.beside(own, np.zeros((5, 1)), latents)
        assert np.allclose(found, own, atol=1e-9) == same


def test_a_good_member_is_taken_and_a_guess_is_not():
    X = np.random.default_rng(3).normal(size=(800, 2))
    assert judge_classes(opinions(skill=0.7), X).taken
    for seed in range(6):
        at = opinions(seed=seed)
        guess = np.log(_softmax(np.random.default_rng(100 + seed).normal(size=at.own.shape)))
        at = ClassOpinions(at.codes, at.own, guess, at.log_sd, at.weight)
        assert not judge_classes(at, X).taken


def test_a_better_sharpness_is_no_merit_of_the_member():
    at = opinions()
    flat = np.log(_softmax(0.4 * at.own))
    at = ClassOpinions(at.codes, flat, flat, at.log_sd, at.weight)
    verdict = judge_classes(at, np.random.default_rng(3).normal(size=(800, 2)))
    assert abs(verdict.gain.mean) < 1e-6


def test_trees_that_err_much_more_are_given_up():
    at = opinions(skill=8.0)
    assert hopeless_classes(at) and not hopeless_classes(opinions(skill=1.0))


def test_rare_classes_have_no_trees():
    X, codes = labelled(200, K=3)
    codes[codes == 2] = 0
    codes[:4] = 2
    assert grow_classes(Rows(X, codes[:, None].astype(float), np.ones(200)), 3, (), 0) is None


def test_the_same_rows_grow_the_same_trees():
    X, codes = labelled(700, K=2)
    rows = Rows(X, codes[:, None].astype(float), np.ones(700))
    one, two = (grow_classes(rows, 2, (), 5) for _ in range(2))
    assert one is not None and two is not None
    assert_array_equal(one(X), two(X))
    assert (one(X).argmax(axis=1) == codes).mean() > 0.9
