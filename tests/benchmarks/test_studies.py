"""Draws and the oracle of the study of coverage; faults drawn by the study of mutants."""

import ast

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from benchmarks.studies import coverage, mutants
from benchmarks.studies.coverage import Case


@pytest.mark.parametrize("family", ["Matern32", "RBF"])
def test_features_draw_from_the_prior(family, monkeypatch):
    """E[f(x)f(x')] = k(x, x'), here by 400 draws, with an error of about 1/√400."""
    monkeypatch.setattr(coverage, "MOST_EXACT", -coverage.QUERIES)
    monkeypatch.setattr(coverage, "FEATURES", 300)
    case, X = Case(family, d=2), np.array([[0.0, 0.0], [0.3, 0.0], [0.2, 0.9]])
    draws = [coverage.function(case, X, np.random.default_rng(seed)) for seed in range(400)]
    assert_allclose(np.mean([np.outer(f, f) for f in draws], axis=0),
                    case.kernel().value(X, X), atol=0.2)  # fmt: skip


@pytest.mark.parametrize("case", [
    Case("RBF", d=1, n=60, noise=1.0, kind="uneven"), Case(n=60, d=5, layout="clustered"),
    *(pytest.param(one, marks=pytest.mark.slow) for one in (
        Case(n=60), Case(n=60, kind="heavy"), Case("Periodic", d=1, n=60)
    )),
])  # fmt: skip
def test_the_oracle_covers(case):
    """Over 12 draws; a draw's errors of the function are alike, so its share is uncertain."""
    held = [coverage.oracle(case, coverage.draw(case, seed))["held"] for seed in range(12)]
    assert_allclose(np.mean(held, axis=0), coverage.LEVELS, atol=0.04)


def test_the_oracle_of_many_rows_is_the_noise_about_the_function(monkeypatch):
    monkeypatch.setattr(coverage, "MOST_EXACT", 10)
    case = Case(n=60, noise=0.5)
    found = coverage.draw(case, 0)
    expected = -norm.logpdf(found.ys, found.fs, 0.5).mean()
    assert_allclose(coverage.oracle(case, found)["nlpd"], expected, rtol=1e-12)


def test_mutants_are_other_programs(monkeypatch):
    monkeypatch.setattr(mutants, "ROOMS", ("messages", "rows"))
    package = mutants.ROOT / "src" / "collegium"
    found = mutants.drawn(package, 44, 3)
    assert found == mutants.drawn(package, 44, 3) != mutants.drawn(package, 44, 4)
    assert {one.path.parts[0] for one in found} == set(mutants.ROOMS)
    for one in found:
        before = (package / one.path).read_bytes()
        after = before[: one.start] + one.new.encode() + before[one.end :]
        assert before[one.start : one.end].decode() == one.old
        assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))


def test_what_may_stand_instead():
    def found(text):
        return set(mutants.changes(ast.parse(text, mode="eval").body))

    assert found("a + b") == {"((a) - (b))", "(a)"}
    assert found("a * b") == {"((a) / (b))"}
    assert found("a < b") == {"(a >= b)"}
    assert found("np.maximum(a, 1.0)") == {"np.minimum(a, 1.0)"}
    assert found("0.5") == {"1.0"}
    assert found("f(a)") == found("'text'") == found("0.0") == set()
