"""Files that change while they are read, pages with checksums, and paths that are no files."""

import os
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from source_cases import pa, table, values, write

import collegium
from collegium import CommitteeRegressor, sources
from collegium.kernels import Matern32
from collegium.sources import stamps
from collegium.sources.stamps import SourceChangedError
from hanging import within

parquet = pytest.importorskip("pyarrow.parquet")
ROLES = {"target": "y", "columns": ["a", "b"]}
FILES = ("parquet", "feather", "csv", "npy")


def other_table():
    """The same shape, types and sizes of files; other numbers."""
    found = values()
    found[:, 2] = found[::-1, 2]
    return table(found)


def opened(paths, **more):
    return collegium.open(paths, **({} if isinstance(paths, tuple) else ROLES), **more)


def swap(folder, kind, how):
    """Put other rows where those of a source are: under the name, or into the file itself."""
    paths = write(folder, kind)
    paths = paths if isinstance(paths, tuple) else (paths,)
    other = folder / "other"
    other.mkdir()
    theirs = write(other, kind, other_table())
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)

    def now():
        for ours, new in zip(paths, theirs):
            before = os.stat(ours)
            if how == "renamed":
                os.replace(new, ours)
            else:
                shutil.copyfile(new, ours)
                os.utime(ours, ns=(before.st_atime_ns, before.st_mtime_ns))

    return paths if len(paths) > 1 else paths[0], now


@pytest.mark.parametrize("how", ["renamed", "inside, with its old time"])
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("skip", ["raise", "skip"])
def test_a_file_that_is_replaced_between_two_chunks_is_refused(tmp_path, kind, how, skip):
    paths, now = swap(tmp_path, kind, how)
    source = opened(paths, chunk_rows=20, on_bad_chunk=skip)
    read = source.rows()
    next(read)
    now()
    with pytest.raises(SourceChangedError, match="has changed since it was opened"):
        for _ in read:
            pass
    assert source.skipped == []


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_replaced_after_its_last_chunk_is_refused(tmp_path, kind):
    paths, now = swap(tmp_path, kind, "renamed")
    source = opened(paths, chunk_rows=20)
    read = source.rows()
    for _ in range(len(source.chunks)):
        next(read)
    now()
    with pytest.raises(SourceChangedError):
        next(read)
    assert len(list(opened(paths, chunk_rows=20).rows())) == len(source.chunks)


def test_a_fit_whose_file_is_replaced_keeps_nothing(tmp_path):
    """Between the pass that learns columns, the one that samples and the one that sorts."""
    rng = np.random.default_rng(0)
    path, store = tmp_path / "rows.parquet", tmp_path / "a.rows"
    for count in range(1, 40, 6):
        X = rng.normal(size=(900, 2))
        own = pa.table({"a": X[:, 0], "b": X[:, 1], "y": X.sum(axis=1)})
        parquet.write_table(own, path, row_group_size=100)
        other = pa.table({"a": X[:, 1], "b": X[:, 0], "y": X[:, 0]})
        source, reads = collegium.open(path, **ROLES), [0]
        real = sources.parquet.ParquetPiece._take

        def counted(piece, *given, real=real, count=count, reads=reads, other=other):
            reads[0] += 1
            if reads[0] == count:
                parquet.write_table(other, path, row_group_size=100)
            return real(piece, *given)

        model = CommitteeRegressor(
            Matern32(1.0, 1.0), noise=0.1, learn=False, anchors=20, chunks=100, store=store,
            transforms=None,
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sources.parquet.ParquetPiece, "_take", counted)
            try:
                model.fit(source)
            except SourceChangedError:
                assert reads[0] >= count and not hasattr(model, "model_")
                assert not store.exists()
            else:
                assert reads[0] < count
                shutil.rmtree(store)
    assert reads[0] < 40


def test_a_copy_on_another_machine_may_have_another_time(tmp_path):
    source = opened(write(tmp_path, "parquet"))
    chunk = pickle.loads(pickle.dumps(source.chunks[0]))
    far = replace(chunk, stamps=tuple(replace(one, machine="far") for one in chunk.stamps))
    os.utime(tmp_path / "rows.parquet", ns=(1, 1))
    far.load()
    with pytest.raises(SourceChangedError):
        chunk.load()
    write(tmp_path, "parquet", other_table())
    with pytest.raises(SourceChangedError):
        far.load()


def test_flipped_bits_of_pages_with_checksums_are_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    n = 3000
    own = pa.table({"a": np.arange(n) * 1.0, "b": np.arange(n) % 7 * 1.0, "y": np.ones(n)})
    parquet.write_table(own, path, write_page_checksum=True, compression="none",
                        use_dictionary=False)  # fmt: skip
    good = path.read_bytes()
    expected = np.concatenate([X for _, X, _, _ in opened(path).rows()])
    refused = 0
    for at in np.random.default_rng(1).choice(len(good) - 2000, 40, replace=False):
        bad = bytearray(good)
        bad[at] ^= 4
        path.write_bytes(bad)
        try:
            found = np.concatenate([X for _, X, _, _ in opened(path).rows()])
        except (ValueError, OSError):
            refused += 1
        else:
            np.testing.assert_array_equal(found, expected)
    assert refused > 30


def test_answers_are_written_with_checksums_of_pages(tmp_path):
    from collegium.sources.writing import columns_to

    path = tmp_path / "answers.parquet"
    with columns_to(path) as put:
        put({"mean": np.arange(500.0)})
    bad = bytearray(path.read_bytes())
    bad[len(bad) // 3] ^= 1
    path.write_bytes(bad)
    with pytest.raises((ValueError, OSError)):
        parquet.ParquetFile(path, page_checksum_verification=True).read()


def test_pipes_are_refused_at_once(tmp_path):
    for name in ("rows.parquet", "rows.csv", "rows.arrow", "X.npy"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="is a pipe or a device.*write its rows to a file"):
            within(5, collegium.open, tmp_path / name)


def test_the_stamp_of_a_file_without_a_footer(tmp_path):
    (tmp_path / "short.parquet").write_bytes(b"PAR1")
    assert stamps.Stamp.of(str(tmp_path / "short.parquet")).footer == ""
    (tmp_path / "odd.parquet").write_bytes(b"\xff" * 20)
    assert len(stamps.Stamp.of(str(tmp_path / "odd.parquet")).footer) == 64
