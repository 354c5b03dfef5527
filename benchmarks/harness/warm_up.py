"""Compile what would otherwise be compiled while the clock runs."""

from __future__ import annotations

import numpy as np

from collegium import CommitteeRegressor

#: Arguments of a committee that is small and yet passes through every compiled loop.
SMALL = {"chunks": 100, "anchors": 10, "random_state": 0}


def warm_up(*modes: dict, rows: int = 300) -> None:
    """Fit and ask a small CommitteeRegressor: by default, or with the arguments of each mode."""
    X = np.random.default_rng(0).normal(size=(rows, 2))
    for mode in modes or ({},):
        model = CommitteeRegressor(**{**SMALL, **mode})
        model.fit(X, X[:, 0]).predict(X, return_std=True)
