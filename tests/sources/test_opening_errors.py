"""What cannot be used is refused: the file, the place, the value and the remedy are named."""

import os
from datetime import date

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from source_cases import pa, table, values, write

import collegium
from collegium.numerics import libraries
from collegium.sources import pieces

ROLES = {"target": "y", "weight": "w"}
FILES = ("parquet", "feather", "csv")


def replaced(name, column):
    own = table()
    return own.set_column(own.schema.get_field_index(name), name, column)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_file_cut_short(tmp_path, kind):
    path = write(tmp_path, kind)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(
        ValueError, match=f"rows.{kind} is not a complete .*cut short.*leave it out"
    ):
        collegium.open(path, **ROLES)


def test_arrays_cut_short(tmp_path):
    paths = write(tmp_path, "npy")
    paths[1].write_bytes(paths[1].read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"y.npy is not a complete .npy file.*np.save"):
        collegium.open(paths)


@pytest.mark.parametrize("kind", FILES)
def test_contents_that_are_damaged(tmp_path, kind):
    """A schema that can be read, and rows that cannot."""
    path = write(tmp_path, kind)
    data = bytearray(path.read_bytes())
    middle = slice(len(data) // 4, len(data) // 3)
    data[middle] = b"?" * (middle.stop - middle.start)
    path.write_bytes(data)
    source = collegium.open(path, **ROLES)
    with pytest.raises(ValueError, match=rf"chunk \d+ \(.*rows.{kind}.*rows \d+–\d+\)"):
        list(source.rows())


@pytest.mark.parametrize("kind", FILES)
def test_a_column_missing_in_one_file(tmp_path, kind):
    paths = [write(tmp_path, kind), write(tmp_path, kind, table().drop_columns(["b"]), "other")]
    with pytest.raises(
        ValueError, match=rf"other.{kind} has no column 'b'.*rows.{kind} has.*leave"
    ):
        collegium.open(paths, **ROLES)


def test_a_column_that_no_file_has(tmp_path):
    with pytest.raises(ValueError, match="no column 'fare'; it has 'a', 'b', 'y', 'w'"):
        collegium.open(write(tmp_path, "parquet"), target="fare")


@pytest.mark.parametrize("new", [pa.array(np.full(97, 0.5)), pa.array([True] * 97)])
def test_a_type_that_changes_between_files(tmp_path, new):
    paths = [
        write(tmp_path, "parquet"),
        write(tmp_path, "parquet", replaced("b", new), "other"),
    ]
    with pytest.raises(ValueError, match=r"'b' is .* in .*other.parquet and int32 in .*one type"):
        collegium.open(paths, **ROLES)


def test_widths_may_change_between_files(tmp_path):
    wide = replaced("b", table().column("b").cast(pa.int64()))
    paths = [write(tmp_path, "parquet"), write(tmp_path, "parquet", wide, "other")]
    assert collegium.open([*paths, write(tmp_path, "csv")], **ROLES).n_rows == 3 * 97


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "pandas", "polars"])
@pytest.mark.parametrize("value", ["red", date(2020, 1, 2)])
def test_columns_of_texts_and_dates_are_not_read_as_numbers(tmp_path, kind, value):
    data = write(tmp_path, kind, replaced("b", pa.array([value] * 97)))
    source = collegium.open(data, **ROLES)
    for read in (source.head, lambda: next(source.rows()), lambda: next(source.batches())):
        with pytest.raises(ValueError, match=r"column 'b' of .*not numbers.*columns=\["):
            read()
    with pytest.raises(
        ValueError, match=r"column 'b' of .*holds .*not numbers.*RVCRegressor takes"
    ):
        collegium.RVCRegressor().fit(source)
    with pytest.raises(ValueError, match="column 'b' of .*holds .*not numbers"):
        collegium.open(data, target="b")
    assert collegium.open(data, target="y", columns=["a"]).head(1)[0].shape == (1, 1)


def test_other_types_are_refused(tmp_path):
    data = write(tmp_path, "parquet", replaced("b", pa.array([[1, 2]] * 97)))
    with pytest.raises(ValueError, match=r"column 'b' of .*holds list.*columns=\["):
        collegium.open(data, **ROLES)


def test_a_lazy_frame_and_a_series():
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="is a Series: give a DataFrame"):
        collegium.open(pd.Series([1.0]))
    with pytest.raises(ValueError, match=r"LazyFrame: call its collect\(\)"):
        collegium.open(pl.LazyFrame({"a": [1]}))


def test_text_in_the_place_of_a_number(tmp_path):
    lines = ["a,y"] + [f"{k},{k}" for k in range(50)]
    lines[38] = "37,many"
    (tmp_path / "text.csv").write_text("\n".join(lines))
    source = collegium.open(tmp_path / "text.csv", target="y", chunk_rows=20)
    place = (
        r"chunk 1 \(.*text.csv, rows 20–39\): column 'y', row 37: 'many' is not a number: correct"
    )
    with pytest.raises(ValueError, match=place):
        list(source.rows())


@pytest.mark.parametrize("data, why", [
    (b"a,y\r1,2\r3,4\r", r"lines of .*odd.csv end in \\r alone"),
    ("ä,y\n1,2\n".encode("latin1"), "odd.csv is not a CSV file in UTF-8"),
])  # fmt: skip
def test_text_files_of_other_kinds(tmp_path, data, why):
    (tmp_path / "odd.csv").write_bytes(data)
    with pytest.raises(ValueError, match=why):
        collegium.open(tmp_path / "odd.csv", target="y")


def test_a_line_with_too_few_values(tmp_path):
    (tmp_path / "short.csv").write_text("a,y\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"short.csv, rows 0–1\): row 1: 1 value where"):
        collegium.open(tmp_path / "short.csv", target="y").head(2)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "npy", "pandas", "polars"])
@pytest.mark.parametrize("value, named", [(np.nan, "a missing value"), (np.inf, "inf")])
def test_values_that_are_not_finite(tmp_path, kind, value, named):
    found = values()
    found[45, 2] = value
    data = write(tmp_path, kind, table(found))
    source = collegium.open(data, **({} if kind == "npy" else ROLES), chunk_rows=30)
    row = 5 if kind in ("parquet", "feather") else 45
    group = "row group 1, " if row == 5 else ""
    place = rf"\(.*{group}rows \d+–\d+\): column 'y', row {row}: {named}.*drop the row"
    with pytest.raises(ValueError, match=place):
        list(source.rows())


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "pandas", "polars"])
def test_gaps(tmp_path, kind):
    own = replaced("b", pa.array([1, None] + [2] * 95))
    if kind == "pandas":
        own = own.set_column(1, "b", own.column("b").cast(pa.float64()))
    with pytest.raises(ValueError, match="column 'b', row 1: a missing value.*out of `columns`"):
        collegium.open(write(tmp_path, kind, own), **ROLES).head()


def test_weights_below_zero(tmp_path):
    found = values()
    found[3, 3] = -0.5
    with pytest.raises(ValueError, match="column 'w', row 3: -0.5 where a weight of at least 0"):
        collegium.open(write(tmp_path, "parquet", table(found)), **ROLES).head()


@pytest.mark.parametrize("kind", [*FILES, "npy"])
def test_an_empty_file(tmp_path, kind):
    (tmp_path / f"none.{kind}").touch()
    with pytest.raises(ValueError, match=rf"none.{kind} is empty \(0 bytes\): write it again"):
        collegium.open(tmp_path / f"none.{kind}")


@pytest.mark.parametrize("kind", [*FILES, "pandas", "polars"])
def test_no_rows(tmp_path, kind):
    source = collegium.open(write(tmp_path, kind, table().slice(0, 0)), **ROLES)
    with pytest.raises(ValueError, match="no rows in .*give a file that has some"):
        source.n_rows  # noqa: B018
    assert source.head()[0].shape == (0, 2)


def test_no_file(tmp_path):
    with pytest.raises(OSError, match=r"no file matches .*\*.parquet"):
        collegium.open(tmp_path / "*.parquet")
    with pytest.raises(OSError, match="no such file: check the path.*rows.parquet"):
        collegium.open(tmp_path / "rows.parquet")
    with pytest.raises(OSError, match=r"a folder: name the files in it.*\*.parquet"):
        collegium.open(tmp_path)
    with pytest.raises(ValueError, match="list of files is empty"):
        collegium.open([])
    with pytest.raises(TypeError, match="cannot open a int"):
        collegium.open(3)


def test_no_permission(tmp_path, monkeypatch):
    path = write(tmp_path, "parquet")
    path.chmod(0)
    if os.access(path, os.R_OK):  # a superuser may read it all the same

        def refuse(name, mode, **_):
            raise PermissionError(13, "Permission denied", name)

        monkeypatch.setattr(pieces, "open", refuse, raising=False)
    with pytest.raises(PermissionError, match="no permission to read it: change.*rows.parquet"):
        collegium.open(path, **ROLES)


def test_a_file_that_is_gone_when_it_is_read(tmp_path):
    for kind in FILES:
        path = write(tmp_path, kind)
        chunk = collegium.open(path, **ROLES).chunks[0]
        path.unlink()
        with pytest.raises(FileNotFoundError, match=rf"chunk 0 \(.*rows.{kind}"):
            chunk.load()


def test_a_file_that_has_changed(tmp_path):
    for kind in (*FILES, "npy"):
        chunk = collegium.open(write(tmp_path, kind), columns=None).chunks[-1]
        write(tmp_path, kind, table().slice(0, 90))
        with pytest.raises(ValueError, match=r"has changed since it was opened.*Open it again"):
            chunk.load()


def test_an_unknown_kind_of_file(tmp_path):
    (tmp_path / "rows.xlsx").write_text("1")
    with pytest.raises(ValueError, match=r"rows.xlsx: unknown kind of file '.xlsx': one of .par"):
        collegium.open(tmp_path / "rows.xlsx")


def test_arrays_that_do_not_belong_together(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    np.save(tmp_path / "y.npy", np.ones(4))
    with pytest.raises(ValueError, match="y.npy has 4 rows and .*X.npy 3"):
        collegium.open((tmp_path / "X.npy", tmp_path / "y.npy"))


def test_weights_of_two_dimensions(tmp_path):
    paths = write(tmp_path, "npy")
    np.save(paths[2], np.ones((97, 2)))
    with pytest.raises(ValueError, match="w.npy has two dimensions: give one weight per row"):
        collegium.open(paths)


def test_names_that_are_used_twice(tmp_path):
    path = write(tmp_path, "parquet")
    with pytest.raises(ValueError, match="'y' is named twice"):
        collegium.open(path, target="y", columns=["a", "y"])
    own = table().append_column("a", table().column("y"))
    for kind in ("parquet", "csv"):
        with pytest.raises(ValueError, match=f"rows.{kind} has several columns named 'a'"):
            collegium.open(write(tmp_path, kind, own), target="y")


@pytest.mark.parametrize("bad", [{"chunk_rows": 0}, {"on_bad_chunk": "warn"}])
def test_bad_arguments(tmp_path, bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}=.*: give"):
        collegium.open(write(tmp_path, "parquet"), **bad)


def test_skipping_goes_on_and_reports(tmp_path):
    found = values()
    found[45, 2] = np.nan
    good = write(tmp_path, "parquet", stem="b")
    short = tmp_path / "a.parquet"
    short.write_bytes(good.read_bytes()[:-30])
    write(tmp_path, "parquet", table(found), "c")
    write(tmp_path, "parquet", table().drop_columns(["b"]), "d")
    source = collegium.open(tmp_path / "*.parquet", **ROLES, chunk_rows=20, on_bad_chunk="skip")
    for _ in range(2):  # a second pass reports nothing new
        rows = np.vstack([np.column_stack([X, y, w]) for _, X, y, w in source.rows()])
        assert_array_equal(rows, np.vstack([values(), found[:40], found[60:]]))
    files = [(one.file[-9:], one.id, one.n) for one in source.skipped]
    assert files == [("a.parquet", None, None), ("d.parquet", None, None), ("c.parquet", 7, 20)]
    assert "row group 1" in source.skipped[2].reason and "no column" in source.skipped[1].reason
    assert sum(map(len, source.batches(["a"]))) == 2 * 97  # that column has no gaps
    with pytest.raises(
        ValueError, match=r"none of the files can be used: .*a.parquet is not a complete"
    ):
        collegium.open(short, **ROLES, on_bad_chunk="skip")


def test_batches_of_a_column_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="no column 'c'"):
        next(collegium.open(write(tmp_path, "parquet")).batches(["c"]))


def test_without_pyarrow(tmp_path, monkeypatch):
    path, paths = write(tmp_path, "parquet"), write(tmp_path, "npy")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(libraries, "import_module", missing)
    with pytest.raises(ImportError, match=r"pip install 'collegium\[files\]'"):
        collegium.open(path, **ROLES)
    assert collegium.open(paths).n_rows == 97
