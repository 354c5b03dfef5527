"""Models from files, and functions compiled before the first question comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

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
    return files.load(path, _find, mmap=mmap, verify=verify, types=types)


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
    from .committee import experts_regressor  # noqa: F401


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
