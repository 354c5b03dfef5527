"""Answers keep every bit through a file, a pickle, or a cluster: all estimators, main modes.

Models learn their noise and its scale here, as users let them; `modelfile/test_files.py` has
models of given kernels, and what they do after further rows.
"""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import (
    AnswerTime,
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
)
from collegium.engines import Serial
from collegium.engines.tasks import dumps
from estimator_cases import leaves, state

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning"),
]
SIZES = {"chunks": 60, "anchors": 14, "random_state": 0}
QUICK = {**SIZES, "noise": 0.02, "learn": False, "kernel": collegium.kernels.Matern32(1.5, 0.9)}
SEEDED = {"random_state": 0}
EXACT = {name: QUICK[name] for name in ("noise", "learn", "kernel", "random_state")}
LATENT = {**SIZES, "learn": False, "kernel": collegium.kernels.RBF(1.0, 0.9)}


def members():
    return [("a", CommitteeRegressor(**QUICK)), ("b", SparseGPRegressor(**QUICK, method="vfe"))]


#: Estimator, kind of its targets, and rows.
MODES = {
    "local": (CommitteeRegressor(**SIZES), "one", 240),
    "anchors only": (CommitteeRegressor(**SIZES, n_local=0), "two", 240),
    "refined": (CommitteeRegressor(**SIZES, inference="cg"), "one", 240),
    "refined, two outputs": (CommitteeRegressor(**SIZES, inference="cg"), "two", 240),
    "refined, constant noise": (
        CommitteeRegressor(**SIZES, inference="cg", noise="constant"), "one", 240,
    ),
    "transductive": (CommitteeRegressor(**SIZES, inference="transductive"), "one", 240),
    "cells": (CommitteeRegressor(**QUICK, n_local=AnswerTime(1e-9, n_local=20)), "one", 240),
    "averaged": (CommitteeRegressor(**SEEDED), "one", 40),
    "exact": (CommitteeRegressor(**EXACT), "two", 60),
    "counts": (CommitteeRegressor(**LATENT, likelihood="poisson"), "counts", 200),
    "heavy tails": (CommitteeRegressor(**QUICK, likelihood="student-t"), "one", 200),
    "labels": (CommitteeClassifier(**LATENT), "labels", 200),
    "softmax": (CommitteeClassifier(**LATENT, likelihood="softmax"), "labels", 200),
    **{f"sparse, {name}": (SparseGPRegressor(**QUICK, method=name), "two", 200)
       for name in ("sor", "dtc", "fitc", "pitc", "pic", "vfe")},
    "nystrom": (NystromRegressor(anchors=14, **SEEDED), "two", 200),
    **{f"experts, {name}": (ExpertsRegressor(
        chunks=60, kernel=QUICK["kernel"], noise=0.02, learn=False, combination=name, **SEEDED
       ), "one", 200) for name in ("poe", "gpoe", "rbcm", "grbcm", "npae", "barycenter")},
    "committee of others": (CommitteeOf(members(), **SEEDED, query_size=30), "one", 200),
    "online": (OnlineGPRegressor(**SEEDED), "two", 200),
    "online labels": (OnlineGPClassifier(**SEEDED), "labels", 100),
    "filter": (RegressionFilter(**SEEDED), "two", 200),
    "local experts": (RVCRegressor(**SEEDED), "two", 200),
}  # fmt: skip

SLOW = {"local", "refined, two outputs", "refined, constant noise", "heavy tails", "softmax"}


def targets(X, kind):
    """y of some inputs, with noise whose scale depends on them."""
    rng = np.random.default_rng(5)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * (1.0 + X[:, 0] ** 2) * rng.normal(size=len(X))
    return {
        "one": y, "two": np.column_stack([y, X[:, 0] - 2.0 * y]),
        "counts": np.floor(np.exp(np.clip(y, -5.0, 3.0))), "labels": np.digitize(y, [-1.0, 1.0]),
    }[kind]  # fmt: skip


def answers(model, Xs):
    if hasattr(model, "classes_"):
        return [model.predict_proba(Xs)]
    found = [model.predict(Xs), *model.predict(Xs, return_std=True, level="function")]
    return [*found, *model.predict(Xs, return_std=True), *model.predict_interval(Xs, 0.8)]


@dataclass(frozen=True)
class Pickling(Serial):
    """What a cluster does to functions, items and results, in this process."""

    def imap(self, f, items):
        work = dumps(f)
        for item in items:
            term = pickle.loads(work)(pickle.loads(dumps(item)))
            yield pickle.loads(dumps(term))


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MODES
])  # fmt: skip
def test_answers_keep_every_bit_through_files_pickles_and_clusters(name, tmp_path):
    model, kind, n = MODES[name]
    X, Xs = (
        np.random.default_rng(3).normal(size=(n, 2)),
        np.random.default_rng(4).normal(size=(90, 2)),
    )
    model.fit(X, targets(X, kind))
    expected = answers(model, Xs)
    model.save(tmp_path / "model.clg")
    copies = {
        "file": collegium.load(tmp_path / "model.clg"),
        "mapped file": collegium.load(tmp_path / "model.clg", mmap=True),
        "pickle": pickle.loads(pickle.dumps(model)),
    }
    if "engine" in model.get_params(deep=False):
        copies["cluster"] = pickle.loads(pickle.dumps(model)).set_params(engine=Pickling())
    for way, other in copies.items():
        for found, own in zip(answers(other, Xs), expected, strict=True):
            assert_array_equal(found, own, err_msg=way)
    parts = {k: v for k, v in state(model).items() if k not in ("estimators_", "named_estimators_")}
    for path, leaf in leaves({k: v for k, v in parts.items() if k.endswith("_")}):
        if isinstance(leaf, np.ndarray):  # a copy of a strided view may round otherwise
            assert leaf.flags.c_contiguous or leaf.flags.f_contiguous, path
