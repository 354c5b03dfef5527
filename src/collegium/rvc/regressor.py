"""RVCRegressor: local linear experts for streams."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..answers.arrived import Arrived
from ..interface.checks.arguments import check_is_fitted
from ..interface.checks.rows import (
    check_queries,
    check_rows,
    check_weights,
    generator,
)
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.sources import reads_sources
from ..interface.regressor import Regressor
from ..interface.streams.rates import Rates
from ..interface.streams.waiting import arriving_rows, lengthened
from ..interface.streams.watching import Progressive, StreamCheck
from ..interface.turns import of_one_state
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES, merged
from .answers import RVCAnswers
from .stream import RVCOptions, RVCStream, begun, experts_by_rates, merged_streams

Array = np.ndarray


@dataclass(eq=False, repr=False)
class RVCRegressor(Regressor):
    """Randomly varying coefficients: a committee of local Bayesian lines (Edakunni, Schaal &
    Vijayakumar 2007), for streams that never end.

    Each expert is a line about its centre whose coefficients vary more the farther away a row is;
    it learns how fast they vary, and how large the noise is there. So error bars follow the noise
    from place to place. Only a sample of 400 rows is stored, to check error bars. Experts are
    added where no expert is near, and are combined only for predictions.

    Parameters
    ----------
    mode : {"local", "paper"}, default="local"
        "local": coefficients of single rows are integrated out, rows count less the farther away
        they are, error bars are scaled to cover 95 % of arriving rows, and of the better-known
        half of a sample of earlier ones. "paper": as published, O(d) per expert and row.
    max_experts : int, default=200
        A row costs at most O(max_experts · d²), and O(max_experts · d) in mode="paper".
    centres : {"grow", "grid"} or array of shape (M, d), default="grow"
        "grow": centres are rows that are far from every expert. "grid": as many as
        `max_experts` allows, over the range of the (first) rows. An array: these, in the units
        of X.
    width : float or "auto", default="auto"
        Size of a region in standard deviations of the inputs; in mode="paper" the unit of
        length. "auto": several at once; the one with the best predictions so far answers.
    b : float or "auto", default="auto"
        Prior scale of the variation of coefficients, in units of the variance of y.
    sweeps : int, default=1
        Iterations of the updates for one row of a stream.
    max_iter, tol : int, float or "auto", default="auto"
        Most sweeps of `fit`, which ends when the bound of an expert gains less than `tol` per
        row. "auto": 20 and 1e-4; 1,000 and 1e-6 in mode="paper", which is accelerated by
        extrapolation, and where `ConvergenceWarning` says that more sweeps are needed.
    forgetting : float, "auto" or tuple of floats, default=1.0
        With λ < 1 an expert forgets a share 1 − λ of the past with every row that it uses in
        full: for functions that change over time. A row then costs O(d³) per expert in
        mode="local". "auto": committees with λ = 1 and λ = 0.5 run side by side, and the one that
        has predicted the last rows better is followed; about twice the time. A tuple, such as
        (1.0, 0.95, 0.8), the largest first: these rates.
    add_below : float, default=-1.5
        mode="paper": an expert is added where the log density of y (scaled to variance one) is
        below this.
    prune : float, default=0.05
        One of two experts is dropped where their variances differ by less than this share at
        both centres. 0: never.
    start_rows : int, default=500
        The first rows of a stream set the scales of X and y. They are kept until this number is
        reached; then only the sample is kept.
    n_jobs : int, default=None
        Experts that `fit` learns at a time; -1: one per core. Answers do not depend on it.
    random_state : int, RandomState or None
        Seed of the order in which `fit` presents the rows.
    verbose : int, default=0
        1: `fit` reports the chosen width; the first call reports that it compiles.

    Attributes
    ----------
    experts_ : dict of arrays (a list of them with several outputs)
        "centre" (M, d), "value" (M,) and "slope" (M, d) of the line at the centre; "bandwidth"
        (M, d + 1): ⟨h⟩ of each coefficient, y and lengths scaled; "reach" (M, d): distance
        along each column at which the misfit of the line equals the noise; "noise" (M,) as a
        standard deviation; "rows" (M,) used.
    width_ : float (list), standard deviations of the inputs.
    n_experts_ : int (list)
    n_seen_ : int, rows seen.
    forgetting_ : float, the rate of forgetting that is followed now.
    settled_ : bool, whether scales and widths are final; from then on copies can be merged.
    bound_ : float (list), after `fit`: the sum of the experts' variational bounds, y scaled.
    n_iter_ : int, largest number of sweeps of an expert in `fit`; 0 on a stream.

    Notes
    -----
    Arguments are read when a stream begins.

    `partial_fit` adds rows in their order. `fit` shuffles them, unless the order matters
    (`forgetting` below 1), and runs variational EM over all of them; where there are more than
    200 the last fifth is added as a stream, which sets the scale of the error bars.

    Memory: O(max_experts · d²) for any number of rows (in mode="local" several times that until
    some thousand rows have settled the width). Each output has its own experts.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import RVCRegressor
    >>> rng = np.random.default_rng(0)
    >>> model = RVCRegressor()
    >>> for _ in range(10):
    ...     X = rng.uniform(-3, 3, size=(200, 1))
    ...     noise = np.where(X[:, 0] > 0, 0.3, 0.03) * rng.normal(size=200)
    ...     model = model.partial_fit(X, np.sin(2 * X[:, 0]) + noise)
    >>> mean, std = model.predict([[-1.0], [1.0]], return_std=True)
    >>> bool(abs(mean[0] + np.sin(2)) < 0.05), bool(std[1] > 3 * std[0]), model.n_seen_
    (True, True, 2000)
    """

    _: KW_ONLY
    mode: str = "local"
    max_experts: int = 200
    centres: Any = "grow"
    width: float | str = "auto"
    b: float | str = "auto"
    sweeps: int = 1
    max_iter: int | str = "auto"
    tol: float | str = "auto"
    forgetting: Any = 1.0
    add_below: float = -1.5
    prune: float = 0.05
    start_rows: int = 500
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @all_or_nothing
    @reads_sources
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows; earlier rows are forgotten.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,) or (n, p), or the name of a column of the frame X
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        options = RVCOptions.of(self)
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        check_weights(rows.w, MOST_COPIES)
        n = int((rows.w > 0).sum())
        in_order, rng = options.rates[-1] < 1.0, generator(self.random_state)
        rows, _ = merged(rows, None, in_order=in_order)
        if not in_order:
            rows = rows.take(rng.permutation(rows.w.size))
        with single_threaded():
            self._keep(replace(experts_by_rates(rows, options, self._say()), n_seen=n))
        return self

    @all_or_nothing
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows, in their order.

        The first `start_rows` rows of a stream set the scales of X and y; until then the model
        is refitted whenever their number has doubled.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        rows = self._rows(X, y, sample_weight)
        self._learn(rows.take(rows.w > 0))
        return self

    @all_or_nothing
    def progressive(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Progressive:
        """Predict each row before learning from it: one-step-ahead predictions.

        Equal to `predict` and `partial_fit` row by row, and much faster.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        found : Progressive
            `mean, std = found`: predictions of each observation before it came. Scores:
            `found.rmse`, `found.nlpd`, `found.coverage`. The first row of a stream has NaN.
        """
        first, rows = not hasattr(self, "model_"), self._rows(X, y, sample_weight)
        mean, std = np.full((2, *rows.y.shape), np.nan)
        start = 0
        while start < rows.w.size and (first or self.model_.waiting is not None):
            one = rows.take(slice(start, start + 1))
            if not first:
                found = RVCAnswers(one.X, self.model_).moments("observation")
                mean[start], std[start] = found[0][0], found[1][0]
            if one.w[0] > 0.0:
                self._learn(one)
                first = False
            start += 1
        rest = rows.take(slice(start, None))
        if rest.w.size:
            with single_threaded():
                stream, m, v = self.model_.predicted(rest)
            unused = int((rest.w == 0.0).sum())
            scaled = Arrived.gaussian(stream.scaling.forward(rest.y), m, v)
            check = self._check_of(rest.w.size, scaled.in_units(stream.scaling.scale))
            self._keep(replace(stream, n_seen=stream.n_seen - unused), check)
            mean[start:] = stream.scaling.mean(m)
            std[start:] = np.sqrt(v) * stream.scaling.scale
        return Progressive.gaussian(mean, std, rows.y, self._shaped)

    def _rows(self, X, y, sample_weight) -> Rows:
        """Validate rows of a stream."""
        rows = arriving_rows(self, X, y, sample_weight)
        check_weights(rows.w, MOST_COPIES)
        return rows

    def _learn(self, rows: Rows) -> None:
        """Learn from rows of a stream, all of positive weight."""
        options = RVCOptions.of(self)
        check = self._check_of(rows.w.size, self._arrived(rows))

        def begin(rows: Rows) -> Any:
            return begun(rows.take(slice(options.learn_rows)), options).with_rows(rows)

        model = getattr(self, "model_", None)
        self._keep(lengthened(model, rows, rows.w.size, begin, options.learn_rows), check)

    @of_one_state
    def predict_gradient(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Slopes of the function at X: the experts' coefficients, weighted as in `predict`.

        Not exactly the derivative of `predict`: the weights vary with X too.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool, default=False

        Returns
        -------
        gradient : array of shape (n, d) or (n, d, p)
        std : array of the same shape, with return_std
        """
        check_is_fitted(self)
        X = check_queries(self, X)
        with single_threaded():
            slopes, std = RVCAnswers(X, self.model_).slopes()
        return (self._shaped(slopes), self._shaped(std)) if return_std else self._shaped(slopes)

    def _answers_at(self, X: Array, shift: Array, predictor: Any = None) -> RVCAnswers:
        return RVCAnswers(X, self.model_)

    @all_or_nothing
    def merge(self, *others, common=None) -> Self:
        """Merge models, as if the rows of the others had come here too.

        Messages of experts with the same centre are added; other experts are kept unchanged.
        The models must be copies of one that has settled: give it as `common`, to count it once.

        Parameters
        ----------
        *others : fitted RVCRegressor
        common : fitted RVCRegressor, default=None
            The model that all were copied from.

        Returns
        -------
        self

        Examples
        --------
        >>> import copy
        >>> import numpy as np
        >>> from collegium import RVCRegressor
        >>> X = np.random.default_rng(0).uniform(-3, 3, size=(3000, 1))
        >>> y = np.sin(X[:, 0])
        >>> start = RVCRegressor(width=0.2).partial_fit(X[:1000], y[:1000])
        >>> here, there = copy.deepcopy(start), copy.deepcopy(start)
        >>> here = here.partial_fit(X[1000:2000], y[1000:2000])
        >>> there = there.partial_fit(X[2000:], y[2000:])
        >>> here.merge(there, common=start).n_seen_
        3000
        """
        check_is_fitted(self)
        if not others:
            return self
        if any(isinstance(one.model_, Rates) for one in (self, *others) if hasattr(one, "model_")):
            raise ValueError("merge: models of several rates do not add up: give one forgetting")
        for model in [*others, *([] if common is None else [common])]:
            if not isinstance(model, RVCRegressor):
                raise ValueError(f"merge takes fitted RVCRegressors, not {type(model).__name__}")
            check_is_fitted(model)
            if model.model_ is self.model_:
                raise ValueError("merge: a model cannot be merged with itself")
            if model.n_features_in_ != self.n_features_in_:
                raise ValueError(
                    f"merge: models have {self.n_features_in_} and {model.n_features_in_} columns"
                )
            self._check_units(model.model_)
        if any(model.model_.waiting is not None for model in (self, *others)):
            raise ValueError(
                "merge: a model is still waiting for its start_rows: give it more rows"
            )
        streams = [self.model_, *(other.model_ for other in others)]
        with single_threaded():
            found = merged_streams(streams, None if common is None else common.model_)
            self._keep(found, StreamCheck())
        return self

    def _check_units(self, other: RVCStream) -> None:
        own = self.model_
        pairs = [
            (own.inputs.centre, other.inputs.centre), (own.inputs.scale, other.inputs.scale),
            (own.scaling.centre, other.scaling.centre), (own.scaling.scale, other.scaling.scale),
        ]  # fmt: skip
        if not all(np.array_equal(a, b) for a, b in pairs):
            raise ValueError(
                "these models scale X and y differently: begin them as copies of one model that "
                "has seen its start_rows (copy.deepcopy), and give that as `common`"
            )

    n_seen_ = fitted("n_seen", "Rows seen.")
    forgetting_ = fitted("forgetting", "The rate of forgetting that is followed now.")
    settled_ = fitted("settled", "Whether scales and widths are final.")
    n_iter_ = fitted("n_iter", "Sweeps of `fit`; 0 on a stream.")
    scaling_ = fitted("scaling", "Centre and scale of y.")

    @property
    def experts_(self):
        """Line, noise and reach of every expert, in the units of X and y."""
        check_is_fitted(self)
        return self._each([self.model_.experts(j) for j in range(len(self.model_.widths))])

    @property
    def n_experts_(self):
        check_is_fitted(self)
        return self._each([c.experts.size for c in self.model_.committees])

    @property
    def width_(self):
        """Size of a region, in standard deviations of the inputs."""
        check_is_fitted(self)
        return self._each([float(c.assumed.unit) for c in self.model_.committees])

    @property
    def bound_(self):
        """Sum of the experts' variational bounds after `fit`, y scaled."""
        check_is_fitted(self)
        if not self.model_.bounds:
            raise AttributeError("bound_ is known after fit only")
        return self._each(list(self.model_.bounds))

    def _each(self, found: list):
        return found[0] if self.y_ndim_ == 1 else found
