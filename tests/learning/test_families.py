"""Densities of held-out rows by which candidates are compared."""

import numpy as np
from numpy.testing import assert_allclose

from collegium.errors.features import ScaleInputs
from collegium.errors.fitting import learn_scale
from collegium.errors.scale import ErrorScale
from collegium.errors.tuning import TUNING
from collegium.learning import families
from collegium.learning.families import Comparison


def rows(n=500, seed=0, spread=1.0):
    """Errors whose scale follows the first column, as predictions with a wrong constant sd see
    them."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-2.0, 2.0, (n, 2))
    y = (np.exp(0.8 * place[:, :1]) * rng.standard_t(5, (n, 1))) * 0.3
    order = np.lexsort((*y.T, *place.T[::-1]))  # as `ErrorScale` sorts them
    place, y = place[order], y[order]
    at = ScaleInputs.of(np.zeros((n, 1)), np.full(n, spread), place, None)
    return at, y


def test_the_first_candidate_is_judged_by_its_own_scale(monkeypatch):
    """Without skewness it is that of `ErrorScale`, learnt whatever it gains."""
    import collegium.errors.scale as scale

    at, y = rows()
    monkeypatch.setattr(scale, "_skewed", lambda cross, *more: cross)
    _, expected = ErrorScale.scored(at, y, np.ones(500), [None], always=True)
    found = Comparison(y, np.ones(500), [None]).log_density(at)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_later_candidates_have_the_prior_of_the_first_and_a_level_of_their_own():
    """A candidate whose sd is wrong by a factor is judged nearly as the right one."""
    at, y = rows()
    wide, _ = rows(spread=9.0)
    both = Comparison(y, np.ones(500), [None])
    first, second = both.log_density(at).mean(), both.log_density(wide).mean()
    alone = Comparison(y, np.ones(500), [None]).log_density(wide).mean()
    assert abs(first - second) < 0.02
    assert abs(second - alone) < 0.02


def test_a_candidate_that_predicts_better_has_the_higher_density():
    at, y = rows()
    part = 0.5 * y  # explains half of every error
    better = ScaleInputs.of(part, np.ones(500), at.place, None)
    both = Comparison(y, np.ones(500), [None])
    gain = both.log_density(better).mean() - both.log_density(at).mean()
    assert gain > np.log(2.0) - 0.05  # more: the mean tells where errors are large


def test_rows_of_one_group_or_too_few_have_no_scale():
    at, y = rows()
    plain = -0.5 * (np.log(2.0 * np.pi) + y**2)
    one = Comparison(y, np.ones(500), [None], np.zeros(500, dtype=int)).log_density(at)
    assert_allclose(one, plain, rtol=1e-10)
    few = TUNING.decision.fewest - 1
    found = Comparison(y[:few], np.ones(few), [None]).log_density(at.take(np.arange(few)))
    assert_allclose(found, plain[:few], rtol=1e-10)


def test_hyperparameters_are_learnt_once(monkeypatch):
    at, y = rows()
    wide, _ = rows(spread=9.0)
    calls = []

    def spy(*arguments):
        calls.append(arguments)
        return learn_scale(*arguments)

    monkeypatch.setattr(families, "learn_scale", spy)
    both = Comparison(y, np.ones(500), [None])
    both.log_density(at)
    both.log_density(wide)
    assert len(calls) == 1
