"""The same rows from every format, whatever the reader's batches, in any process."""

import pickle
import subprocess
import sys
import threading
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from source_cases import FORMATS, GROUP, NAMES, ROWS, pa, table, values, write

import collegium
from collegium.sources import arrow, parquet, plain

ROLES = {"target": "y", "weight": "w"}


def open_any(folder, kind, **more):
    """Of a pair of arrays roles are known by the file."""
    return collegium.open(write(folder, kind), **({} if kind == "npy" else ROLES), **more)


def loaded(chunks):
    return [np.concatenate(one) for one in zip(*(chunk.load() for chunk in chunks))]


@pytest.mark.parametrize("chunk_rows", [7, 40, 1000])
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_bits(tmp_path, kind, chunk_rows):
    source, expected = open_any(tmp_path, kind, chunk_rows=chunk_rows), values()
    X, y, w = loaded(source.chunks)
    assert_array_equal(X, expected[:, :2], strict=True)
    assert_array_equal(y, expected[:, 2:3], strict=True)
    assert_array_equal(w, expected[:, 3], strict=True)
    assert source.n_rows == ROWS and source.skipped == []
    assert [chunk.id for chunk in source.chunks] == list(range(len(source.chunks)))
    assert all(chunk.n == len(chunk.load()[2]) <= chunk_rows for chunk in source.chunks)
    assert source.columns == (("x0", "x1") if kind == "npy" else ("a", "b"))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_chunks_are_cut_inside_row_groups(tmp_path, kind):
    chunks = open_any(tmp_path, kind, chunk_rows=25).chunks
    places = [(chunk.row_group, chunk.offset, chunk.n) for chunk in chunks]
    assert places == [(0, 0, 25), (0, 25, 15), (1, 0, 25), (1, 25, 15), (2, 0, 17)]
    assert {chunk.file for chunk in chunks} == {str(tmp_path / f"rows.{kind}")}


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_chunks_do_not_depend_on_batches_of_the_reader(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(parquet, "BATCH", batch)
    X, y, w = loaded(open_any(tmp_path, "parquet", chunk_rows=11).chunks)
    assert_array_equal(np.column_stack([X, y, w]), values())


@pytest.mark.parametrize("block", [1, 30, 1 << 20])
def test_lines_do_not_depend_on_blocks_of_the_reader(tmp_path, monkeypatch, block):
    source = open_any(tmp_path, "csv", chunk_rows=11)
    monkeypatch.setattr(plain, "BLOCK", block)
    X, y, w = loaded(source.chunks)
    assert_array_equal(np.column_stack([X, y, w]), values())


@pytest.mark.parametrize("kind", FORMATS)
def test_chunks_load_in_any_order_and_thread(tmp_path, kind):
    source, found = open_any(tmp_path, kind, chunk_rows=7), {}
    order = np.random.default_rng(1).permutation(len(source.chunks))

    def work(own):
        for k in own:
            found[k] = source.chunks[k].load()

    threads = [threading.Thread(target=work, args=(order[k::2],)) for k in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    X, y, w = (np.concatenate(one) for one in zip(*(found[k] for k in sorted(found))))
    assert_array_equal(np.column_stack([X, y, w]), values())


def test_a_row_group_is_decoded_once_by_chunks_in_order(tmp_path, monkeypatch):
    made = []

    class Counted(arrow.Cursor):
        def __init__(self, key, batches):
            made.append(key)
            super().__init__(key, batches)

    monkeypatch.setattr(arrow, "Cursor", Counted)
    loaded(open_any(tmp_path, "parquet", chunk_rows=7).chunks)
    assert len(made) == -(-ROWS // GROUP)


def test_references_load_in_another_process(tmp_path):
    """And pandas, which pyarrow would import, is not imported there."""
    kinds = ("parquet", "feather", "csv", "npy", "polars")
    chunks = [open_any(tmp_path, kind, chunk_rows=30).chunks[1] for kind in kinds]
    (tmp_path / "chunks").write_bytes(pickle.dumps(chunks))
    code = (
        "import pickle, sys, numpy as np\n"
        "chunks = pickle.loads(open(sys.argv[1], 'rb').read())\n"
        "for k, one in enumerate(chunks): np.savez(f'{sys.argv[1]}{k}', *one.load())\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "chunks")], check=True)
    for k, chunk in enumerate(chunks):
        with np.load(tmp_path / f"chunks{k}.npz") as found:
            for own, other in zip(chunk.load(), found.values(), strict=True):
                assert_array_equal(own, other, strict=True)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_reference_is_small(tmp_path, kind):
    """A frame's takes its own rows along and no others."""
    one = pickle.dumps(open_any(tmp_path, kind, chunk_rows=1).chunks[3])
    path = len(str(tmp_path))  # of the file that is read, and of that whose stamp is compared
    assert len(one) < (5000 if kind in ("pandas", "polars") else 900 + 2 * path)
    if kind in ("pandas", "polars"):
        whole = pickle.dumps(open_any(tmp_path, kind).chunks[0])
        assert len(whole) - len(one) > 20 * (ROWS - 1)
    again = pickle.loads(one)
    assert again.id == 3 and again.n == 1
    assert_array_equal(again.load()[1], values()[3:4, 2:3])


def test_several_files_follow_each_other(tmp_path):
    found = values()
    for k, part in enumerate(np.split(found, [30, 50])):
        write(tmp_path, "parquet", table(part), f"part{k}")
    for data in (
        str(tmp_path / "*.parquet"),
        [tmp_path / f"part{k}.parquet" for k in range(3)],
        [tmp_path / "part0.parquet", str(tmp_path / "part[12].parquet")],
    ):
        source = collegium.open(data, **ROLES)
        assert [chunk.n for chunk in source.chunks] == [30, 20, 40, 7]
        assert_array_equal(np.vstack(list(source.batches(NAMES))), found)


def test_columns_come_in_the_order_that_is_asked_for(tmp_path):
    source = collegium.open(write(tmp_path, "parquet"), target=["w", "y"], columns=["b", "a"])
    X, y, w = source.head(4)
    assert_array_equal(X, values()[:4, [1, 0]])
    assert_array_equal(y, values()[:4, [3, 2]])
    assert_array_equal(w, np.ones(4))
    assert source.columns == ("b", "a")


@pytest.mark.parametrize("kind", FORMATS)
def test_head_is_the_first_rows(tmp_path, kind):
    source = open_any(tmp_path, kind, chunk_rows=10)
    for n in (0, 3, 10, 23, 2 * ROWS):
        X, y, w = source.head(n)
        assert_array_equal(np.column_stack([X, y, w]), values()[:n])


def test_without_a_target_y_has_no_columns(tmp_path):
    X, y, w = collegium.open(write(tmp_path, "csv")).head(3)
    assert X.shape == (3, 4) and y.shape == (3, 0)


def test_opening_and_head_do_not_count_lines(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,y\n" + "1,2\n" * 50 + '"3')  # the end is found when lines are counted
    source = collegium.open(path, target="y", chunk_rows=10)
    source.head(3)
    with pytest.raises(ValueError, match="long.csv.*quoted"):
        source.n_rows  # noqa: B018


@pytest.mark.parametrize("kind", ["parquet", "feather", "polars"])
def test_numbers_of_all_kinds(tmp_path, kind):
    own = pa.table({
        "flag": [True, False, True],
        "small": pa.array([1, -2, 3], pa.int8()),
        "large": pa.array([2**63 + 2**20, 0, 2**53 + 2], pa.uint64()),
        "single": pa.array([0.1, 1e30, -2.5], pa.float32()),
        "price": pa.array(map(Decimal, ("1.25", "-3.50", "0.75")), pa.decimal128(9, 2)),
    })  # fmt: skip
    X, _, _ = collegium.open(write(tmp_path, kind, own)).head(3)
    single = np.array([0.1, 1e30, -2.5], dtype=np.float32).astype(float)
    large = [2.0**63 + 2**20, 0.0, 2.0**53 + 2]
    expected = [[1, 0, 1], [1, -2, 3], large, single, [1.25, -3.5, 0.75]]
    assert_array_equal(X, np.transpose(expected))


def test_columns_of_pandas_may_have_numbers_as_names():
    pd = pytest.importorskip("pandas")
    X, y, _ = collegium.open(pd.DataFrame(np.eye(3)), target=2, columns=[1, 0]).head()
    assert_array_equal(np.column_stack([X, y]), np.eye(3)[:, [1, 0, 2]])


def test_pandas_columns_that_can_have_gaps(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "y": [0.5, 1.5, 2.5]})
    frame = frame.astype({"a": "Int64", "b": "boolean", "y": "Float64"})
    X, y, _ = collegium.open(frame, target="y").head(3)
    assert_array_equal(np.column_stack([X, y]), [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]])
    with pytest.raises(ValueError, match="pandas frame.*column 'a', row 1: a missing value"):
        frame.loc[1, "a"] = None
        collegium.open(frame, target="y").head(3)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "x"])
def test_csv_with_quotes_blank_lines_and_no_last_newline(tmp_path, end, last):
    lines = ['"a, b",note,y', "1,u,2", "", '3,"two' + end + 'lines ""quoted""",4', "5,v,true"]
    text = end.join(lines).replace("true", "6") + (end * 2 if last else "")
    (tmp_path / "odd.csv").write_bytes(text.encode())
    source = collegium.open(tmp_path / "odd.csv", target="y", columns=["a, b"], chunk_rows=2)
    X, y, _ = loaded(source.chunks)
    assert [chunk.n for chunk in source.chunks] == [2, 1]
    assert_array_equal(np.column_stack([X, y]), [[1, 2], [3, 4], [5, 6]])


def test_csv_of_true_and_false(tmp_path):
    (tmp_path / "flags.csv").write_text("a,y\ntrue,1\nfalse,2\n")
    X, _, _ = collegium.open(tmp_path / "flags.csv", target="y").head(2)
    assert_array_equal(X, [[1], [0]])


def test_several_targets_of_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(6.0).reshape(3, 2))
    np.save(tmp_path / "y.npy", np.arange(6).reshape(3, 2))
    np.save(tmp_path / "w.npy", np.arange(3))
    source = collegium.open([tuple(tmp_path / f"{name}.npy" for name in "Xyw")], target=["y1"])
    assert source.columns == ("x0", "x1") and source.weight == "w"
    assert_array_equal(source.head(3)[1], [[1], [3], [5]])
    source = collegium.open((tmp_path / "X.npy", tmp_path / "y.npy"))
    assert source.target == ("y0", "y1") and source.columns == ("x0", "x1")
    assert_array_equal(source.head(3)[1], np.arange(6.0).reshape(3, 2))
