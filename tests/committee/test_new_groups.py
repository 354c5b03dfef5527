"""Rows that come in groups: error bars for new groups, and what `groups` refuses."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import CommitteeRegressor, SparseGPRegressor

#: An averaged model, an exact GP, committees with and without their rows, and a sparse GP.
WAYS = {
    "averaged": lambda: CommitteeRegressor(random_state=0),
    "exact": lambda: CommitteeRegressor(learn=True, random_state=0),
    "chunks": lambda: CommitteeRegressor(chunks=100, anchors=30, random_state=0),
    "anchors only": lambda: CommitteeRegressor(chunks=100, n_local=0, random_state=0),
    "vfe": lambda: SparseGPRegressor(method="vfe", random_state=0),
}


def visits(groups=40, size=10, seed=0, offset=3.0, spread=0.05):
    """sin 2x₁ + x₂, noise of one and an offset per group, whose rows are near each other."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    X = rng.uniform(-1, 1, (groups, 2))[group] + spread * rng.normal(size=(group.size, 2))
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] + offset * rng.normal(size=groups)[group]
    return X, y + rng.normal(size=group.size), group


def coverage(model, seed=100):
    X, y, _ = visits(seed=seed, groups=100, size=4)
    lower, upper = model.predict_interval(X)
    return np.mean((lower <= y) & (y <= upper))


@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_new_groups(way):
    data = [visits(seed=seed) for seed in (2, 4)]  # offsets of three times the noise
    without = np.mean([coverage(WAYS[way]().fit(X, y)) for X, y, _ in data])
    covered = [coverage(WAYS[way]().fit(X, y, groups=group)) for X, y, group in data]
    assert np.mean(covered) > max(0.9, without + 0.05)


def test_standard_deviations_are_those_of_new_groups():
    X, y, group = visits(seed=2)
    model = WAYS["exact"]().fit(X, y, groups=group)
    X, y, _ = visits(seed=100, groups=100, size=4)
    mean, std = model.predict(X, return_std=True)
    assert 0.7 < np.sqrt(np.mean(((y - mean) / std) ** 2)) < 1.3


@pytest.mark.parametrize("way", ["averaged", "chunks", "vfe"])
def test_names_of_groups_and_the_order_of_rows_do_not_matter(way):
    X, y, group = visits(20, 8)
    names = np.array([f"patient {k}" for k in np.random.default_rng(0).permutation(20)])
    order = np.random.default_rng(1).permutation(y.size)
    one = WAYS[way]().fit(X, y, groups=group)
    other = WAYS[way]().fit(X[order], y[order], groups=list(names[group][order]))
    for a, b in zip(one.predict_interval(X), other.predict_interval(X)):
        assert_array_equal(a, b)


def test_groups_of_one_row_are_the_rows():
    """Of an exact GP: rows left out one at a time."""
    X, y, _ = visits(20, 8)
    plain = CommitteeRegressor(learn=True, noise="varying", transforms=None, random_state=0)
    one = plain.fit(X, y).quantile(X, [0.1, 0.9])
    other = plain.fit(X, y, groups=np.arange(y.size)).quantile(X, [0.1, 0.9])
    np.testing.assert_allclose(one, other, rtol=0.02)


@pytest.mark.parametrize("way", ["averaged", "chunks"])
def test_groups_are_kept_for_relearn_copies_and_files(way, tmp_path):
    X, y, group = visits(20, 8)
    model = WAYS[way]().fit(X, y, groups=group)
    want = model.predict_interval(X)
    model.save(tmp_path / "model.clg")
    for other in (pickle.loads(pickle.dumps(model)), collegium.load(tmp_path / "model.clg")):
        assert_array_equal(other.predict_interval(X), want)
        if way == "averaged":
            assert_array_equal(other.relearn().predict_interval(X), want)
        else:
            assert np.ptp(other.relearn().model_.committee.rows().group) > 0


def test_rows_that_arrive_later_are_groups_of_their_own():
    X, y, group = visits(30, 10)
    model = CommitteeRegressor(random_state=0).fit(X[:200], y[:200], groups=group[:200])
    model.partial_fit(X[200:], y[200:])
    codes = model.model_.rows().group
    assert np.unique(codes).size == 20 + 100


def test_a_column_of_a_frame_names_the_groups():
    pandas = pytest.importorskip("pandas")
    X, y, group = visits(20, 8)
    want = CommitteeRegressor(random_state=0).fit(X, y, groups=group).predict_interval(X)
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(who=group, y=y)
    for model in (CommitteeRegressor(random_state=0), SparseGPRegressor(random_state=0)):
        model.fit(frame.drop(columns="y"), y, groups="who")
        first = model.predict_interval(frame[["a", "b"]])
        model.fit(frame, y="y", groups="who")
        assert list(model.feature_names_in_) == ["a", "b"]
        assert_array_equal(model.predict_interval(frame[["a", "b"]]), first)
        if isinstance(model, CommitteeRegressor):
            assert_array_equal(first, want)
    with pytest.raises(ValueError, match="groups='whom' is no column of X"):
        model.fit(frame, y="y", groups="whom")


@pytest.mark.parametrize(
    "groups, words",
    [
        (np.arange(9), r"groups has shape \(9,\): give one label per row"),
        (np.zeros((40, 2)), "groups has shape"),
        (7, "groups has shape"),
        (np.zeros(40), "groups has one label"),
        ([None] * 20 + [1] * 20, "groups has missing values"),
        ([np.nan] + [1.0] * 39, "groups has missing values"),
        ([[1]] * 40, "groups has shape|groups must be labels"),
        ([{1}, {2}] * 20, "groups must be labels that can be compared"),
        ("who", "groups='who' names a column of a frame"),
    ],
)
def test_bad_groups_are_refused_and_nothing_is_kept(groups, words):
    X, y, group = visits(5, 8)
    for model in (CommitteeRegressor(), SparseGPRegressor()):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, groups=groups)
        assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"likelihood": "student-t"}, "likelihood='gaussian'"),
        ({"noise": "constant"}, "leave out noise"),
        ({"noise": 1.0}, "leave out noise"),
        ({"store": "some.rows"}, "store='.*some.rows' keeps them on disk"),
    ],
)
def test_groups_are_refused_where_they_mean_nothing(arguments, words):
    X, y, group = visits(5, 8)
    with pytest.raises(ValueError, match=words):
        CommitteeRegressor(**arguments).fit(X, y, groups=group)


def test_labels_of_any_kind_are_taken():
    X, y, group = visits(8, 8)
    want = CommitteeRegressor(random_state=0).fit(X, y, groups=group).predict_interval(X)
    kinds = [
        [(k, "left") for k in group],
        np.array(["a", "b", "c", "d", "e", "f", "g", "h"])[group],
        group + 0.5,
        np.datetime64("2020-01-01") + group,
    ]
    for labels in kinds:
        model = CommitteeRegressor(random_state=0).fit(X, y, groups=labels)
        assert_array_equal(model.predict_interval(X), want)
