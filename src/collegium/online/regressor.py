"""OnlineGPRegressor: a Gaussian process that hears one row after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..engines import single_threaded
from ..interface.arguments import check_square
from ..interface.fitted import WithKernel
from ..interface.progress import Progress
from ..interface.regressor import LEVELS, check_level
from ..interface.stream import Waiting
from ..interface.validation import (
    all_or_nothing,
    check_outputs,
    check_queries,
    check_rows,
    generator,
)
from ..kernels import Kernel
from ..likelihoods.sites import Poisson
from ..rows.rows import Prediction, Rows
from ..rows.scaling import merged
from .arguments import first_rows, repeated, shuffled
from .stream import RegressionOptions, Stream, begin

Array = np.ndarray
OBSERVATION = LEVELS[0]
LARGEST_COUNT = 1e15


class OnlineGPRegressor(WithKernel):
    """Gaussian-process regression on a stream, in bounded memory (Csató & Opper 2002).

    Rows are heard one after the other and forgotten; what they said is kept as the mean and
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
        A row joins the basis where that leaves open more than this share of the prior variance;
        the others are projected onto it.
    removal : {"posterior", "mean"}
        The point to drop when the basis is full: where the mean would change least in units of
        the posterior spread, α²/(Q + C), or least at all, |α|/Q.
    likelihood : {"gaussian", "poisson"}
        Of y given the function. "poisson": y ≥ 0 are counts, the function is their log rate.
    noise : float or array of p, default=None
        Noise variance in the units of y squared; None: learnt. Where given it is kept.
    forgetting : float, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for functions that drift. (It is
        done in steps of some rows, together 2 % at most.)
    learn : bool, default=True
        Learn hyperparameters from the first rows. False: take `kernel` and `noise` as they are.
    n_sweeps : int, default=1
        How often `fit` goes through the rows. The second and later times start from the basis
        found before, and the last one holds it fixed: FITC on that basis.
    learn_rows : int, default=500
        Rows to learn hyperparameters and the scale of y from. They are kept until there are
        enough, and dropped then.
    random_state : int, RandomState or None
        Seed of the order in which `fit` presents the rows, and of learning.
    verbose : int, default=0
        1: say what is learnt.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y (counts: no noise).
    basis_ : array of shape (b, d), the points kept.
    n_seen_ : int, rows heard.
    log_evidence_ : float, Σ log p(row | the rows before it).

    Notes
    -----
    `partial_fit` hears rows in their order. `fit` shuffles them first, unless `forgetting` gives
    the order a meaning: sorted rows make a poor basis. Arguments are read when a stream begins.
    The prior mean is the mean of y (of the log rate: the log of the mean count). With
    likelihood="poisson" `level="function"` is the rate, and weights must be whole numbers.

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
        noise=None,
        forgetting=1.0,
        learn=True,
        n_sweeps=1,
        learn_rows=500,
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
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Forget everything, and learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, p); counts: (n,)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        options = RegressionOptions.of(self)
        rows, y_ndim = self._check(X, y, sample_weight, options, reset=True)
        rng, n = generator(self.random_state), int((rows.w > 0).sum())
        rows = shuffled(rows, options, rng, self, repeat=options.counts)
        with single_threaded():
            first = first_rows(rows, options, rng)
            stream = begin(first, rows, options, rng, Progress(self.verbose))
            stream = stream.heard(rows, n_sweeps=options.n_sweeps)
        self.stream_, self.y_ndim_ = replace(stream, n_seen=n), y_ndim
        return self

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from more rows, in their order.

        The first `learn_rows` rows of a stream set the scale of y and the hyperparameters, which
        are learnt anew whenever the rows have doubled in number until then.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        first = not hasattr(self, "stream_")
        options = RegressionOptions.of(self)
        rows, y_ndim = self._check(X, y, sample_weight, options, reset=first)
        n = int((rows.w > 0).sum())
        if not first:
            check_outputs(rows, self.scaling_)
        rows = repeated(rows, self) if options.counts else rows.take(rows.w > 0)
        if not options.counts and not options.in_order:
            rows, _ = merged(rows, None, in_order=True)
        with single_threaded():
            if first:
                stream = self._wait(rows, Waiting(rows, 0), options)
                seen, self.y_ndim_ = 0, y_ndim
            elif self.stream_.waiting is not None:
                kept = self.stream_.waiting
                waiting = replace(kept, rows=kept.rows + rows)
                stream, seen = self._wait(rows, waiting, options), self.n_seen_
            else:
                stream, seen = self.stream_.heard(rows), self.n_seen_
        self.stream_ = replace(stream, n_seen=seen + n)
        return self

    def _wait(self, rows: Rows, waiting: Waiting, options: RegressionOptions) -> Stream:
        """The stream after new rows, while its first ones are kept."""
        if not waiting.due(options.learn_rows):
            return replace(self.stream_.heard(rows), waiting=waiting)
        rng, say = generator(self.random_state), Progress(self.verbose)
        first, n = waiting.rows.take(slice(options.learn_rows)), waiting.rows.X.shape[0]
        stream = begin(first, first, options, rng, say).heard(waiting.rows)
        enough = n >= options.learn_rows
        return replace(stream, waiting=None if enough else replace(waiting, learnt_at=n))

    def _check(self, X, y, sample_weight, options, *, reset) -> tuple[Rows, int]:
        if options.counts and y is not None:
            y = column_or_1d(y, warn=True)
        rows, y_ndim = check_rows(self, X, y, sample_weight, reset=reset)
        if options.counts and not ((rows.y >= 0) & (rows.y <= LARGEST_COUNT)).all():
            raise ValueError(
                f"y must be counts between 0 and {LARGEST_COUNT:.0e} with likelihood='poisson'"
            )
        return rows, y_ndim

    # -- answers ------------------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False, *, level="observation"):
        """Predict y, with the standard deviation or the covariance on request.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it (of
            counts: their rate).

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        """
        check_is_fitted(self)
        if not self._counts():
            return super().predict(X, return_std, return_cov, level=level)
        check_level(level)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        X, gp = check_queries(self, X), self.stream_.gp
        with single_threaded():
            found = gp.predict(X)
            m, v = found.mean[:, 0], found.variance
            mean, variance = getattr(gp.likelihood, "predict" if level == OBSERVATION else "rate")(
                m, v
            )
            if return_std:
                return mean, np.sqrt(variance)
            if not return_cov:
                return mean
            check_square(X.shape[0], "return_cov")
            covariance = gp.likelihood.rate_covariance(m, v, gp.joint(X))
        np.fill_diagonal(covariance, variance)
        return mean, covariance

    def predict_interval(self, X, coverage=0.95, *, level="observation"):
        """Central interval that holds y (or the function) with probability `coverage`.

        Of counts: whole numbers, with at least that probability.

        Returns
        -------
        lower, upper : arrays of the shape of the mean
        """
        lower, upper = super().predict_interval(X, coverage, level=level)
        if not self._counts():
            return lower, upper
        gp = self.stream_.gp
        found = gp.predict(check_queries(self, X))
        m, v, tail = found.mean[:, 0], found.variance, 0.5 - 0.5 * coverage
        if level == OBSERVATION:
            return gp.likelihood.quantile(tail, m, v), gp.likelihood.quantile(1.0 - tail, m, v)
        z = ndtri(1.0 - tail) * np.sqrt(v)
        return gp.likelihood.rate_at(m - z), gp.likelihood.rate_at(m + z)

    def sample_y(self, X, n_samples=1, random_state=0, *, level="observation"):
        """Draw observations (or functions; of counts: rates) at X from the posterior, jointly.

        Returns
        -------
        samples : array of shape (n, n_samples) or (n, p, n_samples)
        """
        check_is_fitted(self)
        if not self._counts():
            return super().sample_y(X, n_samples, random_state, level=level)
        check_level(level)
        rng = check_random_state(random_state)
        logs = super().sample_y(X, n_samples, rng, level="function")
        rates = self.stream_.gp.likelihood.rate_at(logs)
        return rng.poisson(np.minimum(rates, LARGEST_COUNT)) if level == OBSERVATION else rates

    def _counts(self) -> bool:
        return isinstance(self.stream_.gp.likelihood, Poisson)

    def _means(self, X: Array) -> Array:
        return self.stream_.gp.means(X)

    def _moments(self, X: Array) -> Prediction:
        return self.stream_.gp.predict(X)

    def _joint(self, X: Array) -> tuple[Prediction, Array]:
        return self.stream_.gp.predict(X), self.stream_.gp.joint(X)

    def _kernel_scaled(self) -> Kernel:
        return self.stream_.gp.kernel

    def _noise_scaled(self) -> float:
        return 0.0 if self._counts() else self.stream_.gp.likelihood.noise

    def _prior_variance(self, X: Array) -> float:
        return float(self.stream_.gp.kernel.diag(X).max(initial=0.0))

    # -- what was found -----------------------------------------------------------------------

    def _fitted(self) -> Stream:
        check_is_fitted(self)
        return self.stream_

    @property
    def noise_(self) -> float | Array | None:
        """The noise variance in the units of y; None for counts."""
        self._fitted()
        return None if self._counts() else super().noise_

    @property
    def basis_(self) -> Array:
        return self._fitted().gp.Z

    @property
    def n_seen_(self) -> int:
        return self._fitted().n_seen

    @property
    def log_evidence_(self) -> float:
        """Σ log p(row | the rows before it) in the units of y, summed over outputs."""
        stream = self._fitted()
        scale = stream.total_weight * np.log(stream.scaling.scale)
        return float((stream.gp.log_evidence - scale).sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        counts = isinstance(self.likelihood, str) and self.likelihood == "poisson"
        tags.target_tags.multi_output = not counts
        tags.target_tags.positive_only = counts
        return tags
