"""GPBoost: a GP by Vecchia's approximation, Matérn 3/2, one length scale or one per column (ARD).

With ARD, length scales are learnt on a random subset and the columns are divided by them; then the
isotropic model is fitted to all rows, which is far cheaper than a new search for neighbours at
every change of the length scales. 20 neighbours while fitting (its default), 100 for predictions.
"""

import gpboost
import numpy as np


class Model:
    def __init__(
        self, seed: int, threads: int, neighbours: int = 20, neighbours_predict: int = 100,
        ard_rows: int = 0,
    ):  # fmt: skip
        self.rng, self.ard_rows = np.random.default_rng(seed), ard_rows
        self.predict_with = neighbours_predict
        self.arguments = {
            "cov_fct_shape": 1.5, "likelihood": "gaussian", "gp_approx": "vecchia",
            "num_neighbors": neighbours, "seed": seed, "num_parallel_threads": threads,
        }  # fmt: skip

    def fit(self, X, y):
        self.metric = np.ones(X.shape[1])
        if self.ard_rows:
            rows = self.rng.permutation(y.size)[: self.ard_rows]
            self.metric = self._fitted("matern_ard", X[rows], y[rows])[1][2:]
        self.model, values = self._fitted("matern", X / self.metric, y)
        self.model.set_prediction_data(num_neighbors_pred=self.predict_with)
        lengths = ", ".join(f"{v:.3g}" for v in values[2] * self.metric)
        self.found = f"noise {values[0]:.3g}, variance {values[1]:.3g}, length scales [{lengths}]"

    def _fitted(self, kernel: str, X, y):
        """A model and its parameters: noise, variance, length scales."""
        model = gpboost.GPModel(gp_coords=X, cov_function=kernel, **self.arguments)
        model.fit(y=y)
        return model, np.ravel(model.get_cov_pars())

    def predict(self, Xs):
        found = self.model.predict(
            gp_coords_pred=Xs / self.metric, predict_var=True, predict_response=True
        )
        return np.asarray(found["mu"]), np.sqrt(np.asarray(found["var"]))
