"""Frames of Dask: read partition by partition, refused where they would be pulled in whole."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.sources.pieces import BadChunkError

sys.modules["sparse"] = None  # Dask would take tests/sparse for a library of that name
dd = pytest.importorskip("dask.dataframe", reason="pip install 'collegium[dask]' pandas")
del sys.modules["sparse"]


def table(n=100):
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "y"])
    return found.assign(w=rng.random(n))


@pytest.fixture
def frame():
    return dd.from_pandas(table(), npartitions=3)


def test_a_frame_is_the_source_of_its_rows(frame):
    source = collegium.open(frame, target="y", weight="w", chunk_rows=15)
    assert source.columns == ("a", "b") and source.n_rows == 100
    assert {chunk.row_group for chunk in source.chunks} == {0, 1, 2}
    parts = [pickle.loads(pickle.dumps(chunk)).load() for chunk in source.chunks]
    X, y, w = (np.concatenate(part) for part in zip(*parts))
    own = table()
    assert_array_equal(X, own[["a", "b"]])
    assert_array_equal(y, own[["y"]])
    assert_array_equal(w, own["w"])


def test_a_reference_takes_its_partition_along_alone():
    source = collegium.open(dd.from_pandas(table(30_000), npartitions=10) + 1.0, target="y")
    sizes = [len(pickle.dumps(chunk)) for chunk in source.chunks]
    assert len(sizes) == 10 and max(sizes) < 1.1 * 3000 * 4 * 8


def test_a_bad_value_is_named_by_its_partition():
    own = table()
    own.loc[70, "a"] = np.nan
    source = collegium.open(dd.from_pandas(own, npartitions=4), target="y")
    with pytest.raises(BadChunkError, match=r"chunk 2 \(the dask frame, row group 2.*'a', row 20"):
        source.chunks[2].load()


def test_a_model_of_a_frame_is_that_of_its_rows(frame):
    own = table()
    arrays = CommitteeRegressor(random_state=0, learn=True).fit(own[["a", "b"]], own["y"])
    found = CommitteeRegressor(random_state=0, learn=True).fit(frame[["a", "b", "y"]], y="y")
    assert_array_equal(found.predict(own[["a", "b"]]), arrays.predict(own[["a", "b"]]))
    lazy = frame[["a", "b"]].map_partitions(found.predict, meta=(None, float))
    assert_array_equal(np.concatenate(list(lazy.partitions[k].compute() for k in range(3))),
                       arrays.predict(own[["a", "b"]]))  # fmt: skip


@pytest.mark.parametrize("kind", [CommitteeRegressor, CommitteeClassifier])
def test_collections_are_not_pulled_in(frame, kind):
    with pytest.raises(TypeError, match=r"DataFrame of dask would be pulled .* fit\(frame, y="):
        kind().fit(frame[["a", "b"]], frame["y"])
    own = table()
    fitted = kind(random_state=0).fit(own[["a", "b"]], own["y"] > 0)
    with pytest.raises(TypeError, match="map_partitions"):
        fitted.predict(frame[["a", "b"]])
    X = frame[["a", "b"]].to_dask_array(lengths=True)
    with pytest.raises(TypeError, match=r"Array of dask .* X.map_blocks"):
        fitted.predict(X)


def test_a_frame_that_workers_hold_is_refused():
    from cluster_cases import dask_cluster

    with dask_cluster(n_workers=1):
        held = dd.from_pandas(table(), npartitions=2).persist()
        with pytest.raises(ValueError, match="is persisted on workers"):
            collegium.open(held, target="y")


def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(ValueError, match="is not a frame: give a dask.dataframe"):
        collegium.open(frame[["a", "b"]].to_dask_array(lengths=True), target="y")
