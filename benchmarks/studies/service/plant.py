"""A small ledger of a plant: yield by temperature and pressure, and the customer of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from collegium import CommitteeRegressor, Ledger
from collegium.kernels import Matern52


def plant_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows as a client would send them."""
    rng = np.random.default_rng(seed)
    t, p = rng.uniform(20.0, 90.0, n), rng.uniform(1.0, 5.0, n)
    y = 60.0 + 20.0 * np.sin(t / 15.0) + 4.0 * p + rng.normal(0.0, 2.0, n)
    who = rng.integers(1, 9, n)
    each = zip(t.tolist(), p.tolist(), who.tolist(), y.tolist())
    return [{"t": a, "p": b, "customer": c, "yield": d} for a, b, c, d in each]


def make_plant(path: Any, n: int = 200) -> None:
    """Make a ledger of ten days."""
    rows = plant_rows(n, 0)
    X = [{"t": one["t"], "p": one["p"]} for one in rows]
    kernel = Matern52(1.4, [20.0, 2.0])
    model = CommitteeRegressor(
        kernel, noise=0.07, learn=False, anchors=11, chunks=20, transforms=None, members=None,
        n_local=15, inference="inductive", random_state=3,
    ).fit(X, [one["yield"] for one in rows])  # fmt: skip
    ids = [f"day {k * 10 // n}" for k in range(n)]
    Ledger.of(model, rows, path=path, target="yield", keep=["customer"], ids=ids).close()
