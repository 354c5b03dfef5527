"""Commands of ledgers do what the library does."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from running import run, small_model

import collegium
from collegium import Ledger

pd = pytest.importorskip("pandas")


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2, 2, n), rng.normal(size=n)
    y = np.sin(2 * a) + 0.1 * b + 0.1 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "y": y, "customer": np.arange(n) % 5})


@pytest.fixture
def ledgers(tmp_path, monkeypatch):
    """Two ledgers on one basis, `l.clgdb` and `other.clgdb`, and what they were given."""
    monkeypatch.chdir(tmp_path)
    model = small_model(anchors=8, chunks=20)
    with Ledger("l.clgdb", model, target="y", keep=["customer"]) as own:
        own.add(table(seed=1), id="May", at="2030-01-07 12:00")
        own.add(table(seed=2), id="June", at="2030-01-08 12:00")
    with Ledger("other.clgdb", model, target="y", keep=["customer"]) as other:
        other.add(table(seed=3), id="July")
    return model


def state(path):
    with Ledger(path) as own:
        return own.state, own.n_rows


def test_forgetting_is_that_of_the_library(ledgers):
    with Ledger("l.clgdb") as own:
        before = own.state
    found = run("forget", "l.clgdb", "--where", "customer = 3", "--reason", "asked", "--json")
    assert found.code == 0, found.err
    said = found.answer
    assert (said["rows"], said["reason"], said["before"]) == (16, "asked", before)
    assert said["after"] == state("l.clgdb")[0] != before and said["remembers"]
    found = run("forget", "l.clgdb", "--ids", "June")
    assert found.code == 0 and b"forgotten" in found.out and b"'June'" in found.out
    with Ledger("fresh.clgdb", ledgers, target="y", keep=["customer"]) as fresh:
        rest = table(seed=1)
        fresh.add(rest[rest.customer != 3], id="May")
        assert fresh.state == state("l.clgdb")[0]
    assert state("l.clgdb")[1] == 32


def test_merging_adds_chunks(ledgers):
    found = run("merge", "l.clgdb", "other.clgdb", "--json")
    assert found.code == 0, found.err
    assert (found.answer["state"], 120) == state("l.clgdb")
    assert state("other.clgdb")[1] == 40
    again = run("merge", "l.clgdb", "missing.clgdb")
    assert again.code == 4 and "missing.clgdb: no such ledger" in again.err


@pytest.mark.parametrize("when", ["2030-01-07", "1", "now"])
def test_a_model_as_it_was_is_written(ledgers, when):
    with Ledger("l.clgdb") as own:
        expected = own.model() if when == "now" else own.as_of(int(when) if when == "1" else when)
    found = run("as-of", "l.clgdb", when, "-o", "then.clg")
    assert found.code == 0 and "then.clg" in found.err
    X = table(seed=9)[["a", "b"]]
    loaded = collegium.load("then.clg")
    for one, two in zip(*(m.predict(X, return_std=True) for m in (loaded, expected))):
        assert_array_equal(one, two)
    refused = run("as-of", "l.clgdb", "1999-01-01", "-o", "no.clg")
    assert refused.code == 3 and "before this ledger began" in refused.err


def test_tampering_is_found(ledgers):
    found = run("verify", "l.clgdb", "--json")
    assert found.code == 0 and found.answer["rows"] == 80
    with closing(sqlite3.connect("l.clgdb")) as con, con:
        con.execute("UPDATE event SET reason = 'another' WHERE lsn = 1")
    found = run("verify", "l.clgdb")
    assert found.code == 4 and "l.clgdb" in found.err


def test_arguments_that_mean_nothing_are_refused(ledgers):
    before = state("l.clgdb")
    for given in ([], ["--ids", "May", "--where", "customer = 1"]):
        found = run("forget", "l.clgdb", *given)
        assert found.code == 2 and "--ids or --where" in found.err
    found = run("forget", "l.clgdb", "--ids", "August")
    assert found.code == 3 and "August" in found.err
    found = run("forget", "l.clgdb", "--where", "no_such = 1")
    assert found.code == 3 and "no_such" in found.err
    assert state("l.clgdb") == before


def written(name, seed, n=40):
    """A table as a file, and as pandas reads it."""
    own = table(n, seed)
    own["town"] = np.where(np.arange(n) % 3, "Rome", "Oslo")
    own.to_csv(name, index=False)
    return pd.read_csv(name)


def test_rows_of_files_are_added_as_those_of_frames(ledgers):
    ledgers.save("start.clg")
    first, more = written("a.csv", 5), written("b.csv", 6)
    found = run("update", "new.clgdb", "a.csv", "--from", "none.clg")
    assert found.code == 4 and "none.clg" in found.err
    found = run("update", "new.clgdb", "a.csv", "--from", "start.clg", "-y", "y", "--id", "May",
                "--source", "lab", "--at", "2030-01-07", "--json")  # fmt: skip
    assert found.code == 0, found.err
    again = run("update", "new.clgdb", "a.csv", "--id", "May", "--json").answer
    assert again == found.answer and again["rows"] == 40
    found = run("update", "new.clgdb", "b.csv", "a.csv", "--id", "7", "--where", "customer < 3")
    assert found.code == 0, found.err
    with Ledger("api.clgdb", ledgers, target="y") as own, Ledger("new.clgdb") as new:
        own.add(first, id="May", source="lab", at="2030-01-07")
        both = pd.concat([more, first])
        own.add(both[both.customer < 3], id=7)
        assert own.state == new.state == new.verify()["state"]
        assert new.columns == own.columns == ("a", "b", "y", "customer", "town")
        may = new.chunks()[1]
        assert (may.source, may.at) == ("lab", "2030-01-07 23:59:59.999999")
    first.drop(columns="town").to_csv("c.csv", index=False)
    before = state("new.clgdb")
    for bad, words in ((["c.csv"], "'town'"), (["b.csv", "--id", "May"], "other rows")):
        found = run("update", "new.clgdb", *bad)
        assert found.code == 3 and words in found.err, found.err
    assert state("new.clgdb") == before


def test_a_chunk_is_replaced_by_a_file(ledgers):
    more = table(30, 8)
    more.to_csv("new.csv", index=False)
    found = run("replace", "l.clgdb", "new.csv", "--id", "May", "--reason", "revised", "--json")
    assert found.code == 0 and found.answer["rows"] == 70, found.err
    with Ledger("fresh.clgdb", ledgers, target="y", keep=["customer"]) as own:
        own.add(table(seed=2), id="June")
        own.add(pd.read_csv("new.csv"), id="May")
        assert (own.state, 70) == state("l.clgdb")
    with Ledger("l.clgdb") as own:
        assert (own.events()[-1].kind, own.events()[-1].reason) == ("replace", "revised")
    found = run("replace", "l.clgdb", "new.csv", "--id", "nobody")
    assert found.code == 3 and "nobody" in found.err


def test_merging_into_a_new_ledger_leaves_the_others(ledgers):
    before = state("l.clgdb"), state("other.clgdb")
    found = run("merge", "l.clgdb", "other.clgdb", "-o", "both.clgdb", "--json")
    assert found.code == 0, found.err
    assert (state("l.clgdb"), state("other.clgdb")) == before
    assert state("both.clgdb") == (found.answer["state"], 120)
    with Ledger("l.clgdb") as own, Ledger("other.clgdb") as other:
        own.merge(other)
        assert own.state == found.answer["state"]
        own.replace("July", table(seed=9))
    found = run("merge", "l.clgdb", "other.clgdb", "-o", "no.clgdb")
    assert found.code == 3 and "different rows" in found.err
    left = {one.name for one in Path().glob("*.clgdb*")}
    assert "both.clgdb" in left and not [one for one in left if "no." in one or ".part" in one]
    assert run("merge", "l.clgdb", "other.clgdb", "-o", "both.clgdb").code == 2


def test_options_of_the_other_kind_of_file_are_refused(ledgers):
    ledgers.save("start.clg")
    table().to_csv("a.csv", index=False)
    for given, words in (
        (["l.clgdb", "a.csv", "-o", "x.clg"], "-o means nothing for a ledger"),
        (["l.clgdb", "a.csv", "-x", "a"], "-x means nothing for a ledger"),
        (["start.clg", "a.csv", "--source", "lab"], "--source means nothing for a model file"),
        (["start.clg", "a.csv", "--from", "m"], "--from means nothing for a model file"),
    ):
        found = run("update", *given)
        assert found.code == 2 and words in found.err
