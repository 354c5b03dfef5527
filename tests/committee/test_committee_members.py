"""Members beside CommitteeRegressor: trees, and regressors of the user."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import collegium
from collegium import AnswerTime, CommitteeRegressor
from collegium.members.members import BesidePredictor
from collegium.members.tuning import TUNING


def steps(n, seed=0, d=4):
    """A function of steps and interactions, which trees know better than a Gaussian process."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, d))
    f = np.sign(X[:, 0]) * (X[:, 1] > 0.3) + 2.0 * (X[:, 2] > 0.0) * (X[:, 3] < 0.5)
    return X, f + 0.3 * rng.normal(size=n)


def smooth(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, np.sin(3.0 * X).sum(axis=1) + 0.1 * rng.normal(size=n)


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


@pytest.fixture(scope="module")
def fitted():
    X, y = steps(2600)
    return CommitteeRegressor(random_state=0, members="trees").fit(X, y)


@pytest.fixture(scope="module")
def exact():
    X, y = steps(900)
    return CommitteeRegressor(random_state=0).fit(X, y)


def test_trees_are_taken_where_they_help(fitted):
    X, y = steps(1500, seed=5)
    without = CommitteeRegressor(random_state=0, members=None).fit(*steps(2600))
    assert without.model_.members is None
    assert rmse(fitted, X, y) < 0.97 * rmse(without, X, y)
    assert fitted.log_density(X, y).mean() > without.log_density(X, y).mean() + 0.02


def test_trees_are_taken_by_default_in_an_exact_gp(exact):
    X, y = steps(1500, seed=5)
    without = clone(exact).set_params(members=None).fit(*steps(900))
    assert exact.model_.alone and exact.model_.members is not None
    assert rmse(exact, X, y) < rmse(without, X, y)
    lower, upper = exact.predict_interval(X)
    assert 0.92 < np.mean((y >= lower) & (y <= upper)) < 0.98


@pytest.mark.parametrize("n", [800, 2300])
def test_trees_are_not_taken_where_the_function_is_smooth(n):
    X, y = smooth(n)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    without = CommitteeRegressor(random_state=0, members=None).fit(X, y)
    assert model.model_.members is None
    Q = smooth(50, seed=1)[0]
    assert_array_equal(model.predict(Q), without.predict(Q))


def test_means_are_those_of_the_formula(fitted):
    """m = m_c + ω(t − m_c), from the parts."""
    Q = steps(40, seed=7)[0]
    own = fitted.model_
    (member,) = own.members.outputs
    found = own.summed_predictor().predict(Q, fitted._engine())
    t = np.mean([part(Q) for part in member.parts], axis=0)
    u = 0.5 * np.log(found.variance + own.sum.noise)
    w = member.weight
    fade = np.clip(1.0 - (u - w.high) / TUNING.weighing.fades, 0.0, 1.0)
    u = (np.clip(u, w.low, w.high) - w.centre) / w.spread
    omega = fade / (1.0 + np.exp(-w.a - w.b * u))
    mean = found.mean[:, 0] + omega * (t - found.mean[:, 0])
    scaling = own.scaling
    assert_allclose(fitted.predict(Q), scaling.centre[0] + scaling.scale[0] * mean, rtol=1e-10)


def test_variances_of_the_function_stay_the_committees(fitted):
    Q = steps(30, seed=8)[0]
    alone = clone(fitted)
    alone.__setstate__(fitted.__getstate__())
    alone.model_ = replace(fitted.model_, members=None, errors=None)
    for ask in ({"return_std": True}, {"return_cov": True}):
        found = fitted.predict(Q, level="function", **ask)[1]
        assert_array_equal(found, alone.predict(Q, level="function", **ask)[1])


def test_a_query_has_the_same_answer_in_any_batch(fitted):
    Q = steps(1400, seed=9)[0]
    whole = fitted.predict(Q, return_std=True)
    parts = [fitted.predict(part, return_std=True) for part in (Q[:1], Q[1:700], Q[700:])]
    for k in range(2):
        assert_array_equal(np.concatenate([part[k] for part in parts]), whole[k])


@pytest.mark.slow
def test_threads_change_nothing(fitted):
    X, y = steps(2600)
    other = CommitteeRegressor(random_state=0, members="trees", n_jobs=2).fit(X, y)
    Q = steps(30, seed=8)[0]
    assert_array_equal(other.predict(Q), fitted.predict(Q))


def test_the_order_of_rows_changes_nothing(exact):
    X, y = steps(900)
    order = np.random.default_rng(0).permutation(900)
    other = clone(exact).fit(X[order], y[order])
    Q = steps(30, seed=8)[0]
    assert_array_equal(other.predict(Q), exact.predict(Q))


@pytest.mark.parametrize("kind", ["fitted", "exact"])
def test_a_file_with_trees_answers_to_the_last_bit(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    Q = steps(30, seed=8)[0]
    model.save(tmp_path / "steps.clg")
    again = collegium.load(tmp_path / "steps.clg")
    for one, two in zip(
        model.predict(Q, return_std=True, interval=0.9),
        again.predict(Q, return_std=True, interval=0.9),
    ):
        assert_array_equal(one, two)


def test_summary_and_importances_count_trees(fitted):
    assert "trees, which count" in fitted.summary()
    shares = fitted.feature_importances_
    assert shares[[2, 3]].min() > 0.1
    assert isinstance(fitted.model_.for_means().predictor(), BesidePredictor)


def test_outputs_have_members_of_their_own():
    X, y = steps(900)
    both = np.column_stack([y, smooth(900)[0][:, 0] * 0.0 + np.sin(2.0 * X[:, 0])])
    both[:, 1] += 0.3 * np.random.default_rng(3).normal(size=900)
    model = CommitteeRegressor(random_state=0).fit(X, both)
    assert model.model_.members is not None
    first, second = model.model_.members.outputs
    assert first is not None and second is None
    assert "(output 0)" in model.summary()


def test_levels_are_split_as_levels():
    import pandas as pd

    rng = np.random.default_rng(0)
    word = rng.integers(0, 30, 1500)
    effect = rng.normal(size=30)
    x, z = rng.uniform(size=(2, 1500))
    y = np.abs(effect)[word] * np.sign(x - 0.5) * np.sign(z - 0.4) + 0.1 * rng.normal(size=1500)
    table = pd.DataFrame({"word": [f"w{k}" for k in word], "x": x, "z": z})
    model = CommitteeRegressor(random_state=0, members="trees").fit(table, y)
    assert model.model_.members is not None
    (member,) = model.model_.members.outputs
    assert all(len(part.columns.levels) == 1 for part in member.parts)
    new = pd.DataFrame({"word": ["never", None], "x": [0.9, 0.2], "z": [0.1, 0.3]})
    with pytest.warns(UserWarning, match="missing"):
        assert np.isfinite(model.predict(new, return_std=True)).all()


# -- regressors of the user ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [900, pytest.param(2300, marks=pytest.mark.slow)])
def test_a_regressor_of_the_user_is_cross_fitted(n):
    X, y = steps(n)
    own = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0)
    model = CommitteeRegressor(random_state=0, members=own).fit(X, y)
    assert model.model_.members is not None and not hasattr(own, "tree_")
    Q, t = steps(800, seed=3)
    without = CommitteeRegressor(random_state=0, members=None).fit(X, y)
    assert rmse(model, Q, t) < rmse(without, Q, t)
    assert "DecisionTreeRegressor, which count" in model.summary()


def test_a_fitted_regressor_answers_in_the_units_of_y():
    X, y = steps(2300)
    far = steps(3000, seed=11)
    own = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(far[0], 7.0 + 5.0 * far[1])
    model = CommitteeRegressor(random_state=0, members=own).fit(X, 7.0 + 5.0 * y)
    (member,) = model.model_.members.outputs
    scaling = model.model_.scaling
    Q = steps(20, seed=4)[0]
    assert_allclose(scaling.centre + scaling.scale * member(Q), own.predict(Q), rtol=1e-12)


@pytest.mark.slow
def test_a_regressor_that_memorises_is_not_believed():
    """One neighbour is right at its own row and poor elsewhere: copies of rows tell nothing."""
    X, y = smooth(1200)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2) + 1e-3 * np.random.default_rng(0).normal(size=2400)
    model = CommitteeRegressor(random_state=0, members=KNeighborsRegressor(1)).fit(X, y)
    assert model.model_.members is None


@pytest.mark.slow
def test_a_line_beside_a_smooth_function_changes_nothing():
    X, y = smooth(2300)
    model = CommitteeRegressor(random_state=0, members=LinearRegression()).fit(X, y)
    assert model.model_.members is None


# -- arguments -----------------------------------------------------------------------------------


def test_few_distinct_rows_have_no_members():
    rng = np.random.default_rng(0)
    for values in ([1.0], [0.0, 2.0], [0.0, 1.0]):
        X = rng.choice(values, (700, 1))
        model = CommitteeRegressor(random_state=0, members="trees").fit(X, rng.normal(size=700))
        assert np.isfinite(model.predict(X[:3], return_std=True)).all()


def test_weights_that_a_regressor_does_not_take_are_refused_at_once():
    X, y = steps(60)
    with pytest.raises(ValueError, match="members=KNeighborsRegressor.*sample_weight"):
        CommitteeRegressor(members=KNeighborsRegressor()).fit(X, y, np.arange(1.0, 61.0))


def test_a_limit_that_leaves_time_for_one_forest_takes_none(monkeypatch):
    """One forest has seen all rows but those held out: nothing could be learnt from others."""
    from collegium.pipeline.checks import beside

    monkeypatch.setattr(beside, "has_time", lambda job, rows, forests: forests == 1)
    model = CommitteeRegressor(random_state=0, members="trees").fit(*steps(2600))
    assert model.model_.members is None


def test_workers_that_begin_from_one_blank_model_merge(fitted):
    """Their members are the same, though each has weighed them by its own rows."""
    one, two = fitted.blank(), fitted.blank()
    one.partial_fit(*steps(600, seed=40), chunk_id="a")
    two.partial_fit(*steps(2600, seed=41), chunk_id="b")
    both = one.merge(two)
    assert sorted((both or one).chunk_ids_) == ["a", "b"]


@pytest.mark.parametrize("bad", ["forest", 3, DecisionTreeRegressor, object()])
def test_what_is_no_member_is_refused(bad):
    with pytest.raises(ValueError, match="members"):
        CommitteeRegressor(members=bad).fit(*steps(50))


@pytest.mark.parametrize(
    "others", [{"noise": 0.1}, {"noise": "constant"}, {"inference": "transductive"}]
)
def test_members_need_errors_of_held_out_rows(others):
    with pytest.raises(ValueError, match="members"):
        CommitteeRegressor(members="trees", **others).fit(*steps(50))


def test_auto_stays_out_where_the_model_is_given():
    X, y = steps(900)
    for others in ({"kernel": collegium.kernels.Matern32()}, {"noise": "constant"}):
        model = CommitteeRegressor(random_state=0, **others).fit(X, y)
        assert model.model_.members is None


# -- streams, other ways of answering --------------------------------------------------------------


def test_trees_stay_in_a_stream_and_are_weighed_again(fitted):
    X, y = steps(9000, seed=21)
    model = clone(fitted)
    model.__setstate__(fitted.__getstate__())
    before = model.model_.members.outputs[0]
    model.partial_fit(X, y)
    (after,) = model.model_.members.outputs
    assert after.parts is before.parts
    assert after.weight.a != before.weight.a
    Q, t = steps(1500, seed=22)
    lower, upper = model.predict_interval(Q)
    assert 0.93 < np.mean((t >= lower) & (t <= upper)) < 0.975  # weighed by parts that know less
    assert model.relearn().model_.members.outputs[0].parts is not before.parts


def test_forgetting_and_merging_keep_trees(fitted):
    model = clone(fitted)
    model.__setstate__(fitted.__getstate__())
    more = steps(200, seed=30)
    model.partial_fit(*more, chunk_id="late")
    trees = model.model_.members.outputs[0].parts
    Q = steps(20, seed=8)[0]
    model.forget("late")
    assert model.model_.members.outputs[0].parts is trees
    assert_array_equal(model.predict(Q), fitted.predict(Q))
    other = clone(fitted).set_params(members=None).fit(*steps(2600))
    with pytest.raises(ValueError, match="members"):
        model.merge(other)


def test_quick_answers_have_trees_too(fitted):
    X, y = steps(1500, seed=5)
    quick = clone(fitted)
    quick.__setstate__(fitted.__getstate__())
    quick.set_params(n_local=AnswerTime(1.0))
    assert rmse(quick, X, y) < 1.03 * rmse(fitted, X, y)
    lower, upper = quick.predict_interval(X)
    assert 0.92 < np.mean((y >= lower) & (y <= upper)) < 0.98


@pytest.mark.slow
def test_rows_on_disk_have_trees(tmp_path):
    X, y = steps(6000)
    model = CommitteeRegressor(random_state=0, members="trees", store=tmp_path / "rows")
    model.fit(X, y)
    assert model.model_.members is not None
    Q, t = steps(800, seed=3)
    without = CommitteeRegressor(random_state=0, members=None).fit(X, y)
    assert rmse(model, Q, t) < rmse(without, Q, t)


def test_groups_that_a_forest_has_seen_do_not_vouch_for_it():
    """Where each group has an offset that trees can find by a column, new groups gain nothing."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), 20)
    X = np.column_stack([rng.normal(size=60)[group], rng.uniform(size=1200)])
    y = 0.5 * X[:, 1] + rng.normal(size=60)[group] + 0.2 * rng.normal(size=1200)
    model = CommitteeRegressor(random_state=0, members="trees").fit(X, y, groups=group)
    new = rng.normal(size=300)
    Q = np.column_stack([rng.normal(size=300), rng.uniform(size=300)])
    t = 0.5 * Q[:, 1] + new + 0.2 * rng.normal(size=300)
    lower, upper = model.predict_interval(Q)
    assert 0.88 < np.mean((t >= lower) & (t <= upper))
