"""Compile ahead of the first `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ...kernels import Leaf
from ...numerics.records import estimator_of
from ..frames.encoded import KnownColumns


def warm_up(*models: Any) -> None:
    """Compile what `predict` needs, or read it from numba's cache, ahead of the first query.

    Parameters
    ----------
    *models : fitted estimators
        Each makes a few predictions, so that its next ones come without delay, and where it answers
        by cells, all of these. Without models, small ones of every kind
        are fitted and queried, with each kernel of this library; in a new environment that takes a
        minute or two, and fills the cache for all later processes (the environment variable
        NUMBA_CACHE_DIR says where it is).

    Examples
    --------
    >>> import numpy as np
    >>> import collegium
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = collegium.CommitteeRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> collegium.warm_up(model)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the queries are arbitrary
        for model in models or small_models():
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
    if hasattr(own := model._predictor(), "prepare"):
        own.prepare(model._engine())
    with suppress(ValueError):  # some combinations give no covariance
        model.predict(X, return_cov=True)


def small_models() -> Iterator[Any]:
    """Fit a model of every kind, in its main modes, and with each kernel."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60, 2))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    counts, labels, chunks = rng.poisson(3.0, 60), y > 0.0, {"chunks": 20, "anchors": 8}
    committee = _estimator("CommitteeRegressor")
    kernels = {kind.__name__: kind for kind in Leaf.registry}
    for kernel in (kind() for name, kind in kernels.items() if name not in ("Constant", "White")):
        given = {"kernel": kernel, "noise": 0.1, "learn": False, "random_state": 0, **chunks}
        yield committee(**given).fit(X, y)
    given = {"kernel": kernels["Matern32"](), "learn": False, "random_state": 0}
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
