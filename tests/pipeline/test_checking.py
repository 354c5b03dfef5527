"""Rows left out to check error bars."""

import numpy as np
import pytest

from collegium.pipeline.checks.bars import telling
from collegium.pipeline.tuning import TUNING


def test_heavy_tails_take_more_rows():
    """As many as make the standard error of a mean square that of so many normal rows."""
    rng = np.random.default_rng(3)
    normal = rng.normal(4.0, 3.0, size=(200_000, 1))
    assert telling(normal) == pytest.approx(TUNING.checking.held_out, rel=0.03)
    laplace = rng.laplace(size=(200_000, 1))  # kurtosis 6
    number = telling(laplace)
    z2 = laplace**2 / 2.0
    errors = [rng.choice(z2[:, 0], number).mean() - 1.0 for _ in range(400)]
    assert np.std(errors) == pytest.approx(np.sqrt(2.0 / TUNING.checking.held_out), rel=0.15)
    assert telling(np.hstack([normal, laplace])) == number  # the output that needs most
    assert telling(laplace + 10.0) == pytest.approx(number, abs=2)


@pytest.mark.parametrize(
    "y",
    [np.zeros((50, 1)), np.r_[np.zeros((10**5, 1)), [[1.0]]], 1e140 * np.arange(5.0)[:, None]],
    ids=["constant", "one spike", "huge"],
)
def test_the_number_of_rows_is_bounded(y):
    assert TUNING.checking.held_out <= telling(y) <= 5 * TUNING.checking.held_out
