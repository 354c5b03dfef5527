"""LightGBM's trees, stopped early on a held-out tenth of the rows."""

import lightgbm
import numpy as np


def boosted(
    parameters: dict, X, y, rng: np.random.Generator, rounds: int, patience: int = 50,
    categories: tuple[int, ...] = (),
):  # fmt: skip
    """The trees, and the rows that were held out; `categories`: columns of codes."""
    held, kept = np.split(rng.permutation(y.size), [y.size // 10])
    given = lightgbm.Dataset(X[kept], y[kept], categorical_feature=list(categories))
    model = lightgbm.train(
        parameters, given, rounds,
        valid_sets=[lightgbm.Dataset(X[held], y[held], reference=given)],
        callbacks=[lightgbm.early_stopping(patience, verbose=False)],
    )  # fmt: skip
    return model, held
