"""RegressionFilter: a prior over functions, projected onto a basis, for streams."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..answers.answers import LEVELS
from ..interface.checks.arguments import check_draws, check_is_fitted, check_square
from ..interface.checks.rows import check_queries, check_rows, generator
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.sources import reads_sources
from ..interface.regressor import Regressor
from ..interface.streams.rates import changed, rested
from ..interface.streams.waiting import arriving_rows, condensed, lengthened
from ..interface.streams.watching import StreamCheck
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from .arguments import FilterOptions, residual_rows
from .errors import checked_before, with_learnt_errors
from .model import MODEL, PAPER
from .stream import filters_by_rates, ordered
from .tuning import TUNING

Array = np.ndarray


class OutsideWarning(UserWarning):
    """Many rows of a stream lie outside the density of a filter."""


@dataclass(eq=False, repr=False)
class RegressionFilter(Regressor):
    """Bayesian regression filter: a Kalman filter over the weights of a basis, whose prior comes
    from a prior over functions (Zhu & Rohwer 1995).

    The prior of f, any kernel, is projected onto the basis: more basis functions never over-fit,
    and with enough of them the answer is that of the exact Gaussian process. For any number of
    rows the state is one triangle of (m + d + 2)² numbers, and a sample of 2,000 rows by which
    basis and density follow a stream.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Prior covariance of f without its linear part, in the units of X and y; it may be given
        by a filter, `collegium.kernels.Filtered`. None: a squared exponential. White noise added
        to the kernel is used as the noise.
    basis : {"auto", "splines", "bumps", "harmonics", "fourier"}, object or function, default="auto"
        "splines": continuous piecewise-linear functions (up to three columns), the default with
        one column. "bumps": Gaussians with centres from the inputs, the default with more.
        "harmonics": cosines of the box. "fourier": random Fourier features. Or a basis of
        `collegium.filter`, or any function that maps X (n, d) to values (n, m).
    n_basis : int or "auto"
        Functions of the basis. A row costs O(n_basis²).
    density : {"auto", "uniform", "gaussian", "empirical"} or object, default="auto"
        Where inputs are expected; weighs the projection. "auto": a box for splines and
        harmonics, otherwise the inputs themselves. Or a density of `collegium.filter`.
    noise : {"constant", "auto", "varying"}, float or array of p, default="constant"
        Noise variance in the units of y squared, kept as given; "constant": learnt, the same
        everywhere. "auto": the noise is learnt, and errors of y are Student's t with a scale that
        depends on x and on the predicted mean and deviation, learnt from the last 1,000 rows of a
        stream, each predicted before it was learnt from, or from held-out rows of `fit`; used
        where it improves their density, and given up where later rows are worse for it.
        "varying": always used.
    prior_mean : number or function, default=None
        Prior mean f̂₀ of f. None: the mean of y. It is subtracted from y and added to answers
        as it is, where the paper projects it onto the basis: the same where the basis can
        represent it, and otherwise nothing of it is lost.
    linear : bool, default=True
        Whether f has a linear part with its own vague prior in addition to the kernel.
    learn : bool, default=True
        Learn hyperparameters by evidence. False: keep `kernel` and `noise` as given; where they
        are not given, `c0` and `c2` set them.
    c0, c2 : float, default=5.0, 0.2
        Rules of thumb for data of unknown origin (sec. 5 of the paper): a length scale of
        c0·n^(−1/d) standard deviations of each column, and a noise of c2 times the standard
        deviation of the residuals of a linear fit.
    cut : float, default=1e-9
        Directions of the basis whose mean square is below this share of the largest are dropped:
        a bound on its condition.
    misfit : bool, default=True
        Whether var[f | w], averaged under the density, is part of the noise of a row. False: the
        update as published (eqs 2.10–2.11), whose learnt noise includes it too, so that the error
        bars of y count it twice.
    forgetting : float, "auto" or tuple of floats, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for functions that change over time.
        "auto": filters with λ = 1, 0.995 and 0.98 run side by side, and the one that has predicted
        the last rows best is followed; 2.3 times the time. A tuple, such as (1.0, 0.99, 0.9),
        the largest first: these rates.
    drift : float, default=0.0
        Variance that every row adds to each weight, relative to the prior variance: a random
        walk, for functions that change over time. Hyperparameters are then learnt from the first
        rows only.
    start_rows : int, default=500
        The first rows of a stream set the scale of y, the basis and its density. They are kept
        until this number is reached; then only the sample is kept.
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
    forgetting_ : float, the rate of forgetting that is followed now.
    n_outside_ : int, rows outside the density, which are ignored or wait.
    n_reprojected_ : int, how often basis and density were remade.
    log_evidence_ : float, log p(y | X) of the filter.
    projection_error_ : float, difference of the projection's integrals from those of a finer
        rule, relative to the largest.

    Notes
    -----
    There are three error bars: `level="model"` is for the projection of f onto the basis,
    φ(x)ᵀSφ(x); "function" is for f, including the part outside the basis; "observation" is for
    a new y. For "function" and "observation" mean and variance are those of f given the weights,
    E[f | w] and var[f | w], rather than the paper's sum of two variances, which leaves out
    their covariance: `level="paper"` is that sum, about the mean of "model". Outside
    the region where inputs were expected bars widen to the prior's.
    Glitches (inputs a hundred interquartile ranges from the quartiles) do not set the region.

    Basis and density follow a stream whose inputs wander. They are remade where more than 5 % of
    the rows of a call, or 50 rows in all, are outside (until then these wait), where the basis
    cannot represent f at many rows, or where the mean or the scale of a column has moved. Kernel
    and noise are then relearnt from a uniform sample of the rows, and the sums are carried over to
    the new basis through that sample: an approximation once the sample does not hold all rows;
    `n_reprojected_` counts these events. A basis or density given as an object stays, and so do
    both with `drift`: rows outside are then ignored, with a warning where they are many, because
    errors of the basis there are correlated from row to row.

    Hyperparameters are relearnt from the sums alone whenever the number of rows has doubled: no
    row is needed twice. Noise below 1e-10 of the prior variance is raised to that.

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

    levels = (*LEVELS, MODEL, PAPER)
    acts_after_fit = ("prior_mean", "verbose")

    kernel: Any = None
    _: KW_ONLY
    basis: Any = "auto"
    n_basis: int | str = "auto"
    density: Any = "auto"
    noise: Any = "constant"
    prior_mean: Any = None
    linear: bool = True
    learn: bool = True
    c0: float = 5.0
    c2: float = 0.2
    cut: float = 1e-9
    misfit: bool = True
    forgetting: Any = 1.0
    drift: float = 0.0
    start_rows: int = 500
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
        options = FilterOptions.of(self)
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        n = int((rows.w > 0).sum())
        rows = residual_rows(ordered(rows, options), options)
        rng, say = partial(generator, self.random_state), self._say()
        with single_threaded():
            stream = filters_by_rates(rows, options, rng, say)
            stream = changed(stream, lambda own: with_learnt_errors(own, say))
        return self._after(replace(stream, n_seen=n), 0.0)

    @all_or_nothing
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows.

        The first `start_rows` rows of a stream set the scale of y, the basis and its density:
        until these have come the model is refitted whenever their number has doubled. Later
        basis and density follow the stream: see Notes.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        model, options = getattr(self, "model_", None), FilterOptions.of(self)
        rows, say = arriving_rows(self, X, y, sample_weight), self._say()
        check, n = self._check_of(rows.w.size, self._arrived(rows)), int((rows.w > 0).sum())
        rows = residual_rows(condensed(rows, in_order=options.in_order), options)

        def begin(rows: Rows) -> Any:
            return filters_by_rates(rows, options, partial(generator, self.random_state), say)

        with single_threaded():
            if model is not None:
                ask = self._predictor()
                model = changed(model, lambda own: checked_before(own, rows, ask))
            stream = lengthened(model, rows, n, begin, options.start_rows)
            if stream.waiting is None and stream.due and rested(stream, TUNING.rested):
                stream = changed(stream, lambda own: own.relearnt(say))
            stream = changed(stream, lambda own: with_learnt_errors(own, say))
        return self._after(stream, 0.0 if model is None else model.outside, check)

    def _after(self, stream: Any, before: float, check: StreamCheck | None = None):
        """Keep the stream; warn once the share of rows outside is large."""
        self._keep(stream, check)
        if stream.waiting is None and stream.outside > TUNING.many_outside >= before:
            warnings.warn(
                f"{stream.n_outside} of {stream.n_seen} rows lie outside the region of the density "
                "and were ignored: give the region of all inputs by "
                "density=collegium.filter.UniformBox(low, high), leave density, basis and drift "
                "at their defaults to follow the rows, or call fit again",
                OutsideWarning,
                stacklevel=4,
            )
        return self

    @all_or_nothing
    def relearn(self) -> Self:
        """Relearn hyperparameters from the sums over all rows so far.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.model_.state.drifting is not None:
            raise ValueError("relearn needs sums over rows, which drift > 0 does not keep")
        with single_threaded():
            say = self._say()
            model = changed(self.model_, lambda own: with_learnt_errors(own.relearnt(say), say))
            self._keep(model, StreamCheck())
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
    forgetting_ = fitted("forgetting", "The rate of forgetting that is followed now.")
    n_outside_ = fitted("n_outside", "Rows outside the density, which are ignored or wait.")
    n_reprojected_ = fitted("following.n_reprojected", "How often basis and density were remade.")
    projection_error_ = fitted("projection_error", "Error of the projection's integrals.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X), summed over outputs.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
