"""Compile ahead of the first `fit` and `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from ...kernels import Leaf
from ...kernels.stationary.matern import RBF, Matern32
from ...numerics.records import estimator_of
from ..checks.arguments import one_of
from ..frames.encoded import KnownColumns
from ..model import Model
from ..options import AnswerTime

KINDS = ("every", "default")


def warm_up(*models: Any, kinds: str = "every") -> None:
    """Compile what `fit` and `predict` need, or read it from numba's cache, ahead of the first use.

    Parameters
    ----------
    *models : fitted estimators
        Each makes a few predictions, so that its next ones come without delay, and where it answers
        by cells, all of these. Without models, small ones are fitted and queried, which fills the
        cache for all later processes (the environment variable
        NUMBA_CACHE_DIR says where it is).
    kinds : {"every", "default"}
        Without models: "every" has all estimators of this library, with each of its kernels; in a
        new environment that takes a minute or two. "default": `CommitteeRegressor` and
        `CommitteeClassifier` as they are without arguments, and counts, for tables of any kind;
        some ten seconds.

    Examples
    --------
    >>> import numpy as np
    >>> import collegium
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = collegium.CommitteeRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> collegium.warm_up(model)
    """
    one_of(kinds, "kinds", KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the queries are arbitrary
        for model in models or chain(default_models(), small_models() if kinds == "every" else ()):
            if not hasattr(model, "model_"):
                raise ValueError(f"{model!r}: give fitted models of collegium (a file: load it)")
            _query(model)


def _query(model: Any) -> None:
    encoding = getattr(model, "encoding_", None)
    d = model.n_features_in_ if encoding is None else len(encoding.names)
    X = np.linspace(-1.0, 1.0, 12 * d).reshape(12, -1).view(KnownColumns)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
        return
    model.predict(X)
    model.predict_interval(X)
    if type(model.model_).predictor is not Model.predictor:  # local experts have none
        if hasattr(own := model._predictor(), "prepare"):
            own.prepare(model._engine())
    with suppress(ValueError):  # some combinations give no covariance
        model.predict(X, return_cov=True)


def default_models() -> Iterator[Any]:
    """Fit models that compile what default ones need, on fewer rows."""
    X, y, counts = _rows()
    committee, classifier = _estimator("CommitteeRegressor"), _estimator("CommitteeClassifier")
    chunks = {"chunks": 20, "anchors": 8, "random_state": 0}
    yield committee(random_state=0).fit(X, y)
    yield committee(**chunks, members="trees").fit(X, y)
    yield classifier(**chunks).fit(X, y > 0.0)
    yield classifier(**chunks).fit(X, np.digitize(y, [-0.5, 0.5]))
    X, y, counts = _rows(700)
    two = Matern32() + RBF(0.5, 2.0)
    given: dict[str, Any] = {"kernel": two, "noise": 0.5, "learn": False, "random_state": 0}
    given["chunks"] = 100
    yield committee(**given, n_local=400).fit(X, y)  # in single precision
    yield committee(**given, n_local=AnswerTime(0.1)).fit(X, y)
    yield committee(**given, inference="cg").fit(X, y)
    for columns in (2, 5):  # cells: boxes, and around rows
        wide = np.random.default_rng(1).uniform(-1.0, 1.0, (2_100, columns))
        yield committee(**given).fit(wide, np.sin(3.0 * wide[:, 0]))
    yield committee(random_state=0, likelihood="poisson").fit(X, counts)


def _rows(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets and counts."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, y, rng.poisson(3.0, n)


def small_models() -> Iterator[Any]:
    """Fit a model of every kind, in its main modes, and with each kernel."""
    X, y, counts = _rows()
    labels, chunks = y > 0.0, {"chunks": 20, "anchors": 8}
    committee = _estimator("CommitteeRegressor")
    kernels = {kind.__name__: kind for kind in Leaf.registry}
    for kernel in (kind() for name, kind in kernels.items() if name not in ("Constant", "White")):
        given = {"kernel": kernel, "noise": 0.1, "learn": False, "random_state": 0, **chunks}
        yield committee(**given).fit(X, y)
    given = {"kernel": Matern32(), "learn": False, "random_state": 0}
    noise = {**given, "noise": 0.1}
    online, local = _estimator("OnlineGPRegressor"), _estimator("RVCRegressor")
    yield committee(**given, **chunks, likelihood="poisson").fit(X, counts)
    yield _estimator("CommitteeClassifier")(**given, **chunks).fit(X, labels)
    yield committee(**noise, **chunks, inference="transductive").fit(X, y)
    yield _estimator("SparseGPRegressor")(**noise, **chunks, method="pic").fit(X, y)
    yield _estimator("NystromRegressor")(**noise, anchors=8).fit(X, y)
    yield online(**noise).fit(X, y)
    yield online(**given, likelihood="poisson").fit(X, counts)
    yield _estimator("OnlineGPClassifier")(**given).fit(X, labels)
    yield _estimator("RegressionFilter")(**noise, n_basis=10).fit(X, y)
    yield local(width=0.5, random_state=0).fit(X, y)
    yield local(mode="paper", width=0.5, b=0.3, random_state=0).fit(X, y)


def _estimator(name: str) -> Any:
    """Import a class of a later room by its tag."""
    return estimator_of(f"estimator.{name.lower()}/1")
