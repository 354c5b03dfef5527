"""Metrics in which nearest rows have similar targets, and learning that uses them."""

import numpy as np
import pytest

from collegium import kernels
from collegium.engines import Serial
from collegium.learning import hyperparameters as learning
from collegium.learning.hyperparameters import learn
from collegium.learning.neighbour_metric import (
    NeighbourMetric,
    agreement,
    break_ties,
    find_neighbour_metric,
)
from collegium.learning.pool import Effort
from collegium.learning.tuning import TUNING
from collegium.rows.metric import Metric
from collegium.rows.rows import Rows


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def days(n, rng, noise=1.0, n_days=60):
    """A level for each day, in no order, under noise; three more columns have no effect."""
    X = np.column_stack([rng.integers(n_days, size=n), rng.normal(size=(n, 3))])
    level = rng.normal(size=n_days)[X[:, 0].astype(int)]
    y = level + noise * rng.normal(size=n)
    return X, y[:, None]


def far_apart(X):
    """The metric of a kernel for which days hardly differ."""
    return Metric.of(kernels.RBF(length_scale=[100.0, 1.0, 1.0, 1.0]), X)


def test_agreement_is_the_mean_product_with_the_nearest_rows(rng):
    S, y = rng.normal(size=(50, 2)), rng.normal(3.0, 2.0, size=(50, 2))
    z = (y - y.mean(axis=0)) / y.std(axis=0)
    products = []
    for i in range(50):
        distance = ((S - S[i]) ** 2).sum(axis=1)
        distance[i] = np.inf
        for j in np.argsort(distance)[: TUNING.metric.nearest]:
            products.append(z[i] * z[j])
    assert agreement(S, y) == pytest.approx(np.mean(products), abs=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_agreement_tends_to_the_share_that_the_columns_explain(rng, share):
    S = rng.uniform(size=(20_000, 1))
    f = np.sqrt(2.0) * np.sin(20.0 * np.pi * S)
    y = np.sqrt(share) * f + np.sqrt(1.0 - share) * rng.normal(size=f.shape)
    assert agreement(S, y) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("copies", [2, 5, 50])
def test_no_row_is_its_own_neighbour(rng, copies):
    S = np.repeat(rng.normal(size=(3_000 // copies, 3)), copies, axis=0)
    assert abs(agreement(S, rng.normal(size=(len(S), 1)))) < 0.06


def test_of_many_rows_some_are_compared(rng):
    """The other rows are still neighbours."""
    n = TUNING.metric.compared
    S = np.r_[np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, n)][:, None]
    y = np.r_[np.ones(n), -np.ones(n)][:, None]
    y[:n:2] *= -1.0
    near = agreement(S + 1e-7 * rng.normal(size=S.shape), y)
    again = agreement(S[::-1] + 1e-7 * rng.normal(size=S.shape), y[::-1])
    assert abs(near - again) > 0.1


def test_a_neighbour_metric_separates_the_days(rng):
    X, y = days(4_000, rng)
    metric = far_apart(X)
    found = find_neighbour_metric(metric, X, y)
    assert agreement(metric.forward(X), y) < 0.1
    assert found.agreement > 0.35  # of the half that days explain
    own = found.lengths * metric.weights  # against the lengths before
    assert own[0] < own[1:].min() / 5.0
    assert found.lengths[0] < 0.5  # of a day


def test_lengths_reach_to_the_tenth_nearest_row(rng):
    X, y = days(300, rng)
    found = find_neighbour_metric(far_apart(X), X, y)
    S = X / found.lengths
    distance = np.sort(np.sqrt(((S[:, None] - S) ** 2).sum(axis=2)), axis=1)
    assert np.median(distance[:, 10]) == pytest.approx(1.0, rel=1e-4)


def test_noise_has_no_neighbour_metric(rng):
    X, y = rng.normal(size=(3_000, 5)), rng.standard_t(3, size=(3_000, 1))
    metric = Metric.of(kernels.RBF(), X)
    assert abs(agreement(metric.forward(X), y)) < 0.05
    assert find_neighbour_metric(metric, X, y).agreement < TUNING.metric.more_agreement / 2


def test_a_search_ends_when_it_has_to(rng):
    X, y = days(1_000, rng)
    found = find_neighbour_metric(far_apart(X), X, y, stop=lambda: True)
    assert found.agreement == agreement(break_ties(far_apart(X).forward(X)), y)
    assert np.isfinite(found.lengths).all()


@pytest.mark.parametrize(
    "X, y",
    [
        (np.zeros((20, 2)), np.arange(20.0)),
        (np.repeat(np.arange(4.0), 5)[:, None], np.arange(20.0)),
        (np.arange(20.0)[:, None], np.ones(20)),
        (np.arange(2.0)[:, None], np.arange(2.0)),
        (np.zeros((1, 1)), np.ones(1)),
        (1e150 * np.arange(20.0)[:, None], 1e-200 * np.arange(20.0) ** 2),
    ],
    ids=["one place", "copies", "constant y", "two rows", "one row", "extremes"],
)
def test_finite_rows_give_finite_lengths(X, y):
    metric = Metric.of(kernels.RBF(), X)
    found = find_neighbour_metric(metric, X, y[:, None])
    assert np.isfinite(found.lengths).all() and (found.lengths > 0.0).all()
    before = agreement(break_ties(metric.forward(X)), y[:, None])
    assert np.isfinite(before) and found.agreement >= before


def test_learning_finds_dates_that_few_rows_do_not_show(rng):
    """A level for each date, a slope and noise, 3 : 1 : 8; months and days are two columns."""
    n, noise = 10_000, np.sqrt(8.0)
    month, day = rng.integers(12, size=n), rng.integers(30, size=n)
    X = np.column_stack([month, day, rng.normal(size=(n, 4))])
    level = np.sqrt(3.0) * rng.normal(size=(12, 30))
    y = level[month, day] + X[:, 2] + noise * rng.normal(size=n)
    rows = Rows(X, ((y - y.mean()) / y.std())[:, None], np.ones(n))
    few = Effort(
        rough_rows=300, family_chunks=4, family_size=200, final_chunks=16, final_size=200,
        near_rows=30, near_neighbours=100,
    )  # fmt: skip
    said = []
    found = learn(rows, None, None, np.random.default_rng(0), Serial(), effort=few, say=said.append)
    assert any("nearest rows correlate" in text for text in said)
    moves = np.diag([1.0, 1.0, 0.3, 0.3, 0.3, 0.3])
    k = found.kernel.value(np.zeros((1, 6)), moves)[0] / found.kernel.diag(moves)
    assert (k[:2] < 0.75).all() and (k[2:] > 0.85).all()  # dates differ, all else is smooth
    assert found.noise == pytest.approx(8.0 / 12.0, rel=0.1)


@pytest.mark.parametrize("columns", [3, 25])
def test_no_other_metric_is_searched_where_few_rows_show_enough(rng, monkeypatch, columns):
    """Nor in too many columns, whatever the noise."""
    monkeypatch.setattr(learning, "find_neighbour_metric", lambda *given: pytest.fail("looked for"))
    X = rng.normal(size=(600, columns))
    y = np.sin(2.0 * X[:, :1]) + (0.1 if columns == 3 else 2.0) * rng.normal(size=(600, 1))
    few = Effort(
        rough_rows=150, family_chunks=1, family_size=100, first_chunks=1, final_chunks=1,
        final_size=100, near_rows=5, near_neighbours=20,
    )  # fmt: skip
    learn(Rows(X, y / y.std(), np.ones(600)), None, None, rng, Serial(), effort=few)


def noisy(rng, n, d=4):
    y = rng.normal(size=(n, 1))
    return Rows(rng.normal(size=(n, d)), y / y.std(), np.ones(n))


@pytest.mark.parametrize("n, gain", [(501, 0.2), (3_000, 0.08)])
def test_a_gain_that_may_be_chance_is_not_used(rng, monkeypatch, n, gain):
    used = []

    def lucky(metric, X, y, stop):
        used.append(X.shape[0])
        before = agreement(Metric.of(kernels.RBF(), X).forward(X), y)
        return NeighbourMetric(np.ones(4), min(before, 0.0) + gain)

    monkeypatch.setattr(learning, "find_neighbour_metric", lucky)
    few = Effort(
        rough_rows=150, close_rows=2_900, family_chunks=1, family_size=100, first_chunks=1,
        final_chunks=1, final_size=100, near_rows=5, near_neighbours=20,
    )  # fmt: skip
    said = []
    learn(noisy(rng, n), None, None, rng, Serial(), effort=few, say=said.append)
    assert used == [min(n, 2_900)]
    assert not any("nearest rows correlate" in text for text in said)


def test_fewer_rows_where_columns_are_many():
    assert [Effort().close_rows_for(d) for d in (1, 8, 16)] == [10_000, 10_000, 1_250]
