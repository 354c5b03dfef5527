"""Ledgers of earlier releases open, and are what they were."""

import json
import shutil

import pytest
from numpy.testing import assert_allclose

from collegium import Ledger
from collegium.messages.probe import probe
from golden.ledgers import ANSWERS, HERE, LEDGER, begin, rows, told

FILES = sorted(HERE.glob(f"*/{LEDGER}"))


def test_there_is_one():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_golden_ledger_is_what_it_was(path, tmp_path):
    """To the last bit where messages are rounded in the same way, else to nine digits."""
    shutil.copy(path, tmp_path)
    wanted = json.loads((path.parent / ANSWERS).read_text())
    numbers = "mean", "std", "then"
    with Ledger(tmp_path / LEDGER) as own:
        same = own._db.meta()["probe"] == probe()
        if not same:
            own.add(*rows(9), id=9, kept={"who": [0] * 24})  # which adds up all messages again
            own.forget(9)
            wanted = {name: wanted[name] for name in ("ids", "basis", *numbers)}
        found = told(own)
        assert own.verify(wanted.get("head"))["rows"] == 22 + 23 + 24
        own.add(*rows(5), id=5, kept={"who": [5] * 24})
    for name, value in wanted.items():
        if name in numbers:
            assert_allclose(found[name], value, rtol=0.0 if same else 1e-9)
        else:
            assert found[name] == value


def test_the_script_makes_one(tmp_path):
    with begin(tmp_path / LEDGER) as own:
        assert own.verify()["earlier versions"] == 1 and told(own)["ids"] == [1, 2, "first"]
