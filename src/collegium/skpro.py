"""Regressors of collegium with the interface of skpro, and so in sktime.

collegium.skpro.CommitteeProba(CommitteeRegressor(random_state=0)).fit(X, y).predict_proba(X_new)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .committee.regressor import CommitteeRegressor
from .diagnostics.predicted import takes_counts
from .kernels.stationary.matern import Matern32
from .numerics.libraries import library

Array = np.ndarray
#: Up to so many different levels are asked for at once, others are found by bisection.
LEVELS = 20
#: Halvings of the bisection, from the interval between the quantiles of the outermost levels.
HALVINGS = 60


class _Proba:
    """Probabilistic regression by any regressor of collegium, in the interface of skpro.

    Parameters
    ----------
    estimator : regressor of collegium, default=None
        A copy is fitted. None: `CommitteeRegressor()`.

    Attributes
    ----------
    estimator_ : the fitted regressor, with all of its own methods.

    Notes
    -----
    `predict_proba` returns the predictive distribution of the model as it is: heavy tails, skew,
    counts and transforms included. `update` is `partial_fit`.

    Examples
    --------
    >>> from collegium.skpro import CommitteeProba  # doctest: +SKIP
    >>> model = CommitteeProba(CommitteeRegressor(random_state=0)).fit(X, y)  # doctest: +SKIP
    >>> model.predict_proba(X_new).quantile([0.1, 0.9])  # doctest: +SKIP
    """

    _tags = {
        "capability:multioutput": False, "capability:missing": True, "capability:update": True,
        "X_inner_mtype": "pd_DataFrame_Table", "y_inner_mtype": "pd_DataFrame_Table",
    }  # fmt: skip

    def __init__(self, estimator: Any = None):
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: Any, y: Any, C: Any = None) -> Any:
        own = CommitteeRegressor() if self.estimator is None else clone(self.estimator)
        self._y_columns = y.columns
        self.estimator_ = own.fit(_named(X), y.iloc[:, 0].to_numpy())
        return self

    def _update(self, X: Any, y: Any, C: Any = None) -> Any:
        self.estimator_.partial_fit(_named(X), y.iloc[:, 0].to_numpy())
        return self

    def _predict(self, X: Any) -> Any:
        frame = library("pandas", "skpro", "collegium.skpro").DataFrame
        return frame(self.estimator_.predict(_named(X)), index=X.index, columns=self._y_columns)

    def _predict_proba(self, X: Any) -> Any:
        made = __getattr__("Predicted")
        return made(self.estimator_, _named(X), index=X.index, columns=self._y_columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict]:
        """Arguments for the tests of skpro."""
        given = CommitteeRegressor(Matern32(2.0, 1.5), noise=0.1, learn=False, random_state=0)
        return [
            {"estimator": given},
            {"estimator": CommitteeRegressor(noise="constant", learn=True)},
        ]


class _Predicted:
    """p(y | x) of a fitted regressor at rows X, as a distribution of skpro (n, 1).

    Parameters
    ----------
    model : fitted regressor of collegium
    X : frame of n rows
    index, columns : of rows, and of the one target; None: a single row, a scalar

    Examples
    --------
    >>> collegium.skpro.Predicted(model, X[:1]).mean()  # doctest: +SKIP
    """

    _tags = {
        "capabilities:approx": ["pdfnorm", "energy"],
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
        "broadcast_init": "off",
    }  # fmt: skip

    ndim: int  # 0 of one row, else 2
    index: Any
    columns: Any

    def __init__(self, model: Any, X: Any, index: Any = None, columns: Any = None):
        self.model, self.X = model, X
        super().__init__(index=index, columns=columns)  # type: ignore[call-arg]
        if takes_counts(model):
            self.set_tags(**{"distr:measuretype": "discrete"})  # type: ignore[attr-defined]

    def _mean(self) -> Any:
        return self._like(self.model.predict(self.X))

    def _var(self) -> Any:
        return self._like(self.model.predict(self.X, return_std=True)[1] ** 2)

    def _log_pdf(self, x: Any) -> Any:
        return self._like(self.model.log_density(self.X, np.ravel(x)))

    def _pdf(self, x: Any) -> Any:
        return np.exp(self._log_pdf(x))

    def _log_pmf(self, x: Any) -> Any:
        """log P(Y = y) of counts, which is their log density."""
        return self._log_pdf(x)

    def _pmf(self, x: Any) -> Any:
        return np.exp(self._log_pdf(x))

    def _cdf(self, x: Any) -> Any:
        return self._like(self.model.cdf(self.X, np.ravel(x)))

    def _ppf(self, p: Any) -> Any:
        """Quantiles of few levels from the model, of others where its distribution function, which
        increases, crosses them."""
        p = np.broadcast_to(np.ravel(p).astype(float), (len(self.X),))
        levels, place = np.unique(p, return_inverse=True)
        inside = levels[(levels > 0.0) & (levels < 1.0)]
        if levels.size <= LEVELS or not inside.size:
            found = np.stack([self._quantile(q) for q in levels])
            return self._like(found[place, np.arange(p.size)])
        low, high = first, last = self._quantile(inside[0]), self._quantile(inside[-1])
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.model.cdf(self.X, middle) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        high = np.rint(high) if takes_counts(self.model) else high
        high = np.where(p <= inside[0], first, np.where(p >= inside[-1], last, high))
        ends = np.select([p == 0.0, p == 1.0], [-np.inf, np.inf], np.nan)
        return self._like(np.where((p > 0.0) & (p < 1.0), high, ends))

    def _quantile(self, q: float) -> Array:
        """One quantile of all rows; NaN where q is no probability."""
        if 0.0 < q < 1.0:
            return np.ravel(self.model.quantile(self.X, q))
        return np.full(len(self.X), {0.0: -np.inf, 1.0: np.inf}.get(q, np.nan))

    def _like(self, found: Array) -> Any:
        return float(found[0]) if self.ndim == 0 else np.reshape(found, (-1, 1))

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> Any:
        rows: Any = slice(None) if rowidx is None else rowidx
        columns: Any = slice(None) if colidx is None else colidx
        one, single = (not isinstance(k, slice) and np.ndim(k) == 0 for k in (rows, columns))
        if one and single:
            return self._iat(rows, columns)
        rows, columns = [rows] if one else rows, [columns] if single else columns
        return type(self)(
            self.model, self.X.iloc[rows], index=self.index[rows], columns=self.columns[columns]
        )

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> Any:
        return type(self)(self.model, self.X.iloc[[rowidx]])

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict]:
        """Arguments for the tests of skpro: of three rows, and of one."""
        pandas = library("pandas", "skpro", "collegium.skpro")
        X = pandas.DataFrame({"x": np.linspace(0.0, 3.0, 30)})
        model = CommitteeRegressor(Matern32(2.0, 1.5), noise=0.1, learn=False)
        model.fit(X, np.sin(X["x"].to_numpy()))
        columns = pandas.Index(["y"])
        return [
            {"model": model, "X": X[:3], "index": X.index[:3], "columns": columns},
            {"model": model, "X": X[:1]},
        ]


def _named(X: Any) -> Any:
    """Rows whose columns have words for names, as scikit-learn wants them, or all numbers."""
    mixed = len({isinstance(name, str) for name in X.columns}) > 1
    return X.set_axis(X.columns.astype(str), axis=1) if mixed else X


def __getattr__(name: str) -> Any:
    """Make a class when it is first asked for: its base is skpro's."""
    if name not in ("CommitteeProba", "Predicted"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in globals():
        return globals()[name]
    part, base, own = (
        ("regression", "BaseProbaRegressor", _Proba)
        if name == "CommitteeProba"
        else ("distributions", "BaseDistribution", _Predicted)
    )
    above = getattr(library(f"skpro.{part}.base", "skpro", "collegium.skpro"), base)
    inside = {"__doc__": own.__doc__, "__module__": __name__, "_tags": own._tags}
    found = globals()[name] = type(name, (own, above), inside)
    return found
