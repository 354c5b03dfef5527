"""Columns of few values: numbers in their place, by effects and held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeClassifier
from collegium.engines import Serial
from collegium.kernels import Stepped
from collegium.laplace.steps import Forms, effects, few_valued, forms_by_held_out
from collegium.laplace.trials import LabelTrials, label_targets
from collegium.laplace.tuning import TUNING
from collegium.rows.rows import Rows


def ratings(n=1500, K=2, seed=0):
    """Five ratings of 0 to 5, a column of three words and a number; classes go by steps."""
    rng = np.random.default_rng(seed)
    R = rng.integers(0, 6, (n, 5)).astype(float)
    X = np.column_stack([R, rng.integers(0, 3, n), rng.normal(size=n)])
    f = 3.0 * (R[:, 0] >= 4) - 3.0 * (R[:, 1] == 0) + 2.5 * ((R[:, 2] >= 4) & (R[:, 0] >= 4))
    f += 2.0 * np.isin(R[:, 3], [1, 4]) + np.array([0.0, 1.0, -1.0])[X[:, 5].astype(int)]
    f += 0.8 * X[:, 6] + 0.5 * rng.normal(size=n)
    codes = np.digitize(f, np.quantile(f, np.arange(1, K) / K))
    return Rows(X, codes[:, None].astype(float), rng.integers(1, 3, n).astype(float))


def forms(rows, levels=(5,)):
    return forms_by_held_out(rows, levels, Serial(), lambda: False, lambda text: None)


@pytest.mark.parametrize("K", [2, 3])
def test_effects_are_penalised_least_squares(K):
    rows, columns = ratings(400, K), (0, 3)
    found = effects(rows, columns, (5,))
    T = label_targets(rows.y[:, 0].astype(int), rows.w)
    w = rows.w / rows.w.mean()
    one_hot = [(rows.X[:, k] == v) for k in (0, 3) for v in range(6)]
    one_hot += [rows.X[:, 5] == v for v in range(3)]
    lines = [rows.X[:, k] for k in (1, 2, 4, 6)]
    lines = [(x - x.mean()) / x.std() for x in lines]
    B = np.column_stack([*one_hot, *lines]).astype(float)
    penalty = np.sqrt(TUNING.steps.penalty) * np.eye(B.shape[1])
    whole = np.vstack([np.sqrt(w)[:, None] * B, penalty])
    target = np.vstack([np.sqrt(w)[:, None] * T, np.zeros((B.shape[1], T.shape[1]))])
    C = np.linalg.lstsq(whole, target, rcond=None)[0]
    for one, first in zip(found, (0, 6)):
        F, share = C[first : first + 6], w @ B[:, first : first + 6]
        F = F - share @ F / share.sum()
        if K == 2:
            slow = F[:, 0]
        else:  # by the eigenvectors of the covariance of effects
            slow = F @ np.linalg.eigh(F.T @ (share[:, None] * F))[1][:, -1]
        slow = slow * np.sign(slow[np.abs(slow).argmax()])
        assert_array_equal(one.values, np.arange(6.0))
        assert_allclose(one.numbers, TUNING.steps.unit * slow, rtol=1e-7, atol=1e-9)


def test_columns_of_few_values_are_found():
    rows = ratings(1500)
    assert few_valued(rows, (5,)) == (0, 1, 2, 3, 4)
    assert few_valued(rows.take(np.arange(500)), (5,)) == ()  # too few rows of each value
    X = np.column_stack([rows.X[:, 0] / 3.0 - 1.0, np.arange(1500) % 2, np.arange(1500) % 50])
    assert few_valued(Rows(X, rows.y, rows.w), ()) == (0,)  # in any units; not two values, nor many


@pytest.mark.parametrize("K", [2, 3])
def test_steps_are_found_and_help(K):
    rows, test = ratings(1500, K), ratings(600, K, seed=1)
    found = forms(rows)
    assert found.levels == (5,)
    assert [one.column for one in found.steps] == [0, 1, 2, 3, 4]
    first = found.steps[0].numbers
    assert np.ptp(first[:4]) < 0.3 * np.ptp(first) and np.ptp(first[4:]) < 0.3 * np.ptp(first)
    own = {"categorical_features": [5], "random_state": 0, "chunks": 500}
    model = CommitteeClassifier(**own).fit(rows.X, rows.y[:, 0], rows.w)
    assert isinstance(model.kernel_, Stepped)
    assert "by steps" in model.summary()
    smooth = CommitteeClassifier(type(model.kernel_.kernel)(), **own)
    smooth.fit(rows.X, rows.y[:, 0], rows.w)
    codes = test.y[:, 0].astype(int)
    loss = [-m.predict_log_proba(test.X)[np.arange(600), codes].mean() for m in (model, smooth)]
    assert loss[0] < 0.95 * loss[1]


@pytest.mark.parametrize("seed", range(6))
def test_noise_and_smooth_effects_have_no_steps(seed):
    rng = np.random.default_rng(seed)
    X = ratings(1200, seed=seed).X
    noise = rng.integers(0, 2 + seed % 2, (1200, 1)).astype(float)
    assert forms(Rows(X, noise, np.ones(1200))) == Forms((5,))
    f = 0.8 * (X[:, 0] - 2.5) - 0.7 * (X[:, 1] - 2.5) + X[:, 6]
    y = rng.random(1200) < 1.0 / (1.0 + np.exp(-f))
    assert forms(Rows(X, y[:, None].astype(float), np.ones(1200))) == Forms((5,))


def test_effects_are_tried_on_rows_that_they_have_not_seen():
    rng = np.random.default_rng(0)
    X, noise = rng.integers(0, 20, (3300, 8)).astype(float), rng.integers(0, 2, (3300, 1))
    rows = Rows(X, noise.astype(float), np.ones(3300))
    assert few_valued(rows, ()) == tuple(range(8))
    assert forms(rows, ()) == Forms()
    seen = rows.take(np.arange(800))
    trials = LabelTrials(seen, Serial())
    new = trials.log_probability(Forms((), effects(seen, range(8), ())).seen(seen.X))
    assert trials.gain(new, trials.log_probability(seen.X)).enough  # by chance, had they seen them


def test_numbers_that_are_names_become_levels():
    rng = np.random.default_rng(0)
    ids, x = rng.integers(0, 30, (3000, 2)).astype(float), rng.normal(size=(3000, 2))
    f = 2.0 * x[:, 0] * x[:, 1] + sum(rng.normal(0.0, 2.5, 30)[k] for k in ids.T.astype(int))
    y = (f > rng.logistic(size=3000))[:, None].astype(float)
    assert forms(Rows(np.column_stack([ids, x]), y, np.ones(3000)), ()) == Forms((0, 1))


def test_forms_replace_values_by_numbers():
    rows = ratings(1200)
    found = forms(rows)
    X = rows.X[:50].copy()
    seen = found.seen(X)
    for one in found.steps:
        table = dict(zip(one.values, one.numbers))
        assert_allclose(seen[:, one.column], [table[x] for x in X[:, one.column]], rtol=1e-12)
    assert_array_equal(seen[:, 5:], X[:, 5:])
    other = found.with_level(3)
    assert other.levels == (3, 5)
    assert [one.column for one in other.steps] == [0, 1, 2, 4]
    scales = found.scales(rows.X).columns
    assert_array_equal(scales[:6], np.ones(6))
    assert_allclose(scales[6], rows.X[:, 6].std())


def test_few_rows_one_class_and_no_time_leave_columns_as_they_are():
    rows = ratings(1200)
    assert forms(rows.take(np.arange(999))) == Forms((5,))
    assert forms(Rows(rows.X, 0.0 * rows.y, rows.w)) == Forms((5,))
    stopped = forms_by_held_out(rows, (5,), Serial(), lambda: True, lambda text: None)
    assert stopped == Forms((5,))
