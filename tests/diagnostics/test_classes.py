"""Reliability of probabilities, against sums over bins one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.diagnostics import reliability


def slow_error(p, hit, edges):
    """Σ_b n_b/n |mean hit − mean p|, with bins (−∞, e₁], (e₁, e₂], …"""
    ends = [-np.inf, *edges, np.inf]
    total = 0.0
    for low, high in zip(ends, ends[1:]):
        own = [i for i in range(len(p)) if low < p[i] <= high]
        if own:
            total += len(own) / len(p) * abs(np.mean(hit[own]) - np.mean(p[own]))
    return total


def test_bins_and_error():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 1, size=500)
    hit = rng.uniform(size=500) < p**2
    found = reliability(p, hit, bins=7)
    edges = np.quantile(p, np.arange(1, 7) / 7)
    assert_allclose(found.error, slow_error(p, hit, edges))
    assert found.count.sum() == 500 and found.count.max() - found.count.min() <= 1
    lowest = p <= edges[0]
    assert_allclose(found.probability[0], p[lowest].mean())
    assert_allclose(found.share[0], hit[lowest].mean())
    assert found.error > found.by_chance
    assert found.error_low < found.error < found.error_high


def test_right_probabilities_err_by_chance_alone():
    rng = np.random.default_rng(1)
    beyond, outside = 0, []
    for seed in range(100):
        p = rng.uniform(size=400)
        found = reliability(p, rng.uniform(size=400) < p, seed=seed)
        beyond += found.error > found.by_chance
        outside.append(np.mean((found.share < found.low) | (found.share > found.high)))
    assert beyond <= 12
    assert np.mean(outside) < 0.06


def test_equal_probabilities_are_one_bin():
    found = reliability(np.full(50, 0.3), np.arange(50) < 20)
    assert found.count.tolist() == [50]
    assert_allclose(found.error, 0.1)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="probability has no rows"):
        reliability(np.empty(0), np.empty(0, dtype=bool))
