"""What no machine could hold is a ValueError that names its argument, before the work."""

import numpy as np
import pytest

from collegium import (
    CommitteeRegressor,
    Learn,
    Limits,
    RegressionFilter,
    RVCRegressor,
    kernels,
    sample_prior,
)
from collegium.interface.checks.limits import (
    LONGEST,
    bytes_allowed,
    limits_allowed,
    seconds_allowed,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
WIDE = RNG.normal(size=(30, 20_000))


@pytest.fixture(autouse=True)
def some_memory(monkeypatch):
    """A machine of 8 GB."""
    monkeypatch.setattr("collegium.numerics.memory.physical", lambda: 8e9)


@pytest.mark.parametrize("model, rows, words", [
    (RVCRegressor(max_experts=10**9), X, "max_experts=1000000000 with 2 columns .* GB"),
    (RVCRegressor(max_experts=10**9, mode="paper"), X, "max_experts=1000000000"),
    (RVCRegressor(), WIDE, "max_experts=200 with 20000 columns .*mode='paper'"),
    (RegressionFilter(), WIDE, "20001 of the linear part .*linear=False"),
    (RegressionFilter(n_basis=16_000), X[:, :1], "n_basis: 16000 functions .*smaller n_basis"),
    (RegressionFilter(n_basis=16_000, basis="fourier"), X, "n_basis: 16000 functions"),
])  # fmt: skip
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_too_much_is_refused_before_the_work(model, rows, words, method):
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(rows, Y[: len(rows)])
    assert not hasattr(model, "model_")


def test_bumps_are_no_more_than_rows():
    assert RegressionFilter(n_basis=16_000, random_state=0).fit(X, Y).n_basis_ == 40


def test_draws_beyond_memory_are_refused():
    model = CommitteeRegressor(kernels.RBF(), noise=0.1, learn=False).fit(X, Y)
    filtered = RegressionFilter(kernels.RBF(), noise=0.1, learn=False).fit(X, Y)
    for draw in (model.sample_y, filtered.sample_y, filtered.sample_prior):
        with pytest.raises(ValueError, match="n_samples=1000000000 at 40 queries .*less"):
            draw(X, 10**9)
        with pytest.raises(ValueError, match="n_samples=0"):
            draw(X, 0)
    with pytest.raises(ValueError, match="n_samples=1000000000"):
        sample_prior(kernels.RBF(), X, 10**9)


def test_starts_without_end_are_refused():
    with pytest.raises(ValueError, match="n_starts of learn.*=1000000000: .* at most 1000"):
        CommitteeRegressor(learn=Learn(n_starts=10**9)).fit(X, Y)


@pytest.mark.parametrize("text", ["9" * 200_000 + "x", " " * 200_000 + "9", "1" + " " * 200_000])
def test_long_texts_of_sizes_are_refused_at_once(text):
    with pytest.raises(ValueError, match="memory of limits") as error:
        CommitteeRegressor(limits=Limits(memory=text)).fit(X, Y)
    assert len(str(error.value)) < LONGEST + 100


def test_numbers_too_large_for_floats_are_no_limit():
    assert bytes_allowed(10**400, "") == seconds_allowed(10**400, "") == np.inf
    assert limits_allowed(Limits(10**400, 10**400)) == (np.inf, np.inf)
