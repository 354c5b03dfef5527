"""Pictures leave nothing behind: no open figure, no changed setting."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from collegium import CommitteeRegressor
from picture_cases import Known


@pytest.fixture(autouse=True)
def nothing_left():
    before = dict(mpl.rcParams)
    yield
    open_figures = plt.get_fignums()
    plt.close("all")
    assert open_figures == []
    assert dict(mpl.rcParams) == before


@pytest.fixture
def known():
    return Known()


@pytest.fixture(scope="session")
def one_column():
    """A model of one column, rows that it knows, and others."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (120, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    return CommitteeRegressor(random_state=0).fit(X[:60], y[:60]), X[60:], y[60:]
