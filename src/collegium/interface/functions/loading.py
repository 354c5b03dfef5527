"""Load estimators from model files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...modelfile.files import read_model
from ..checks.arguments import yes_or_no


def load(
    path: str | os.PathLike[str], mmap: bool = False, verify: bool = True,
    types: Sequence[type] = (),
) -> Any:  # fmt: skip
    """Load the estimator that `model.save` wrote. No code in the file is run: it has none.

    Parameters
    ----------
    path : str or path
    mmap : bool, default=False
        Leave arrays in the file and read them when they are needed; processes with the same file
        share the memory. The file may be replaced or deleted (as `save` does), but a program that
        cuts it short in place ends this process (SIGBUS). False: read everything now.
    verify : bool, default=True
        Compare the contents of every array with their sha256. Everything else is always compared.
    types : sequence of classes
        Your own kernels, likelihoods and other dataclasses that the file may hold, by name.

    Returns
    -------
    model : estimator
        It predicts as the saved one did, to the last bit on the same machine and versions.

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
    listed = types if isinstance(types, Sequence) else (None,)
    if isinstance(types, str) or not all(isinstance(one, type) for one in listed):
        raise ValueError(f"types={types!r}: give a list of classes")
    return read_model(path, mmap=mmap, verify=verify, types=types)
