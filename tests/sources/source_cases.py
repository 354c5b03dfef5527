"""The same small table in every format that a source can read."""

from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="files need pyarrow: pip install 'collegium[files]'")
from pyarrow import csv, feather, parquet  # noqa: E402

ROWS, GROUP = 97, 40
NAMES = ("a", "b", "y", "w")
FORMATS = ("parquet", "feather", "csv", "npy", "pandas", "polars")


def values() -> np.ndarray:
    """Rows of a, b, y and w, whose bits text and binary must both keep  (97, 4)."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=ROWS) * 10.0 ** rng.integers(-30, 30, ROWS), rng.integers(-9, 9, ROWS)
    return np.column_stack([a, b, rng.normal(size=ROWS), rng.random(ROWS)])


def table(found: np.ndarray | None = None) -> pa.Table:
    found = values() if found is None else found
    columns = {name: found[:, k] for k, name in enumerate(NAMES)}
    columns["b"] = pa.array(columns["b"].astype("int32"))
    return pa.table(columns)


def write(folder: Path, kind: str, own: pa.Table | None = None, stem: str = "rows"):
    """What `collegium.open` takes for a table in a format."""
    own, path = table() if own is None else own, folder / f"{stem}.{kind}"
    if kind == "parquet":
        parquet.write_table(own, path, row_group_size=GROUP)
    elif kind == "feather":
        feather.write_feather(own, path, chunksize=GROUP)
    elif kind == "csv":
        csv.write_csv(own, path)
    elif kind == "npy":
        found = np.column_stack([own.column(name).to_numpy() for name in NAMES])
        parts = {"X": found[:, :2], "y": found[:, 2], "w": found[:, 3]}
        for name, part in parts.items():
            np.save(folder / f"{name}.npy", part)
        return tuple(folder / f"{name}.npy" for name in parts)
    elif kind == "pandas":
        pytest.importorskip("pandas")
        return own.to_pandas()
    else:
        return pytest.importorskip("polars").from_arrow(own)
    return path
