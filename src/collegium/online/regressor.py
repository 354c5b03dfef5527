"""OnlineGPRegressor: a Gaussian process that learns one row at a time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from ..interface.checks.rows import (
    check_known,
    check_noise_variance,
    check_rows,
    generator,
)
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.encoded import columns_of
from ..interface.frames.sources import reads_sources
from ..interface.regressor import Regressor
from ..interface.streams.waiting import arriving_rows, condensed, lengthened
from ..likelihoods.poisson import Poisson
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from .arguments import first_rows, repeated, shuffled
from .stream import RegressionOptions, begin_regression, by_rates, points_by_rates


@dataclass(eq=False, repr=False)
class OnlineGPRegressor(Regressor):
    """Gaussian-process regression on a stream, in bounded memory (Csató & Opper 2002).

    Rows are used one after the other and then dropped; the belief is the mean and covariance of
    the function at no more than `budget` points, chosen among the rows as they pass. As long as
    no point has been dropped this is the exact Gaussian process.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Family and starting point, in the units of X and y. None: a Matérn or squared
        exponential, chosen by evidence (for counts a Matérn 5/2). White noise added to the
        kernel is used as the noise.
    budget : int, default=200
        Most points of the basis. A row costs O(budget²).
    novelty : float, default=1e-4
        A row joins the basis where the basis leaves more than this share of the prior variance,
        or more than the noise, unexplained; other rows are projected onto it.
    removal : {"posterior", "mean"}
        Which point to drop when the basis is full: the one whose loss changes the mean least, in
        units of the posterior spread, α²/(Q + C), or absolutely, |α|/Q.
    likelihood : {"gaussian", "poisson"}
        Distribution of y given the function. "poisson": y are counts, the function is their log
        rate.
    noise : {"constant", "auto", "varying"}, float or array of p, default="constant"
        Noise variance in the units of y squared, kept as given; "constant": learnt, the same
        everywhere. "auto": the noise is learnt, and errors of y are Student's t with a scale that
        depends on x and on the predicted mean and deviation, learnt from the last 1,000 rows,
        each predicted before it was learnt from; used where it improves their density, and given
        up where later rows are worse for it. "varying": always used.
    forgetting : float, "auto" or tuple of floats, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for functions that drift. (Applied
        in steps of at most 2 %.) "auto": models with λ = 1, 0.995, 0.98 and 0.95 run side by side;
        the one that has predicted the last rows best is followed. Usually twice the time, more
        where the basis is large. A
        tuple, such as (1.0, 0.99), the largest first: these rates. (All but the first
        have a `budget` of 2/(1 − λ) at most, and steps of at most 35 %.)
    learn : bool, default=True
        Learn hyperparameters from the first rows, and relearn them from a sample of the stream
        where rows surprise. False: keep `kernel` and `noise` as given.
    n_sweeps : int, default=1
        Passes of `fit` through the rows. Later passes start from the basis found before, and the
        last one keeps it fixed: FITC on that basis.
    learn_rows : int, default=500
        Rows to learn hyperparameters from: the first ones, which set the scale of y too, and
        later a uniform sample of the stream, which is kept. (With `forgetting` the sample is from
        the last rows, of which up to four times as many are kept.)
    categorical_features : "from_dtype", array-like of names, positions or a mask, or None
        Columns whose values are levels. "from_dtype": words and categorical types; others are
        given by name or position. None: no such columns, and words are refused.
    random_state : int, RandomState or None
        Seed of the order in which `fit` presents the rows, and of learning.
    verbose : int, default=0
        1: report what is learnt.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y (counts: no noise).
    basis_ : array of shape (b, d), the points kept.
    n_seen_ : int, rows seen.
    forgetting_ : float, the rate of forgetting that is followed now.
    n_relearnt_ : int, how often hyperparameters were relearnt.
    log_evidence_ : float, Σ log p(row | the rows before it).
    feature_importances_ : array, the share of the function's variance that each column explains.

    Notes
    -----
    `partial_fit` uses rows in their order. `fit` shuffles them first, since sorted rows make a
    poor basis, unless `forgetting` gives the order a meaning. Arguments are read when a stream
    begins.
    The prior mean is the mean of y (of the log rate: the log of the mean count). With
    likelihood="poisson" `level="function"` is the rate, and weights must be whole numbers.

    Every 250 rows of a stream the log density of arriving rows is compared with its expectation.
    Where it falls short by .25 per row (a mean of error²/variance above 1.5), and rows have grown
    by a quarter since the last time, hyperparameters are relearnt from the sample. The belief
    about f at the basis is then carried over to the new prior: an approximation, as rows were
    projected onto the basis by the old kernel; `n_relearnt_` counts these events.

    A nugget of 1e-6 of the prior variance keeps the basis well conditioned; noise below 1e-9 of
    the prior variance is raised to that.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import OnlineGPRegressor
    >>> from collegium.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> model = OnlineGPRegressor(RBF(1.0, 0.7), noise=0.01, learn=False, budget=20)
    >>> for _ in range(10):
    ...     X = rng.uniform(-3, 3, size=(200, 1))
    ...     model = model.partial_fit(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200))
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.05), model.n_seen_, model.basis_.shape[0] <= 20
    (True, 2000, True)
    """

    kernel: Any = None
    _: KW_ONLY
    budget: int = 200
    novelty: float = 1e-4
    removal: str = "posterior"
    likelihood: str = "gaussian"
    noise: Any = "constant"
    forgetting: Any = 1.0
    learn: bool = True
    n_sweeps: int = 1
    learn_rows: int = 500
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    verbose: int = 0

    takes_tables = True
    explains = True

    @all_or_nothing
    @reads_sources
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows; earlier ones are forgotten.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,) or (n, p), or the name of a column of the frame X; counts: (n,)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.
        noise_variance : float or array-like of shape (n,), default=None
            Known noise variance of each row on top of `noise`, as in `CommitteeRegressor`.

        Returns
        -------
        self
        """
        options = self._options(None, noise_variance)
        rows, y_ndim = check_rows(self, X, _targets(y, options), sample_weight, reset=True)
        options = options.for_columns(columns_of(self))
        rows = check_noise_variance(noise_variance, _accepted(rows, options))
        rng, n = generator(self.random_state), int((rows.w > 0).sum())
        rows = shuffled(rows, options, rng, self, repeat=options.counts)
        with single_threaded():
            first = first_rows(rows, options, rng)
            model = begin_regression(first, rows, options, rng, self._say())
            model = points_by_rates(model, rows, options)
        self._keep(replace(model, n_seen=n))
        self.y_ndim_ = y_ndim
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows, in their order.

        The first `learn_rows` rows of a stream set the scale of y and the hyperparameters: until
        these have come both are relearnt whenever their number has doubled. Later hyperparameters
        are relearnt where rows surprise: see Notes.

        Parameters
        ----------
        X, y, sample_weight, noise_variance : as in `fit`

        Returns
        -------
        self
        """
        model = getattr(self, "model_", None)
        options = self._options(model, noise_variance)
        rows = arriving_rows(self, X, _targets(y, options), sample_weight)
        options = options.for_columns(columns_of(self))
        rows = check_noise_variance(noise_variance, _accepted(rows, options))
        check, n = self._check_of(rows.w.size, self._arrived(rows)), int((rows.w > 0).sum())
        if options.counts:
            rows = repeated(rows, self)
        else:
            rows = condensed(rows, in_order=options.in_order)

        def begin(rows: Rows) -> Any:
            first, rng = rows.take(slice(options.learn_rows)), generator(self.random_state)
            begun = begin_regression(first, first, options, rng, self._say())
            return by_rates(begun, options).with_rows(rows)

        self._keep(lengthened(model, rows, n, begin, options.learn_rows), check)
        return self

    def _options(self, model: Any, noise_variance: Any) -> RegressionOptions:
        options = RegressionOptions.of(self)
        return options.with_known_noise() if check_known(model, noise_variance) else options

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y; None for counts.")
    basis_ = fitted("gp.Z", "Array of shape (b, d), the points kept.")
    n_seen_ = fitted("n_seen", "Rows seen.")
    forgetting_ = fitted("forgetting", "The rate of forgetting that is followed now.")
    n_relearnt_ = fitted("n_relearnt", "How often hyperparameters were relearnt.")
    log_evidence_ = fitted("log_evidence_in_units", "Σ log p(row | the rows before it).")
    scaling_ = fitted("scaling", "Centre and scale of y.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        counts = isinstance(self.likelihood, str) and self.likelihood == "poisson"
        tags.target_tags.multi_output = not counts
        tags.target_tags.positive_only = counts
        return tags


def _targets(y: Any, options: RegressionOptions) -> Any:
    """Flatten counts that came as a column."""
    return column_or_1d(y, warn=True) if options.counts and y is not None else y


def _accepted(rows: Rows, options: RegressionOptions) -> Rows:
    """Refuse y that are not counts where counts are expected."""
    if options.counts:
        Poisson().accept(rows.y)
    return rows
