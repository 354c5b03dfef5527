"""The exact GP on all rows with the kernel and noise that collegium has learnt: the same prior.

Learning is the same as in `fit` of collegium with constant noise, and its cost is included.
"""

from benchmarks.peers.regression.exact_gp import ExactGP
from benchmarks.peers.regression.ours import warm_up
from benchmarks.tasks.regression.plan import CONSTANT
from collegium import CommitteeRegressor

__all__ = ["Model", "warm_up"]


class Model:
    def __init__(self, seed: int, threads: int):
        self.ours = CommitteeRegressor(random_state=seed, n_jobs=threads, **CONSTANT)

    def fit(self, X, y):
        kernel, noise = self.ours.fit(X, y).kernel_, self.ours.noise_
        self.found = f"{kernel!r}, noise {noise:.3g}"
        del self.ours
        self.model = ExactGP(kernel, noise).fit(X, y)

    def predict(self, Xs):
        return self.model.predict(Xs)
