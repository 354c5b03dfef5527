"""Conditions read kept columns and nothing else."""

import numpy as np
import pytest

from collegium import Ledger
from ledger.ledger_cases import fitted, some_rows


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with Ledger(tmp_path_factory.mktemp("where") / "a.clgdb", fitted()) as own:
        for k in range(3):
            kept = {"customer": np.arange(25) % 7, "name": [f"O'Neil {i}" for i in range(25)],
                    "odd \" name": np.arange(25) / 2}  # fmt: skip
            own.add(*some_rows(k), id=k, source="lab" if k else "field", kept=kept)
        yield own


def counted(ledger, where):
    """Rows that would be forgotten; the ledger stays as it is."""
    with pytest.raises(RuntimeError, match="undo"), ledger.together():
        found = ledger.forget(where=where).rows
        raise RuntimeError("undo")
    return found


@pytest.mark.parametrize("where, rows", {
    "customer = 3": 12,
    "customer in (1, 2) and source = 'lab'": 16,
    "name = 'O''Neil 4'": 3,
    "name like '%1' or (customer between 5 and 6 and not id = 0)": 21,
    '"odd "" name" > 11.5': 3,
    "[name] glob '*24' and lsn < 3": 2,
    "abs(customer - 6) = 0 and lower(source) = 'field'": 3,
    "customer is null": 0,
    "name = ') or (1 = 1'": 0,
    "name = '--;/*'": 0,
}.items())  # fmt: skip
def test_conditions(ledger, where, rows):
    assert counted(ledger, where) == rows


@pytest.mark.parametrize("where", [
    "1) UNION SELECT 1, 2 FROM (SELECT 1", "customer = 3) or (1 = 1", "1 = 1) LIMIT (3",
    "customer = 3; DELETE FROM chunk", "customer = (SELECT max(_key) FROM chunk)",
    "exists (SELECT 1 FROM event)", "rows is not null", "sha256 like 'a%'", "customer = 3 --",
    "customer /* */ = 3", "load_extension('x') = 1", "randomblob(1000000000) = 1", "customer = ?",
    "customer = :a", "nobody = 3", '"nobody" = 3', "customer =", "((customer = 3)", "", "  ", 3,
    "customer = 3 GROUP BY name", "writefile('x', 'y') = 1", "name = 'open", "sqlite_version() = 1",
    "(WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT max(x) FROM t) = 1",
    "kept.name = chunk.rows", "customer = 3\0 or 1", "name in (SELECT name FROM sqlite_master)",
])  # fmt: skip
def test_what_is_no_condition_is_refused_and_nothing_is_done(ledger, where):
    state = ledger.state
    with pytest.raises(ValueError, match="where="):
        ledger.forget(where=where)
    assert ledger.state == state and ledger.n_rows == 75


def test_chunks_without_kept_columns_are_chosen_whole(tmp_path):
    with Ledger(tmp_path / "a.clgdb", fitted()) as own:
        for k in range(3):
            own.add(*some_rows(k), id=f"c{k}", source="lab" if k else "field")
        assert own.forget(where="source = 'lab' and id <> 'c2'").rows == 25
        assert [one.id for one in own.chunks()] == ["c0", "c2"]


@pytest.mark.parametrize("name", ["id", "Source", "_x", "rows"])
def test_names_with_a_meaning_cannot_be_kept(tmp_path, name):
    with Ledger(tmp_path / "a.clgdb", fitted()) as own, pytest.raises(ValueError, match="rename"):
        own.add(*some_rows(0), kept={name: [1] * 25})
