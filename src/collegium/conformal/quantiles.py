"""Quantiles of conformity scores, with the correction for a finite number of them.

If n + 1 scores are exchangeable, the last is at most the r-th smallest of the others, where
r = ⌈c(n + 1)⌉, with probability at least c; without ties, with at most c + 1/(n + 1)
(Vovk, Gammerman and Shafer 2005; Lei et al. 2018, theorem 2.2).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
#: Rounding errors of c(n + 1) are below this, for up to 10⁶ scores.
ROUNDING = 1e-9
#: Calibration rows in a group from which the share covered varies by three percent or less.
FEW_IN_GROUP = 100


def rank(n: int, coverage: float) -> int:
    """⌈c(n + 1)⌉: n + 1 or more where n scores are too few for a finite quantile."""
    return max(int(np.ceil(coverage * (n + 1) - ROUNDING)), 1)


def fewest(coverage: float) -> int:
    """Count the scores that a finite quantile needs: the least n with ⌈c(n + 1)⌉ ≤ n."""
    n = int(np.ceil(coverage / (1.0 - coverage) - ROUNDING))
    while rank(n, coverage) > n:
        n += 1
    return n


def corrected_quantile(scores: Array, coverage: float) -> Array:
    """The ⌈c(n + 1)⌉-th smallest of scores (n, p), or infinity where there is none  (p,)."""
    n, r = scores.shape[0], rank(scores.shape[0], coverage)
    if r > n:
        return np.full(scores.shape[1], np.inf)
    return np.partition(scores, r - 1, axis=0)[r - 1]


def quantiles_of_groups(scores: Array, group: Array, asked: Array, coverage: float) -> Array:
    """Corrected quantile within the group of each query: covers in every group (Mondrian).

    scores (n, p), their groups (n,), groups of queries (q,)  (q, p).
    """
    known, which = np.unique(asked, return_inverse=True)
    each = [corrected_quantile(scores[group == one], coverage) for one in known]
    return np.array(each)[which.reshape(-1)]
