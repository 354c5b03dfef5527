"""Rows without the terms that all of them share, for learning the rest of the kernel.

Hyperparameters are learnt from clusters of a few hundred rows, which know little about a season or
a trend: each would have to find its coefficients again. All rows together know them well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...kernels import Kernel, Sum
from ...kernels.trend import Coefficients
from ...numerics import linalg
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ..tuning import TUNING
from .series import other_features

Array = np.ndarray


def without_terms(rows: Rows, terms: Kernel, column: int, levels: Sequence[int] = ()) -> Rows:
    """Subtract a trend and seasons, as least squares estimate them beside the other columns."""
    own = Coefficients(terms.parts if isinstance(terms, Sum) else (terms,))
    some = rows.take(evenly_spaced(rows.w.size, TUNING.seasons.subtracted))
    H = own.design(some.X)  # (t, n)
    A = np.vstack([H, np.ones(H.shape[1]), other_features(some.X, column, levels).T])
    G = (A * some.w) @ A.T + np.eye(A.shape[0])
    L, _ = linalg.cholesky(G, float(G.diagonal().max()))
    beta = linalg.solve_upper(L, linalg.solve_lower(L, (A * some.w) @ some.y))[: H.shape[0]]
    parts = np.array_split(np.arange(rows.w.size), 1 + rows.w.size // TUNING.seasons.subtracted)
    gone = np.concatenate([own.design(rows.X[part]).T @ beta for part in parts])
    return replace(rows, y=rows.y - gone)
