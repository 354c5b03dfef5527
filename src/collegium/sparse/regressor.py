"""SparseGPRegressor: Gaussian processes seen through a few anchors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from ..errors.mass import warn_of_masses
from ..interface.checks.arguments import NOISES, check_chunk_id, is_auto, one_of, yes_or_no
from ..interface.checks.groups import check_groups
from ..interface.checks.rows import check_known, check_noise_variance, check_outputs, check_rows
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.sources import reads_sources
from ..interface.options import Transductive
from ..interface.regressor import Regressor
from ..numerics.threads import single_threaded
from ..pipeline.fitting import fit_model
from ..pipeline.job import fit_job, stream_job
from ..pipeline.settings import Settings
from ..pipeline.stream.adding import chunks_of
from ..pipeline.sums import owners_with
from ..pipeline.swept.settings import sweeps_of
from .fitting import SparseSteps
from .methods import METHODS, TRANSDUCTIVE


@dataclass(eq=False, repr=False)
class SparseGPRegressor(Regressor):
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
    anchors : "auto", int, array of shape (m, d) or Select, default="auto"
        Their number, themselves, or `collegium.Select(rule, m)` for another rule than k-means (see
        `select_anchors`). "auto": twice the effective degrees of freedom, 20 to 500, at most
        a tenth of the rows.
    inference : {"inductive", "transductive"} or Transductive, default="inductive"
        "transductive": the queries of a call are the anchors (SRM Trans of Schwaighofer & Tresp
        2002 for "sor" and "dtc", the joint committee machine for "pitc"); rows are kept.
    chunks : chunks for "pitc" and "pic", as in `CommitteeRegressor`.
    noise : {"auto", "constant", "varying"}, float or array of p, default="auto"
        As in `CommitteeRegressor`. "constant": learnt, the same everywhere, and that is "auto"
        with inference="transductive". A number is kept as given.
    learn : bool, default=True
        Learn the hyperparameters: on clusters of rows, then by the method's own evidence on at
        most 8000 rows with 300 anchors. False: take `kernel` and `noise` as they are.
    trend : None, "linear", column or list of columns, default=None
        As in `CommitteeRegressor`.
    categorical_features, engine, n_jobs, random_state, verbose : as in `CommitteeRegressor`.

    Attributes
    ----------
    kernel_, noise_ : the kernel and noise used, in the units of X and y.
    anchors_ : array of shape (m, d).
    selection_ : record with `Z`, `index`, `gains` and `remaining`: what each anchor brought.
    log_evidence_ : float, the method's log p(y | X), or its bound ("vfe"); summed over outputs.
    feature_importances_ : array, the share of the function's variance that each column explains.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import Select, SparseGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = SparseGPRegressor(method="vfe", anchors=Select("sgma", 25), random_state=0)
    >>> mean, std = model.fit(X, y).predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    kernel: Any = None
    _: KW_ONLY
    method: str = "fitc"
    anchors: Any = "auto"
    inference: Any = "inductive"
    chunks: Any = "auto"
    noise: Any = "auto"
    learn: Any = True
    categorical_features: Any = "from_dtype"
    trend: Any = None
    engine: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    takes_tables = True
    explains = True
    sums_messages = True

    @all_or_nothing
    @reads_sources
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        noise_variance: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,) or (n, p), or the name of a column of the frame X
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.
        noise_variance : float or array-like of shape (n,), default=None
            Known noise variance of each row beside `noise`, as in `CommitteeRegressor`.
        groups : array-like of n labels, default=None
            Groups of rows, which are held out together, as in `CommitteeRegressor`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, noise_variance, groups=groups)

    def _fit(self, X, y, sample_weight, noise_variance, chunk_id=None, groups=None) -> Self:
        settings = self._settings(known=noise_variance is not None)
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        rows = check_noise_variance(noise_variance, rows)
        if groups is not None:
            settings.check_grouped()
            rows = check_groups(groups, rows)
        labels = settings.chunks.labels(rows.X.shape[0]) if chunk_id is None else None
        owners = owners_with(None, 0, chunk_id, rows.w.size)
        job = fit_job(self, settings, rows, labels, streaming=True, owners=owners)
        warn_of_masses(job.rows.y, job.rows.w)
        with single_threaded():
            self._keep(fit_model(SparseSteps(self.method), job))
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        noise_variance: ArrayLike | None = None,
        chunk_id: int | str | None = None,
    ) -> Self:
        """Learn from more rows, with the anchors and hyperparameters of the first call.

        Parameters
        ----------
        X, y, sample_weight, noise_variance : as in `fit`
        chunk_id : int or str, default=None
            A name for these rows, for `forget` and `merge`; None: numbers.

        Returns
        -------
        self
        """
        model = getattr(self, "model_", None)
        chunk_id = check_chunk_id(chunk_id, None if model is None else model.chunks.ids)
        if model is None:
            return self._fit(X, y, sample_weight, noise_variance, chunk_id)
        check_known(model, noise_variance)
        settings = self._settings(known=model.known_noise)
        rows, _ = check_rows(self, X, y, sample_weight, reset=False)
        rows = check_noise_variance(noise_variance, rows)
        check_outputs(rows, self.model_.scaling)
        check = self._check_of(rows.w.size, self._arrived(rows))
        with single_threaded():
            self._keep(model.add(stream_job(self, settings, rows, chunk_id)), check)
        return self

    def _chunks_again(self, id: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        if self.model_.keeps_rows:
            return super()._chunks_again(id, X, y, sample_weight)
        rows, _ = check_rows(self, X, y, sample_weight, reset=False)
        return chunks_of(stream_job(self, self._settings(), rows, id), self.model_)

    def _settings(self, *, known: bool = False) -> Settings:
        one_of(self.method, "method", tuple(name for name in METHODS if name != "nystrom"))
        yes_or_no(self.learn, "learn")
        settings, asked = Settings.of(self, NOISES), self.inference
        if isinstance(asked, Transductive) and asked.screening != Transductive().screening:
            raise ValueError("screening means nothing in SparseGPRegressor: leave it out")
        if not is_auto(sweeps_of(asked)):
            raise ValueError("sweeps mean nothing in SparseGPRegressor: leave them out")
        if settings.answers.refine:
            raise ValueError(
                "inference='cg' is for CommitteeRegressor: give 'inductive' or 'transductive'"
            )
        if settings.answers.transductive and settings.prior.varying:
            raise ValueError(
                "noise='varying' is not for inference='transductive': give 'auto' or 'constant'"
            )
        if settings.answers.transductive and self.method not in TRANSDUCTIVE:
            raise ValueError(
                f"inference='transductive' means nothing with method={self.method!r}: give 'dtc' "
                "(SRM Trans) or 'pitc' (the joint committee)"
            )
        return settings.with_known_noise() if known else settings

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y.")
    anchors_ = fitted("sum.basis.Z", "Array of shape (m, d).")
    selection_ = fitted("selection", "The anchors with the gain of each, against the rows fitted.")
    n_chunks_ = fitted("chunks.n", "Chunks of rows.")
    chunk_ids_ = fitted("chunk_ids", "Ids of all chunks: numbers, and names that were given.")
    basis_id_ = fitted("basis_id", "Hash of method, kernel, noise, anchors and scaling of y.")
    query_size_ = fitted("query_size", "Query points of one transductive batch; 0: fixed anchors.")
    effective_dof_ = fitted("sum.dof", "P_eff = trace K(K + noise·I)⁻¹ of the rows fitted.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X) of the method, or its bound.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
