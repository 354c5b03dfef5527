"""GPBoost: a GP by Vecchia's approximation, Matérn 3/2 with a length scale a column.

As its documentation has it for large data: random ordering, neighbours by correlation, L-BFGS.
"""

import gpboost
import numpy as np


class Model:
    def __init__(self, seed: int, threads: int, neighbours: int = 20, shape: float = 1.5):
        self.arguments = {
            "cov_function": "matern_ard", "cov_fct_shape": shape, "likelihood": "gaussian",
            "gp_approx": "vecchia", "num_neighbors": neighbours, "seed": seed,
            "num_parallel_threads": threads,
        }  # fmt: skip

    def fit(self, X, y):
        self.model = gpboost.GPModel(gp_coords=X, **self.arguments)
        self.model.fit(y=y)
        values = np.ravel(self.model.get_cov_pars())
        self.found = "covariance parameters " + ", ".join(f"{v:.3g}" for v in values)

    def predict(self, Xs):
        found = self.model.predict(gp_coords_pred=Xs, predict_var=True, predict_response=True)
        return np.asarray(found["mu"]), np.sqrt(np.asarray(found["var"]))
