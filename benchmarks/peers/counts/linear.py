"""PoissonRegressor of scikit-learn; columns of at most 24 values are one-hot encoded.

Its penalty is 1e-4: the default, 1, shrinks the coefficients of one-hot columns too much. In the
bicycle set the encoded columns are the season, year, month, hour, day and weather; the last four
columns, about the air, are used as they are.
Intervals are quantiles of a Poisson with the predicted mean.
"""

import numpy as np
from scipy.stats import poisson
from sklearn.compose import make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


class Model:
    def __init__(self, seed: int, threads: int, most_values: int = 24, alpha: float = 1e-4):
        self.most, self.alpha = most_values, alpha

    def fit(self, X, y):
        few = [j for j in range(X.shape[1]) if np.unique(X[:, j]).size <= self.most]
        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = make_column_transformer((hot, few), remainder="passthrough")
        self.model = make_pipeline(columns, PoissonRegressor(alpha=self.alpha, max_iter=10_000))
        self.model.fit(X, y)
        self.found = f"{len(few)} columns one-hot"

    def predict(self, Xs):
        mean = self.model.predict(Xs)
        return mean, poisson.ppf(0.025, mean), poisson.ppf(0.975, mean)
