"""A table of words, numbers, dates, decimals and gaps, in every format that a source can read."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="files need pyarrow: pip install 'collegium[files]'")
pandas = pytest.importorskip("pandas")
from pyarrow import csv, feather, parquet  # noqa: E402

CITIES = ["Łódź", "Aarhus", "Bern", "Lima", "Oslo"]
FORMATS = ("parquet", "codes", "feather", "csv", "pandas", "polars", "arrow")


def frame(n=90, seed=0):
    """Rows whose first fifty have no "Bern" and no gap in `height`."""
    rng = np.random.default_rng(seed)
    city = np.array(CITIES, dtype=object)[rng.integers(0, 5, n)]
    city[:50][city[:50] == "Bern"] = "Oslo"
    city[rng.random(n) < 0.1] = None
    height = rng.normal(size=n)
    height[50:][rng.random(n - 50) < 0.3] = np.nan
    day = [datetime.datetime(1965, 3, 1) + datetime.timedelta(days=int(k), microseconds=7)
           for k in rng.integers(0, 9000, n)]  # fmt: skip
    price = [Decimal(int(k)).scaleb(-2) for k in rng.integers(-(10**7), 10**7, n)]
    f = np.sin(2 * np.nan_to_num(height)) + (city == "Lima")
    return pandas.DataFrame({
        "fare": f + 0.1 * rng.normal(size=n),
        "city": city, "height": height,
        "day": pandas.Series(day).where(rng.random(n) > 0.1),
        "price": pandas.Series(price, dtype=object),
        "new": rng.random(n) < 0.5,
        "w": 1.0 + rng.integers(0, 2, n),
    })  # fmt: skip


def table(own):
    return pa.Table.from_pandas(own, preserve_index=False)


def codes(own, sizes):
    """The same in one table, in parts whose codes for the same words differ."""
    parts, at = [], 0
    for size in sizes:
        part = table(own.iloc[at : at + size]).to_pydict()
        words = sorted(set(part["city"]) - {None}, reverse=at % 2 == 0)
        index = [None if one is None else words.index(one) for one in part["city"]]
        column = pa.DictionaryArray.from_arrays(pa.array(index, pa.int8()), pa.array(words))
        plain = table(own.iloc[at : at + size])
        parts.append(plain.set_column(plain.schema.get_field_index("city"), "city", column))
        at += size
    return parts


def written(folder, kind, own, group=17):
    """What `collegium.open` takes for the frame in a format."""
    path = folder / f"rows.{kind}"
    if kind == "pandas":
        return own
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table(own))
    if kind == "arrow":
        return table(own)
    if kind == "parquet":
        parquet.write_table(table(own), path, row_group_size=group)
    elif kind == "feather":
        feather.write_feather(table(own), path, chunksize=group)
    elif kind == "codes":
        half = len(own) // 3
        for k, part in enumerate(codes(own, (half, len(own) - half))):
            parquet.write_table(part, folder / f"part{k}.parquet", row_group_size=group)
        return str(folder / "part*.parquet")
    else:
        csv.write_csv(table(own), path)
    return path
