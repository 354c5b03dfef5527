"""Transforms of X in CommitteeClassifier: the model of transformed columns, and the choice."""

import pickle

import numpy as np
import pytest
from class_cases import GIVEN, KERNEL, TINY, WAYS, every_way
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeClassifier, Transform
from collegium.engines import Serial
from collegium.laplace.inputs import choose_inputs
from collegium.rows.rows import Rows

RANK = Transform(X="rank")


def skewed_table(n=90, K=2, seed=0):
    """Positive columns with long tails; classes depend on their logarithms."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    f = Z[:, 0] + 0.8 * np.sin(2.0 * Z[:, 1]) + 0.4 * rng.normal(size=n)
    return np.exp(2.0 * Z), np.digitize(f, np.quantile(f, np.arange(1, K) / K))


def asked(way="local", **arguments):
    return CommitteeClassifier(**{**GIVEN, **WAYS[way], "transforms": RANK, **arguments})


def beside(model, way="local", **arguments):
    """A classifier without transforms, and the columns that it is to see."""
    return asked(way, transforms=None, **arguments), model.model_.warping.places


def assert_answers_are_those_of(model, plain, places, Xs, rtol=1e-9):
    assert_allclose(model.predict_proba(Xs), plain.predict_proba(places(Xs)), rtol=rtol)
    mean, sd = model.predict_latent(Xs, return_std=True)
    m, s = plain.predict_latent(places(Xs), return_std=True)
    assert_allclose(mean, m, rtol=rtol, atol=1e-11)
    assert_allclose(sd, s, rtol=rtol)
    assert_allclose(model.log_evidence_, plain.log_evidence_, rtol=rtol)


# --- the model is that of transformed columns -------------------------------------------------


@every_way
def test_answers_are_those_of_transformed_columns(way):
    (X, y), (Xs, _) = skewed_table(K=3), skewed_table(11, seed=1)
    model = asked(way).fit(X, y)
    plain, places = beside(model, way)
    plain.fit(places(X), y)
    assert model.input_transform_ == ("rank", "rank")
    assert plain.input_transform_ is None
    assert_answers_are_those_of(model, plain, places, Xs)
    assert_allclose(places(model.anchors_), plain.anchors_, rtol=1e-9, atol=1e-12)


def test_a_monotone_map_of_a_column_changes_nothing():
    rng = np.random.default_rng(0)
    X, w = np.exp(rng.normal(size=(120, 2))), np.full(120, 20.0)
    X[:, 0] = np.exp(rng.normal(size=35))[np.arange(120) % 35]  # fewer values than knots
    y = np.log(X).sum(axis=1) + 0.3 * rng.normal(size=120) > 0.0
    cubed = X.copy()
    cubed[:, 0] = X[:, 0] ** 3
    one, other = (asked("one chunk").fit(A, y, w) for A in (X, cubed))
    assert_allclose(one.predict_proba(X[:20]), other.predict_proba(cubed[:20]), rtol=1e-10)
    plain = [asked("one chunk", transforms=None).fit(A, y, w) for A in (X, cubed)]
    a, b = plain[0].predict_proba(X[:20]), plain[1].predict_proba(cubed[:20])
    assert np.abs(a - b).max() > 0.01


@pytest.mark.parametrize("way", ["one chunk", "local", "anchors only", "softmax"])
def test_streams_keep_the_transform(way):
    X, y = skewed_table(130, K=3)
    first, classes = 70, [0, 1, 2]
    model = asked(way, chunks=40).fit(X[:first], y[:first])
    plain, places = beside(model, way, chunks=40)
    plain.fit(places(X[:first]), y[:first])
    if way == "one chunk":  # rows wait, and scores are made again of all of them
        model.partial_fit(X[first:], y[first:], classes)
        plain, places = beside(model, way, chunks=40)
        plain.fit(places(X[:first]), y[:first]).partial_fit(places(X[first:]), y[first:], classes)
    else:
        for part in (slice(first, 100), slice(100, None)):
            model.partial_fit(X[part], y[part], classes)
            plain.partial_fit(places(X[part]), y[part], classes)
        assert_allclose(model.stream_.log_density, plain.stream_.log_density, rtol=1e-9)
    assert_answers_are_those_of(model, plain, places, skewed_table(9, seed=2)[0])


def test_rows_are_fitted_again_as_they_came():
    X, y = skewed_table(100, K=3)
    model = asked().fit(X[:70], y[:70]).partial_fit(X[70:], y[70:], [0, 1, 2])
    again, fresh = model.relearn(), asked().fit(X, y)
    Xs = skewed_table(9, seed=2)[0]
    assert_allclose(again.model_.warping.places(Xs), fresh.model_.warping.places(Xs), rtol=1e-9)
    assert_allclose(again.predict_proba(Xs), fresh.predict_proba(Xs), rtol=1e-6)


def test_a_stream_without_rows_relearns_from_transformed_ones():
    X, y = skewed_table(200)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    first = np.r_[0:60, 150:160]
    later = np.r_[100:140, 160:200]
    own = {"chunks": 30, "anchors": 10, "n_local": 0, "random_state": 0}
    model = CommitteeClassifier(transforms=RANK, **own).fit(X[first], y[first])
    places = model.model_.warping.places
    plain = CommitteeClassifier(transforms=None, **own).fit(places(X[first]), y[first])
    before = model.kernel_.theta
    model.partial_fit(X[later], y[later])
    plain.partial_fit(places(X[later]), y[later])
    assert not np.array_equal(model.kernel_.theta, before)
    assert_answers_are_those_of(model, plain, places, skewed_table(9, seed=2)[0], rtol=1e-6)


def test_a_stream_that_waits_and_learns_keeps_its_scores_until_it_learns_again():
    X, y = skewed_table(160)
    model = CommitteeClassifier(random_state=0, transforms=RANK).partial_fit(
        X[:100], y[:100], [0, 1]
    )
    before = model.model_.warping
    model.partial_fit(X[100:110], y[100:110])
    assert model.model_.warping is before
    kept = model.model_.waiting.rows.X  # as they came, but for their order
    assert_array_equal(np.sort(kept, axis=0), np.sort(X[:110], axis=0))
    model.relearn()
    assert model.model_.warping is not before


def test_chunks_are_forgotten_and_merged_in_the_units_of_the_model():
    X, y = skewed_table(120)
    (Xs, _), parts = skewed_table(9, seed=2), (slice(0, 60), slice(60, 90), slice(90, 120))
    model = asked().fit(X[parts[0]], y[parts[0]])
    plain, places = beside(model)
    plain.fit(places(X[parts[0]]), y[parts[0]])
    for name, part in zip("ab", parts[1:]):
        model.partial_fit(X[part], y[part], chunk_id=name)
        plain.partial_fit(places(X[part]), y[part], chunk_id=name)
    for one in (model, plain):
        one.forget(["a"])
    assert_answers_are_those_of(model, plain, places, Xs, rtol=1e-7)
    blanks = [one.blank().partial_fit(seen(X[parts[1]]), y[parts[1]], chunk_id="c")
              for one, seen in ((model, lambda A: A), (plain, places))]  # fmt: skip
    merged, other = model.merge(blanks[0]), plain.merge(blanks[1])
    assert_answers_are_those_of(merged, other, places, Xs, rtol=1e-7)
    stranger = asked().fit(X[30:], y[30:])
    with pytest.raises(ValueError, match="transform of X"):
        model.merge(stranger)


def test_rows_of_a_store_are_transformed_too(tmp_path):
    X, y = skewed_table(150)
    Xs = skewed_table(9, seed=2)[0]
    model = asked(store=tmp_path / "a").fit(X, y)
    plain, places = beside(model, store=tmp_path / "b")
    plain.fit(places(X), y)
    assert model.input_transform_ == ("rank", "rank")
    assert_answers_are_those_of(model, plain, places, Xs)
    more, labels = skewed_table(40, seed=3)
    model.partial_fit(more, labels, chunk_id="more")
    plain.partial_fit(places(more), labels, chunk_id="more")
    assert_answers_are_those_of(model, plain, places, Xs)
    for one in (model, plain):
        one.forget(["more"])
    assert_answers_are_those_of(model, plain, places, Xs, rtol=1e-7)
    before = model.model_.warping
    assert model.relearn().model_.warping is before  # rows of a store stay as they are


@pytest.mark.parametrize("way", ["one chunk", "local", "anchors only"])
def test_a_file_and_a_pickle_keep_every_bit(way, tmp_path):
    X, y = skewed_table(K=3)
    Xs = skewed_table(9, seed=2)[0]
    model = asked(way).fit(X, y)
    model.save(tmp_path / "a.clg")
    for other in (collegium.load(tmp_path / "a.clg"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict_proba(Xs), model.predict_proba(Xs))
        assert other.input_transform_ == model.input_transform_
        other.partial_fit(X[:20], y[:20])
    model.partial_fit(X[:20], y[:20])
    assert_array_equal(other.predict_proba(Xs), model.predict_proba(Xs))


# --- the choice -------------------------------------------------------------------------------


def chosen(X, y, kind="auto"):
    rows = Rows(X, np.asarray(y, float)[:, None], np.ones(len(y)))
    return choose_inputs(rows, kind, Serial(), lambda text: None)


def test_skewed_columns_are_scored_where_held_out_rows_gain():
    X, y = skewed_table(600)
    Xs, ys = skewed_table(500, seed=1)
    model = CommitteeClassifier(random_state=0, members=None).fit(X, y)
    plain = CommitteeClassifier(random_state=0, members=None, transforms=None).fit(X, y)
    assert model.input_transform_ == ("rank", "rank")
    assert plain.input_transform_ is None
    loss = [-one.predict_log_proba(Xs)[np.arange(500), ys].mean() for one in (model, plain)]
    assert loss[0] < 0.9 * loss[1]
    assert "normal scores of x0, x1" in model.summary()


def test_columns_that_are_not_skewed_stay():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.uniform(-1, 1, 500), rng.standard_t(9, 500)])
    y = X[:, 0] ** 3 + X[:, 1] > 0.0
    assert chosen(X, y) is None
    assert CommitteeClassifier(random_state=0).fit(X[:150], y[:150]).input_transform_ is None
    (S, y), Z = skewed_table(500), rng.normal(size=(500, 1))
    kinds = [one is not None for one in chosen(np.hstack([S, Z]), y).columns]
    assert kinds == [True, True, False]


def test_skewed_columns_stay_where_classes_are_linear_in_them():
    rng = np.random.default_rng(0)
    X = np.exp(1.2 * rng.normal(size=(800, 2)))
    y = X[:, 0] - X[:, 1] + rng.normal(size=800) > 0.0
    assert chosen(X, y) is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("K", [2, 4])
def test_noise_chooses_nothing(seed, K):
    rng = np.random.default_rng(seed)
    X = np.exp(2.0 * rng.normal(size=(500, 3)))
    assert chosen(X, rng.integers(0, K, 500)) is None


def test_few_rows_of_one_class_and_given_kernels_choose_nothing():
    X, y = skewed_table(600)
    assert chosen(X[:99], y[:99]) is None
    assert chosen(X, np.zeros(600)) is None
    model = CommitteeClassifier(KERNEL, **{**TINY, "chunks": 200}).fit(X, y)
    assert model.input_transform_ is None
    assert CommitteeClassifier(random_state=0, limits=20).fit(X, y).input_transform_ is None


@pytest.mark.parametrize("wrong", ["log", "rank", Transform(y="log"), 3, Transform(X="log")])
def test_transforms_that_labels_do_not_have_are_refused(wrong):
    X, y = skewed_table()
    with pytest.raises(ValueError, match="transforms"):
        CommitteeClassifier(transforms=wrong).fit(X, y)


def test_levels_and_columns_of_few_values_are_not_scored():
    X, y = skewed_table(200)
    X = np.column_stack([X, np.arange(200) % 7, (np.arange(200) % 40) ** 2])
    found = asked("one chunk", kernel=None, learn=True, categorical_features=[3]).fit(X, y)
    assert found.input_transform_ == ("rank", "rank", None, None)
