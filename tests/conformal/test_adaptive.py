"""Adaptive conformal inference covers whatever comes, over time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.conformal.adaptive import BEFORE, KEPT, adaptive_bound, kept_scores, known_scores
from collegium.conformal.quantiles import corrected_quantile

STREAMS = {
    "steady": lambda t, rng: rng.exponential(size=t),
    "jumps": lambda t, rng: rng.exponential(size=t) * np.where(np.arange(t) < t // 2, 1, 50),
    "grows": lambda t, rng: np.arange(t, dtype=float),
    "falls": lambda t, rng: -np.arange(t, dtype=float),
}


@pytest.mark.parametrize("rate", [0.01, 0.1])
@pytest.mark.parametrize("coverage", [0.6, 0.95])
@pytest.mark.parametrize("kind", STREAMS)
def test_the_share_missed_is_as_promised_whatever_comes(kind, coverage, rate):
    """Gibbs and Candès (2021), proposition 4.1."""
    scores = STREAMS[kind](700, np.random.default_rng(0))
    _, missed = adaptive_bound(scores, coverage, rate)
    assert missed.size == 700 - BEFORE
    most = (max(coverage, 1 - coverage) + rate) / (rate * missed.size)
    assert abs(missed.mean() - (1 - coverage)) <= most


def test_bounds_are_those_of_the_recursion():
    scores = np.random.default_rng(1).exponential(size=120)
    level, errors = 0.3, []
    for t in range(BEFORE, 120):
        bound = corrected_quantile(scores[:t, None], 1 - level)[0]
        errors.append(scores[t] > bound)
        level += 0.05 * (0.3 - errors[-1])
    bound, missed = adaptive_bound(scores, 0.7, 0.05)
    assert_array_equal(missed, errors)
    assert_allclose(bound, corrected_quantile(scores[:, None], 1 - level)[0])


def test_bounds_follow_errors_that_grow():
    scores = np.random.default_rng(2).exponential(size=600)
    before = adaptive_bound(scores, 0.9)[0]
    after = adaptive_bound(np.concatenate([scores, 5.0 * scores[:200]]), 0.9)[0]
    plain = corrected_quantile(np.concatenate([scores, 5.0 * scores[:200]])[:, None], 0.9)[0]
    assert after > plain > before


def test_the_last_scores_are_kept():
    assert known_scores(None).size == 0
    first = kept_scores(None, np.arange(5.0))
    assert first.size == KEPT
    assert_array_equal(known_scores(kept_scores(first, np.arange(3.0))), [0, 1, 2, 3, 4, 0, 1, 2])
    assert np.isfinite(kept_scores(None, np.array([1e200]))[-1])
    found = kept_scores(np.arange(0.0, KEPT), np.arange(KEPT, KEPT + 7.0))
    assert_array_equal(found, np.arange(7.0, KEPT + 7.0))
