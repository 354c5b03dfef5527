"""Commands of ledgers do what the library does."""

import sqlite3
from contextlib import closing

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
