"""RegressionFilter: a prior over functions, projected onto a basis, on a stream."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..interface.answers import LEVELS
from ..interface.arguments import check_draws, check_square
from ..interface.estimator import all_or_nothing, fitted
from ..interface.regressor import Regressor
from ..interface.stream import grow, waiting
from ..interface.tables import reads_sources
from ..interface.validation import check_outputs, check_queries, check_rows, generator
from ..interface.watching import StreamCheck
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..rows.scaling import merged
from .arguments import FilterOptions, residual_rows
from .errors_fitting import checked_before, checked_in_fit, with_errors
from .stream import MODEL, FilterStream, begin, ordered, settled

Array = np.ndarray
#: A larger share of rows outside gives a warning.
MANY = 0.05


class OutsideWarning(UserWarning):
    """Many rows of a stream lie outside the density of a filter."""


class RegressionFilter(Regressor):
    """Bayesian regression filter: a Kalman filter over the weights of a basis whose prior is
    one over functions (Zhu & Rohwer 1995).

    The prior of f, any kernel, is projected onto the basis; so more basis functions never
    over-fit, and with enough of them the answer is that of the exact Gaussian process. The state
    is one triangle of (m + d + 2)² numbers, and a sample of 2,000 rows by which basis and density
    follow a stream, for any number of rows.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Prior covariance of what the linear part leaves, in the units of X and y; a filter is one
        too, `collegium.kernels.Filtered`. None: a squared exponential. White noise added to the
        kernel is taken as the noise.
    basis : {"auto", "splines", "bumps", "harmonics", "fourier"}, object or function, default="auto"
        "splines": continuous piecewise-linear functions (up to three columns), the default with
        one column. "bumps": Gaussians with centres from the inputs, the default with more.
        "harmonics": cosines of the box. "fourier": random Fourier features. Or one of
        `collegium.filter`, or any function that maps X (n, d) to values (n, m).
    n_basis : int or "auto"
        Functions of the basis. A row costs O(n_basis²).
    density : {"auto", "uniform", "gaussian", "empirical"} or object, default="auto"
        Where inputs are expected, which the projection weighs by: "auto" is a box for splines
        and harmonics, the inputs themselves otherwise. Or one of `collegium.filter`.
    noise : {"constant", "auto", "varying"}, float or array of p, default="constant"
        Noise variance in the units of y squared, kept as given; "constant": learnt, the same
        everywhere. "auto": the noise is learnt, and errors of y are Student's t with a scale that
        depends on x and on the predicted mean and deviation, learnt from the last 1,000 rows of a
        stream, which were predicted before they were learnt from, or from rows of `fit` left out;
        where these gain by it, and given up where later ones lose. "varying": the scale, whatever
        they gain.
    prior_mean : number or function, default=None
        Prior mean of f. None: the mean of y.
    linear : bool, default=True
        Whether f has a linear part with a vague prior of its own beside the filtered one.
    learn : bool, default=True
        Learn hyperparameters by evidence. False: take `kernel` and `noise` as they are, or,
        where they are not given, by `c0` and `c2`.
    c0, c2 : float, default=5.0, 0.2
        Rules of thumb for data of unknown origin (sec. 5 of the paper): a length scale of
        c0·n^(−1/d) standard deviations of each column, and a noise of c2 times the standard
        deviation of what the linear part leaves.
    cut : float, default=1e-9
        Directions of the basis whose mean square is below this share of the largest are left
        out: a bound on its condition.
    misfit : bool, default=True
        Whether var[f | w], averaged under the density, is part of the noise of a row. False: the
        update as published (eqs 2.10–2.11), whose learnt noise has it too, so that it is counted
        twice in the bars of y.
    forgetting : float, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for functions that change over time.
    drift : float, default=0.0
        Variance that every row adds to each weight, relative to the prior's: a random walk,
        for functions that change over time. Hyperparameters are then learnt from the first rows
        only.
    start_rows : int, default=500
        The first rows of a stream set the scale of y, the basis and its density. They are kept
        until this number is reached, then dropped but for the sample.
    random_state : int, RandomState or None
        Seed of the choice of centres or frequencies.
    verbose : int, default=0
        1: report what is learnt.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y.
    basis_, density_ : as used.
    n_basis_ : int, functions of the basis.
    n_seen_ : int, rows seen.
    n_outside_ : int, those of them outside the density, which are left out or wait.
    n_reprojected_ : int, how often basis and density were made anew.
    log_evidence_ : float, log p(y | X) of the filter.
    projection_error_ : float, how far the integrals of the projection are from those of a finer
        rule, relative to the largest.

    Notes
    -----
    There are three error bars: `level="model"` is that of the projection of f onto the basis,
    φ(x)ᵀSφ(x); "function" is that of f, with what the basis cannot show; "observation" that of
    a new y. For "function" and "observation" mean and variance are those of f given the weights,
    E[f | w] and var[f | w], rather than the paper's sum of two variances, which leaves out
    their covariance. Outside the region where inputs were expected bars widen to the prior's.
    Glitches (inputs a hundred interquartile ranges from the quartiles) do not set the region.

    Basis and density follow a stream whose inputs wander. They are made anew where more than 5 %
    of the rows of a call, or 50 rows in all, are outside (until then those wait), where the basis
    cannot show f at many rows, or where the mean or the scale of a column has moved. Kernel and
    noise are then learnt from a uniform sample of the rows, and what the sums say is carried over
    to the new basis through that sample: an approximation once the sample does not hold all
    rows; `n_reprojected_` counts it. A basis or density that is given as an object stays, and so
    do both with `drift`: rows outside are then left out, with a warning where they are many, as
    errors of the basis there are alike from row to row.

    Hyperparameters are learnt from the sums alone, whenever the rows have doubled in number:
    no row is needed twice for that. Noise below 1e-10 of the prior variance counts as that.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import RegressionFilter
    >>> rng = np.random.default_rng(0)
    >>> model = RegressionFilter(random_state=0)
    >>> for _ in range(10):
    ...     X = rng.uniform(-3, 3, size=(200, 1))
    ...     model = model.partial_fit(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200))
    >>> mean, std = model.predict([[0.5]], return_std=True, level="function")
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.05), bool(std[0] < 0.05), model.n_seen_
    (True, True, 2000)
    """

    levels = (*LEVELS, MODEL)
    acts_after_fit = ("prior_mean", "verbose")

    def __init__(
        self,
        kernel=None,
        *,
        basis="auto",
        n_basis="auto",
        density="auto",
        noise="constant",
        prior_mean=None,
        linear=True,
        learn=True,
        c0=5.0,
        c2=0.2,
        cut=1e-9,
        misfit=True,
        forgetting=1.0,
        drift=0.0,
        start_rows=500,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.basis = basis
        self.n_basis = n_basis
        self.density = density
        self.noise = noise
        self.prior_mean = prior_mean
        self.linear = linear
        self.learn = learn
        self.c0 = c0
        self.c2 = c2
        self.cut = cut
        self.misfit = misfit
        self.forgetting = forgetting
        self.drift = drift
        self.start_rows = start_rows
        self.random_state = random_state
        self.verbose = verbose

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
        options = FilterOptions.of(self)
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        n = int((rows.w > 0).sum())
        rows = residual_rows(ordered(rows, options), options)
        rng, say = generator(self.random_state), self._say()
        with single_threaded():
            stream = settled(begin(rows, options, rng, say), rows, options, say)
            stream = checked_in_fit(stream, rows, in_order=options.in_order)
            stream = with_errors(stream, say)
        return self._after(replace(stream, n_seen=n), 0.0)

    @all_or_nothing
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows.

        The first `start_rows` rows of a stream set the scale of y, the basis and its density;
        until then the model is fitted again whenever the rows have doubled in number. Later
        basis and density follow the stream: see Notes.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        model, options = getattr(self, "model_", None), FilterOptions.of(self)
        rows, y_ndim = check_rows(self, X, y, sample_weight, reset=model is None)
        if model is None:
            self.y_ndim_ = y_ndim
        else:
            check_outputs(rows, model.scaling)
        check = self._check_of(rows.w.size, self._arrived(rows))
        n, seen = int((rows.w > 0).sum()), 0 if model is None else model.n_seen
        rows = rows.take(rows.w > 0)
        rows = rows if options.in_order else merged(rows, None, in_order=True)[0]
        rows, say = residual_rows(rows, options), self._say()

        def start(rows: Rows, earlier: FilterStream | None) -> FilterStream:
            stream = begin(rows, options, generator(self.random_state), say)
            stream = settled(stream, rows, options, say)
            stream = checked_in_fit(stream, rows, in_order=options.in_order)
            return replace(stream, waiting=waiting(rows, options.start_rows))

        with single_threaded():
            if model is not None:
                model = checked_before(model, rows, self._predictor())
            stream = grow(model, rows, start, FilterStream.with_rows)
            stream = replace(stream, n_seen=seen + n)
            if stream.waiting is None and stream.due:
                stream = stream.relearnt(say)
            stream = with_errors(stream, say)
        return self._after(stream, 0.0 if model is None else model.outside, check)

    def _after(self, stream: FilterStream, before: float, check: StreamCheck | None = None):
        """Keep the stream; warn once the share of rows outside exceeds MANY."""
        self._keep(stream, check)
        if stream.waiting is None and stream.outside > MANY >= before:
            warnings.warn(
                f"{stream.n_outside} of {stream.n_seen} rows lie outside the region of the density "
                "and were left out: say where inputs will come with "
                "density=collegium.filter.UniformBox(low, high), leave density, basis and drift "
                "at their defaults to follow the rows, or call fit again",
                OutsideWarning,
                stacklevel=4,
            )
        return self

    @all_or_nothing
    def relearn(self) -> Self:
        """Learn hyperparameters again, from the sums over all rows so far.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.model_.drifting is not None:
            raise ValueError("relearn needs sums over rows, which drift > 0 does not keep")
        with single_threaded():
            say = self._say()
            self._keep(with_errors(self.model_.relearnt(say), say))
        return self

    def sample_prior(self, X: ArrayLike, n_samples: int = 5, random_state: Any = 0) -> Array:
        """Draw functions from the prior of f at X, of the first output, without the linear part.

        Returns
        -------
        samples : array of shape (n, n_samples)
        """
        check_is_fitted(self)
        X = check_queries(self, X)
        check_square(X.shape[0], "sample_prior")
        n_samples = check_draws(n_samples, X.shape[0])
        with single_threaded():
            found = self.kernel_.sample(X, n_samples, generator(random_state))
        mean = np.atleast_2d(self._prior_mean(X))
        return found + self.model_.scaling.centre[0] + mean[:, :1]

    def _prior_mean(self, X: Array) -> Array | float:
        return 0.0 if self.prior_mean is None else FilterOptions.of(self).mean(X)

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y.")
    basis_ = fitted("model.basis", "The basis used.")
    density_ = fitted("model.density", "The density of inputs used.")
    n_basis_ = fitted("model.basis.m", "Functions of the basis.")
    n_seen_ = fitted("n_seen", "Rows seen.")
    n_outside_ = fitted("n_outside", "Rows outside the density, which are left out or wait.")
    n_reprojected_ = fitted("n_reprojected", "How often basis and density were made anew.")
    projection_error_ = fitted("projection_error", "Error of the projection's integrals.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X), summed over outputs.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
