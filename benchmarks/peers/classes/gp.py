"""GaussianProcessClassifier of scikit-learn on as many rows as fit into the same time.

The largest random subset of 125, 250, 500, … rows whose fit takes no more CPU seconds than
CommitteeClassifier on all rows. The kernel is that of the user guide, a constant times an isotropic
RBF, without restarts; the length scale starts at √d, since in many dimensions it does not move
from 1. The CPU time is that of the last fit, not of the search for the size.
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from benchmarks.harness.meter import Meter

FIRST = 125
#: A fit of twice the rows takes at least so many times longer, where it was not seen.
GROWTH = 4.0


class Model:
    def __init__(self, seed: int, threads: int, budget: float):
        self.seed, self.budget = seed, budget

    def fit(self, X, y):
        order = np.random.default_rng(1).permutation(y.size)
        size, growth, before = FIRST, GROWTH, None
        while True:
            rows = order[:size]
            kernel = 1.0 * RBF(np.sqrt(X.shape[1]))
            model = GaussianProcessClassifier(kernel, random_state=self.seed)
            with Meter() as spent:
                model.fit(X[rows], y[rows])
            if before is not None and spent.cpu > self.budget:
                break
            self.model, self.spent, self.n_rows = model, spent, rows.size
            if before is not None:
                growth = max(GROWTH, spent.cpu / before)
            if rows.size == y.size or growth * spent.cpu > self.budget:
                break
            before, size = spent.cpu, 2 * size
        self.found = f"{self.model.kernel_}"

    def predict(self, Xs):
        return self.model.predict_proba(Xs), self.model.classes_
