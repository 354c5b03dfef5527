"""Coefficients of a trend among the coordinates of a basis: shared by all chunks, exactly."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.answers.local import Shared, predict_global
from collegium.engines import engine_for
from collegium.kernels import RBF, Matern32, On, Trend
from collegium.kernels.trend import split_trend
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.evidence import anchored, evidence
from collegium.messages.experts.block import Block
from collegium.messages.message import normalise
from collegium.rows.chunk import cut
from collegium.rows.rows import Rows

NOISE, ENGINE = 0.07, engine_for(None)
BASE = Matern32(0.9, [0.8, 1.7])
ALL = Trend(40.0, [1.3, 0.6], [20.0, -3.0])
SOME = On(Trend(25.0, 2.1, 21.0), 0)
both = pytest.mark.parametrize("trend", [ALL, SOME], ids=["all columns", "one column"])


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.array([20.0, -3.0]) + rng.normal(size=(n, 2))
    y = 2.0 * X[:, :1] - X[:, 1:] + np.sin(3 * X[:, :1]) + 0.2 * rng.normal(size=(n, 1))
    return Rows(X, y - y.mean(), rng.uniform(0.5, 2.0, n))


def far(q=7):
    X = table(q, 5).X
    X[3:] += 15.0 * (X[3:] - X.mean(axis=0))
    return X


def dense(trend, X, Z, sizes, Xs):
    """Covariances of y and of f(Xs) of the committee, by the plain formula."""
    Kuu = reference.covariance(BASE, Z)
    Q = lambda A, B: BASE.value(A, Z) @ np.linalg.solve(Kuu, BASE.value(Z, B))  # noqa: E731
    own = np.repeat(np.arange(len(sizes)), sizes)
    R = np.where(own[:, None] == own, reference.covariance(BASE, X) - Q(X, X), 0.0)
    Cyy = Q(X, X) + R + trend.value(X, X)
    return Cyy, Q(Xs, X) + trend.value(Xs, X), BASE.value(Xs, Xs) + trend.value(Xs, Xs)


@both
def test_committee_is_that_of_the_formula(trend):
    rows, Z, Xs, sizes = table(40), table(9, 1).X, far(), (15, 12, 13)
    groups = np.split(np.arange(40), np.cumsum(sizes)[:-1])
    committee = Committee.start(BASE + trend, NOISE, Z, 1)
    committee = committee.add(cut(*rows.fields(), groups), ENGINE, keep=True)
    assert committee.basis.m == 9 + (3 if trend is ALL else 2)
    Cyy, Csy, Css = dense(trend, rows.X, Z, sizes, Xs)
    Cyy += np.diag(NOISE / rows.w)
    mean, cov = reference.condition(Cyy, Csy, Css, rows.y)
    found = predict_global(committee.basis, committee.belief, Xs)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-7)
    assert_allclose(found.variance, np.diag(cov), rtol=1e-6)
    means = committee.basis.expansion(committee.belief.mean).mean(Xs, ENGINE)
    assert_allclose(means, mean, rtol=1e-7, atol=1e-7)
    leaf, seen = (trend, rows.X) if trend is ALL else (trend.kernel, rows.X[:, :1])
    beta = leaf.variance * leaf.features(seen).T @ np.linalg.solve(Cyy, rows.y)
    t = committee.basis.first
    found = (committee.basis.factor @ committee.belief.mean)[:t]
    assert_allclose(found, beta, rtol=1e-7, atol=1e-8)


@both
def test_one_chunk_is_the_exact_gp(trend):
    rows, Xs = replace(table(30), w=np.ones(30)), far()
    committee = Committee.start(BASE + trend, NOISE, table(6, 1).X, 1)
    committee = committee.add(cut(*rows.fields(), [np.arange(30)]), ENGINE, keep=True)
    kernel = BASE + trend
    mean, cov, log_evidence = reference.gp(kernel, NOISE, *rows.fields(), Xs)
    assert_allclose(committee.belief.log_evidence, log_evidence, rtol=1e-9)
    shared = Shared.of(committee.basis, NOISE, rows)
    found = shared.predict(committee.basis, committee.belief, Xs)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-7)
    assert_allclose(found.variance, np.diag(cov), rtol=1e-6)
    means = shared.expansion(committee.basis, committee.belief).mean(Xs, ENGINE)
    assert_allclose(means, mean, rtol=1e-7, atol=1e-7)


@both
def test_gradient_of_the_evidence(trend):
    rows, Z = table(24), table(5, 1).X
    chunks = cut(*rows.fields(), np.split(np.arange(24), [10, 17]))
    kernel = BASE + trend

    def value(theta):
        return anchored(kernel.with_theta(theta[:-1]), np.exp(theta[-1]), Z, chunks, ENGINE)[0]

    theta = np.append(kernel.theta, np.log(NOISE))
    _, gradient = evidence(Anchors.at(kernel, Z), Block(NOISE), chunks, ENGINE)
    assert_allclose(gradient, reference.gradient(value, theta), rtol=1e-6, atol=1e-7)


@both
def test_appended_anchors_change_nothing_that_was_said(trend):
    rows, Z, more, Xs = table(40), table(5, 1).X, table(4, 2).X, far()
    committee = Committee.start(BASE + trend, NOISE, Z, 1)
    committee = committee.add(cut(*rows.fields(), np.split(np.arange(40), 2)), ENGINE, keep=False)
    grown = committee.with_anchors(more)
    at_once = Anchors.at(BASE + trend, np.vstack([Z, more]))
    assert_allclose(grown.basis.factor, at_once.factor, atol=1e-9)
    before = predict_global(committee.basis, committee.belief, Xs)
    after = predict_global(grown.basis, grown.belief, Xs)
    assert_allclose(after.mean, before.mean, rtol=1e-8, atol=1e-8)
    assert_allclose(after.variance, before.variance, rtol=1e-7)
    known = grown.known(committee.basis.m)
    assert_allclose(known.basis.factor, committee.basis.factor)
    assert known.basis.Z.shape == Z.shape
    alone = Committee.start(BASE + trend, NOISE, Z[:0], 1)
    assert alone.basis.m == 0
    assert_allclose(alone.with_anchors(Z).basis.factor, committee.basis.factor)


def moments(one):
    """Mean and covariance of u."""
    L, belief = one.basis.factor, one.belief
    return L @ belief.mean, L @ np.linalg.inv(belief.factor @ belief.factor.T) @ L.T


@both
def test_dropped_anchors_leave_the_belief_about_the_others(trend):
    """Marginals of β and of the values at the anchors that stay."""
    rows, Z = table(60), table(8, 1).X
    committee = Committee.start(BASE + trend, NOISE, Z, 1)
    committee = committee.add(cut(*rows.fields(), np.split(np.arange(60), 3)), ENGINE, keep=False)
    t = committee.basis.first
    small = committee.of_at_most(t + 5)
    assert (small.basis.m, small.basis.first, len(small.basis.Z)) == (t + 5, t, 5)
    stay = [int(np.flatnonzero((Z == z).all(axis=1))[0]) for z in small.basis.Z]
    at = [*range(t), *(t + k for k in stay)]
    mean, cov = moments(committee)
    less, less_cov = moments(small)
    assert_allclose(less, mean[at], rtol=1e-6, atol=1e-8)
    assert_allclose(less_cov, cov[np.ix_(at, at)], rtol=1e-5, atol=1e-8)
    spread = committee.spread_over(table(3, 3).X, t + 6)
    assert (spread.basis.m, spread.basis.first) == (t + 6, t)


@both
def test_slopes_of_about_zero_are_not_dropped(trend):
    """One by one, the anchor of least αᵢ²/(QSQ)ᵢᵢ, α = Qμ, of what is left."""
    rows, Z = table(60), table(8, 1).X
    H = np.column_stack([np.ones(60), rows.X])
    y = np.sin(3 * rows.X[:, :1])
    y -= H @ np.linalg.lstsq(H, y, rcond=None)[0]
    committee = Committee.start(BASE + trend, NOISE, Z, 1)
    committee = committee.add(cut(rows.X, y, rows.w, [np.arange(60)]), ENGINE, keep=False)
    (mean, cov), prior = moments(committee), committee.basis.factor @ committee.basis.factor.T
    t, stay = committee.basis.first, list(range(committee.basis.m))
    lowest = []
    while len(stay) > t + 5:
        Q = np.linalg.inv(prior[np.ix_(stay, stay)])
        scores = (Q @ mean[stay])[:, 0] ** 2 / (Q @ cov[np.ix_(stay, stay)] @ Q).diagonal()
        lowest.append(int(scores.argmin()))
        stay.pop(t + int(scores[t:].argmin()))
    assert min(lowest) < t  # it would be a coefficient
    small = committee.of_at_most(t + 5)
    assert_allclose(small.basis.Z, Z[np.array(stay[t:]) - t])


def test_a_kernel_of_another_size_carries_what_was_said():
    rows, Z = table(60), table(8, 1).X
    committee = Committee.start(BASE + ALL, NOISE, Z, 1)
    committee = committee.add(cut(*rows.fields(), np.split(np.arange(60), 3)), ENGINE, keep=False)
    kernel = BASE + ALL.scaled(3.0)
    found = committee.with_prior(kernel, NOISE)
    message, L = committee.messages.message(), committee.basis.factor
    T = np.linalg.solve(L, Anchors.at(kernel, Z).factor)
    again = replace(message, precision=T.T @ message.precision @ T, shift=T.T @ message.shift)
    expected = normalise(found.basis.prior() + again)
    assert_allclose(found.belief.mean, expected.mean, rtol=1e-8, atol=1e-10)


def test_only_fixed_trends_beside_another_kernel_are_split_off():
    rest, beta = split_trend(BASE + ALL + SOME + RBF())
    assert repr(rest) == repr(BASE + RBF()) and beta.count(2) == 5
    for kernel in (ALL, BASE, BASE * ALL, BASE + Trend(fixed=())):
        assert split_trend(kernel) == (kernel, None)
