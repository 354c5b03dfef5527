"""CommitteeRegressor: Gaussian-process regression by committee."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..engines import single_threaded
from ..interface.progress import Progress
from ..interface.validation import all_or_nothing, check_outputs, check_rows, generator
from ..learning.dof import degrees_of_freedom
from ..rows.rows import Rows
from ..rows.scaling import merged
from .arguments import Settings
from .fitting import add_rows, build
from .latent_answers import LatentAnswers
from .latent_fitting import Sweeping
from .latent_regression import (
    LatentFit,
    check_exposure,
    check_latent_rows,
    chosen,
    fit_latent,
    hear_more,
    regression_settings,
)

Array = np.ndarray


class CommitteeRegressor(LatentAnswers):
    """Gaussian-process regression by a Bayesian committee, for 10⁴ to 10⁸ rows.

    Chunks of rows send Gaussian messages about the function at shared anchors; the messages
    add up. Each prediction is corrected by the raw rows nearest to it. Where all rows fit one
    chunk this is the exact Gaussian process.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Family and starting point, in the units of X and y. None: a Matérn or squared
        exponential, chosen by evidence and by the predictive density of chunks and of rows left
        out (the roughest that is about as good as the best), and where that is better, from
        500 rows on, a sum of two of these; under much noise two Matérns 1/2, where rows that
        are nearest in some of the columns agree far more than a few hundred rows showed.
        One length scale per column is learnt,
        and a variance, from scikit-learn's kernels too; of their bounds only "fixed" counts.
        White noise added to the kernel is taken as the noise.
    inference : {"inductive", "transductive"}, default="inductive"
        Shared anchors with local correction, or the joint Bayesian committee machine over the
        queries of each call (better with many queries, and dependent on them).
    likelihood : {"gaussian", "poisson", "student-t"} or a likelihood of `collegium.observation`
        Of y given the function. "poisson": y ≥ 0 are counts, the function is the log of their
        rate, and the prior expects the mean rate. "student-t": noise with heavy tails, so that
        outliers count little (4 degrees of freedom; `observation.StudentT(dof=…)` for others, of
        2 or less with infinite standard deviations, where intervals still hold); y is centred
        and scaled by medians. One of your own, derived from `observation.Scalar`, sees y as it
        is, with a prior mean of zero; a free parameter of it is learnt. Try it with
        `observation.check` first.
        All but "gaussian" are Laplace approximations, for one output.
    combination : {"bcm", "poe", "gpoe", "rbcm", "grbcm", "npae", "barycenter"}
        "bcm": chunks send messages, which add up jointly. By the others every chunk answers as
        a GP of its own, and the answers are combined query by query, as published: products of
        experts, plain and generalised; the robust and the generalised robust committee machine
        (Deisenroth & Ng 2015; Liu et al. 2018); nested kriging (Rullière et al. 2018), which
        costs O(n²) a query; the Wasserstein barycentre (Cohen et al. 2020). They keep the rows,
        have no anchors and no check of the error bars, and but for "npae" no covariances.
    partition : {"balanced", "kmeans", "random", "time"} or array of n labels
        How rows are dealt to chunks (labels: in `fit`; a stream is cut as it comes).
    chunk_size : int or "auto"
        Rows in a chunk. "auto": all of up to 2000 rows, otherwise 500 (transductive: 1000).
    n_anchors : int or "auto"
        Anchors shared by all chunks. "auto": twice the effective degrees of freedom of the
        rows, between 20 and 200 (500 where n_local=0) and not above a tenth of the rows. With
        combination="grbcm" the rows of the communication set; "auto": as many as a chunk has.
    selection : {"kmeans", "random", "sgma", "postapp", "pivoted-cholesky"}, default="kmeans"
        Where the anchors go; see `collegium.selection`.
    anchors : array of shape (m, d), default=None
        Anchors given instead; `n_anchors` and `selection` are then not used.
    noise : float or array of p, default=None
        Noise variance in the units of y squared; None: learnt. Where given it is kept. With an
        array, outputs j share the kernel in proportion: f_j ~ GP(0, kernel · noise[j]/noise[0]).
    sweeps : int or "auto", default="auto"
        With likelihoods other than "gaussian", how often chunks are heard, at most: 1 is the
        Bayesian committee machine. "auto": until no message moves by more than `tol`.
    schedule : {"parallel", "sequence"}
        Whether chunks are heard all at once or one after the other within a sweep.
    tol : float, default=1e-3
        Change of messages, relative to their sum, at which sweeps end.
    n_local : int or "auto"
        Nearest rows that correct a prediction. 0: anchors only, and no raw rows are kept.
        "auto": 100 + 50 per input column, at most 400.
    query_size : int or "auto"
        Query points of one transductive batch, padding included. "auto": twice the effective
        degrees of freedom of the rows, between 200 and 1000.
    screening : float, default=1e-3
        Transductive: chunks too far from a batch of queries to matter are not heard. All of
        them together would move no mean by more than so many posterior standard deviations,
        and no variance by more than that share. 0: every chunk is heard.
    learn : bool or "anchored", default=True
        Learn the hyperparameters by the evidence of some clusters of rows, as independent
        chunks; "anchored": then go on by the evidence of the whole committee with its anchors
        (all rows; best with `n_local=0`). False: take `kernel` and `noise` as they are.
    n_starts : int, default=1
        Starting points of the final optimisation.
    refine : {None, "cg"}, default=None
        "cg": after the committee has been built, conjugate gradients go on to the means of the
        exact Gaussian process on all rows, with a committee as preconditioner whose chunks are
        told of the rows around them; variances stay the committee's. `fit` only. O(n²) for the
        preconditioner and for an iteration, of which there are about ten, and O(n) for a query.
    refine_tol, refine_max_iter : float, int, default=0.01, 100
        Of `refine`: stop where the residual is so small relative to y, or after so many steps.
        The committee answers for what is left, so a residual of a few hundredths moves few
        means by more than a tenth of their error.
    time_limit : float, default=None
        About how many seconds of wall time a call of `fit` may take (with other likelihoods than
        "gaussian": learning, and no more than that): gives the best model that
        fits them, by estimate and with an eye on the clock. Little time: fewer rows to learn
        from, fewer anchors, no check of the error bars. Time to spare: means refined as by
        `refine="cg"`, as far as it goes (not in a stream). What passes over all rows once is
        always done, however long it takes. The result depends on the machine.
    memory_limit : int or str, default=None
        Bytes that a fit may take beyond the rows as given, or a text such as "2GB"; None: what
        the machine has. Fewer anchors are chosen to keep it, and what cannot is refused
        before the work starts.
    engine : engine, default=None
        Where sums over chunks run; None: this machine, with `n_jobs` threads.
    n_jobs : int, default=None
        Threads; the results do not depend on it. None: 1, −1: all cores.
    random_state : int, RandomState or None
        Seed of all random choices.
    verbose : int, default=0
        1: say what will take how long, what is chosen and done, with a bar for long work.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y (of counts the kernel is
        of the log rate, and the noise is None; with "student-t" the noise is σ²).
    likelihood_ : the likelihood used, where that is not "gaussian".
    n_sweeps_, change_ : how often chunks were heard, and by how much messages moved at last.
    anchors_ : array of shape (m, d); none where the model is an exact GP, or experts answer
        whole. Transductive: points that pad small sets of queries, and that the evidence is of.
    log_evidence_ : float, log p(y | X) under the committee, summed over outputs.
    n_chunks_ : int, the communication set of "grbcm" counted.
    chunk_size_, n_local_, query_size_ : the sizes used.
    residuals_ : array, relative residual of the exact GP's system before each iteration of
        `refine` and after the last; empty without.
    effective_dof_ : float, P_eff = trace K(K + noise·I)⁻¹ of the rows fitted (Tresp 2000), from
        a sample of at most 1000: what the rows can tell apart. It is how many anchors or query
        points a committee wants.

    Notes
    -----
    Several outputs share the kernel and the ratio of noise to signal; where these differ, give
    each output a model of its own (scikit-learn's `MultiOutputRegressor` gives the means).
    Weights mean repetition; hyperparameters are learnt with weights of mean one, because equal
    copies of a row would say that there is no noise.

    The prior mean is the mean of y. `kernel_` and `noise_` are what predictions are made with:
    learnt by evidence with weak priors, then scaled (and the noise raised) where rows left out
    show that the error bars need it. The noise takes up what the kernel cannot describe and
    gives away what it can; trust it less than the intervals.

    A stream waits in an exact GP, learning anew as it grows, until there are 2000 rows (or
    `chunk_size`, if that is given); the call that crosses that line takes seconds.

    Cost of `fit`: O(n m²) for n rows and m anchors. Memory: O(m²) and, unless `n_local=0`, the
    rows themselves. A prediction costs O(k² m) for k nearest rows; the first one also O(n m²)
    and 8nm bytes, which are kept for the next where they are no more than 256 MiB. `n_local=0`
    costs O(m²), and means without their standard deviations O(m).

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = CommitteeRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    def __init__(
        self,
        kernel=None,
        *,
        inference="inductive",
        likelihood="gaussian",
        combination="bcm",
        partition="balanced",
        chunk_size="auto",
        n_anchors="auto",
        selection="kmeans",
        anchors=None,
        noise=None,
        sweeps="auto",
        schedule="parallel",
        tol=1e-3,
        n_local="auto",
        query_size="auto",
        screening=1e-3,
        learn=True,
        n_starts=1,
        refine=None,
        refine_tol=1e-2,
        refine_max_iter=100,
        time_limit=None,
        memory_limit=None,
        engine=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.inference = inference
        self.likelihood = likelihood
        self.combination = combination
        self.partition = partition
        self.chunk_size = chunk_size
        self.n_anchors = n_anchors
        self.selection = selection
        self.anchors = anchors
        self.noise = noise
        self.sweeps = sweeps
        self.schedule = schedule
        self.tol = tol
        self.n_local = n_local
        self.query_size = query_size
        self.screening = screening
        self.learn = learn
        self.n_starts = n_starts
        self.refine = refine
        self.refine_tol = refine_tol
        self.refine_max_iter = refine_max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X, y, sample_weight=None, *, exposure=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, p)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.
        exposure : float or array-like of shape (n,), default=None
            Of counts: the time or area in which each was counted; their rate is for one of it.

        Returns
        -------
        self
        """
        likelihood = chosen(self)
        settings = self._settings(likelihood)
        rows, y_ndim = self._check(likelihood, X, y, sample_weight, exposure, reset=True)
        labels = settings.labels(rows.X.shape[0])
        return self._rebuild(settings, rows, labels, y_ndim, likelihood)

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None, *, exposure=None):
        """Learn from more rows; earlier ones count as before.

        Rows wait, answered by an exact GP, until there are enough for anchors and
        hyperparameters (unless these are given). From then on each call adds chunks, and the
        result is that of `fit` on the same chunks with the same kernel, noise, anchors and
        scaling of y. Arguments changed since the first call take effect with the next `fit`.
        With other likelihoods than "gaussian" each new chunk meets the present belief once.

        Parameters
        ----------
        X, y, sample_weight, exposure : as in `fit`

        Returns
        -------
        self
        """
        first = not hasattr(self, "built_")
        likelihood = chosen(self)
        if not first and likelihood != self._given():
            raise ValueError(
                f"likelihood={self.likelihood!r} is not that of earlier calls: give the same, or "
                "call fit"
            )
        settings = self._settings(likelihood)
        if settings.refine:
            raise ValueError("refine='cg' needs all rows at once: call fit, or leave it out")
        if exposure is None and not first and likelihood is not None and self.built_.units.exposed:
            raise ValueError("exposure was given in earlier calls: give it here too, or 1.0")
        rows, y_ndim = self._check(likelihood, X, y, sample_weight, exposure, reset=first)
        if first:
            return self._rebuild(settings, rows, None, y_ndim, likelihood, streaming=True)
        if likelihood is None:
            check_outputs(rows, self.scaling_)
        if self.built_.waiting:
            rows = self._kept() + rows
            return self._rebuild(settings, rows, None, self.y_ndim_, likelihood, streaming=True)
        add = add_rows if likelihood is None else hear_more
        with single_threaded():
            rows, _ = merged(rows, None, in_order=settings.in_order)
            self.built_ = add(self.built_, rows, settings, generator(self.random_state))
        self._forget_answers()
        return self

    @all_or_nothing
    def relearn(self):
        """Learn hyperparameters and anchors anew from the rows that were kept.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        likelihood = self._given()
        sizes = self.built_.committee.sizes if likelihood is None else self.built_.sizes
        if not sizes:
            raise ValueError(
                "no rows were kept (n_local=0): relearn needs a model fitted with n_local > 0"
            )
        settings = self._settings(likelihood)
        labels = np.repeat(np.arange(len(sizes)), sizes) if settings.rule == "label" else None
        return self._rebuild(settings, self._kept(), labels, self.y_ndim_, likelihood)

    def _rebuild(self, settings, rows, labels, y_ndim, likelihood, *, streaming=False):
        """All or nothing: the fitted state changes when everything has worked."""
        earlier = getattr(self, "built_", None) if streaming else None
        rows, labels = merged(rows, labels, in_order=settings.in_order)
        make = partial(build, rows, labels, settings)
        if likelihood is not None:
            make = partial(fit_latent, rows, labels, likelihood, settings, Sweeping.of(self))
        with single_threaded():
            built = make(
                generator(self.random_state), Progress(self.verbose), streaming=streaming,
                earlier=earlier,
            )  # fmt: skip
        self.built_, self.y_ndim_ = built, y_ndim
        self._forget_answers()
        return self

    def _settings(self, likelihood) -> Settings:
        return Settings.of(self) if likelihood is None else regression_settings(self, likelihood)

    def _check(self, likelihood, X, y, sample_weight, exposure, *, reset) -> tuple[Rows, int]:
        if likelihood is not None:
            rows = check_latent_rows(self, likelihood, X, y, sample_weight, exposure, reset=reset)
            return rows, 1
        check_exposure(exposure, 0, None)
        return check_rows(self, X, y, sample_weight, reset=reset)

    def _given(self):
        """The likelihood of a fitted model; None: Gaussian noise."""
        return self.built_.given if isinstance(self.built_, LatentFit) else None

    def _kept(self) -> Rows:
        if isinstance(self.built_, LatentFit):
            return self.built_.rows()
        kept = self.built_.committee.rows()
        return Rows(kept.X, self.scaling_.mean(kept.y), kept.w)

    @property
    def chunk_size_(self) -> int:
        return self._fitted().chunk_size

    @property
    def n_local_(self) -> int:
        """Nearest rows that correct a prediction; 0 where none do."""
        built = self._fitted()
        return 0 if built.query_size or built.combination != "bcm" else built.n_local

    @property
    def query_size_(self) -> int:
        """Query points of one transductive batch; 0 where inference is inductive."""
        return self._fitted().query_size

    @property
    def residuals_(self) -> Array:
        return self._fitted().residuals

    @property
    def effective_dof_(self) -> float:
        built = self._fitted()
        if isinstance(built, LatentFit):
            raise AttributeError("effective_dof_ is of likelihood='gaussian' only")
        if built.dof > 0.0:
            return built.dof
        c, rows = built.committee, built.committee.rows()
        with single_threaded():
            return degrees_of_freedom(c.basis.kernel, c.noise, rows)
