"""Forms of columns tried on labelled rows that are left out in turn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.engines import Serial
from collegium.laplace import trials
from collegium.laplace.trials import LabelTrials, LossGain, class_log_probabilities, label_targets
from collegium.laplace.tuning import TUNING
from collegium.rows.rows import Prediction, Rows


def labelled(n=60, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    codes = np.digitize(f, np.quantile(f, np.arange(1, K) / K))
    return Rows(X, codes[:, None].astype(float), rng.integers(1, 4, n).astype(float))


@pytest.mark.parametrize("K", [2, 3])
def test_targets_tell_classes_apart(K):
    rows = labelled(K=K)
    codes = rows.y[:, 0].astype(int)
    T = label_targets(codes, rows.w)
    assert T.shape == (60, 1 if K == 2 else K)
    assert_allclose(rows.w @ T, 0.0, atol=1e-12)
    assert_allclose((rows.w @ T**2).sum() / rows.w.sum(), T.shape[1])
    for k in range(T.shape[1]):
        own = codes == (1 if K == 2 else k)
        assert T[own, k].min() > 0.0 > T[~own, k].max()


@pytest.mark.parametrize("p", [1, 3])
def test_probabilities_are_those_of_the_formula(p):
    rng = np.random.default_rng(0)
    found = Prediction(rng.normal(size=(5, p)), rng.uniform(0.1, 1.0, 5))
    share = np.array([0.3, 0.7]) if p == 1 else np.array([0.2, 0.5, 0.3])
    table = class_log_probabilities(found, np.log(share), 2.5)
    for i in range(5):
        m = [0.0, found.mean[i, 0]] if p == 1 else list(found.mean[i])
        damped = 2.5 / np.sqrt(1.0 + np.pi * 2.5**2 * found.variance[i] / 8.0)
        odds = [s * np.exp(damped * one) for s, one in zip(share, m)]
        assert_allclose(np.exp(table[i]), np.array(odds) / sum(odds), rtol=1e-12)
    huge = class_log_probabilities(
        Prediction(1e8 * found.mean, 0 * found.variance), np.log(share), 9.0
    )
    assert np.isfinite(huge).all()


@pytest.mark.parametrize("K", [2, 3])
def test_each_row_is_predicted_from_the_others(K, monkeypatch):
    rows, seen = labelled(40, K=K), []
    real = LabelTrials._learnt

    def learnt(self, own, levels):
        seen.append((real(self, own, levels), own))
        return seen[-1][0]

    monkeypatch.setattr(LabelTrials, "_learnt", learnt)
    asked = []
    monkeypatch.setattr(
        trials, "class_log_probabilities", lambda found, *more: asked.append(found) or
        class_log_probabilities(found, *more),
    )  # fmt: skip
    value = LabelTrials(rows, Serial()).log_probability(rows.X)
    (found, own), given = seen[0], asked[-1]
    K_all = reference.covariance(found.kernel, own.X)
    for i in range(0, 40, 7):
        rest = np.delete(np.arange(40), i)
        A = K_all[np.ix_(rest, rest)] + np.diag(found.noise / own.w[rest])
        mean = K_all[i, rest] @ np.linalg.solve(A, own.y[rest])
        variance = K_all[i, i] - K_all[i, rest] @ np.linalg.solve(A, K_all[i, rest])
        assert_allclose(given.mean[i], mean, rtol=1e-7, atol=1e-9)
        assert_allclose(given.variance[i], variance, rtol=1e-6)
    assert value.shape == (40,) and (value < 0.0).all()
    assert found.noise >= TUNING.trials.least_noise * (1 - 1e-9)


def test_a_gain_has_to_be_large_and_certain_enough():
    t = TUNING.trials
    assert LossGain(0.1, 0.01, 0.5).enough
    assert not LossGain(0.1, 0.1 / t.errors, 0.5).enough
    assert not LossGain(0.99 * t.least, 0.0, 0.01).enough
    assert not LossGain(0.99 * t.share * 0.6, 0.001, 0.6).enough


def test_gains_are_weighted_means_of_differences_that_are_cut():
    rows = labelled(50)
    rng = np.random.default_rng(1)
    old, new = -rng.exponential(size=50), -5.0 * rng.exponential(size=50)
    found = LabelTrials(rows, Serial()).gain(new, old)
    each = np.clip(new - old, -TUNING.trials.most, TUNING.trials.most)
    share = rows.w / rows.w.sum()
    assert_allclose(found.mean, share @ each)
    assert_allclose(found.error, np.sqrt(((share * (each - share @ each)) ** 2).sum()))
    assert_allclose(found.loss, -share @ old)
