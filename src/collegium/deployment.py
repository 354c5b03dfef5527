"""Models from files, and functions compiled before the first question comes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .interface.arguments import yes_or_no
from .interface.encoded import KnownColumns
from .kernels import Leaf
from .kernels.stationary.matern32 import Matern32
from .modelfile import files
from .numerics import records


def load(
    path: str | os.PathLike[str], mmap: bool = True, verify: bool = True,
    types: Sequence[type] = (),
) -> Any:  # fmt: skip
    """Make the estimator that `model.save` wrote. No code in the file is run: it has none.

    Parameters
    ----------
    path : str or path
    mmap : bool, default=True
        Leave arrays in the file and read them when they are needed; processes with the same file
        share the memory. False: read all of them now.
    verify : bool, default=True
        Compare the contents of every array with their sha256. All else is compared in any case.
    types : sequence of classes
        Kernels, likelihoods and other dataclasses of your own that the file may hold, by name.

    Returns
    -------
    model : estimator
        It answers as the one that was saved, to the last bit on the same machine and versions.

    Raises
    ------
    ModelFileError
        The file is damaged, of a newer release, or not a model file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import collegium
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = collegium.CommitteeRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sine.clg")
    ...     model.save(path)
    ...     again = collegium.load(path)
    >>> bool(np.array_equal(model.predict(X), again.predict(X)))
    True
    """
    mmap, verify = yes_or_no(mmap, "mmap"), yes_or_no(verify, "verify")
    if isinstance(types, str) or not all(isinstance(one, type) for one in _listed(types)):
        raise ValueError(f"types={types!r}: give a list of classes")
    return files.load(path, _find, mmap=mmap, verify=verify, types=types)


def _listed(types: Any) -> Any:
    """What can be gone through, or something that is no class."""
    return types if isinstance(types, Sequence) else (None,)


def warm_up(*models: Any) -> None:
    """Compile what `predict` needs, or read it from numba's cache, before the first question.

    Parameters
    ----------
    *models : fitted estimators
        Each is asked for a few answers, so that its next ones come without delay; with
        `answer_time` all of its cells are made. None given:
        small models of every kind are fitted and asked, with each kernel of this library; in a
        new environment that takes a minute or two, and fills the cache for all later processes
        (the environment variable NUMBA_CACHE_DIR says where that is).

    Examples
    --------
    >>> import numpy as np
    >>> import collegium
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = collegium.CommitteeRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]))
    >>> collegium.warm_up(model)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the questions mean nothing
        for model in models or small_models():
            if not hasattr(model, "model_"):
                raise ValueError(f"{model!r}: give fitted models of collegium (a file: load it)")
            _ask(model)


def _ask(model: Any) -> None:
    encoding = getattr(model, "encoding_", None)
    d = model.n_features_in_ if encoding is None else len(encoding.names)
    X = np.linspace(-1.0, 1.0, 12 * d).reshape(12, -1).view(KnownColumns)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
        return
    model.predict(X)
    model.predict_interval(X)
    if getattr(model, "answer_time", None) is not None:
        model._predictor().prepare(model._engine())
    with suppress(ValueError):  # some combinations give no covariance
        model.predict(X, return_cov=True)


def small_models() -> Iterator[Any]:
    """A fitted model of every kind, in its main modes, and with each kernel."""
    from . import (
        CommitteeClassifier,
        CommitteeRegressor,
        NystromRegressor,
        OnlineGPClassifier,
        OnlineGPRegressor,
        RegressionFilter,
        RVCRegressor,
        SparseGPRegressor,
    )

    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60, 2))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    counts, labels, chunks = rng.poisson(3.0, 60), y > 0.0, {"chunk_size": 20, "anchors": 8}
    for kernel in (kind() for kind in Leaf.registry if kind.__name__ not in ("Constant", "White")):
        given = {"kernel": kernel, "noise": 0.1, "learn": False, "random_state": 0, **chunks}
        yield CommitteeRegressor(**given).fit(X, y)
    given = {"kernel": Matern32(), "learn": False, "random_state": 0}
    noise = {**given, "noise": 0.1}
    yield CommitteeRegressor(**given, **chunks, likelihood="poisson").fit(X, counts)
    yield CommitteeClassifier(**given, **chunks).fit(X, labels)
    yield CommitteeRegressor(**noise, **chunks, inference="transductive").fit(X, y)
    yield SparseGPRegressor(**noise, **chunks, method="pic").fit(X, y)
    yield NystromRegressor(**noise, anchors=8).fit(X, y)
    yield OnlineGPRegressor(**noise).fit(X, y)
    yield OnlineGPRegressor(**given, likelihood="poisson").fit(X, counts)
    yield OnlineGPClassifier(**given).fit(X, labels)
    yield RegressionFilter(**noise, n_basis=10).fit(X, y)
    yield RVCRegressor(width=0.5, random_state=0).fit(X, y)
    yield RVCRegressor(mode="paper", width=0.5, b=0.3, random_state=0).fit(X, y)


def _find(tag: str) -> Any:
    """What makes records of a tag; estimators are imported when a file asks for them."""
    if tag.startswith("estimator."):
        if tag not in ESTIMATORS:
            return None
        ESTIMATORS[tag]()
    return records.maker_of(tag)


def _committee_regressor() -> None:
    from .committee import regressor  # noqa: F401


def _experts_regressor() -> None:
    pass


def _committee_classifier() -> None:
    from .committee import classifier  # noqa: F401


def _committee_of() -> None:
    from .combining import regressor  # noqa: F401


def _sparse_regressor() -> None:
    from .sparse import regressor  # noqa: F401


def _nystrom_regressor() -> None:
    from .sparse import nystrom_regressor  # noqa: F401


def _online_regressor() -> None:
    from .online import regressor  # noqa: F401


def _online_classifier() -> None:
    from .online import classifier  # noqa: F401


def _filter() -> None:
    from .filter import regressor  # noqa: F401


def _rvc_regressor() -> None:
    from .rvc import regressor  # noqa: F401


#: Imports of the estimators, by tag.
ESTIMATORS: dict[str, Callable[[], None]] = {
    "estimator.committeeregressor/1": _committee_regressor,
    "estimator.expertsregressor/1": _experts_regressor,
    "estimator.committeeclassifier/1": _committee_classifier,
    "estimator.committeeof/1": _committee_of,
    "estimator.sparsegpregressor/1": _sparse_regressor,
    "estimator.nystromregressor/1": _nystrom_regressor,
    "estimator.onlinegpregressor/1": _online_regressor,
    "estimator.onlinegpclassifier/1": _online_classifier,
    "estimator.regressionfilter/1": _filter,
    "estimator.rvcregressor/1": _rvc_regressor,
}
