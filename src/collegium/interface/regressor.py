"""Base of regressors: one path from queries to answers in the units of y."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from ..answers.answers import LEVELS, Answers
from ..answers.arrived import Arrived, look
from ..likelihoods.targets.units import log_exposure
from ..maps.dataset import as_dataset, xarray_library
from ..maps.grid import Grid
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from .checks.arguments import (
    check_coverage,
    check_draws,
    check_is_fitted,
    check_level,
    check_probabilities,
    check_square,
)
from .checks.groups import apart_from_groups
from .checks.rows import check_exposure, check_queries, check_targets
from .estimator import Estimator, all_or_nothing
from .explaining import asked_of_regressor
from .frames.writing import by_output, write_answers
from .guarantees import (
    MADE,
    adaptive_interval,
    calibration_rows,
    check_interval_method,
    folds_interval,
    split_interval,
)
from .mapping import grid_of, regression_map
from .streams.progressive import progressive
from .streams.watching import Progressive
from .turns import of_one_state

Array = np.ndarray


class Regressor(RegressorMixin, Estimator):
    """Answers from `model_`: a record with `predictor()`, `likelihoods`, `units` and `kernel`."""

    levels: tuple[str, ...] = LEVELS

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = ..., return_cov: Literal[False] = ...,
        *, interval: None = ..., level: str = ..., exposure: ArrayLike | None = ...,
        n_local: int | None = ...,
    ) -> Array: ...  # fmt: skip
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = ...,
        *, interval: None = ..., level: str = ..., exposure: ArrayLike | None = ...,
        n_local: int | None = ...,
    ) -> tuple[Array, Array]: ...  # fmt: skip
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = ..., *, return_cov: Literal[True],
        interval: None = ..., level: str = ..., exposure: ArrayLike | None = ...,
        n_local: int | None = ...,
    ) -> tuple[Array, Array]: ...  # fmt: skip
    @overload
    def predict(
        self, X: ArrayLike, return_std: bool = ..., return_cov: bool = ...,
        *, interval: float | None = ..., level: str = ..., exposure: ArrayLike | None = ...,
        n_local: int | None = ...,
    ) -> Any: ...  # fmt: skip
    @of_one_state
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        interval: float | None = None,
        level: str = "observation",
        exposure: ArrayLike | None = None,
        n_local: int | None = None,
    ) -> Any:
        """Predict y, with standard deviation and interval, or the covariance, on request.

        One call that asks for all costs about as much as one that asks for the standard deviation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both.
        interval : float, default=None
            Return also the ends of the interval that holds y with this probability, last.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it (of
            counts: their rate). `RegressionFilter` also knows "model", the function's projection
            onto the basis, and "paper", the function with the error bar as published.
        exposure : float or array-like of shape (n,), default=None
            Of counts: predict those of so much exposure; None: of one each, with a warning where
            the model was fitted with others.
        n_local : int, default=None
            Of committees: answer from so many nearest rows, in place of those of the model; fewer
            take less time. The first call with another number learns the error bars of such
            answers. 0: from anchors alone.

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        lower, upper : arrays of the shape of the mean, where `interval` is given
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        if interval is not None:
            check_coverage(interval, "interval")
            if return_cov:
                raise ValueError("interval and return_cov exclude each other: ask for one of them")
        answers = self._answers(X, level, exposure, n_local)
        with single_threaded():
            if return_cov:
                check_square(answers.X.shape[0], "return_cov")
                found = list(answers.covariance(level))
            else:
                found = _asked(answers, return_std, interval, level)
        shaped = tuple(self._shaped(part) for part in found)
        return shaped if len(shaped) > 1 else shaped[0]

    @of_one_state
    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        method: str = "model",
        groups: ArrayLike | str | None = None,
        level: str = "observation",
        exposure: ArrayLike | None = None,
        n_local: int | None = None,
    ) -> tuple[Array, Array]:
        """Interval that holds y (or the function) with probability `coverage`.

        Of counts: whole numbers, of at least that probability with "poisson"; with a likelihood
        of your own by its `quantile`.

        Parameters
        ----------
        X, level, exposure, n_local : as in `predict`
        coverage : float, default=0.95
        method : {"model", "split", "cv+", "adaptive"}, default="model"
            "model": central interval of the predictive distribution, right if the model is.
            "split": the model's interval, widened or narrowed until it covers the rows of
            `calibrate`: covers new rows of the same kind with at least this probability, whatever
            the model. "cv+": the same by rows held out in ten folds (`CommitteeRegressor` with
            Gaussian noise and rows in memory); approximate, since kernel, noise, anchors and
            scaling were learnt with all rows. "adaptive": for streams, follows the share of rows
            that were missed of late. See docs/conformal.md.
        groups : array-like of n labels, or the name of a column of the frame X, default=None
            With "split": cover in each group, by the calibration rows of that group.

        Returns
        -------
        lower, upper : arrays of the shape of the mean
        """
        check_coverage(coverage)
        check_interval_method(method, level, groups, n_local)
        X, groups = apart_from_groups(X, groups)
        if method in ("cv+", "adaptive"):
            lower, upper = self._without_calibration(method, X, coverage, exposure)
            return self._shaped(lower), self._shaped(upper)
        answers = self._answers(X, level, exposure, n_local)
        with single_threaded():
            if method == "model":
                lower, upper = answers.interval(coverage, level)
            else:
                own = None if n_local is None else self._predictor(n_local)
                lower, upper = split_interval(self, answers, own, coverage, groups)
        return self._shaped(lower), self._shaped(upper)

    def _without_calibration(
        self, method: str, X: Any, coverage: float, exposure: Any
    ) -> tuple[Array, Array]:
        """Ends of intervals from folds of the rows, or from the rows of a stream  (n, p)."""
        X, shift = self._queries(X, LEVELS[0], exposure)
        with single_threaded():
            if method == "cv+":
                return folds_interval(self, X, coverage)
            return adaptive_interval(self, self._watcher(X, shift), coverage)

    def _folds(self) -> Any:
        """Models of the rows without each of the folds, which method="cv+" needs."""
        raise ValueError(
            f"method='cv+' is not for this {type(self).__name__}: it needs a CommitteeRegressor "
            "with Gaussian noise and its rows in memory. Keep some rows for calibrate, and give "
            "method='split'"
        )

    @all_or_nothing
    def calibrate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | str | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Keep rows that the model has not learnt from, for `predict_interval(method="split")`.

        They replace those of an earlier call, and are stored in the model file. Their errors are
        computed anew when the model has changed, so that intervals hold after `partial_fit`,
        `forget` and `merge` too, as long as these rows are not learnt from. `fit` drops them.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, p)
        groups : array-like of n labels, or the name of a column of the frame X, default=None
            Groups that are to be covered one by one, of at least 100 rows each.
        exposure : float or array-like of shape (n,), default=None
            Of counts, as in `predict`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from collegium import CommitteeRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, size=(700, 1))
        >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_t(2, size=700)
        >>> model = CommitteeRegressor(random_state=0).fit(X[:200], y[:200])
        >>> model = model.calibrate(X[200:400], y[200:400])
        >>> lower, upper = model.predict_interval(X[400:], 0.9, method="split")
        >>> bool(0.85 < ((lower <= y[400:]) & (y[400:] <= upper)).mean() < 0.95)
        True
        """
        X, groups = apart_from_groups(X, groups)
        table, shift = self._queries(X, LEVELS[0], exposure)
        seen = check_targets(y, (table.shape[0], self.model_.scaling.scale.size))
        log_e = np.broadcast_to(shift - self.model_.units.shift, table.shape[:1]).copy()
        self.conformal_ = calibration_rows(table, seen, log_e, groups)
        self._made = self._made.without(MADE)
        return self

    @of_one_state
    def predict_to(
        self,
        data: Any,
        path: str | os.PathLike[str] | BinaryIO,
        *,
        return_std: bool = True,
        interval: float | None = None,
        level: str = "observation",
        exposure: str | None = None,
        outside: bool = False,
        keep: Sequence[str] = (),
        n_local: int | None = None,
    ) -> int:
        """Predict the rows of files and write the answers to another; memory stays bounded.

        Parameters
        ----------
        data : path, glob, frame, a list of these, or a `Source`
            Queries. Of named columns those that the model was fitted to are taken.
        path : path or open binary file
            Parquet, Arrow IPC, CSV or .npy (a structured array), by its ending. It is there once
            it is complete. CSV is written to an open file.
        return_std : bool, default=True
            Write the column "std" beside "mean".
        interval : float, default=None
            Write "lower" and "upper" of the interval that holds y with this probability.
        level : as in `predict`
        exposure : str, default=None
            Of counts: the column of `data` that says how much exposure to predict for; None: one.
        outside : bool, default=False
            Write the boolean column "outside", which tells extrapolations, where the estimator has
            a method `outside`. It is true for rows that cannot be read.
        keep : list of str, default=()
            Columns of `data` to copy: numbers that say which row is which.
        n_local : as in `predict`

        Returns
        -------
        n : int
            The number of rows. Several outputs have columns "mean_0", "mean_1", and so on.
        """
        check_is_fitted(self)
        if interval is not None:
            check_coverage(interval, "interval")
        check_level(level, self.levels)
        if outside and not hasattr(self, "_outside"):
            raise ValueError(
                f"outside=True: {type(self).__name__} cannot tell extrapolations; leave it out, "
                "or use CommitteeRegressor"
            )
        names = [*(["mean", "std"] if return_std else ["mean"])]
        names += [] if interval is None else ["lower", "upper"]
        own, units, likelihood = (
            self._predictor(n_local), self.model_.units, self.model_.likelihoods[0]
        )  # fmt: skip

        def ask(X: Array, exposed: Array | None = None) -> dict[str, Array]:
            e = np.ones(len(X))
            if exposed is not None:
                e = check_exposure(exposed, e.size, likelihood, used=units.exposed)
            with single_threaded():
                answers = self._answers_at(X, units.shift + np.log(e), own)
                found = _asked(answers, return_std, interval, level)
            each = (by_output(name, self._shaped(part)) for name, part in zip(names, found))
            told = {"outside": self._outside(X, answers)} if outside else {}
            return {name: column for columns in each for name, column in columns.items()} | told

        return write_answers(self, data, path, keep, ask, () if exposure is None else (exposure,))

    @of_one_state
    def predict_grid(
        self,
        x: Any = None,
        y: Any = None,
        by: Any = None,
        *,
        at: Mapping[Any, Any] | None = None,
        interval: float = 0.95,
        level: str = "observation",
        exposure: float | None = None,
        n_local: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Map the predictions over two columns, as an `xarray.Dataset`, in bounded memory.

        Parameters
        ----------
        x, y : coordinates, name of a column, or {column: coordinates}, default=None
            Coordinates are an array; (start, stop, step), stop included where a step ends there;
            a number: a step, whose multiples cover the range of the rows; or None: 200 steps over
            that range. Without a column, x is along the first and y along the second. A column is
            given by its name or position.
        by : values, name of a column, or {column: values}, default=None
            A third column with a map for each of its values; of a name alone, for each level, or
            for the 10, 50 and 90 % quantiles of numbers. Without a column: the third.
        at : dict, default=None
            Values of other columns, by name or position; where none is given, the median of the
            rows, or their most frequent level.
        interval : float, default=0.95
            Probability with which "lower" and "upper" hold y.
        level, n_local : as in `predict`
        exposure : float, default=None
            Of counts: predict those of so much exposure.
        attrs : dict, default=None
            Attributes to keep, such as {"units": "m", "crs": "EPSG:32618"}.

        Returns
        -------
        map : xarray.Dataset
            "mean", "sd", "lower", "upper" as `predict` has them, and "outside" where the estimator
            can tell extrapolations, of dimensions (by,) y, x, which are named as the columns.
            Needs xarray: pip install 'collegium[geo]'.

        Examples
        --------
        >>> import numpy as np
        >>> from collegium import CommitteeRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, size=(200, 2))
        >>> model = CommitteeRegressor(random_state=0).fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> found = model.predict_grid(x=2.5, y=(0, 10, 1))  # doctest: +SKIP
        >>> found["mean"].shape  # doctest: +SKIP
        (11, 5)
        """
        xarray_library()
        grid, found = self._grid_answers(x, y, by, at, interval, level, exposure, n_local)
        return as_dataset(grid, found, {**(attrs or {}), "level": level, "coverage": interval})

    def _grid_answers(
        self, x: Any, y: Any, by: Any, at: Any, interval: float, level: str,
        exposure: Any = None, n_local: Any = None,
    ) -> tuple[Grid, dict[str, Array]]:  # fmt: skip
        """A grid, and the arrays of its answers."""
        check_is_fitted(self)
        check_coverage(interval, "interval")
        check_level(level, self.levels)
        own = None if n_local is None else self._predictor(n_local)

        def ask(X: Array, shift: Array) -> tuple[Array, ...]:
            with single_threaded():
                answers = self._answers_at(X, shift, own)
                found = [part[:, 0] for part in _asked(answers, True, interval, level)]
            return (*found, *([self._outside(X, answers)] if hasattr(self, "_outside") else []))

        grid = grid_of(self, x, y, by, at)
        return grid, regression_map(self, grid, ask, exposure)

    @of_one_state
    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: Any = 0,
        *,
        level: str = "observation",
        exposure: ArrayLike | None = None,
    ) -> Array:
        """Draw observations (or functions; of counts: rates) at X from the posterior, jointly.

        Parameters
        ----------
        X, level, exposure : as in `predict`
        n_samples : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        samples : array of shape (n, n_samples) or (n, p, n_samples)
        """
        answers = self._answers(X, level, exposure)
        n = answers.X.shape[0]
        check_square(n, "sample_y")
        n_samples = check_draws(n_samples, n, self.model_.scaling.scale.size)
        rng = check_random_state(random_state)
        with single_threaded():
            draws = answers.draws(n_samples, rng, level)
        return draws[:, 0] if self.y_ndim_ == 1 else draws

    @of_one_state
    def quantile(
        self,
        X: ArrayLike,
        q: Any,
        *,
        level: str = "observation",
        exposure: ArrayLike | None = None,
        n_local: int | None = None,
    ) -> Array:
        """The value that y (or the function) falls below with probability q.

        Parameters
        ----------
        X, level, exposure, n_local : as in `predict`
        q : float or 1-d array-like, between 0 and 1
            Its median is `quantile(X, 0.5)`.

        Returns
        -------
        quantiles : array of the shape of the mean; with several q, these on a last axis
        """
        asked = check_probabilities(q)
        answers = self._answers(X, level, exposure, n_local)
        with single_threaded():
            found = [self._shaped(one) for one in answers.quantiles(asked, level)]
        return found[0] if np.ndim(q) == 0 else np.stack(found, axis=-1)

    @of_one_state
    def log_density(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        exposure: ArrayLike | None = None,
        n_local: int | None = None,
    ) -> Array:
        """The log of the predictive density at y, in its units; of counts, of their probability.

        Parameters
        ----------
        X, exposure, n_local : as in `predict`
        y : array-like of shape (n,) or (n, p)

        Returns
        -------
        log_density : array of the shape of y
        """
        answers, seen = self._answers_and_targets(X, y, exposure, n_local)
        with single_threaded():
            return self._shaped(answers.log_density(seen))

    @of_one_state
    def cdf(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        exposure: ArrayLike | None = None,
        n_local: int | None = None,
    ) -> Array:
        """The probability of an observation of y or less: uniform over rows, if answers are right.

        Parameters
        ----------
        X, exposure, n_local : as in `predict`
        y : array-like of shape (n,) or (n, p)

        Returns
        -------
        probability : array of the shape of y
        """
        answers, seen = self._answers_and_targets(X, y, exposure, n_local)
        with single_threaded():
            return self._shaped(answers.distribution(seen))

    @of_one_state
    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """R² of the means.

        Parameters
        ----------
        X, exposure : as in `predict`
        y : array-like of shape (n,) or (n, p)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        score : float
        """
        from sklearn.metrics import r2_score  # slow to load

        mean = self.predict(X, exposure=exposure)
        return float(r2_score(y, mean, sample_weight=sample_weight))

    @all_or_nothing
    def progressive(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        batch: int = 100,
    ) -> Progressive:
        """Predict rows, then learn from them, batch by batch: the honest score of a stream.

        Parameters
        ----------
        X, y, sample_weight : as in `partial_fit`, which learns
        batch : int, default=100
            Rows that are predicted together before they are learnt from; fewer at the start.

        Returns
        -------
        found : Progressive
            `mean, std = found`, and scores: `found.rmse`, `found.nlpd`, `found.coverage`. Rows
            of the first batch of a new stream have NaN.
        """
        return progressive(self, X, y, sample_weight, batch)

    def _answers(self, X, level, exposure, n_local=None) -> Answers:
        """Answer queries; refuse what the model cannot answer."""
        X, shift = self._queries(X, level, exposure)
        own = None if n_local is None else self._predictor(n_local)
        return self._answers_at(X, shift, own)

    def _queries(self, X: Any, level: str, exposure: Any) -> tuple[Array, Array]:
        """Check queries; with what is added to latent functions there."""
        check_is_fitted(self)
        check_level(level, self.levels)
        X, units = check_queries(self, X), self.model_.units
        e = np.ones(X.shape[0])
        if exposure is not None or units.exposed:
            e = check_exposure(exposure, e.size, self.model_.likelihoods[0], used=units.exposed)
        return X, units.shift + np.log(e)

    def _answers_and_targets(self, X, y, exposure, n_local) -> tuple[Any, Array]:
        """Answer queries, and check y (n, p) to compare with."""
        answers = self._answers(X, LEVELS[0], exposure, n_local)
        shape = (answers.X.shape[0], self.model_.scaling.scale.size)
        return answers, check_targets(y, shape)

    def _answers_at(self, X: Array, shift: Array, predictor: Any = None) -> Any:
        """Answer checked queries; `shift` is added to latent functions. `predictor`: another than
        the model's own."""
        own = self._own_answers() if predictor is None else self.model_.answers_by(predictor)
        return own(X, engine=self._engine(), shift=shift, offset=self._prior_mean(X))

    def _asked(self, X: Any, level: str | None, output: Any) -> tuple[Array, Any]:
        """Rows as the model sees them, and what explanations ask about them."""
        return asked_of_regressor(self, X, level or "function", output)

    def _own_answers(self) -> Any:
        """Answers by the model's own predictor, prepared once: `Model.answers_by`."""
        return self._made.latest("", lambda: self.model_.answers_by(self._predictor()))

    def _arrived(self, rows: Rows) -> Arrived | None:
        """Compare rows of a stream with the model's answers, before it learns from them."""
        known = rows.extra is not None
        if not hasattr(self, "model_") or (known and not self.model_.known_noise):
            return None
        exposed = self.model_.likelihoods[0].takes_exposure

        def ask(positions: Array) -> Arrived:
            some = rows.take(positions)
            e = log_exposure(some.y) if exposed else 0.0
            answers = self._watcher(some.X, self.model_.units.shift + e)
            return answers.arrived(some.y, some.extra) if known else answers.arrived(some.y)

        with single_threaded():
            return look(ask, rows.w.size, self._few_checked())

    def _watcher(self, X: Array, shift: Array) -> Any:
        """The answers that a stream is checked by: others than those of users, where a model has
        a `watcher`, because these cost more than learning does."""
        own = getattr(self.model_, "watcher", None)
        return self._answers_at(X, shift, own and own())

    def _prior_mean(self, X: Array) -> Array | float:
        """The prior mean to add to answers, in the units of y: a number or (n, p)."""
        return 0.0

    def _shaped(self, found: Array) -> Array:
        """Without the axis of outputs, where y came without one."""
        return found[..., 0] if self.y_ndim_ == 1 else found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _asked(answers: Any, std: bool, interval: float | None, level: str) -> list[Array]:
    """Means, then standard deviations and the ends of an interval, where they are asked for."""
    found = [*answers.moments(level)] if std or interval is not None else [answers.mean(level)]
    if not std:
        found = found[:1]
    return found if interval is None else [*found, *answers.interval(interval, level)]
