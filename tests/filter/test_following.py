"""Basis and density that follow a stream, and sums that are carried over."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import RegressionFilter, kernels
from collegium.filter import UniformBox
from collegium.filter import stream as streams
from collegium.filter.arguments import Making
from collegium.filter.densities import Empirical
from collegium.filter.following import (
    Inputs,
    MadeFrom,
    carried_sums,
    out_of_sight,
    remade,
)
from collegium.filter.model import FilterModel, LinearPart, Posterior
from collegium.filter.regressor import OutsideWarning
from collegium.filter.sums import Sums
from collegium.filter.tuning import TUNING
from collegium.rows.rows import Rows
from estimator_cases import rmse

KERNEL, NOISE = kernels.RBF(1.3, [0.7, 0.9]), 0.03
GIVEN = {"kernel": kernels.RBF(9.0, 2.0), "noise": 0.01, "learn": False, "random_state": 0}
MAKING = Making("bumps", "empirical", 40)


def wandering(n, seed=0):
    """Inputs that wander to the right."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 10, n) + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def fed(model, X, y, size=500):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return model


def some(n=400, low=-2, high=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(low, high, (n, 2))
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], np.cos(X[:, 0])])
    return Rows(X, y + 0.1 * rng.normal(size=y.shape), np.ones(n))


def filtered(rows, linear=True, making=MAKING):
    """A filter, and its sums over rows."""
    rng = np.random.default_rng(3)
    X = rows.X
    density = making.density_of(X, rng)
    basis = making.basis_of(KERNEL, X, density, rng)
    line = LinearPart(X.mean(axis=0), X.std(axis=0)) if linear else None
    model = FilterModel.of(KERNEL, NOISE, basis, density, line, 1e-9, misfit=True)
    return model, model.add(Sums.start(model.k, rows.y.shape[1]), *rows.fields())


# -- carrying the sums over -----------------------------------------------------------------------


@pytest.mark.parametrize("linear", [True, False])
def test_the_same_basis_and_prior_change_nothing(linear):
    """The mean, by any sample of the rows; the variance too, by all of them."""
    rows = some()
    model, sums = filtered(rows, linear)
    before = Posterior.of(model, sums).of_function(model, rows.X)
    for sample in (rows, rows.take(np.arange(0, 400, 3))):
        moved = carried_sums(model, sums, model, sample)
        assert moved.weight == sums.weight and moved.count == sums.count
        after = Posterior.of(model, moved).of_function(model, rows.X)
        assert_allclose(after.mean, before.mean, atol=1e-8)
    whole = Posterior.of(model, carried_sums(model, sums, model, rows))
    assert_allclose(whole.of_function(model, rows.X).variance, before.variance, rtol=1e-7)
    third = Posterior.of(model, carried_sums(model, sums, model, sample)).of_function(model, rows.X)
    assert 0.5 < np.median(third.variance / before.variance) < 2.0


def test_a_basis_that_contains_the_old_one_keeps_what_rows_said():
    """All rows in the sample: the new sums are those over the rows themselves."""
    rows = some()
    model, sums = filtered(rows)
    wider = remade(
        model, Making("bumps", "empirical", 60), KERNEL, NOISE,
        Inputs(rows.X, np.empty((0, 2)), 1 / 3), np.random.default_rng(0),
    )  # fmt: skip
    assert wider.basis.m == 60
    moved = Posterior.of(wider, carried_sums(model, sums, wider, rows))
    direct = Posterior.of(wider, wider.add(Sums.start(wider.k, 2), *rows.fields()))
    for name in ("of_model", "of_function"):
        found, expected = (getattr(one, name)(wider, rows.X) for one in (moved, direct))
        assert_allclose(found.mean, expected.mean, atol=1e-8)
        assert_allclose(found.variance, expected.variance, rtol=1e-6)
    assert_allclose(moved.log_evidence, direct.log_evidence, rtol=1e-6)


@pytest.mark.parametrize("times", [1, 2, 4])
def test_rows_of_the_sample_stand_for_as_many_as_there_were(times):
    """Both their information and their scatter count: here each row came `times` times."""
    rows = some()
    model, sums = filtered(replace(rows, w=np.full(400, float(times))))
    moved = carried_sums(model, sums, model, rows)
    for one in (slice(0, model.k), slice(model.k, None)):
        size, expected = ((s.triangle[one, model.k :] ** 2).sum(axis=0) for s in (moved, sums))
        assert_allclose(size, expected, rtol=0.05 if times > 1 else 1e-6)


def test_another_basis_says_nearly_the_same():
    rows = some(3_000)
    model, sums = filtered(rows)
    other, direct = filtered(
        rows.take(np.arange(1, 3_000, 2)), making=Making("bumps", "empirical", 60)
    )
    moved = carried_sums(model, sums, other, rows.take(np.arange(0, 3_000, 3)))
    direct = other.add(Sums.start(other.k, 2), *rows.fields())
    found, expected = (Posterior.of(other, s).of_function(other, rows.X) for s in (moved, direct))
    assert rmse(found.mean, expected.mean) < 0.02
    assert 0.5 < np.median(found.variance / expected.variance) < 2.0


def test_nothing_is_carried_by_no_rows():
    rows = some(60)
    model, sums = filtered(rows)
    moved = carried_sums(model, sums, model, rows.take(slice(0)))
    assert moved.weight == 0.0 and not moved.triangle.any()


# -- when a basis is remade ---------------------------------------------------------------------


def test_rows_out_of_sight_are_distinguished():
    model, _ = filtered(some())
    assert out_of_sight(model, some(300, seed=1).X) < 0.2
    assert out_of_sight(model, some(300, low=2.5, high=5, seed=1).X) > 0.8


def test_a_sample_with_another_mean_or_scale_is_another_one():
    made = MadeFrom.of(some().X, 400)
    assert not made.differs(some(1_000, seed=5).X, 5_000)
    moved, wider = some(1_000, seed=5).X + [0.5, 0.0], some(1_000, seed=5).X * [1.0, 1.5]
    for X in (moved, wider):
        assert made.differs(X, 500) and not made.differs(X, 499)
    few = MadeFrom.of(some(9).X, 9)
    assert not few.differs(moved, 5_000)  # by chance


def test_bumps_that_stay_are_the_old_ones():
    rows = some()
    model, _ = filtered(rows)
    further = some(100, low=2, high=3, seed=2).X
    inputs = Inputs(rows.X, further, 0.25)
    found = remade(model, MAKING, KERNEL, NOISE, inputs, np.random.default_rng(0)).basis
    old, new = (
        (found.centres[:, None] == X[None]).all(axis=2).any(axis=1)
        for X in (model.basis.centres, inputs.further)
    )
    assert found.m == 40 and old[:30].all() and new[30:].all()
    assert len(np.unique(found.centres[:30], axis=0)) == 30
    assert isinstance(model.density, Empirical)


def test_bumps_that_follow_do_not_depend_on_the_order_of_columns():
    X, y = wandering(900)
    given = {**GIVEN, "n_basis": 30}
    one = fed(RegressionFilter(**given), X, y, 300)
    other = fed(RegressionFilter(**given), X[:, ::-1], y, 300)
    assert one.n_reprojected_ > 0
    assert_allclose(other.model_.model.basis.centres[:, ::-1], one.model_.model.basis.centres)


# -- streams ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_stream_that_wanders_is_followed():
    X, y = wandering(6_000)
    model = fed(RegressionFilter(random_state=0), X, y)
    mean, std = model.predict(X[-1_000:], return_std=True)
    assert rmse(mean, y[-1_000:]) <= 0.15
    assert 0.90 <= np.mean(np.abs(y[-1_000:] - mean) <= 1.96 * std) <= 0.99
    assert model.n_outside_ == 0 and model.n_basis_ == 200


def test_a_shorter_one_is_followed_without_a_warning():
    X, y = wandering(1_500)
    model = RegressionFilter(n_basis=80, start_rows=200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutsideWarning)
        fed(model, X, y, 300)
    mean, std = model.predict(X[-300:], return_std=True)
    assert rmse(mean, y[-300:]) <= 0.15
    assert 0.90 <= np.mean(np.abs(y[-300:] - mean) <= 1.96 * std) <= 1.0
    assert rmse(model.predict(X[:300]), y[:300]) <= 0.15  # the past is not forgotten
    assert model.n_reprojected_ > 0 and model.n_outside_ == 0 and model.n_seen_ == 1_500


@pytest.mark.parametrize("basis", ["splines", "bumps", "harmonics", "fourier"])
def test_every_basis_follows_in_one_column(basis, monkeypatch):
    monkeypatch.setattr(streams, "TUNING", replace(TUNING, sample=300))
    X = wandering(2_000)[0][:, :1]
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=2_000)
    model = fed(RegressionFilter(basis=basis, n_basis=60, start_rows=200, **GIVEN), X, y, 300)
    assert rmse(model.predict(X[-400:]), np.sin(X[-400:, 0])) < 0.1
    assert rmse(model.predict(X[:400]), np.sin(X[:400, 0])) < 0.1
    assert model.n_reprojected_ > 0 and model.n_outside_ <= TUNING.most_held


def test_a_basis_is_kept_where_nothing_moves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3_000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=3_000)
    model = fed(RegressionFilter(n_basis=60, random_state=0), X, y)
    assert model.n_reprojected_ == 0


def test_while_the_sample_holds_all_rows_the_sums_are_exact():
    """After a new basis the sums are those over all rows."""
    X, y = wandering(900)
    model = fed(RegressionFilter(n_basis=50, start_rows=300, **GIVEN), X, y, 300)
    stream = model.model_
    assert model.n_reprojected_ > 0 and stream.following.held.w.size == 0
    scaled = stream.scaling.forward(y[:, None])
    sums = stream.model.add(Sums.start(stream.model.k, 1), X, scaled, np.ones(900))
    gram, expected = (T.T @ T for T in (stream.state.sums.triangle, sums.triangle))
    assert_allclose(gram, expected, atol=1e-8 * np.abs(expected).max())


def test_few_rows_outside_wait_and_glitches_stay_outside():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 1))
    model = fed(RegressionFilter(n_basis=50, random_state=0), X, np.sin(2 * X[:, 0]))
    out = np.linspace(1.3, 1.9, 20)[:, None]
    more = rng.uniform(-1, 1, (400, 1))
    some_out = np.concatenate([more, out[:10]])
    model.partial_fit(some_out, np.sin(2 * some_out[:, 0]))
    assert model.n_outside_ == 10 and model.n_reprojected_ == 0
    model.partial_fit(out, np.sin(2 * out[:, 0]))
    assert model.n_outside_ == 0 and model.n_reprojected_ == 1
    assert rmse(model.predict(out), np.sin(2 * out[:, 0])) < 0.1
    model.partial_fit([[1e9]], [0.0])
    assert model.n_outside_ == 1 and model.n_seen_ == 1_031
    assert rmse(model.predict(out), np.sin(2 * out[:, 0])) < 0.1


def test_what_is_given_stays():
    X, y = wandering(1_200)
    box = UniformBox([-1, -3], [3, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = fed(RegressionFilter(density=box, n_basis=40, start_rows=200, random_state=0), X, y)
    assert given.density_ is box and given.n_reprojected_ == 0 and given.n_outside_ > 500
    assert given.model_.following.sample.rows.w.size == 0
    fixed = fed(RegressionFilter(n_basis=100, start_rows=200, **GIVEN), X, y, 200)
    assert fixed.n_reprojected_ > 0
    assert_allclose(fixed.kernel_.theta, kernels.RBF(9.0, [2.0, 2.0]).theta, rtol=1e-12)
    assert_allclose(fixed.noise_, 0.01)
    assert rmse(fixed.predict(X[-200:]), y[-200:]) < 0.15


def test_forgetting_follows_too(monkeypatch):
    monkeypatch.setattr(streams, "TUNING", replace(TUNING, sample=300))
    X, y = wandering(2_000)
    model = RegressionFilter(n_basis=80, start_rows=200, forgetting=0.998, **GIVEN)
    fed(model, X, y, 400)
    assert model.n_reprojected_ > 0 and rmse(model.predict(X[-400:]), y[-400:]) < 0.15


def test_several_outputs_wander_together(monkeypatch):
    monkeypatch.setattr(streams, "TUNING", replace(TUNING, sample=300))
    X, y = wandering(900)
    Y = np.column_stack([y, 5 + 3 * X[:, 1]])
    model = fed(RegressionFilter(n_basis=60, start_rows=300, **GIVEN), X, Y, 300)
    assert model.n_reprojected_ > 0 and rmse(model.predict(X[-300:]), Y[-300:]) < 0.2
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X[:5]), model.predict(X[:5]))
