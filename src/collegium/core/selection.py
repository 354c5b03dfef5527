"""Where anchors go."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

Array = np.ndarray


def kmeans(X: Array, m: int, rng: np.random.Generator) -> Array:
    """At most m centres of X (n, d), from a sample of at most 40 rows a centre."""
    if X.shape[0] > 40 * m:
        X = X[np.sort(rng.choice(X.shape[0], 40 * m, replace=False))]
    X = np.unique(X, axis=0)
    if X.shape[0] <= m:
        return X
    model = MiniBatchKMeans(
        m, n_init=1, max_iter=20, batch_size=max(4096, 4 * m),
        random_state=int(rng.integers(2**31 - 1)),
    )  # fmt: skip
    return np.unique(model.fit(X).cluster_centers_, axis=0)
