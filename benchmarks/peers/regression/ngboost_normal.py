"""NGBoost: natural gradient boosting of a normal, stopped early on a held-out tenth.

Trees, learning rate and score are its defaults; up to 2,000 rounds, as in Duan et al. (2020), of
which those up to the best on the held-out rows are used.
"""

import numpy as np
from ngboost import NGBRegressor
from ngboost.distns import Normal


class Model:
    def __init__(self, seed: int, threads: int, rounds=2_000, patience=50):
        self.rng, self.patience = np.random.default_rng(seed), patience
        self.model = NGBRegressor(
            Dist=Normal, n_estimators=rounds, verbose=False, random_state=seed
        )

    def fit(self, X, y):
        held, kept = np.split(self.rng.permutation(y.size), [y.size // 10])
        self.model.fit(
            X[kept], y[kept], X_val=X[held], Y_val=y[held], early_stopping_rounds=self.patience
        )
        self.best = self.model.best_val_loss_itr + 1  # counted from 0
        self.held = y[held], *self.predict(X[held])
        self.found = f"{self.best} rounds"

    def predict(self, Xs):
        found = self.model.pred_dist(Xs, max_iter=self.best).params
        return np.asarray(found["loc"]), np.asarray(found["scale"])
