"""A few examples of `make fuzz`: every estimator meets every invariant that it promises."""

import numpy as np
import pytest

from fuzz import run
from fuzz.estimators import CASES, Case
from fuzz.invariants import INVARIANTS, applies
from fuzz.tables import table


@pytest.mark.diagonal(15)
@pytest.mark.parametrize("name", INVARIANTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_invariants_hold(case, name):
    if applies(case, name):
        tried = run.Tried()
        run.try_some(case, name, 0, tried)
        assert tried.counts[case.name, name] == run.EXAMPLES
        assert not tried.failed, run.report(tried)


class Forgetful:
    """Answers with the last target: neither the order of rows nor their number is right."""

    def set_params(self):
        return self

    def fit(self, X, y, w=None):
        self.last = y[-1]
        return self

    def predict(self, X, return_std=True):
        return np.full(len(X), self.last), np.ones(len(X))


def test_a_fault_is_found_and_made_simple():
    case, tried = Case("forgetful", lambda table: Forgetful()), run.Tried()
    for seed in range(3):
        run.try_some(case, "permutation", seed, tried)
    (found, said), *_ = tried.failed.values()
    assert "means differ" in said and "FAILED permutation of forgetful" in run.report(tried)
    n, d, _, kinds, powers, shift = found.made
    assert n < 40 and kinds == ("uniform", "smooth", "one")
    assert d == 1 and powers == [0, 0] and shift == 0.0


def test_a_table_is_what_its_text_says():
    one = table(7, 2, 3, ("few", "outliers", "extreme"), [3, -2, 0], 1.0)
    again = eval(repr(one), {"table": table})
    for name in ("X", "y", "w", "Xs", "counts", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
