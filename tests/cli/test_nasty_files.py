"""Sixty nasty files: the exit code, the line, the column, the value and the remedy."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from running import run, small_model

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

GOOD = "a,b,y\n1,2,3\n0.5,0,1\n"
#: Text files that are read: name, bytes, rows.
FINE = [
    ("bom.csv", b"\xef\xbb\xbf" + GOOD.encode(), 2),
    ("crlf.csv", GOOD.replace("\n", "\r\n").encode(), 2),
    ("quoted newline.csv", b'a,b,y,note\n1,2,3,"two\nlines"\n0.5,0,1,x\n', 2),
    ("blank lines.csv", b"\n\na,b,y\n\n1,2,3\n\r\n\n4,5,6\n\n", 2),
    ("no final newline.csv", GOOD.rstrip().encode(), 2),
    ("spaces.csv", b"a,b,y\n 1 ,2 , 3\n", 1),
    ("quoted.csv", b'"a","b","y"\n"1","2","3"\n', 1),
    ("other order.csv", b"y,b,other,a\n1,2,w,3\n", 1),
    ("huge.csv", b"a,b,y\n1e300,-1e300,3\n", 1),
    ("tiny.csv", b"a,b,y\n5e-324,1e-400,0\n", 1),
    ("missing y.csv", b"a,b,y\n1,2,3\n1,2,nan\n1,2,\n1,2,NA\n", 1),
    ("missing x.csv", b"a,b,y\n,2,3\nNA,2,1\n", 2),
    ("unicode.csv", "a,b,y,größe,数\n1,2,3,ä,五\n".encode(), 1),
]
NUMBERS = "without separators of thousands and with a decimal point"
#: Text files that are refused: name, bytes, line, column, value, words.
BAD = [
    ("short.csv", b"a,b,y\n1,2,3\n1,2\n", 3, None, "1,2", "2 values where the header has 3"),
    ("long.csv", b"a,b,y\n1,2,3\n1,2,3,4\n", 3, None, "1,2,3,4", "4 values where the header has 3"),
    ("short first.csv", b"a,b,y\n1,2\n", 2, None, None, "2 values where the header has 3 names"),
    ("after newlines.csv", b'a,b,y,n\n1,2,3,"x\ny"\n\n1,2\n', 5, None, "1,2", "2 values where"),
    ("nul.csv", b"a,b,y\n1,2,3\n1\x00,2,3\n", 3, "a", "1\x00", "is not a number: correct it"),
    ("latin-1.csv", "a,b,y,n\n1,2,3,é\n".encode("latin1"), 2, None, None, "iconv -f latin1"),
    ("latin-1 later.csv", "a,b,y\n1,2,3\n1,é,3\n".encode("latin1"), 3, None, r"\xe9", "not UTF-8"),
    ("latin-1 header.csv", "a,b,y,é\n1,2,3,4\n".encode("latin1"), 1, None, None, "not UTF-8"),
    ("utf-16.csv", GOOD.encode("utf-16"), 1, None, None, "not UTF-8"),
    ("thousands.csv", b'a,b,y\n1,2,3\n"1,234",2,3\n', 3, "a", "1,234", NUMBERS),
    ("thousands bare.csv", b"a,b,y\n1,2,3\n1,234,2,3\n", 3, None, "1,234,2,3", NUMBERS),
    ("thousands in y.csv", b'a,b,y\n1,2,"1,234"\n', 2, "y", "1,234", NUMBERS),
    ("decimal comma.csv", b'a,b,y\n1,2,3\n1,"2,5",3\n', 3, "b", "2,5", NUMBERS),
    ("semicolons.csv", b"a;b;y\n1,5;2;3\n", 1, None, None, "separated by ';'"),
    ("inf.csv", b"a,b,y\n1,2,3\n1,-inf,3\n", 3, "b", "-inf", "a finite number is needed"),
    ("inf in y.csv", b"a,b,y\n1,2,3\n1,2,inf\n", 3, "y", "inf", "drop the row"),
    ("beyond.csv", b"a,b,y\n1,2,3\n1e999,2,3\n", 3, "a", "inf", "leave the column out (-x)"),
    ("words in y.csv", b"a,b,y\n1,2,high\n1,2,low\n", 2, "y", "high", "--classes"),
    ("word later.csv", b"a,b,y\n1,2,3\n1,2,4\nx,1,1\n", 4, "a", "x", "leave out the row"),
    ("date in y.csv", b"a,b,y\n1,2,2026-01-01\n", 2, "y", None, "a date is not a number"),
    ("underscore.csv", b"a,b,y\n1,2,3\n1_0,2,4\n", 3, "a", "1_0", "is not a number"),
    ("hexadecimal.csv", b"a,b,y\n1,2,3\n0x1F,2,4\n", 3, "a", "0x1F", "is not a number"),
    ("dollars.csv", b"a,b,y\n1,2,3\n1,$2,4\n", 3, "b", "$2", "is not a number"),
    ("percent.csv", b"a,b,y\n1,2,3\n1,2%,4\n", 3, "b", "2%", "is not a number"),
    ("unclosed.csv", b'a,b,y,n\n1,2,3,"x\n4,5,6,y\n', 2, None, None, "close the quotes"),
    ("stray quote.csv", b'a,b,y\n1,2,3\n1,2"5,3\n', 3, None, None, "close the quotes"),
    ("empty.csv", b"", None, None, None, "is empty (0 bytes): write it again"),
    ("header only.csv", b"a,b,y\n", None, None, None, "no rows in header only.csv"),
    ("header without end.csv", b"a,b,y", None, None, None, "there are no rows"),
    ("blank only.csv", b"\n\n\n", None, None, None, "is not a CSV file in UTF-8 with a header"),
    ("all y missing.csv", b"a,b,y\n1,2,\n1,2,NA\n", None, None, None, "with y"),
    ("two named a.csv", b"a,b,a,y\n1,2,3,4\n", None, None, None, "columns named 'a': rename"),
    ("carriage returns.csv", b"a,b,y\r1,2,3\r4,5,6\r", None, None, None, "\\r alone: write it"),
    ("misspelt.csv", b"a,bb,y\n1,2,3\n", None, "b", None, "did you mean 'bb'?"),
    ("capitals.csv", b"A,b,y\n1,2,3\n", None, "a", None, "did you mean 'A'?"),
    ("space in name.csv", b"a, b,y\n1,2,3\n", None, "b", None, "did you mean ' b'?"),
    ("tabs.csv", b"a\tb\ty\n1\t2\t3\n", None, None, None, "separated by '\\t'"),
    ("nothing like it.csv", b"1,2,3\n4,5,6\n", None, None, None, "it has '1', '2', '3'"),
    ("table.txt", GOOD.encode(), None, None, None, "unknown kind of file '.txt': one of"),
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small.clg"
    small_model().save(path)
    return path


@pytest.fixture(params=["pyarrow", "plain"])
def reader(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["collegium"])


def refused(found, file, line=None, column=None, value=None, words=""):
    assert found.code == 3, found
    told = found.error
    assert told["code"] == 3 and told["file"] == file
    assert (told.get("line"), told.get("value")) == (line, value), told
    if column is not None or line is not None:
        assert told.get("column") == column
    assert words in told["message"] and told["message"] in found.err
    assert "Traceback" not in found.err and file in found.err


@pytest.mark.parametrize("name, text, rows", FINE, ids=[one[0] for one in FINE])
def test_files_that_are_odd_but_right_are_read(model, reader, name, text, rows):
    Path(name).write_bytes(text)
    found = run("score", model, name, "-y", "y", "--json", "--jobs", 1)
    assert found.code == 0, found.err
    assert found.answer["data"]["rows"] == found.answer["scores"]["n"] == rows


@pytest.mark.parametrize("command", ["score", "fit"])
@pytest.mark.parametrize("name, text, line, column, value, words", BAD, ids=[one[0] for one in BAD])
def test_files_that_are_wrong_are_refused_with_line_and_remedy(
    model, reader, command, name, text, line, column, value, words
):
    Path(name).write_bytes(text)
    asked = ("score", model, name) if command == "score" else ("fit", name, "-x", "a,b")
    more = () if command == "score" else ("-o", "out.clg")
    found = run(*asked, "-y", "y", "--json", *more)
    if column is not None and line is None and command == "fit":
        assert found.error["column"] == column  # the name that is missing
    refused(found, name, line, column, value, words)
    assert os.listdir(".") == [name]


@pytest.mark.parametrize(
    "text, line, column",
    [(b"a,b,y\n1,2,3\n1,2,\n", 3, "y"), (b'a,b,y\n1,2,"3"\n\n,2,1\n', 4, "a")],
)
def test_missing_values_are_refused_where_that_is_asked_for(model, reader, text, line, column):
    Path("gaps.csv").write_bytes(text)
    found = run("score", model, "gaps.csv", "-y", "y", "--json", "--missing", "refuse")
    refused(found, "gaps.csv", line, column, None, "a missing value")
    assert ("--missing drop" in found.err) == (column == "y")


def other_files():
    """Files of other kinds, and paths that are no files: name, and what is said."""
    table = pa.table({"a": [1.0, 2.0], "b": [0.0, 1.0], "y": [1.0, 2.0]})
    parquet.write_table(table, "good.parquet")
    feather.write_feather(table, "good.arrow")
    for kind, cut in (("parquet", 30), ("arrow", 30)):
        Path(f"cut.{kind}").write_bytes(Path(f"good.{kind}").read_bytes()[:-cut])
    shutil.copy("good.parquet", "parquet inside.csv")
    Path("csv inside.parquet").write_text(GOOD)
    parquet.write_table(table.slice(0, 0), "no rows.parquet")
    lists = table.set_column(0, "a", pa.array([[1.0], [2.0]]))
    parquet.write_table(lists, "lists.parquet")
    np.save("objects.npy", np.array([None, 1], object), allow_pickle=True)
    np.save("cut.npy", np.ones((9, 3)))
    Path("cut.npy").write_bytes(Path("cut.npy").read_bytes()[:-30])
    os.mkdir("folder.csv")
    os.mkfifo("pipe.csv")


@pytest.mark.parametrize(
    "name, words",
    [
        ("cut.parquet", "not a complete Parquet file"),
        ("cut.arrow", "not a complete Arrow IPC file"),
        ("cut.npy", "not a complete .npy file"),
        ("csv inside.parquet", "not a complete Parquet file"),
        ("parquet inside.csv", "not UTF-8"),
        ("no rows.parquet", "there are no rows in no rows.parquet"),
        ("lists.parquet", "column 'a' of lists.parquet holds list<"),
        ("objects.npy", "not a complete .npy file of numbers"),
        ("folder.csv", "a folder: name the files in it"),
        ("pipe.csv", "is a pipe or a device"),
        ("nothing.csv", "no such file: check the path"),
        ("none*.csv", "no file matches 'none*.csv'"),
        ("/dev/null", "is a pipe or a device"),
    ],
)
def test_other_kinds_of_files_are_refused_by_name(model, name, words):
    other_files()
    found = run("score", model, name, "-y", "y", "--json")
    assert found.code == 3 and found.error["file"] == name
    assert words in found.err and len(found.err.splitlines()) == 1


@pytest.mark.parametrize("column, value, said", [("b", float("inf"), "inf"), ("y", None, None)])
def test_values_of_parquet_are_named_by_row_group_and_row(model, column, value, said):
    values = {name: np.linspace(-1, 1, 30).tolist() for name in ("a", "b", "y")}
    values[column][23] = value
    parquet.write_table(pa.table(values), "bad.parquet", row_group_size=10)
    found = run("score", model, "bad.parquet", "-y", "y", "--json", "--missing", "refuse")
    told = found.error
    assert (found.code, told["row group"], told["row"]) == (3, 3, 4)
    assert (told["column"], told.get("value")) == (column, said)
    assert f"bad.parquet, row group 3, row 4, column '{column}': " in found.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_without_permission(model):
    Path("mine.csv").write_text(GOOD)
    os.chmod("mine.csv", 0)
    refused(run("score", model, "mine.csv", "-y", "y", "--json"), "mine.csv", words="permission")


def test_files_that_disagree_are_refused_together(model):
    Path("one.csv").write_text(GOOD)
    Path("two.csv").write_text("a,c,y\n1,2,3\n")
    found = run("score", model, "one.csv", "two.csv", "-y", "y", "--json")
    assert found.code == 3 and "two.csv has no column 'b', which one.csv has" in found.err
    Path("two.csv").write_text("a,b,y\n1,x,3\n")
    found = run("score", model, "one.csv", "two.csv", "-y", "y", "--json")
    assert found.code == 3 and "'b' is text such as 'x' in two.csv" in found.err


def test_lines_of_the_standard_input_are_named_as_such(model, reader):
    found = run("predict", model, "-", stdin=b"a,b\n1,2\n3,x\n")
    assert found.code == 3 and found.out in (b"", b'"mean","std"\n')
    assert "error: standard input, line 3, column 'b': 'x' is not a number" in found.err


def test_the_column_of_words_where_numbers_were(model, reader):
    Path("words.csv").write_text("a,b,y\nx,2,3\n1,2,4\n")
    for command in (("score", model, "words.csv", "-y", "y"), ("predict", model, "words.csv")):
        found = run(*command)
        assert found.code == 3
        assert "words.csv, line 2, column 'a': 'x' is not a number" in found.err
