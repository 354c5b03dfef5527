"""Tables with words, dates and gaps on disk: the model of the frame, from any source."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.kernels import Matern32
from collegium.rows.store.store import Store
from table_cases import CITIES, frame, pandas, written

COLUMNS = ["city", "height", "day", "new"]
FILE = [*COLUMNS, "fare", "w"]
#: Six columns: `height` and `day` have gaps.
KERNEL = Matern32(1.0, [0.8, 0.7, 2e8, 1.2, 1.3, 1.4])
SHAPE = {"chunks": 100, "n_local": 30, "random_state": 0}
FIXED = {
    "kernel": KERNEL, "noise": 0.05, "learn": False, "anchors": 20,
    "transforms": None, **SHAPE,
}  # fmt: skip


def opened(data, **more):
    return collegium.open(data, target="fare", columns=COLUMNS, weight="w", **more)


def answers(model, Xs):
    return np.array(model.predict(Xs, return_std=True))


def test_the_nearest_rows_of_a_model_are_those_of_its_kernel(tmp_path):
    """Recall 1 against brute force over all rows of the store."""
    own, later = frame(900), frame(60, 3)
    model = CommitteeRegressor(**FIXED, store=tmp_path / "a.rows")
    model.fit(own[COLUMNS], own["fare"], own["w"])
    kept, Xs = model.model_.kept, model.encoding_.forward(later[COLUMNS])
    X = kept.store.inputs(np.arange(len(kept.store)))
    lengths = np.asarray(KERNEL.length_scale)
    for z, near in zip(Xs, kept.nearest(Xs, 30), strict=True):
        D = ((X - z) / lengths) ** 2
        D[:, 0] = (X[:, 0] != z[0]) / lengths[0] ** 2
        assert_allclose(D.sum(axis=1)[near], np.sort(D.sum(axis=1))[:30], rtol=1e-9)


@pytest.mark.parametrize("learn", [False, True])
def test_files_and_frames_give_one_model_on_disk(tmp_path, learn):
    """Bitwise the same encoding, store and answers, from any row groups and codes."""
    own, later = frame(900)[FILE], frame(60, 3)
    given = {**FIXED, "learn": learn} if not learn else {"kernel": KERNEL, **SHAPE}
    make = partial(CommitteeRegressor, **given)
    first = make(store=tmp_path / "frame.rows").fit(own[COLUMNS], own["fare"], own["w"])
    expected = answers(first, later[COLUMNS])
    cases = [("parquet", 170, 65_536), ("codes", 64, 50), ("polars", 0, 301)]
    for kind, group, chunk_rows in cases[: 1 if learn else 3]:
        folder = tmp_path / kind
        folder.mkdir()
        source = opened(written(folder, kind, own, group), chunk_rows=chunk_rows)
        model = make(store=folder / "s.rows").fit(source)
        assert model.encoding_ == first.encoding_
        assert_array_equal(answers(model, later[COLUMNS]), expected)
        ours, theirs = Store.open(folder / "s.rows"), Store.open(tmp_path / "frame.rows")
        assert_array_equal(ours.inputs(np.arange(len(ours))), theirs.inputs(np.arange(len(ours))))
    loaded = tmp_path / "m.clg"
    first.save(loaded)
    assert_array_equal(answers(collegium.load(loaded), later[COLUMNS]), expected)


def test_classes_and_counts_on_disk(tmp_path):
    own, later = frame(500)[FILE], frame(60, 3)
    own["fare"] = (own["fare"] > 0.3).astype(float)
    own["w"] = 1.0
    data = written(tmp_path, "codes", own, 60)
    fixed = {"kernel": KERNEL, "learn": False, "anchors": 15, **SHAPE}
    arrays = CommitteeClassifier(**fixed, store=tmp_path / "a.rows")
    arrays.fit(own[COLUMNS], own["fare"], own["w"])
    model = CommitteeClassifier(**fixed, store=tmp_path / "b.rows").fit(opened(data))
    assert model.encoding_ == arrays.encoding_ and model.model_.stored is not None
    assert_array_equal(model.predict_proba(later[COLUMNS]), arrays.predict_proba(later[COLUMNS]))
    fixed["likelihood"] = "poisson"
    arrays = CommitteeRegressor(**fixed, store=tmp_path / "c.rows")
    arrays.fit(own[COLUMNS], own["fare"], own["w"])
    counts = CommitteeRegressor(**fixed, store=tmp_path / "d.rows").fit(opened(data))
    assert_array_equal(counts.predict(later[COLUMNS]), arrays.predict(later[COLUMNS]))


def test_other_levels_are_another_store(tmp_path):
    """The same codes of other words are not taken for rows that are sorted already."""
    own = frame(400)[FILE]
    make = partial(CommitteeRegressor, **FIXED, store=tmp_path / "a.rows")
    make().fit(own[COLUMNS], own["fare"], own["w"])
    make().fit(own[COLUMNS], own["fare"], own["w"])  # used as they are
    renamed = own.assign(city=own["city"].map({one: one + "!" for one in CITIES}))
    with pytest.raises(ValueError, match="holds other rows"):
        make().fit(renamed[COLUMNS], own["fare"], own["w"])


def test_new_levels_of_a_stream_are_found_on_disk(tmp_path):
    own, more = frame(400)[FILE], frame(200, 7)[FILE]
    more["city"] = more["city"].replace({"Lima": "Quito", "Oslo": "Accra"})
    more["fare"] += 5.0 * (more["city"] == "Quito")
    model = CommitteeRegressor(**FIXED, store=tmp_path / "a.rows")
    model.fit(own[COLUMNS], own["fare"])
    model.partial_fit(more[COLUMNS], more["fare"])
    query = more[COLUMNS][more["city"] == "Quito"].iloc[:5]
    Xs = model.encoding_.forward(query)
    near = model.model_.kept.nearest(Xs, 5)
    codes = model.model_.kept.store.inputs(near)[:, :, 0]
    assert (codes[:, 0] == Xs[0, 0]).all() and Xs[0, 0] < 0.0
    assert (model.predict(query) > 3.0).all()


def test_frames_with_categories_whose_codes_differ_between_partitions():
    words = pandas.Series(["b", "a", "c", "b"], dtype="category")
    parts = [words.iloc[:2].cat.remove_unused_categories(), words.iloc[2:]]
    parts[1] = parts[1].cat.set_categories(["c", "b"])
    frames = [pandas.DataFrame({"c": one, "y": 1.0}) for one in parts]
    source = collegium.open(frames, target="y")
    encoding = source.learn_encoding()
    X = np.concatenate([chunk.load()[0] for chunk in source.encoded(encoding).chunks])
    assert_array_equal(X[:, 0], [1, 0, 2, 1])
