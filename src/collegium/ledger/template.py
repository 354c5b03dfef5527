"""The estimator that a ledger learns with: a basis that messages are about, or none yet."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from ..committee.classifier import CommitteeClassifier
from ..committee.regressor import CommitteeRegressor
from ..interface.frames.encoded import encoded_parts, known_parts
from ..interface.options import Chunks
from ..messages.total import Total
from ..modelfile.files import model_bytes, model_of_bytes
from ..pipeline.kept.lent import View
from ..pipeline.stream.assembling import (
    CountedRows,
    NamedRows,
    adds_exactly,
    assembled,
    heard,
    lent_model,
    near_groups,
    rows_of_part,
    weights_left,
)
from ..pipeline.systems import system_for
from ..rows.ids import Id
from ..rows.rows import Rows
from .storage.beside import ReadChunk
from .table import GivenRows

Array = np.ndarray
#: Parts of a basis that were learnt from rows.
LEARNT = ("kernel", "noise or likelihood", "anchors", "scaling of y", "encoding of columns",
          "transforms", "members", "scale of errors")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Template:
    """A blank fitted estimator, or one that is not fitted: then models are fitted to all rows."""

    estimator: Any
    names: tuple[str, ...] | None = None  # of the columns of X

    @classmethod
    def of(cls, model: Any, names: Any = None) -> Template:
        """Take a fitted model without its rows; one exact Gaussian process is fitted again."""
        if not isinstance(model, (CommitteeRegressor, CommitteeClassifier)):
            raise ValueError(
                f"model is a {type(model).__name__}: a ledger holds a CommitteeRegressor or a "
                "CommitteeClassifier"
            )
        if model.store is not None:
            raise ValueError("store: a ledger keeps the rows itself. Leave it out")
        if not hasattr(model, "model_") or model.model_.alone:
            blank = clone(model)
        else:
            blank = model.blank()
        if blank.random_state is None:
            blank.random_state = 0  # models of the same rows are to be the same
        blank.engine, blank.chunks = None, _without_labels(blank.chunks)
        if hasattr(model, "feature_names_in_"):  # also where it is fitted again
            names = tuple(str(name) for name in model.feature_names_in_)
        return cls(blank, names)

    @classmethod
    def of_bytes(cls, data: bytes, names: Any, types: Sequence[type]) -> Template:
        return cls(model_of_bytes(bytearray(data), verify=True, types=types), names)

    def to_bytes(self) -> bytes:
        return model_bytes(self.estimator)

    @property
    def fitted(self) -> bool:
        """Whether there is a basis."""
        return hasattr(self.estimator, "model_")

    @property
    def exact(self) -> bool:
        """Whether messages add up in any order."""
        return self.fitted and adds_exactly(self.estimator)

    @cached_property
    def id(self) -> str:
        return self.estimator.basis_id_ if self.fitted else ""

    def zero(self) -> Total | None:
        """Return the empty sum, where messages add up."""
        return heard(self.estimator, []) if self.exact else None

    def checked(self, id: Id, rows: GivenRows) -> NamedRows | None:
        """Refuse rows that the model cannot learn from; cut them, where there is a basis."""
        if self.fitted:
            return self.named(id, rows)
        scratch = clone(self.estimator)
        X = encoded_parts(scratch, [rows.found(self.names)], named=self.names is not None)
        if isinstance(scratch, CommitteeClassifier):
            if rows.exposure is not None:
                raise ValueError("exposure is for counts: leave it out with labels")
            X, _ = scratch._check(X, self._y(rows.y), reset=True)
            scratch._weights(X, rows.w)
        else:
            system = system_for(scratch)
            system.rows(scratch, X, rows.y, rows.w, rows.exposure, None, reset=True)
        return None

    @cached_property
    def settings(self) -> Any:
        """Read the arguments by which rows are cut."""
        return self.estimator._more_settings()

    def named(self, id: Id, rows: GivenRows) -> NamedRows:
        """Check and cut rows on the basis."""
        return NamedRows.of(self.estimator, self.settings, self._rows(rows), id)

    def _rows(self, rows: GivenRows) -> Rows:
        own, d = self.estimator, rows.X.shape[1]
        if d != own.n_features_in_:
            raise ValueError(f"X has {d} columns, and the model was fitted to {own.n_features_in_}")
        X = known_parts(own, [rows.found(self.names)])
        return own._more_rows(X, self._y(rows.y), rows.w, rows.exposure)

    def _y(self, y: Array) -> Array:
        """Labels that are whole numbers are integers."""
        whole = isinstance(self.estimator, CommitteeClassifier) and y.dtype.kind == "f"
        return y.astype(np.int64) if whole and (y == np.floor(y)).all() else y

    def plus(self, total: Total | None, parts: Sequence[tuple[Id, GivenRows]]) -> Total | None:
        """total + Σ messages of rows, where messages add up."""
        return self.heard(total, [self.named(*one) for one in parts]) if self.exact else None

    def minus(self, total: Total | None, parts: Sequence[tuple[Id, GivenRows]]) -> Total | None:
        """total − Σ messages of rows, where messages add up."""
        if not self.exact or total is None:
            return None
        return total - heard(self.estimator, [self.named(*one) for one in parts])

    def heard(self, total: Total | None, named: Sequence[NamedRows]) -> Total | None:
        """total + Σ messages of rows that are cut already, where messages add up."""
        return heard(self.estimator, named, total) if self.exact else None

    def groups(self, rows: GivenRows) -> list[Array]:
        """Deal rows to chunks of neighbours."""
        if not self.fitted:
            return [np.arange(rows.n)]
        return near_groups(self.estimator, self.settings, self._rows(rows))

    def model(self, parts: Sequence[tuple[Id, GivenRows]], total: Total | None) -> Any:
        """Make the fitted model of these rows, in the order of their ids."""
        if not self.fitted:
            return self.fit(parts)
        return self.put_together([self.named(id, rows) for id, rows in parts], total)

    def put_together(self, named: Sequence[NamedRows], total: Total | None) -> Any:
        """Make the fitted model of rows that are cut already, on the basis."""
        found = copy(self.estimator)
        found._keep(assembled(found, self.settings, named, total))
        found._forgotten()
        return found

    @property
    def keeps_rows(self) -> bool:
        """Whether rows correct predictions, besides the sum of their messages."""
        return bool(self.settings.answers.keeps_rows)

    def read(self, key: str, id: Id, rows: GivenRows) -> ReadChunk:
        """Read the rows of a chunk as the model sees them, for a store."""
        named = self.named(id, rows)
        found = rows_of_part(self.estimator, self.settings, self._rows(rows))
        return ReadChunk(key, found, len(named.chunks[0]), named.weight)

    def counted(self, id: Id, rows: GivenRows) -> CountedRows:
        """Count the parts that rows are cut into, and their weight."""
        named = self.named(id, rows)
        return CountedRows(id, len(named.chunks[0]), named.weight)

    def left(self, rows: GivenRows, rest: GivenRows) -> Array:
        """Weights of the rows of a chunk in a store when but the rest of them are left."""
        return weights_left(self.estimator, self.settings, self._rows(rows), self._rows(rest))

    def of_store(self, named: Sequence[CountedRows], total: Total | None, view: View | None) -> Any:
        """Make the fitted model of rows that are in a store, or that it needs no more."""
        assert total is not None
        found = copy(self.estimator)
        found._keep(lent_model(found, named, total, view))
        found._forgotten()
        return found

    def fit(self, parts: Sequence[tuple[Id, GivenRows]]) -> Any:
        """Fit an estimator with the same arguments to all rows."""
        if not parts:
            raise ValueError("the ledger has no rows, and no basis to predict from: add rows first")
        found, rows = clone(self.estimator), [one for _, one in parts]
        columns = [one.found(self.names) for one in rows]
        X = encoded_parts(found, columns, named=self.names is not None)
        w, e = (joined_column(rows, name) for name in ("w", "exposure"))
        more = {} if e is None else {"exposure": e}
        return found.fit(X, self._y(np.concatenate([one.y for one in rows])), w, **more)

    def remembering(self) -> tuple[str, ...]:
        """Name the parts of the basis that were learnt from rows."""
        if not self.fitted:
            return ()
        model, plain = self.estimator.model_, self.estimator.encoding_.plain
        there = {
            "encoding of columns": not plain, "transforms": model.warping is not None,
            "members": model.members is not None, "anchors": len(model.anchors) > 0,
            "scale of errors": getattr(model, "errors", None) is not None
            or not isinstance(self.estimator, CommitteeRegressor),
        }  # fmt: skip
        return tuple(name for name in LEARNT if there.get(name, True))


def _without_labels(chunks: Any) -> Any:
    """Drop the labels of rows that a model was fitted to: a ledger has ids in their place."""
    if isinstance(chunks, Chunks):
        return chunks if isinstance(chunks.rule, str) else replace(chunks, rule="balanced")
    return chunks if isinstance(chunks, (str, Integral)) else "auto"


def joined_column(rows: Sequence[GivenRows], name: str) -> Array | None:
    """Join weights or exposures, ones where some chunks have none; None: no chunk has any."""
    each = [getattr(one, name) for one in rows]
    if all(one is None for one in each):
        return None
    return np.concatenate([np.ones(r.n) if one is None else one for r, one in zip(rows, each)])
