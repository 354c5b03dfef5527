"""OnlineGPRegressor: a Gaussian process that takes one row after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from ..interface.encoded import columns_of
from ..interface.estimator import all_or_nothing, fitted
from ..interface.regressor import Regressor
from ..interface.stream import grow, waiting
from ..interface.tables import reads_sources
from ..interface.validation import (
    check_known,
    check_noise_variance,
    check_outputs,
    check_rows,
    generator,
)
from ..likelihoods.poisson import Poisson
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..rows.scaling import merged
from .arguments import first_rows, repeated, shuffled
from .stream import OnlineModel, RegressionOptions, begin


class OnlineGPRegressor(Regressor):
    """Gaussian-process regression on a stream, in bounded memory (Csató & Opper 2002).

    Rows are used one after the other and forgotten; what is known is kept as the mean and
    covariance of the function at no more than `budget` points, chosen among the rows as they
    pass. While nothing is dropped this is the exact Gaussian process.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Family and starting point, in the units of X and y. None: a Matérn or squared
        exponential, chosen by evidence (for counts a Matérn 5/2). White noise added to the
        kernel is taken as the noise.
    budget : int, default=200
        Points of the basis. A row costs O(budget²).
    novelty : float, default=1e-4
        A row joins the basis where that leaves open more than this share of the prior variance,
        or more than the noise; the others are projected onto it.
    removal : {"posterior", "mean"}
        The point to drop when the basis is full: where the mean would change least in units of
        the posterior spread, α²/(Q + C), or least at all, |α|/Q.
    likelihood : {"gaussian", "poisson"}
        Of y given the function. "poisson": y ≥ 0 are counts, the function is their log rate.
    noise : {"constant", "auto", "varying"}, float or array of p, default="constant"
        Noise variance in the units of y squared, kept as given; "constant": learnt, the same
        everywhere. "auto": the noise is learnt, and errors of y are Student's t with a scale that
        depends on x and on the predicted mean and deviation, learnt from the last 1,000 rows,
        which were predicted before they were learnt from; where these gain by it, and given up
        where later ones lose. "varying": the scale, whatever they gain.
    forgetting : float, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for functions that drift. (It is
        done in steps of some rows, together 2 % at most.)
    learn : bool, default=True
        Learn hyperparameters from the first rows, and again from a sample of a stream where its
        rows surprise. False: take `kernel` and `noise` as they are.
    n_sweeps : int, default=1
        How often `fit` goes through the rows. The second and later times start from the basis
        found before, and the last one holds it fixed: FITC on that basis.
    learn_rows : int, default=500
        Rows to learn hyperparameters from: the first ones, which set the scale of y too, and
        later a uniform sample of the stream, which is kept. (With `forgetting` it is from the
        last rows, of which up to four times as many are kept.)
    categorical_features : "from_dtype", array-like of names, positions or a mask, or None
        Columns whose values are levels, equal or not. "from_dtype": words and categorical types;
        others are given by name or position. None: none, and words are refused.
    random_state : int, RandomState or None
        Seed of the order in which `fit` presents the rows, and of learning.
    verbose : int, default=0
        1: say what is learnt.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y (counts: no noise).
    basis_ : array of shape (b, d), the points kept.
    n_seen_ : int, rows seen.
    n_relearnt_ : int, how often hyperparameters were learnt again.
    log_evidence_ : float, Σ log p(row | the rows before it).
    feature_importances_ : array, the share of the function's variance that each column explains.

    Notes
    -----
    `partial_fit` takes rows in their order. `fit` shuffles them first, unless `forgetting` gives
    the order a meaning: sorted rows make a poor basis. Arguments are read when a stream begins.
    The prior mean is the mean of y (of the log rate: the log of the mean count). With
    likelihood="poisson" `level="function"` is the rate, and weights must be whole numbers.

    Every 250 rows of a stream the log density of arriving rows is compared with what the model
    expected. Where it falls behind by .25 a row (a mean of error²/variance above 1.5), and rows
    have grown by a quarter since, hyperparameters are learnt again from the sample. What was
    known of f at the basis is then carried over to the new prior: an approximation, as rows were
    projected onto the basis by the old kernel; `n_relearnt_` counts it.

    A nugget of 1e-6 of the prior variance keeps the basis well conditioned; noise below 1e-9 of
    it counts as that.

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

    def __init__(
        self,
        kernel=None,
        *,
        budget=200,
        novelty=1e-4,
        removal="posterior",
        likelihood="gaussian",
        noise="constant",
        forgetting=1.0,
        learn=True,
        n_sweeps=1,
        learn_rows=500,
        categorical_features="from_dtype",
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.budget = budget
        self.novelty = novelty
        self.removal = removal
        self.likelihood = likelihood
        self.noise = noise
        self.forgetting = forgetting
        self.learn = learn
        self.n_sweeps = n_sweeps
        self.learn_rows = learn_rows
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

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
        """Forget everything, and learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,) or (n, p), or the name of a column of the frame X; counts: (n,)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.
        noise_variance : float or array-like of shape (n,), default=None
            Known noise variance of each row beside `noise`, as in `CommitteeRegressor`.

        Returns
        -------
        self
        """
        options = self._options(None, noise_variance)
        rows, y_ndim = self._check(X, y, sample_weight, options, reset=True)
        options = options.for_columns(columns_of(self))
        rows = check_noise_variance(noise_variance, rows)
        rng, n = generator(self.random_state), int((rows.w > 0).sum())
        rows = shuffled(rows, options, rng, self, repeat=options.counts)
        with single_threaded():
            first = first_rows(rows, options, rng)
            model = begin(first, rows, options, rng, self._say())
            model = model.fitted(rows, options.n_sweeps)
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

        The first `learn_rows` rows of a stream set the scale of y and the hyperparameters, which
        are learnt anew whenever the rows have doubled in number until then. Later they are
        learnt again where rows surprise: see Notes.

        Parameters
        ----------
        X, y, sample_weight, noise_variance : as in `fit`

        Returns
        -------
        self
        """
        model = getattr(self, "model_", None)
        options = self._options(model, noise_variance)
        rows, y_ndim = self._check(X, y, sample_weight, options, reset=model is None)
        options = options.for_columns(columns_of(self))
        rows = check_noise_variance(noise_variance, rows)
        n, seen = int((rows.w > 0).sum()), 0 if model is None else model.n_seen
        if model is None:
            self.y_ndim_ = y_ndim
        else:
            check_outputs(rows, model.scaling)
        check = self._check_of(rows.w.size, self._arrived(rows))
        rows = repeated(rows, self) if options.counts else rows.take(rows.w > 0)
        if not options.counts and not options.in_order:
            rows, _ = merged(rows, None, in_order=True)

        def start(rows: Rows, earlier: OnlineModel | None) -> OnlineModel:
            first = rows.take(slice(options.learn_rows))
            model = begin(first, first, options, generator(self.random_state), self._say())
            return replace(model.with_rows(rows), waiting=waiting(rows, options.learn_rows))

        with single_threaded():
            model = grow(model, rows, start, OnlineModel.with_rows)
        self._keep(replace(model, n_seen=seen + n), check)
        return self

    def _options(self, model: Any, noise_variance: Any) -> RegressionOptions:
        options = RegressionOptions.of(self)
        return options.with_known_noise() if check_known(model, noise_variance) else options

    def _check(self, X, y, sample_weight, options, *, reset) -> tuple[Rows, int]:
        if options.counts and y is not None:
            y = column_or_1d(y, warn=True)
        rows, y_ndim = check_rows(self, X, y, sample_weight, reset=reset)
        if options.counts:
            Poisson().accept(rows.y)
        return rows, y_ndim

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y; of counts None.")
    basis_ = fitted("gp.Z", "Array of shape (b, d), the points kept.")
    n_seen_ = fitted("n_seen", "Rows seen.")
    n_relearnt_ = fitted("n_relearnt", "How often hyperparameters were learnt again.")
    log_evidence_ = fitted("log_evidence_in_units", "Σ log p(row | the rows before it).")
    scaling_ = fitted("scaling", "Centre and scale of y.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        counts = isinstance(self.likelihood, str) and self.likelihood == "poisson"
        tags.target_tags.multi_output = not counts
        tags.target_tags.positive_only = counts
        return tags
