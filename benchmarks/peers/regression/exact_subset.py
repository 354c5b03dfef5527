"""The exact GP on the given rows: Matérn 3/2, one length scale per column, learnt by evidence."""

import numpy as np

from benchmarks.peers.regression.exact_gp import ExactGP, learn
from benchmarks.peers.regression.ours import warm_up  # the same compiled kernels

__all__ = ["Model", "warm_up"]


class Model:
    def __init__(self, seed: int, threads: int):
        self.rng = np.random.default_rng(seed)

    def fit(self, X, y):
        learnt = learn(X, y, self.rng)
        self.found = f"{learnt.kernel!r}, noise {learnt.noise:.3g}"
        self.model = ExactGP(learnt.kernel, learnt.noise).fit(X, y)

    def predict(self, Xs):
        return self.model.predict(Xs)
