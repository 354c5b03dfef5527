"""Weights where y is scaled and hyperparameters are learnt: no row decides for all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.rows.rows import Rows
from collegium.rows.scaling import Balance, Scaling, capped, for_learning, noise_power


def weighted_rows(n=300, d=1, sigma=1.0, precisions=False):
    rng = np.random.default_rng(3)
    X, w = rng.uniform(-3, 3, size=(n, d)), rng.lognormal(0.0, sigma, n)
    sd = 0.3 / np.sqrt(w) if precisions else 0.3
    return Rows(X, (np.sin(X[:, 0]) + sd * rng.normal(size=n))[:, None], w)


@pytest.mark.parametrize("heavy", [[], [7.0], [1e9], [1e9, 1e9, 40.0], [1e12, 1e6, 1e3, 50.0, 9.0]])
@pytest.mark.parametrize("n", [2, 3, 12, 60])
def test_no_weight_exceeds_its_share_and_as_few_as_possible_are_cut(heavy, n):
    w = np.append(np.linspace(0.5, 1.5, n), heavy)
    found, share = capped(w), max(0.1, 2.0 / w.size)
    assert found.max() <= share * found.sum() * (1 + 1e-12)
    cut = found < w
    assert_allclose(found[cut], found.max())
    if cut.any():  # a larger limit would break the rule
        assert_allclose(found.max(), share * found.sum())
    assert (found[~cut] == w[~cut]).all()


def test_how_weights_speak_of_the_noise_is_seen():
    for sigma in (1.0, 2.0):
        assert noise_power(weighted_rows(sigma=sigma)) < 0.3
        assert noise_power(weighted_rows(sigma=sigma, precisions=True)) > 0.8
    known_bad = weighted_rows(sigma=0.0)
    known_bad.w[:5], known_bad.y[:5] = 1e-6, 1e3 * known_bad.y[:5]
    assert noise_power(known_bad) > 0.8
    assert noise_power(weighted_rows(n=4)) == 1.0  # too few to see anything


def test_weights_for_learning_ignore_a_common_factor_and_have_mean_one():
    rows = weighted_rows()
    found = for_learning(rows).w
    assert_allclose(found.mean(), 1.0)
    assert found.std() < 0.5 * rows.w.std() / rows.w.mean()
    assert_allclose(for_learning(Rows(rows.X, 5.0 * rows.y, 1e200 * rows.w)).w, found)
    same = Rows(rows.X, rows.y, np.full(300, 7.0))
    assert (for_learning(same).w == 1.0).all()


def test_a_heavy_row_counts_little_in_learning_and_so_does_one_that_comes_later():
    rows = weighted_rows(sigma=0.0)
    later = Balance.of(rows)
    assert later(np.array([1.0, 0.5, 1e6])).tolist() == [1.0, 0.5, 10.0]
    rows.w[17] = 1e6
    found = for_learning(rows).w
    assert found[17] <= 0.1 * found.sum() * (1 + 1e-12)
    twice = Rows(np.vstack([rows.X, rows.X]), np.vstack([rows.y, -rows.y]), np.tile(rows.w, 2))
    found = for_learning(twice).w  # inputs with several targets
    assert found[17] <= 0.1 * found.sum() * (1 + 1e-12)


def test_one_row_does_not_set_the_scale_of_all():
    rows = weighted_rows(sigma=0.0)
    plain, robust = Scaling.of(rows.y, rows.w), Scaling.robust(rows.y, rows.w)
    rows.w[17] = 1e6
    for before, after in ((plain, Scaling.of), (robust, Scaling.robust)):
        found = after(rows.y, rows.w)
        assert 0.7 < found.scale[0] / before.scale[0] < 1.3
        assert abs(found.centre[0] - before.centre[0]) < 0.2 * before.scale[0]


def test_the_robust_scale_survives_ties_and_outliers_together():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.62, 0.0, rng.normal(size=200))
    clean = Scaling.robust(y[:, None], np.ones(200)).scale[0]
    y[:4] = 1e12
    assert 0.3 < clean < 1.0
    assert Scaling.robust(y[:, None], np.ones(200)).scale[0] < 10.0 * clean


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_scaled_targets_are_standard_and_come_back(unit):
    rng = np.random.default_rng(1)
    y, w = unit * (rng.normal(size=(80, 2)) * [1.0, 30.0] + [5.0, -2.0]), rng.uniform(1, 2, 80)
    for found, columns in ((Scaling.of(y, w), y), (Scaling.robust(y[:, :1], w), y[:, :1])):
        assert_allclose(found.mean(found.forward(columns)), columns, rtol=1e-12)
    scaled = Scaling.of(y, w).forward(y)
    assert_allclose(np.average(scaled, axis=0, weights=w), 0.0, atol=1e-12)
    assert_allclose(np.average(scaled**2, axis=0, weights=w), 1.0, rtol=1e-12)
