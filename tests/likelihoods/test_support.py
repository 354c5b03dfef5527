"""Supports: which y there are, examples of them, and integrals over all of them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, gamma, norm, poisson

from collegium.likelihoods import CLASSES, COUNTS, POSITIVE, REALS, SIGNS, UNIT, Support

ANGLES = Support("angles", -np.pi, np.pi)
DEBTS = Support("debts", high=2.0)
LATE = Support("late", low=-5.0)
SCORES = Support("scores", 1.0, 7.0, whole=True)
ALL = [CLASSES, COUNTS, POSITIVE, REALS, SIGNS, UNIT, ANGLES, DEBTS, LATE, SCORES]
every = pytest.mark.parametrize("support", ALL, ids=lambda one: one.name)


@every
def test_examples_are_possible_and_counterexamples_are_not(support):
    assert support.contains(np.array(support.examples)).all() and len(support.examples) > 1
    assert not support.contains(np.array(support.counterexamples)).any()
    assert support.counterexamples
    support.check(np.array(support.examples), "Own")
    with pytest.raises(ValueError, match=f"y of Own must be {support.name}"):
        support.check(np.array([support.examples[0], support.counterexamples[0]]), "Own")


@every
def test_supports_are_the_same_after_a_journey(support):
    assert pickle.loads(pickle.dumps(support)) == support
    assert bool(support) and not Support("")


@pytest.mark.parametrize("support", [POSITIVE, REALS, UNIT, ANGLES, DEBTS, LATE], ids=str)
def test_the_line_goes_there_and_back(support):
    t = np.linspace(-4.0, 5.0, 11)
    y = support.from_line(t)
    assert support.contains(y).all() and (np.diff(y) > 0.0).all()
    assert_allclose(support.to_line(y), t, rtol=1e-12, atol=1e-12)
    step = 1e-5
    numeric = (support.from_line(t + step) - support.from_line(t - step)) / (2.0 * step)
    assert_allclose(support.slope(t), numeric, rtol=1e-8)


@pytest.mark.parametrize(
    "support, of",
    [
        (REALS, norm(0.3, 2.0)),
        (POSITIVE, gamma(0.6, scale=3.0)),
        (LATE, gamma(2.6, loc=-5.0, scale=0.1)),
        (UNIT, beta(0.7, 2.0)),
        (ANGLES, beta(3.0, 2.0, loc=-np.pi, scale=2.0 * np.pi)),
    ],
)
def test_integrals_over_all_y(support, of):
    y, weight, ends = support.over_all(of.mean(), of.std())
    p = weight * of.pdf(y)
    assert_allclose([p.sum(), p @ y], [1.0, of.mean()], rtol=1e-9)
    assert (p[ends] < 1e-12).all()


def test_sums_over_all_y():
    y, weight, _ = COUNTS.over_all(30.0, 5.0)
    assert_allclose(weight @ poisson.pmf(y, 30.0), 1.0, rtol=1e-12)
    assert SCORES.over_all(3.0, 1.0)[0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert SIGNS.over_all(0.0, 1.0)[0].tolist() == [-1, 1]


def test_words_say_the_bounds():
    assert str(SCORES) == "scores (1, 2, …, 7)" and str(SIGNS) == "signs (-1 or 1)"
    assert str(UNIT) == "proportions (between 0 and 1, both excluded)"
    assert str(DEBTS) == "debts (below 2)" and str(COUNTS) == "counts (0, 1, …)"


def test_bounds_that_make_no_support_are_refused():
    with pytest.raises(ValueError, match="low=3 is not below 3"):
        Support("none", 3.0, 3.0)
    with pytest.raises(ValueError, match="need a lowest one"):
        Support("integers", whole=True)
