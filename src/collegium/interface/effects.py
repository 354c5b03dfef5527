"""Which columns matter: total effects on the variance of the mean function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..numerics.threads import single_threaded
from ..rows.partition import evenly_spaced
from .summary import summary_of

Array = np.ndarray
#: Rows that effects are averaged over where means cost little and where they do not; fewer where
#: that takes more predictions than for CHEAP_COLUMNS columns, but not below FEWEST.
ROWS, COSTLY_ROWS, CHEAP_COLUMNS, FEWEST = 1_000, 300, 20, 100
#: A function whose variance is a smaller share of its mean square is constant to rounding.
ROUNDING = 1e-18
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Explained:
    """What a fitted model found, in numbers and in words.

    `model_` has `some_inputs()`, rows or anchors as its predictor sees them, and `for_means()`, a
    model whose means cost less.
    """

    model_: Any
    n_features_in_: int
    _made: Any

    @property
    def feature_importances_(self) -> Array:
        """Share of the variance of the function that each column explains, with interactions.

        T_j = ½ E[(f(x) − f(x with column j of another row))²], the total effect of column j
        (Jansen 1999, with f the posterior mean), divided by the sum of all; x are some of the rows
        kept, or anchors where none are (these lie close together in columns that matter little).
        Of a transformed y, of counts and of classes f is the function that the model is of; of
        several outputs or classes effects add up. All are zero where f is constant. Where columns
        go together, swapping one of them asks for f where no rows are, and a share says what this
        function does, not what a cause would.

        Computed when first asked for, which takes seconds, then kept in memory: d + 1 predictions
        of each of 1,000 rows, of 300 where these ask nearest rows (100 at most) or an average of
        models; of fewer, but 100, where there are more than 20 columns. Shares are good to about
        0.02 then (of 300 rows).
        """
        check_is_fitted(self)
        return self._made.named("importances", self._importances).copy()

    def _importances(self) -> Array:
        model, engine = self.model_, self._engine()  # type: ignore[attr-defined]
        with single_threaded():
            predictor = model.for_means().predictor()

            def f(X: Array) -> Array:
                found = predictor.mean(X, engine)
                return np.hstack(found) if isinstance(found, list) else found

            X = model.some_inputs()
            groups = columns_together(X.shape[1], getattr(self, "encoding_", None))
            some = evenly_spaced(X.shape[0], rows_for(len(groups), costly=model.costly_means))
            return shares(f, X[some], groups)

    def summary(self) -> str:
        """Say in about ten plain lines what was found.

        Rows, columns and chunks; the function, term by term; the noise; transforms; the evidence;
        the columns that matter most (`feature_importances_`, which takes seconds when first asked
        for).

        Returns
        -------
        text : str

        Examples
        --------
        >>> import numpy as np
        >>> from collegium import CommitteeRegressor
        >>> from collegium.kernels import RBF
        >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
        >>> model = CommitteeRegressor(RBF(1.0, [0.7, 9.0]), noise=0.01, learn=False)
        >>> print(model.fit(X, np.sin(2 * X[:, 0])).summary())  # doctest: +ELLIPSIS
        CommitteeRegressor
          rows        100, used as they are (an exact Gaussian process)
          columns     2: x0, x1
          function    a very smooth function (squared exponential), sd 1; length scales x0 0.7, x1 9
          noise       standard deviation 0.1
          errors      of the same size everywhere, normal
          transforms  none
          evidence    log p(y given X) = ...
          matters     x0 100%; 1 hardly
        """
        check_is_fitted(self)
        with single_threaded():
            return summary_of(self)


def rows_for(columns: int, *, costly: bool) -> int:
    """Rows to average over."""
    most = COSTLY_ROWS if costly else ROWS
    return min(most, max(FEWEST, most * CHEAP_COLUMNS // max(columns, 1)))


def columns_together(width: int, encoding: Any) -> list[list[int]]:
    """Columns that a model sees, for each column of the table: itself, and where it has gaps."""
    if encoding is None:
        return [[j] for j in range(width)]
    d = len(encoding.columns)
    return [[j, *(d + i for i, k in enumerate(encoding.filled) if k == j)] for j in range(d)]


def shares(f: Callable[[Array], Array], X: Array, groups: Sequence[list[int]]) -> Array:
    """Total effects of groups of columns on f (n, p) at the rows X, divided by their sum; zeros
    where f is constant."""
    before = f(X)
    effects = total_effects(f, before, X, groups)
    total = float(effects.sum())
    if total <= ROUNDING * float((before**2).mean()):
        return np.zeros(len(groups))
    return effects / total


def total_effects(
    f: Callable[[Array], Array], before: Array, X: Array, groups: Sequence[list[int]]
) -> Array:
    """T_j = ½ E[(f(x) − f(x with group j of another row))²], summed over outputs."""
    n = X.shape[0]
    effects = np.zeros(len(groups))
    for j, group in enumerate(groups):
        moved = X.copy()
        moved[:, group] = X[donors(X[:, j])][:, group]
        change = (moved != X).any(axis=1)
        if change.any():
            step = f(moved[change]) - before[change]
            effects[j] = 0.5 * float((step**2).sum()) / n
    return effects


def donors(x: Array) -> Array:
    """Another row for each, whose value of x is as if drawn at random from all  (n,).

    Ranks (r, rg mod n) with g about n times the golden section are a lattice that fills the square
    evenly, so that averages over such pairs are closer than over random ones.
    """
    n = x.size
    order = np.argsort(x, kind="stable")
    step = next(g for g in range(round(GOLDEN * n), 2 * n + 2) if np.gcd(g, n) == 1)
    other = np.empty(n, dtype=int)
    other[order] = order[(step * np.arange(n) + n // 2) % n]
    return other
