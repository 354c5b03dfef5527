"""CatBoost's trees, stopped early on a held-out tenth of the rows; the best of them are kept."""

import numpy as np


def boosted(model, X, y, rng: np.random.Generator, categories: tuple[int, ...] = ()):
    """Fit a model of CatBoost, and return the rows that were held out."""
    held, kept = np.split(rng.permutation(len(y)), [len(y) // 10])
    X = table(X, categories)
    if categories:
        parts = [X.iloc[rows] for rows in (kept, held)]
    else:
        parts = [X[rows] for rows in (kept, held)]
    model.fit(parts[0], y[kept], eval_set=(parts[1], y[held]), cat_features=list(categories))
    return held


def settings(seed: int, threads: int, rounds: int, patience: int) -> dict:
    """Arguments that all models share; everything else is CatBoost's default."""
    return {
        "iterations": rounds, "early_stopping_rounds": patience, "random_seed": seed,
        "thread_count": threads, "verbose": False, "allow_writing_files": False,
    }  # fmt: skip


def table(X, categories: tuple[int, ...]):
    """Rows as CatBoost takes them: a frame with words where some columns hold codes."""
    if not categories:
        return X
    import pandas as pd

    frame = pd.DataFrame(X)
    for j in categories:  # a missing value is a level of its own
        frame[j] = frame[j].map(lambda code: "missing" if np.isnan(code) else f"{code:.0f}")
    return frame
