"""LightGBM's trees, stopped early on a held-out tenth of the rows."""

import lightgbm
import numpy as np


def boosted(parameters: dict, X, y, rng: np.random.Generator, rounds: int, patience: int = 50):
    """The trees, and the rows that were held out."""
    held, kept = np.split(rng.permutation(y.size), [y.size // 10])
    model = lightgbm.train(
        parameters, lightgbm.Dataset(X[kept], y[kept]), rounds,
        valid_sets=[lightgbm.Dataset(X[held], y[held])],
        callbacks=[lightgbm.early_stopping(patience, verbose=False)],
    )  # fmt: skip
    return model, held
