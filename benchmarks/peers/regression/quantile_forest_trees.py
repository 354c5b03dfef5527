"""quantile-forest: RandomForestQuantileRegressor with its default arguments.

100 trees, grown until leaves are pure, one value kept for each leaf. The mean is that of the
forest; the Student t is fitted to predictions by the trees that did not see a row.
"""

import numpy as np
from quantile_forest import RandomForestQuantileRegressor

from benchmarks.peers.regression.quantiles_common import ASKED, QuantileModel, moments

#: Rows whose predictions by other trees are used.
MOST_HELD = 1_000


class Model(QuantileModel):
    def __init__(self, seed: int, threads: int):
        self.rng = np.random.default_rng(seed)
        self.model = RandomForestQuantileRegressor(n_jobs=threads, random_state=seed)

    def fit(self, X, y):
        self.model.fit(X, y)
        rows = self.rng.permutation(y.size)[:MOST_HELD]
        given = {"oob_score": True, "indices": list(rows)}
        Q = self.quantiles(X[rows], **given)
        mean = self.model.predict(X[rows], quantiles="mean", **given)
        known = np.isfinite(Q).all(axis=1)  # in the sample of every tree: none is left
        self.held = y[rows][known], mean[known], moments(Q[known])[1]

    def quantiles(self, Xs, **given):
        return self.model.predict(Xs, quantiles=list(ASKED), **given)

    def predict(self, Xs):
        return self.model.predict(Xs, quantiles="mean"), moments(self.quantiles(Xs))[1]
