"""Small ledgers, and the same state by obvious means."""

from functools import cache

import numpy as np

from collegium import CommitteeClassifier, CommitteeRegressor, Ledger
from collegium.kernels import Matern32, Matern52

D, SIZE = 2, 25
QUERIES = np.random.default_rng(9).uniform(-3.0, 3.0, size=(7, D))


def some_rows(seed, n=SIZE, d=D):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, d))
    return X, np.sin(1.3 * X[:, 0]) + 0.4 * X[:, 1] + 0.2 * rng.normal(size=n)


def regressor(**changed):
    asked = {
        "kernel": Matern52(1.4, [1.7, 2.6]), "noise": 0.07, "learn": False, "anchors": 11,
        "chunks": 20, "transforms": None, "members": None, "n_local": 15,
        "inference": "inductive", "random_state": 3,
    }  # fmt: skip
    return CommitteeRegressor(**{**asked, **changed})


@cache
def fitted(**changed):
    return regressor(**changed).fit(*some_rows(100, 60))


@cache
def counted():
    X, f = some_rows(101, 80)
    asked = regressor(likelihood="poisson", noise="auto", kernel=Matern32(0.8, [2.0, 3.0]))
    return asked.fit(X, np.random.default_rng(5).poisson(np.exp(f)))


@cache
def classified():
    X, f = some_rows(102, 80)
    asked = CommitteeClassifier(
        Matern32(2.0, [1.5, 2.5]), learn=False, anchors=10, chunks=20, n_local=10, transforms=None,
        members=None, inference="inductive", random_state=3,
    )  # fmt: skip
    return asked.fit(X, np.where(f > 0.3, "high", "low"))


def fresh(path, chunks, model=None, **more):
    """A ledger that never had anything but these chunks: (X, y, kept) by id."""
    own = Ledger(path, fitted() if model is None else model, **more)
    for id, (X, y, *kept) in chunks.items():
        own.add(X, y, id=id, kept=kept[0] if kept else None)
    return own


def same_answers(a, b, X=QUERIES):
    if hasattr(a, "predict_proba"):
        return np.array_equal(a.predict_proba(X), b.predict_proba(X))
    one, two = (model.predict(X, return_std=True) for model in (a, b))
    return all(np.array_equal(x, y) for x, y in zip(one, two))
