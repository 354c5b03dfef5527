"""Committees of any regressors: what they answer, and how they behave as estimators."""

import numpy as np
import pandas as pd
import pytest
from members_cases import (
    NOISE,
    OURS,
    Plane,
    PlaneOfFunctions,
    TanhNetwork,
    committee,
    gp,
    queries,
    rows,
    slow_product,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from collegium import CommitteeOf, CommitteeRegressor
from collegium.combining import pointwise
from collegium.combining.members import member
from collegium.rows.chunk import Chunk
from collegium.rows.partition import deal

Q = queries()
RULES = ["bcm", "independent", "poe", "gpoe", "rbcm", "barycenter"]


def chunks_of(model, X, y):
    return [
        Chunk(i, X[own], y[own].reshape(own.size, -1), np.ones(own.size))
        for i, own in enumerate(model.chunks_)
    ]


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("partition", ["random", "balanced", "kmeans", "time"])
def test_gaussian_processes_are_combined_by_eqs_4_and_5(partition):
    X, y = rows()
    model = committee(partition=partition, query_size=12).fit(X, y)  # no room for padding
    mean, covariance = reference.bcm_moments(OURS, NOISE, chunks_of(model, X, y), Q)
    found, cov = model.predict(Q, return_cov=True, level="function")
    assert_allclose(found, mean[:, 0], rtol=1e-8, atol=1e-9)
    assert_allclose(cov, covariance, rtol=1e-7, atol=1e-9)
    single, std = model.predict(Q, return_std=True, level="function")
    assert_allclose(single, found, rtol=1e-9)
    assert_allclose(std**2, covariance.diagonal(), rtol=1e-7)


def test_a_few_queries_are_asked_together_with_anchors():
    X, y = rows()
    model = committee(query_size=30).fit(X, y)
    assert model.anchors_.shape[0] <= 30
    every = np.concatenate([Q, model._members_predictor()._padding(Q)])
    assert every.shape[0] == 30
    padded = np.unique(np.round(every, 12), axis=0)  # a centre may be a query but for rounding
    mean, covariance = reference.bcm_moments(OURS, NOISE, chunks_of(model, X, y), padded)
    at = [np.flatnonzero(np.isclose(padded, q, atol=1e-11).all(axis=1))[0] for q in Q]
    found, cov = model.predict(Q, return_cov=True, level="function")
    assert_allclose(found, mean[at, 0], rtol=1e-7, atol=1e-8)
    assert_allclose(cov, covariance[np.ix_(at, at)], rtol=1e-6, atol=1e-8)


def test_more_query_points_bring_the_committee_to_the_exact_process():
    """Tresp (2000), sec. 5: smooth functions have few degrees of freedom."""
    X, y = rows(120)
    kernel = RBF(1.5)
    exact = gp(kernel).fit(X, y).predict(Q)
    error = []
    for size in (1, 20, 60):
        found = committee(gp(kernel), gp(kernel), gp(kernel), query_size=size).fit(X, y).predict(Q)
        error.append(np.abs(found - exact).max())
    assert error[0] > 4 * error[1] and error[1] > 100 * error[2]
    assert error[2] < 1e-3


@pytest.mark.parametrize(
    "alone",
    [gp(), gp(normalize_y=True), BayesianRidge(), ARDRegression(), Plane(), TanhNetwork()],
    ids=lambda e: type(e).__name__,
)
def test_one_member_is_left_as_it_is(alone):
    X, y = rows()
    model = committee(alone).fit(X, y)
    (told,) = member(clone(alone).fit(X, y), Q, len(y))
    mean, cov = model.predict(Q, return_cov=True, level="function")
    assert_allclose(mean, told.posterior.mean, rtol=1e-6, atol=1e-7)
    assert_allclose(cov, told.posterior.covariance, rtol=1e-5, atol=1e-8)
    assert_allclose(model.predict(Q), clone(alone).fit(X, y).predict(Q), rtol=1e-6, atol=1e-7)


def test_linear_models_on_parts_are_the_linear_model_on_the_whole():
    """Tresp (2000), sec. 4.1, by weights and by functions, with 200 queries for two weights."""
    X, y = rows()
    whole = Plane().fit(X, y)
    for kind in (Plane, PlaneOfFunctions):
        model = committee(kind(), kind(), kind(), kind()).fit(X, y)
        mean, cov = model.predict(Q, return_cov=True, level="function")
        assert_allclose(mean, whole.predict(Q), rtol=1e-7, atol=1e-8)
        assert_allclose(cov, Q @ whole.weight_covariance_ @ Q.T, rtol=1e-6, atol=1e-9)
        assert model.noise_ == 0.25


def test_weights_of_rows_reach_the_members():
    X, y = rows()
    w = np.random.default_rng(0).integers(0, 4, size=45).astype(float)
    model = committee(Plane(), Plane(), Plane()).fit(X, y, sample_weight=w)
    whole = Plane().fit(X, y, sample_weight=w)
    assert_allclose(model.predict(Q), whole.predict(Q), rtol=1e-7, atol=1e-8)
    assert_array_equal(np.sort(np.concatenate(model.chunks_)), np.flatnonzero(w))


@pytest.mark.parametrize("rule", ["bcm", "independent"])
@pytest.mark.parametrize("p", [None, 3])
def test_members_of_several_kinds_and_outputs(p, rule):
    """Each has a prior mean, scale and noise of its own, for each output."""
    X, y = rows(p=p)
    model = committee(
        gp(normalize_y=True),
        gp(0.8 * RBF(0.9) + WhiteKernel(0.05), normalize_y=True),
        CommitteeRegressor(OURS, noise=NOISE, learn=False),
        combination=rule,
        query_size=12,
        partition=np.repeat([0, 1, 2], [9, 16, 20]),
    ).fit(X, y)
    told = [member(e, Q) for e in model.estimators_]
    mean, cov = model.predict(Q, return_cov=True, level="function")
    for j in range(p or 1):
        posteriors = [(t[j].posterior.mean, t[j].posterior.covariance) for t in told]
        priors = [(t[j].prior.mean, t[j].prior.covariance) for t in told]
        if rule == "bcm":
            expected = slow_product(posteriors, priors)
        else:
            inverses = [np.linalg.inv(S) for _, S in posteriors]
            total = np.linalg.inv(sum(inverses))
            expected = total @ sum(A @ m for A, (m, _) in zip(inverses, posteriors)), total
        assert_allclose(mean if p is None else mean[:, j], expected[0], rtol=1e-6, atol=1e-6)
        own = cov if p is None else cov[:, :, j]
        assert_allclose(own, expected[1], rtol=1e-5, atol=1e-7 * own.max())
    sizes = [own.size for own in model.chunks_]
    noise = np.average([[m.noise for m in t] for t in told], axis=0, weights=sizes)
    assert_allclose(model.noise_, noise if p else noise[0], rtol=1e-12)


@pytest.mark.parametrize("rule", ["poe", "gpoe", "rbcm", "barycenter"])
def test_pointwise_rules_ask_query_by_query(rule):
    X, y = rows()
    model = committee(gp(normalize_y=True), gp(), combination=rule, query_size=5).fit(X, y)
    told = [member(e, Q)[0] for e in model.estimators_]
    centre = np.mean([t.prior.mean for t in told], axis=0)
    prior = np.mean([t.prior.covariance.diagonal() for t in told], axis=0)
    means = np.array([t.posterior.mean - centre for t in told])
    variances = np.array([t.posterior.covariance.diagonal() for t in told])
    expected = pointwise.combine(rule, means, variances, prior)
    if rule in ("rbcm", "barycenter"):  # what a member learnt is measured by its own prior
        own = np.array([t.prior.covariance.diagonal() for t in told])
        start = np.array([t.prior.mean - centre for t in told])
        beta = 0.5 * np.log(own / variances)
        if rule == "rbcm":
            precision = 1.0 / prior + (beta * (1.0 / variances - 1.0 / own)).sum(axis=0)
            shift = (beta * (means / variances - start / own)).sum(axis=0)
            expected = shift / precision, 1.0 / precision
        else:
            beta = beta / beta.sum(axis=0)
            deviation = (beta * np.sqrt(variances)).sum(axis=0)
            expected = (beta * means).sum(axis=0), deviation**2
    mean, std = model.predict(Q, return_std=True, level="function")
    assert_allclose(mean, centre + expected[0], rtol=1e-9)
    assert_allclose(std**2, expected[1], rtol=1e-8)
    assert_allclose(model.predict(Q[4:5]), mean[4:5], rtol=1e-10)
    for ask in (lambda: model.predict(Q, return_cov=True), lambda: model.sample_y(Q)):
        with pytest.raises(ValueError, match="no covariance.*combination='bcm'"):
            ask()


@pytest.mark.parametrize("p", [None, 2])
def test_observations_are_noisier_than_functions(p):
    X, y = rows(p=p)
    model = committee(gp(normalize_y=True), gp()).fit(X, y)
    _, std = model.predict(Q, return_std=True)
    _, smooth = model.predict(Q, return_std=True, level="function")
    assert_allclose(std**2, smooth**2 + model.noise_, rtol=1e-10)
    mean, cov = model.predict(Q, return_cov=True)
    diagonal = np.moveaxis(np.diagonal(cov), -1, 0) if p else np.diagonal(cov)
    assert_allclose(diagonal, std**2, rtol=1e-6)
    lower, upper = model.predict_interval(Q, coverage=0.5)
    assert_allclose(upper - lower, 2 * 0.6744897501960817 * std, rtol=1e-10)
    assert_allclose(0.5 * (upper + lower), mean, rtol=1e-6)


@pytest.mark.parametrize("p", [None, 2])
def test_samples_have_the_moments_of_the_prediction(p):
    X, y = rows(p=p)
    model = committee(gp(normalize_y=True), gp()).fit(X, y)
    few = np.concatenate([Q[:3], Q[:1]])
    draws = model.sample_y(few, 40_000, random_state=1, level="function")
    mean, cov = model.predict(few, return_cov=True, level="function")
    assert draws.shape == ((4, 40_000) if p is None else (4, 2, 40_000))
    for j in range(p or 1):
        own, m, C = (draws, mean, cov) if p is None else (draws[:, j], mean[:, j], cov[:, :, j])
        assert_allclose(own.mean(axis=1), m, atol=0.03 * np.sqrt(C.max()))
        assert_allclose(np.cov(own), C, atol=0.04 * C.max())
        assert_allclose(own[0], own[3], atol=1e-3 * np.sqrt(C.max()))
    again = model.sample_y(few, 40_000, random_state=1, level="function")
    assert_array_equal(again, draws)


def test_a_committee_may_be_a_member():
    X, y = rows()
    inner = committee(gp(), gp())
    model = committee(inner, gp(), partition=np.arange(45) % 3 == 0, query_size=12).fit(X, y)
    inner_ = model.estimators_[0]
    (told,) = member(inner_, Q)
    mean, cov = inner_.predict(Q, return_cov=True, level="function")
    assert_allclose(told.posterior.mean, mean, rtol=1e-10)
    assert_allclose(told.posterior.covariance, cov, rtol=1e-10)
    assert_allclose(told.prior.covariance, OURS.value(Q), rtol=1e-10)
    assert_allclose(told.noise, NOISE)


# --- queries that are odd -------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_far_away_the_prior_comes_back(rule):
    X, y = rows()
    model = committee(combination=rule).fit(X, y)
    mean, std = model.predict([[900.0, -700.0]], return_std=True, level="function")
    assert_allclose(mean, 0.0, atol=1e-8)
    share = {"poe": 1 / 3, "independent": 1 / 3}.get(rule, 1.0)  # no prior to count once
    assert_allclose(std, np.sqrt(1.7 * share), rtol=1e-6)


def test_far_away_a_level_comes_back():
    X, y = rows()
    model = committee(gp(normalize_y=True), gp(normalize_y=True)).fit(X, y)
    levels, scales = zip(*[(y[own].mean(), y[own].std()) for own in model.chunks_])
    mean, std = model.predict([[900.0, -700.0]], return_std=True, level="function")
    assert_allclose(mean, np.mean(levels), rtol=1e-8)
    assert_allclose(std, np.sqrt(1.7 * np.mean(np.square(scales))), rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_queries_may_repeat_and_come_in_any_order(rule):
    X, y = rows()
    model = committee(combination=rule, query_size=5).fit(X, y)
    order = np.random.default_rng(0).permutation(np.r_[0:12, 3, 3, 7])
    whole, std = model.predict(Q, return_std=True)
    mean, again = model.predict(Q[order], return_std=True)
    assert_array_equal(mean, whole[order])
    assert_array_equal(again, std[order])
    if rule in ("bcm", "independent"):
        _, cov = model.predict(Q[order], return_cov=True, level="function")
        assert_allclose(
            cov, model.predict(Q, return_cov=True, level="function")[1][order][:, order]
        )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("asked", [Q[:1], np.tile(Q[:1], (4, 1)), rows()[0], np.zeros((3, 2))])
@pytest.mark.diagonal
def test_answers_are_finite_and_never_certain_below_zero(rule, asked):
    X, y = rows()
    members = (gp(RBF(3.0), alpha=1e-10), gp(), BayesianRidge(), ARDRegression(), TanhNetwork())
    model = committee(*members, combination=rule).fit(X, y)
    mean, std = model.predict(asked, return_std=True, level="function")
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()
    assert np.abs(mean).max() < 30.0
    if rule in ("bcm", "independent"):
        _, cov = model.predict(asked, return_cov=True)
        assert np.linalg.eigvalsh(cov).min() > 0.0


@pytest.mark.parametrize("partition", ["random", "balanced", "kmeans", "time"])
def test_members_may_have_one_row_each(partition):
    X, y = rows(4)
    model = committee(gp(), gp(), gp(), gp(), partition=partition).fit(X, y)
    assert sorted(np.concatenate(model.chunks_)) == [0, 1, 2, 3]
    mean, covariance = reference.bcm_moments(OURS, NOISE, chunks_of(model, X, y), X)
    assert_allclose(model.predict(X), mean[:, 0], rtol=1e-8)


def test_equal_rows_go_to_one_member_and_too_few_of_them_are_dealt_singly():
    X, y = rows(6)
    model = committee(gp(), gp()).fit(np.repeat(X, 5, axis=0), np.repeat(y, 5))
    for own in model.chunks_:
        assert own.size == 15 and np.unique(own // 5).size == 3
    alike = committee(gp(), gp(), gp()).fit(np.ones((7, 2)), np.ones(7))
    assert [own.size for own in alike.chunks_] and min(own.size for own in alike.chunks_) >= 1
    assert np.isfinite(alike.predict(np.ones((1, 2)))).all()


@pytest.mark.parametrize("rule", ["random", "balanced", "kmeans", "time"])
@pytest.mark.parametrize("n, M", [(5, 4), (30, 30), (50, 15), (50, 3), (9, 1)])
@pytest.mark.diagonal
def test_rows_are_dealt_to_exactly_as_many_as_there_are(rule, n, M):
    X = queries(n)
    X[: n // 2] *= 0.01  # clusters of very unequal size
    groups = deal(X, M, rule, np.random.default_rng(0))
    assert len(groups) == M and min(group.size for group in groups) >= 1
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(n))
    if rule != "kmeans":
        assert max(g.size for g in groups) - min(g.size for g in groups) <= 1


def test_labels_deal_rows_in_their_sorted_order():
    X, y = rows(30)
    labels = np.array(["north", "east", "south"])[np.arange(30) % 3]
    model = committee(partition=labels).fit(X, y)
    for own, label in zip(model.chunks_, ["east", "north", "south"]):
        assert_array_equal(own, np.flatnonzero(labels == label))


def test_members_may_select_columns_by_name():
    X, y = rows(60, d=2)
    frame = pd.DataFrame(X, columns=["u", "v"])
    chosen = make_column_transformer((StandardScaler(), ["v"]), remainder="passthrough")
    plain = make_column_transformer((StandardScaler(), [1]), remainder="passthrough")
    named, numbered = (
        CommitteeOf([(k, make_pipeline(each, gp())) for k in "ab"], random_state=0)
        for each in (chosen, plain)
    )
    by_name = named.fit(frame, y).predict(frame[:5], return_std=True)
    by_number = numbered.fit(X, y).predict(X[:5], return_std=True)
    assert_allclose(by_name, by_number, rtol=1e-12)


def test_a_wrong_member_is_named_before_anything_is_trained():
    class Watched(GaussianProcessRegressor):
        def fit(self, X, y):
            raise AssertionError("trained before all members were looked at")

    X, y = rows(30)
    wrong = make_pipeline(StandardScaler(), RandomForestRegressor())
    for bad in (RandomForestRegressor(), wrong):
        with pytest.raises(ValueError, match="member 'rf': RandomForestRegressor gives no joint"):
            CommitteeOf([("a", Watched()), ("rf", bad)]).fit(X, y)


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = rows(60)
    w = 1.0 + np.arange(60) % 3
    members = [(k, make_pipeline(StandardScaler(), BayesianRidge())) for k in "ab"]
    found = CommitteeOf(members, partition=np.arange(60) % 2).fit(X, y, sample_weight=w)
    own = np.arange(60) % 2 == 0
    alone = BayesianRidge().fit(StandardScaler().fit_transform(X[own]), y[own], w[own])
    assert_allclose(found.estimators_[0][-1].coef_, alone.coef_)


def plane(X):
    return X @ [1.0, -0.5, 0.2] + 2.0


@pytest.mark.diagonal
@pytest.mark.parametrize("kind, combination", [
    (BayesianRidge, "bcm"), (BayesianRidge, "independent"), (ARDRegression, "bcm"),
])  # fmt: skip
def test_linear_members_are_uncertain_of_their_level(kind, combination):
    """Each knows its own level only; certain of it they would contradict each other."""
    z = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        y = plane(X) + rng.normal(size=200)
        model = CommitteeOf([(k, kind()) for k in "abcd"], combination=combination, random_state=0)
        Xs = rng.normal(size=(4, 3))
        mean, std = model.fit(X, y).predict(Xs, return_std=True, level="function")
        z.append((mean - plane(Xs)) / std)
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5


@pytest.mark.parametrize("combination", ["rbcm", "barycenter", "gpoe"])
def test_where_nobody_knows_anything_no_narrow_prior_makes_it_known(combination):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-3, 3, (40, 1)), rng.uniform(50, 56, (40, 1))])
    y = 2.0 * np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    wide, narrow = gp(RBF(1.0), 0.01), gp(ConstantKernel(0.01) * RBF(1.0), 0.01)
    model = CommitteeOf(
        [("a", wide), ("b", narrow)], combination=combination, partition=np.repeat([0, 1], 40)
    ).fit(X, y)
    std = model.predict([[100.0]], return_std=True, level="function")[1]
    prior = np.sqrt(model.prior(np.array([[100.0]]))[1][0, 0])
    expected = {"rbcm": prior, "barycenter": 0.5 * (1.0 + 0.1), "gpoe": np.sqrt(2 / 101)}
    assert_allclose(std, expected[combination], rtol=1e-6)
