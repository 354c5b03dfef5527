"""SparseGPRegressor: Gaussian processes seen through a few anchors."""

from __future__ import annotations

import numpy as np

from ..committee.arguments import Settings
from ..engines import single_threaded
from ..interface.fitted import FittedCommittee
from ..interface.progress import Progress
from ..interface.validation import all_or_nothing, check_outputs, check_rows, generator
from ..learning.anchors import Selection
from ..rows.scaling import merged
from .fitting import build_sparse, sparse_settings
from .methods import METHODS

Array = np.ndarray


class SparseGPRegressor(FittedCommittee):
    """Gaussian-process regression with a small set of anchors, by six classical methods.

    They differ in what a row's target is taken to know beyond the anchors (nothing, its own
    variance, its chunk) and in how a query is answered.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        As in `CommitteeRegressor`; None: a Matérn or squared exponential is chosen.
    method : {"sor", "dtc", "fitc", "pitc", "pic", "vfe"}, default="fitc"
        "sor": subset of regressors, a linear model in the anchors' kernels; its error bars
        vanish far from the anchors. "dtc": the same means, with the prior's variance back.
        "fitc", "pitc": targets know their own variance, or their chunk, exactly. "pic": a query
        knows the chunk it falls into. "vfe": the means and bars of dtc, with hyperparameters by
        a lower bound of the evidence, which does not overfit.
    selection : {"kmeans", "random", "sgma", "postapp", "pivoted-cholesky"} or array (m, d)
        Where the anchors go; see `collegium.selection`.
    n_anchors : int or "auto"
        "auto": twice the effective degrees of freedom, 20 to 500, at most a tenth of the rows.
    transductive : bool, default=False
        The queries of a call are the anchors (SRM Trans of Schwaighofer & Tresp 2002 for "sor"
        and "dtc", the joint committee machine for "pitc"); rows are kept.
    partition, chunk_size : chunks for "pitc" and "pic", as in `CommitteeRegressor`.
    query_size : int or "auto"
        Query points of one transductive batch.
    noise : float or array of p, default=None
        Noise variance in the units of y squared; None: learnt.
    learn : bool, default=True
        Learn the hyperparameters: on clusters of rows, then by the method's own evidence on at
        most 8000 rows with 300 anchors. False: take `kernel` and `noise` as they are.
    engine, n_jobs, random_state, verbose : as in `CommitteeRegressor`.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y.
    anchors_ : array of shape (m, d).
    selection_ : record with `Z`, `index`, `gains` and `remaining`: what each anchor brought.
    log_evidence_ : float, the method's log p(y | X), or its bound ("vfe"); summed over outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import SparseGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = SparseGPRegressor(method="vfe", selection="sgma", n_anchors=25, random_state=0)
    >>> mean, std = model.fit(X, y).predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    def __init__(
        self,
        kernel=None,
        *,
        method="fitc",
        selection="kmeans",
        n_anchors="auto",
        transductive=False,
        partition="balanced",
        chunk_size="auto",
        query_size="auto",
        noise=None,
        learn=True,
        engine=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.method = method
        self.selection = selection
        self.n_anchors = n_anchors
        self.transductive = transductive
        self.partition = partition
        self.chunk_size = chunk_size
        self.query_size = query_size
        self.noise = noise
        self.learn = learn
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, p)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        settings = self._settings()
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        labels = settings.labels(rows.X.shape[0])
        rows, labels = merged(rows, labels, in_order=settings.in_order)
        rng, say = generator(self.random_state), Progress(self.verbose)
        with single_threaded():
            self.built_ = build_sparse(rows, labels, settings, self.method, rng, say)
        self._forget_answers()
        return self

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from more rows, with the anchors and hyperparameters of the first call.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        if not hasattr(self, "built_"):
            return self.fit(X, y, sample_weight)
        settings = self._settings()
        rows, _ = check_rows(self, X, y, sample_weight, reset=False)
        check_outputs(rows, self.scaling_)
        rows, _ = merged(rows, None, in_order=settings.in_order)
        with single_threaded():
            self.built_ = self.built_.add(rows, settings, generator(self.random_state))
        self._forget_answers()
        return self

    def _settings(self) -> Settings:
        choices = tuple(name for name in METHODS if name != "nystrom")
        if not isinstance(self.method, str) or self.method not in choices:
            raise ValueError(f"method={self.method!r}: give one of {choices}")
        if not isinstance(self.transductive, (bool, np.bool_)):
            raise ValueError(f"transductive={self.transductive!r}: give True or False")
        if self.transductive and self.method not in ("sor", "dtc", "pitc"):
            raise ValueError(
                f"transductive=True means nothing with method={self.method!r}: give 'dtc' (SRM "
                "Trans) or 'pitc' (the joint committee)"
            )
        return sparse_settings(**self.get_params(deep=False))

    @property
    def selection_(self) -> Selection:
        """The anchors with the gain of each, against the rows fitted."""
        return self._fitted().selection

    @property
    def effective_dof_(self) -> float:
        return self._fitted().dof

    @property
    def query_size_(self) -> int:
        """Query points of one transductive batch; 0 where anchors are fixed."""
        return self._fitted().query_size
