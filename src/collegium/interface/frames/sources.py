"""Rows that come as a `Source`, or as a frame with the name of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from ...numerics import memory
from ...numerics.fingerprint import fingerprint
from ...rows.rows import Rows
from ...rows.store.records import Block
from ...sources.opening import open as open_source
from ...sources.source import Source, check_numbers
from ...tables.encoding import Encoding
from ..checks.groups import apart_from_groups
from ..checks.limits import limits_allowed
from ..checks.rows import LARGEST_WEIGHT, check_range, refuse_noise_variance
from .dicts import as_dicts, names_in
from .encoded import KnownColumns, refuse_levels, refuse_words, takes_tables

Array = np.ndarray
Fit = TypeVar("Fit", bound=Callable[..., Any])
#: Rows are read into memory where so many copies of them fit into this share of it.
COPIES, SHARE = 6, 0.25


def as_source(X: Any, y: Any, sample_weight: Any = None) -> Source | None:
    """The source that X is, or that y names the target of; None: X and y are arrays."""
    if isinstance(X, Source):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "a Source has y and weights inside: leave out y and sample_weight, and name the "
                "columns in collegium.open(…, target=…, weight=…)"
            )
        if not X.target:
            raise ValueError("the Source has no target: collegium.open(…, target='column')")
        return X
    named = isinstance(y, str) or (
        isinstance(y, list) and bool(y) and all(isinstance(one, str) for one in y)
        and hasattr(X, "columns") and set(y) <= set(X.columns)
    )  # fmt: skip
    if not named:
        return None
    if isinstance(sample_weight, str) or sample_weight is None:
        return open_source(_frame(X), target=y, weight=sample_weight)
    raise ValueError("with the name of a column for y, give the name of one for sample_weight too")


def _frame(X: Any) -> Any:
    """X, as a frame of pandas where its rows are dicts."""
    rows = as_dicts(X)
    if rows is None:
        return X
    names_in(rows)  # refuses rows of different keys
    try:
        return import_module("pandas").DataFrame(rows)
    except ImportError as error:
        raise ImportError(
            "rows as dicts, and the name of a column for y: that needs pandas; give y as a list"
        ) from error


def reads_sources(fit: Fit) -> Fit:
    """A `fit` of arrays that also takes a source, whose rows it reads into memory."""

    @wraps(fit)
    def attempt(self, X, y=None, sample_weight=None, **more):
        if more.get("groups") is not None:
            X, more["groups"] = apart_from_groups(X, more["groups"])
        source = as_source(X, y, sample_weight)
        if source is None:
            return fit(self, X, y, sample_weight, **more)
        refuse_noise_variance(more.get("noise_variance"))
        _, limit = limits_allowed(getattr(self, "limits", None))
        if not fits_memory(source, limit):
            refuse_beyond_memory(source, limit, "take CommitteeRegressor(store='some.rows')")
        fit(self, *arrays_of(self, source), **more)
        told_columns(self, source)
        self.skipped_ = list(source.skipped)
        return self

    return cast(Fit, attempt)


def told_columns(estimator: Any, source: Source) -> None:
    """Note the columns of X, as scikit-learn does for a frame."""
    estimator.n_features_in_ = len(source.columns)
    if all(isinstance(name, str) for name in source.columns) and not source.tables[0].target:
        estimator.feature_names_in_ = np.array(source.columns, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def arrays_of(estimator: Any, source: Source) -> tuple[Array, Array, Array | None]:
    """X, y and weights of all rows; y has one dimension where there is one target.

    The estimator learns how words, dates and gaps become numbers, as from a frame.
    """
    tables = takes_tables(estimator)
    if not tables:
        refuse_other_than_numbers(estimator, source)
    parts = [rows for _, *rows in (source.found() if tables else source.rows())]
    if not parts:
        raise ValueError(f"no chunk of {source!r} can be used: see its `skipped`")
    each: list[Any] = [one for one, _, _ in parts]
    if tables:
        names = [str(name) for name in source.columns]
        keep_encoding(estimator, source, Encoding.of_parts(lambda: each, names, _asked(estimator)))
        each = [estimator.encoding_.encoded(one) for one in each]
    X, y, w = (np.concatenate(part) for part in (each, *list(zip(*parts))[1:]))
    X = X.view(KnownColumns) if tables else X
    return X, y[:, 0] if len(source.target) == 1 else y, None if source.weight is None else w


def refuse_other_than_numbers(estimator: Any, source: Source) -> None:
    try:
        for table in source.tables:
            check_numbers(table, source.columns)
    except ValueError as error:
        refuse_words(estimator, error)


def encoded_source(estimator: Any, source: Source) -> Source:
    """The source with the encoding of its rows, which the estimator keeps."""
    keep_encoding(estimator, source, source.learn_encoding(_asked(estimator)))
    own = estimator.encoding_
    return source if own.plain else source.encoded(own)


def keep_encoding(estimator: Any, source: Source, encoding: Encoding) -> None:
    """Note the columns of X and how they become numbers, as of a frame."""
    if _asked(estimator) is None:
        refuse_levels(encoding, "categorical_features=None takes none")
    told_columns(estimator, source)
    estimator.encoding_ = encoding


def _asked(estimator: Any) -> Any:
    return getattr(estimator, "categorical_features", "from_dtype")


def fits_memory(source: Source, limit: float) -> bool:
    """Whether a fit may read all rows into memory."""
    return COPIES * size_of(source) <= SHARE * limit


def size_of(source: Source) -> int:
    """Bytes of all rows."""
    return 8 * source.n_rows * (source.d + len(source.target) + 1)


def refuse_beyond_memory(source: Source, limit: float, remedy: str) -> None:
    raise memory.LimitError(
        f"{source.n_rows} rows take {memory.in_words(size_of(source))}, of which a fit makes "
        f"copies, and the limit is {memory.in_words(int(limit))}: {remedy}, which keeps rows on "
        "disk, or give limits='…GB' above that"
    )


@dataclass(eq=False)
class Blocks:
    """Rows of a source for a store, one chunk in memory at a time; as often as asked for."""

    source: Source
    say: Any
    read: bool = False  # whether all have been

    def __iter__(self) -> Iterator[Block]:
        first, count = 0, self.say.counting(lambda chunk: None, len(self.source.chunks))
        for chunk, X, y, w in self.source.rows():
            check_range(X, f"X of {chunk.where}")
            check_range(y, f"y of {chunk.where}")
            if w.max() > LARGEST_WEIGHT:
                raise ValueError(f"weights of {chunk.where} are beyond {LARGEST_WEIGHT:.0e}")
            used = w > 0
            yield X[used], y[used], w[used], first
            first += int(used.sum())
            count(chunk)
        self.read = True

    def find_skipped(self) -> None:
        """Chunks that were left out, where rows of an earlier call stand for them."""
        if not self.read and self.source.on_bad_chunk != "raise":
            for _ in self.source.rows():
                pass


def origin_of_rows(estimator: Any, rows: Rows) -> str:
    """A hash of rows in memory, and of what their codes mean."""
    encoding = getattr(estimator, "encoding_", None)
    own = () if encoding is None or encoding.plain else (encoding,)
    return fingerprint(*rows.fields(), *own)


def origin_of(source: Source) -> str:
    """A hash of what a source reads; "" where that is in memory, and may change."""
    if not all(table.stamps for table in source.tables):
        return ""
    stamps = [stamp.origin for table in source.tables for stamp in table.stamps]
    roles = [*source.columns], [*source.target], source.weight, source.on_bad_chunk
    own = () if source.encoding is None else (source.encoding,)  # other levels, another store
    cut = () if source.on_bad_chunk == "raise" else (source.chunk_rows, source.missing)
    own = own if source.rule is None else (*own, str(source.rule))
    return fingerprint(stamps, *roles, *cut, *own)  # `cut` tells what is left out
