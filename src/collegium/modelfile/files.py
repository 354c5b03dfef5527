"""Save an estimator to a file or to bytes and read it again; versions of the format."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import scipy
import sklearn

from ..messages.probe import probe
from ..numerics import records
from ..numerics.version import __version__
from .archive import MANIFEST, Layout
from .errors import ModelFileError
from .reading import Bytes, file_bytes, read_arrays, read_manifest
from .tree import Reader, Spot, Writer
from .writing import joined, write

FORMAT = "collegium model"
#: Version of the format. A release reads all versions up to its own.
VERSION = 1
#: The oldest release that reads what this one writes.
REQUIRES = "0.2.0"
RELEASE = re.compile(r"[0-9A-Za-z.+]{1,40}")


def save(estimator: Any, path: str | os.PathLike[str], *, rows: bool = True) -> None:
    """Write an estimator to a file; with rows=False, refuse one that holds rows."""
    text, writer = _manifest(estimator, rows=rows)
    write(path, text, Layout.of(text, writer.described), writer.arrays)


def model_bytes(estimator: Any) -> bytes:
    """Return the bytes of the file that `save` writes."""
    text, writer = _manifest(estimator, rows=True)
    return joined(text, Layout.of(text, writer.described), writer.arrays)


def _manifest(estimator: Any, *, rows: bool) -> tuple[bytes, Writer]:
    """Describe an estimator, and collect its arrays."""
    writer = Writer()
    node = writer.node(estimator, "")
    if not rows and writer.n_rows:
        raise ValueError(
            f"rows=False, but this model predicts from {writer.n_rows} rows that it keeps: save it "
            "with them, or fit one that predicts without (n_local=0, or another estimator)"
        )
    writer.finish()
    names = getattr(estimator, "feature_names_in_", None)
    said = {
        "format": FORMAT, "version": VERSION, "requires": REQUIRES, "class": node["estimator"],
        "rows inside": writer.n_rows,
        "columns": getattr(estimator, "n_features_in_", None),
        "column names": None if names is None else [str(name) for name in names],
        "basis": getattr(getattr(estimator, "model_", None), "basis_id", None),
        "probe": probe(), "versions": versions(),
        "model": node, "arrays": [one.node() for one in writer.described],
    }  # fmt: skip
    return json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii"), writer


def versions() -> dict[str, str]:
    """List the versions of all libraries that the numbers of a model depend on."""
    return {
        "collegium": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "scipy": scipy.__version__, "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
    }  # fmt: skip


def read_model(
    path: str | os.PathLike[str], *, mmap: bool, verify: bool, types: Sequence[type] = ()
) -> Any:
    """Make the estimator of a file; `types` are classes of the user."""
    return model_of_bytes(file_bytes(path, mapped=mmap), verify=verify, types=types)


def model_of_bytes(data: Bytes, *, verify: bool, types: Sequence[type] = ()) -> Any:
    """Make the estimator of the bytes of a file, which its arrays share."""
    own = {records.own_tag(one): one for one in types}
    text, said = read_manifest(data)
    needed = _check_version(said)
    arrays = read_arrays(data, text, said.get("arrays"), verify=verify)

    def unknown(tag: Any) -> str:
        if type(tag) is str and tag.startswith("own."):
            name = tag.removeprefix("own.").partition("/")[0]
            return f"{tag} is not known here: give the class to load(path, types=[{name}])"
        return f"{tag} is not known to collegium {__version__}: {_remedy(needed)}"

    def find(tag: str) -> Any:
        known = records.estimator_of if tag.startswith("estimator.") else records.maker_of
        return own.get(tag) or known(tag)

    reader = Reader(arrays, find, unknown)
    try:
        found = reader.value(said.get("model"), Spot(None, "model"))
    except ModelFileError as error:
        raise ModelFileError(f"{MANIFEST}: {error}") from error
    except Exception as error:  # a class may refuse its fields in any way
        raise ModelFileError(f"{MANIFEST}: not a model ({error})") from error
    if not hasattr(type(found), "_of_file"):
        raise ModelFileError(f"{MANIFEST}: not a model")
    return found


def _remedy(needed: str) -> str:
    """Say what to do with a file that names records which are not known here."""
    if needed.startswith("0.1."):
        return f"files from before {REQUIRES} are not read. Fit and save the model again"
    return f"install collegium {needed} or later"


def _check_version(said: dict[str, Any]) -> str:
    """Return the release that is needed; raise where the format is newer than this one's."""
    version, needed = said.get("version"), said.get("requires")
    if said.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ModelFileError(f"{MANIFEST}: not one of a collegium model")
    if type(needed) is not str or RELEASE.fullmatch(needed) is None:
        raise ModelFileError(f"{MANIFEST}: it does not say which release it requires")
    if version > VERSION:
        raise ModelFileError(
            f"{MANIFEST}: a file of format {version}, and collegium {__version__} reads those up "
            f"to {VERSION}: install collegium {needed} or later"
        )
    return needed
