"""CatBoost, default trees and learning rate, stopped early on a held-out tenth."""

import numpy as np
from catboost import CatBoostClassifier

from benchmarks.peers.catboost_stopping import boosted, settings


class Model:
    def __init__(self, seed: int, threads: int, rounds: int = 2_000, patience: int = 50):
        self.rng = np.random.default_rng(seed)
        self.model = CatBoostClassifier(**settings(seed, threads, rounds, patience))

    def fit(self, X, y):
        boosted(self.model, X, y, self.rng)
        self.found = f"{self.model.tree_count_} trees"

    def predict(self, Xs):
        return self.model.predict_proba(Xs), self.model.classes_.astype(int)
