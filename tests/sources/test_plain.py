"""CSV by the standard library is CSV by pyarrow: types, values, bits, lines and errors."""

import io
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from source_cases import table, write

import collegium
from collegium.sources import arrow, plain
from collegium.sources.csv import CsvTable
from collegium.sources.pieces import BadChunkError, BadValueError
from collegium.sources.plain import PlainCsvTable, line_number
from collegium.sources.writing import columns_to

ODD = (
    '\ufeffsize,kind,"when, UTC",ripe,note,gap\r\n'
    '1e-300,apple,2026-01-01 10:00:00,true,"two\nlines",\r\n'
    "\r\n"
    ' 0.1 ,NA,2026-03-04,false,"a ""word""",NA\r\n'
    "nan,pear,,,NULL,7\r\n"
    '"-17","plum, ripe",2026-03-04T05:06:07.25,TRUE,é,-inf\r\n'
    ",apple,2026-03-05,0,,1_0"
)


def odd_file(folder, text=ODD):
    (folder / "odd.csv").write_bytes(text.encode())
    return str(folder / "odd.csv")


def columns_of(kind, path, names, most=2):
    tables = kind.of(path)
    parts = [piece.columns(names) for piece in tables.pieces(most)]
    return tables.types, list(zip(*parts))


def test_both_readers_read_the_same(tmp_path):
    path = odd_file(tmp_path, ODD.replace("1_0", "10").replace("-inf", "-1e999"))
    names = ["size", "kind", "when, UTC", "ripe", "note", "gap"]
    theirs, ours = (columns_of(kind, path, names) for kind in (CsvTable, PlainCsvTable))
    assert {n: t.kind for n, t in ours[0].items()} == {n: t.kind for n, t in theirs[0].items()}
    for a, b in zip(ours[1], theirs[1]):
        for one, other in zip(a, b):
            assert (one.name, one.kind, one.boolean) == (other.name, other.kind, other.boolean)
            if one.kind == "levels":
                words = [[f.keys[k] if k >= 0 else None for k in f.values] for f in (one, other)]
                assert words[0] == words[1]
            else:
                assert_array_equal(one.values, other.values)


def test_bits_of_numbers_are_those_of_pyarrow(tmp_path):
    path = write(tmp_path, "csv")
    both = [[*kind.of(str(path)).pieces(13)] for kind in (CsvTable, PlainCsvTable)]
    for theirs, ours in zip(*both, strict=True):
        assert (theirs.offset, theirs.n) == (ours.offset, ours.n)
        assert_array_equal(ours.read(["w", "a", "b"]), theirs.read(["w", "a", "b"]))


@pytest.mark.parametrize("kind", [CsvTable, PlainCsvTable])
@pytest.mark.parametrize(
    "row, column, value, why",
    [
        ("1,5,0", None, "1,5,0", "3 values where the header has 2 names: quote"),
        ("x,2", "a", "x", "'x' is not a number: correct it"),
        ('"1,5",2', "a", "1,5", "without separators of thousands and with a decimal point"),
        ("1_0,2", "a", "1_0", "not a number"),
        ("1", None, "1", "1 value where the header has 2 names"),
        ("\udce9,2", None, r"\xe9", "not UTF-8"),
    ],
)
def test_a_bad_value_is_named_with_its_row(tmp_path, kind, row, column, value, why):
    text = f'a,y\n1,2\n"3",\n{row}\n4,5\n'
    (tmp_path / "bad.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    (piece,) = kind.of(str(tmp_path / "bad.csv")).pieces(100)
    with pytest.raises(BadValueError) as found:
        piece.columns(["a", "y"])
    assert (found.value.row, found.value.column, found.value.value) == (2, column, value)
    assert why in str(found.value)


def test_the_line_of_a_row_counts_quoted_newlines_and_blank_lines(tmp_path, monkeypatch):
    path = odd_file(tmp_path)
    for block in (3, 1 << 20):
        monkeypatch.setattr(plain, "BLOCK", block)
        assert [line_number(path, row) for row in range(5)] == [2, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="5 rows, and row 5"):
        line_number(path, 5)


@pytest.fixture
def no_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_csv_is_opened_and_written_without_pyarrow(tmp_path, no_pyarrow):
    assert not arrow.has_pyarrow()
    X, y, w = collegium.open(write(tmp_path, "csv"), target="y", weight="w").head(9)
    path, out = tmp_path / "out.csv", io.BytesIO()
    for place in (path, out):
        with columns_to(place) as write_part:
            write_part({"mean": X[:4, 0], "outside": y[:4, 0] > 0})
            write_part({"mean": np.array([np.nan, 0.1]), "outside": np.array([True, False])})
    assert path.read_bytes() == out.getvalue()
    assert path.read_text().splitlines()[5:] == [",true", "0.1,false"]  # missing, not "nan"
    found = collegium.open(path).tables[0]
    assert [found.types[n].kind for n in ("mean", "outside")] == ["numeral", "boolean"]
    (piece,) = found.pieces(100)
    assert_array_equal(piece.read(["mean"])[:, 0], [*X[:4, 0], np.nan, 0.1])
    assert_array_equal(piece.read(["outside"])[:4, 0], y[:4, 0] > 0)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'collegium\[files\]'"):
        collegium.open(write(tmp_path, "parquet"))


class Every:
    """Every k-th row of a piece."""

    def __init__(self, k):
        self.k = k

    def __call__(self, piece):
        return np.arange(0, piece.n, self.k)

    def __str__(self):
        return f"every {self.k}"


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas"])
def test_a_rule_chooses_rows_of_every_format(tmp_path, kind):
    source = collegium.open(write(tmp_path, kind), target="y", weight="w", chunk_rows=20)
    some = replace(source, rule=Every(3))
    parts = [[part[::3] for part in chunk.load()] for chunk in source.chunks]
    assert some.n_rows == sum(len(part[2]) for part in parts)
    for chunk, part in zip(some.chunks, parts, strict=True):
        for one, other in zip(chunk.load(), part):
            assert_array_equal(one, other)


def test_the_row_of_a_bad_value_is_that_of_the_file_though_rows_are_chosen(tmp_path):
    found = table().to_pandas()
    found.loc[72, "a"] = np.inf
    path = tmp_path / "bad.csv"
    found.to_csv(path, index=False)
    source = collegium.open(path, target="y", chunk_rows=20)
    with pytest.raises(BadChunkError, match="row 72") as error:
        [*replace(source, rule=Every(4)).rows()]
    assert (error.value.at.row, error.value.at.column, error.value.file) == (72, "a", str(path))
    assert len([*replace(source, rule=Every(5)).rows()]) == 5


def test_errors_travel_between_processes():
    bad = BadChunkError("chunk 3: no")
    bad.at = BadValueError(7, "y", "x", "a word")
    found = pickle.loads(pickle.dumps(bad))
    assert str(found) == "chunk 3: no" and str(found.at) == str(bad.at)
    assert (found.at.row, found.at.column, found.at.value, found.at.why) == (7, "y", "x", "a word")
