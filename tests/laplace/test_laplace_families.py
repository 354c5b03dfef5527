"""Families of kernels of latent functions."""

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.laplace import learning
from collegium.laplace.tuning import TUNING


@pytest.mark.parametrize("name", ["student-t", "poisson"])
@pytest.mark.parametrize("gap, rougher", [(0.014, 1), (0.016, 2)])
def test_doubtful_cases_are_rough_and_more_so_beside_outliers(monkeypatch, name, gap, rougher):
    """By the evidences of Matern32, Matern52 and RBF, of which the last is the best by `gap`."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60, 2))
    y = rng.poisson(3.0, 60).astype(float)
    fitted = learning._LatentLearner._fit
    values = {kernels.Matern32: -0.5, kernels.Matern52: -gap, kernels.RBF: 0.0}

    def fit(self, kernel, noise, groups):
        return learning.replace(fitted(self, kernel, noise, groups), value=values[type(kernel)])

    monkeypatch.setattr(learning._LatentLearner, "_fit", fit)
    model = CommitteeRegressor(likelihood=name, random_state=0).fit(X, y)
    chosen = TUNING.learning.families[rougher if name == "student-t" else 2]
    assert type(model.kernel_).__name__ == chosen


def test_bands_of_functions_cover_beside_outliers():
    """Draws of a rough function, one of ten rows with ten times the noise."""
    covered = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (1200, 2))
        sd = np.where(rng.uniform(size=1200) < 0.1, 2.0, 0.2)
        f = kernels.Matern32(1.0, [0.5, 0.5]).sample(X, 1, rng)[:, 0]
        y = f + sd * rng.normal(size=1200)
        model = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X[:800], y[:800])
        low, high = model.predict_interval(X[800:], 0.95, level="function")
        covered.append(np.mean((low <= f[800:]) & (f[800:] <= high)))
    assert 0.925 <= np.mean(covered) <= 0.985
