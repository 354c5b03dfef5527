"""CommitteeRegressor: Gaussian-process regression by committee."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..interface.checks.arguments import check_chunk_id, check_is_fitted
from ..interface.checks.groups import apart_from_groups
from ..interface.checks.limits import answer_time_allowed
from ..interface.checks.rows import (
    check_exposure,
    check_known,
    check_outputs,
    check_queries,
    refuse_noise_variance,
)
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.sources import arrays_of, as_source
from ..interface.regressor import Regressor
from ..interface.streams.watching import StreamCheck
from ..interface.turns import of_one_state
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..numerics.threads import single_threaded
from ..pipeline import models
from ..pipeline.checks.folds import Fold, held_out_folds
from ..pipeline.settings import Settings
from ..pipeline.systems import check_fitted_answer_time, system_for, system_of
from ..rows.rows import Rows
from ..sources.source import Skipped, Source
from . import answering
from .outside import box_of, warn_if_beyond

Array = np.ndarray


@dataclass(eq=False, repr=False)
class CommitteeRegressor(Regressor):
    """Gaussian-process regression by a Bayesian committee, for 10 to 10⁸ rows.

    Most people need three calls::

        model = CommitteeRegressor().fit(X, y)
        mean, std = model.predict(X_new, return_std=True)
        lower, upper = model.predict_interval(X_new, coverage=0.9)

    Chunks of rows send Gaussian messages about the function at shared anchors, and the messages
    add up. Each prediction is corrected by the raw rows nearest to it. Up to 2,000 rows this is
    the exact Gaussian process. More about every argument: docs/arguments.md.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Family and starting point, in the units of X and y; length scales and variances are
        learnt. None: Matérn, squared exponential or a sum of two, chosen on held-out rows.
    likelihood : {"gaussian", "poisson", "student-t", "exponential", "gamma", "beta"} or object
        The distribution of y given the function; an object of `collegium.likelihoods` or your own.
    inference : {"auto", "inductive", "transductive", "cg"}, Inductive, Transductive or CG
        "inductive": anchors and nearest rows; "auto": the same, with means refined where it pays.
        "transductive": the joint committee over the queries of each call. "cg": the means of the
        exact Gaussian process on all rows, by conjugate gradients.
    chunks : "auto", int, {"balanced", "kmeans", "random", "time"}, array of n labels or Chunks
        Rows per chunk, how rows are dealt to chunks, or labels by which rows can be forgotten.
    anchors : "auto", int, array of shape (m, d) or Select, default="auto"
        Their number, themselves, or a rule; "auto": twice the effective degrees of freedom.
    noise : {"auto", "constant", "varying"}, float or array of p, default="auto"
        "constant": one noise variance, learnt. "varying": errors whose size depends on x, with
        heavy tails, learnt from held-out rows; "auto": that where it helps. A number is kept.
    n_local : int, "auto", "nearest" or AnswerTime, default="auto"
        Nearest rows that correct a prediction; 0: none, and no rows are kept. "auto": rows shared
        by cells of queries where that is as good; `AnswerTime`: the best within a time per row.
    learn : {"auto", "average", "anchored"}, bool or Learn, default="auto"
        True: learn hyperparameters by evidence. "average": average over them; "auto": that up to
        600 rows. "anchored": by all rows with their anchors. False: keep `kernel` and `noise`.
    trend : None, "linear", column or list of columns, default=None
        A line beside the kernel. None: a trend and seasons are looked for where rows are a series.
    transforms : {"auto", "log", "yeo-johnson", "rank"}, None or Transform, default="auto"
        A monotone transform of y, by default where held-out rows are clearly better predicted.
    members : {"auto", "trees"}, None or regressor, default="auto"
        Other opinions about the mean: boosted trees or a regressor of yours, weighed on held-out
        rows.
    categorical_features : "from_dtype", array-like of names, positions or a mask, or None
        Columns whose values are levels, equal or not; by default words and categorical types.
    limits : None, float, str or Limits, default=None
        Seconds that a call of `fit` may take, about, or memory such as "2GB".
    store : path, default=None
        A folder for rows that do not fit into memory.
    engine : engine, default=None
        Where sums over chunks run; None: this machine, with `n_jobs` threads.
    n_jobs : int, default=None
        Threads; the results do not depend on it. None: 1, −1: all cores.
    random_state : int, RandomState or None
        Seed of all random choices.
    verbose : int, default=0
        1: say what is chosen and done, and how long it will take.

    Attributes
    ----------
    kernel_, noise_ : those used, in the units of X and y (transformed, where they are).
    target_transform_, input_transform_ : the kinds of transforms used; None: none.
    likelihood_, n_sweeps_, change_ : for other likelihoods than "gaussian": the one used, and how
        often and how closely messages were approximated.
    anchors_ : array of shape (m, d); none where the model is an exact Gaussian process.
    log_evidence_ : float, log p(y | X) under the committee, summed over outputs.
    n_chunks_, chunk_size_, n_local_, query_size_ : the number of chunks, and the sizes used.
    residuals_ : array, of refined means: relative residuals before each iteration and at the end.
    answer_ways_ : ways of answering that `AnswerTime` was chosen from, with their scores.
    stream_ : how well rows of a stream were predicted before they were learnt from.
    conformal_ : rows of `calibrate`, once it was called.
    n_dropped_, n_relearnt_ : int, with n_local=0: anchors dropped, and times relearnt.
    feature_importances_ : array, the share of the function's variance that each column explains.
    effective_dof_ : float, P_eff = trace K(K + noise·I)⁻¹ of the rows fitted (Tresp 2000).

    Notes
    -----
    Cost of `fit`: O(n m²) for n rows and m anchors. A prediction costs O(k² m) for k nearest
    rows, or less by cells; see docs/answers.md. Error bars: docs/errors.md. Streams:
    docs/streams.md. Tables with words, dates and missing values: docs/tables.md.

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

    kernel: Any = None
    _: KW_ONLY
    likelihood: Any = "gaussian"
    inference: Any = "auto"
    chunks: Any = "auto"
    anchors: Any = "auto"
    noise: Any = "auto"
    n_local: Any = "auto"
    learn: Any = "auto"
    trend: Any = None
    transforms: Any = "auto"
    members: Any = "auto"
    categorical_features: Any = "from_dtype"
    limits: Any = None
    store: Any = None
    engine: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    takes_tables = True
    sums_messages = True
    explains = True
    acts_after_fit = (*Regressor.acts_after_fit, "n_local")

    @all_or_nothing
    def fit(
        self,
        X: ArrayLike | Source,
        y: ArrayLike | str | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        exposure: ArrayLike | None = None,
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
        exposure : float or array-like of shape (n,), default=None
            Of counts: the time or area in which each was counted; their rate is for one of it.
        noise_variance : float or array-like of shape (n,), default=None
            Known noise variance of each row, in the units of y squared, beside `noise`, which is
            constant then and still learnt where it is not given: a row of weight w is w equal rows
            of the noise noise + noise_variance each. Predictions of y have `noise` alone. Error
            bars are not checked on held-out rows; outputs share one kernel and noise.
        groups : array-like of n labels, or the name of a column of the frame X, default=None
            Patients, wells, days: rows of a group share what X does not tell, and new rows belong
            to new groups. Rows are then held out by whole groups where noise, errors and
            transforms are learnt, so that error bars are right for new groups. Gaussian
            likelihood, rows in memory. See docs/errors.md.

        Returns
        -------
        self
        """
        system = system_for(self)
        asked = system.settings(self, known=noise_variance is not None)
        settings = answering.leaving_time(self, asked)
        X, groups = apart_from_groups(X, groups)
        source = as_source(X, y, sample_weight)
        if source is None:
            rows, y_ndim = system.rows(
                self, X, y, sample_weight, exposure, noise_variance, reset=True
            )
            rows = system.grouped(rows, groups, settings)
            self._keep(self._model_of_rows(system, settings, rows, y_ndim))
        else:
            check_exposure(exposure, 0, Gaussian())
            refuse_noise_variance(noise_variance)
            self._fit_source(system, settings, source, groups)
        answering.prepare(self, asked.clock)
        return self

    def _model_of_rows(self, system: Any, settings: Settings, rows: Rows, y_ndim: int) -> Any:
        self.y_ndim_ = y_ndim
        labels = settings.chunks.labels(rows.X.shape[0])
        return models.model_of_rows(self, system, settings, rows, labels)

    def _fit_source(self, system: Any, settings: Settings, source: Source, groups: Any) -> None:
        """Fit the rows of a source: from the store where they are many, else from memory."""
        self.y_ndim_ = 1 if len(source.target) == 1 else 2
        model = None
        if groups is None:
            model = models.model_of_source(self, system, settings, source)
        if model is None:
            rows, y_ndim = system.rows(self, *arrays_of(self, source), None, reset=True)
            rows = system.grouped(rows, groups, settings)
            model = self._model_of_rows(system, settings, rows, y_ndim)
        self._keep(model)
        self.skipped_: list[Skipped] = list(source.skipped)

    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        chunk_id: int | str | None = None,
    ) -> Self:
        """Learn from more rows; earlier ones count as before.

        Rows wait, answered by an exact GP, until there are enough for anchors and
        hyperparameters (unless these are given). From then on each call adds chunks, and the
        result is that of `fit` on the same chunks with the same kernel, noise, anchors and
        scaling of y. Arguments changed since the first call take effect with the next `fit`.
        With other likelihoods than "gaussian" each new chunk is approximated once, given all
        that came before.

        Parameters
        ----------
        X, y, sample_weight, exposure, noise_variance : as in `fit`
        chunk_id : int or str, default=None
            A name for these rows, for `forget` and `merge`; None: numbers.

        Returns
        -------
        self
        """
        model, system = getattr(self, "model_", None), system_for(self)
        chunk_id = check_chunk_id(chunk_id, None if model is None else model.chunks.ids)
        settings = system.settings(self, known=check_known(model, noise_variance))
        if settings.answers.refine:
            raise ValueError("inference='cg' needs all rows at once: call fit, or leave it out")
        if settings.learning.averaging == "average":
            raise ValueError("learn='average' needs all rows at once: call fit, or leave it out")
        if settings.store is not None and chunk_id is not None and (model is None or model.alone):
            raise ValueError(
                f"chunk_id={chunk_id!r}: the first rows of a store are numbered by its cells. "
                "Leave chunk_id out until they are there (fit, or partial_fit of "
                f"{settings.enough()} rows), or leave out store"
            )
        if model is not None:
            self._check_same_kind(system, exposure)
            if answer_time_allowed(self.n_local) is not None:
                check_fitted_answer_time(model)
        rows, y_ndim = system.rows(
            self, X, y, sample_weight, exposure, noise_variance, reset=model is None
        )
        if model is None:
            self.y_ndim_ = y_ndim
        elif system.multi_output:
            check_outputs(rows, model.scaling)
        check = self._check_of(rows.w.size, self._arrived(rows))
        self._keep(models.after(self, system, settings, rows, chunk_id, check), check)
        answering.prepare(self, settings.clock, streaming=True)
        return self

    def _check_same_kind(self, system: Any, exposure: Any) -> None:
        """Refuse rows of a stream of another kind than those of earlier calls."""
        if not system.matches(self.model_):
            raise ValueError(
                f"likelihood={self.likelihood!r} is not that of earlier calls: give the same, or "
                "call fit"
            )
        if exposure is None and self.model_.units.exposed:
            raise ValueError("exposure was given in earlier calls: give it here too, or 1.0")

    @all_or_nothing
    def relearn(self) -> Self:
        """Relearn hyperparameters and anchors from the rows that were kept.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        system = system_of(self.model_, self)
        asked = system.settings(self, known=self.model_.known_noise)
        found = models.fitted_again(self, system, answering.leaving_time(self, asked))
        self._keep(found, StreamCheck())
        answering.prepare(self, asked.clock)
        return self

    def _more_rows(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> Rows:
        """Check further rows of a fitted model."""
        system = system_of(self.model_, self)
        rows, _ = system.rows(self, X, y, sample_weight, exposure, None, reset=False)
        if system.multi_output:
            check_outputs(rows, self.model_.scaling)
        return rows

    def _more_settings(self) -> Settings:
        """Read the arguments by which further rows are cut."""
        return system_of(self.model_, self).settings(self)

    def _chunks_again(self, id: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        model, system = self.model_, system_for(self)
        if model.sum.arrived() and model.chunks.ids.receipt(id) is None:
            return super()._chunks_again(id, X, y, sample_weight)
        rows, _ = system.rows(self, X, y, sample_weight, None, reset=False)
        return models.chunks_again(self, system.settings(self), rows, id)

    @of_one_state
    def outside(self, X: ArrayLike) -> Array:
        """Tell which queries are extrapolations, where error bars rest on the prior.

        A query is outside if a column (of numbers) is beyond the range that it had in the rows,
        by more than 1 % of that range, or if they tell little about it: the variance of the
        function is above half of that of the prior (without a trend). With few rows of many columns
        a new row of the same kind leaves some ranges by chance; then more columns have to. Ranges
        are those of the rows kept, with `n_local=0` of 2,000 of them; for rows on disk, and where
        none are kept, those of the anchors, enlarged by half of their distance.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        outside : bool array of shape (n,)
        """
        check_is_fitted(self)
        X = check_queries(self, X)
        return self._outside(X, self._answers_at(X, np.zeros(X.shape[0])))

    def _outside(self, X: Array, answers: Any) -> Array:
        """Tell it of checked queries, from answers that were made for them."""
        model = self.model_
        with single_threaded():
            return model.outside(model.places(X), answers.latent_variance(), box_of(self))

    def _answers(self, X, level, exposure, n_local=None) -> Any:
        answers = super()._answers(X, level, exposure, n_local)
        warn_if_beyond(self, answers.X)
        return answers

    def _folds(self) -> list[Fold]:
        return held_out_folds(self.model_, self._engine())

    def _predictor(self, n_local: Any = None) -> Any:
        return answering.predictor_of(self, n_local, super()._predictor)

    def _own_answers(self) -> Any:
        """Prepare answers again where `n_local` is another one."""
        name = repr(self.n_local)
        return self._made.latest(name, lambda: self.model_.answers_by(self._predictor()))

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return answering.stored_way(self, *super()._file_parts())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            system = system_for(self)
        except ValueError:
            return tags
        tags.target_tags.multi_output = system.multi_output
        tags.target_tags.positive_only = system.positive
        return tags

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y; of counts None.")
    n_dropped_ = fitted("n_dropped", "Anchors of a stream that were dropped at the budget.")
    n_relearnt_ = fitted("n_relearnt", "How often a stream without rows was relearnt.")
    anchors_ = fitted("anchors", "Array of shape (m, d).")
    n_chunks_ = fitted("chunks.n", "Chunks of rows.")
    chunk_ids_ = fitted("chunk_ids", "Ids of all chunks: numbers, and ids that were given.")
    basis_id_ = fitted("basis_id", "Hash of kernel, noise, anchors and scaling of y.")
    chunk_size_ = fitted("sizes.chunk_size", "Rows in a chunk, at most.")
    query_size_ = fitted(
        "sizes.query_size", "Query points of one transductive batch; 0: inductive."
    )
    residuals_ = fitted("residuals", "Relative residuals of refined means, one per iteration.")
    n_sweeps_ = fitted(
        "sum.sweeps", "How often chunks were approximated; with Gaussian noise once."
    )
    change_ = fitted("sum.change", "By how much messages moved in the last sweep.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X), summed over outputs.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
    effective_dof_ = fitted("effective_dof", "P_eff = trace K(K + noise·I)⁻¹, from a sample.")

    @property
    def n_local_(self) -> int:
        """Nearest rows that correct a prediction; 0 where none do."""
        check_is_fitted(self)
        return 0 if self.model_.sizes.query_size else self.model_.sizes.n_local

    @property
    def likelihood_(self) -> Scalar:
        """The likelihood used, where that is not Gaussian noise, in the units of y."""
        check_is_fitted(self)
        return self.model_.likelihood_in_units

    @property
    def target_transform_(self) -> Any:
        """The kind of transform of y, None where there is none; of several outputs, one each."""
        check_is_fitted(self)
        warping, p = self.model_.warping, self.model_.scaling.scale.size
        if warping is not None:
            return warping.target_kinds
        return None if p == 1 else (None,) * p

    @property
    def input_transform_(self) -> Any:
        """The kind of transform of each column of X; None: all are as they came."""
        check_is_fitted(self)
        return None if self.model_.warping is None else self.model_.warping.input_kinds

    @property
    def answer_ways_(self) -> list[tuple[str, float, float]]:
        """Ways of answering that were tried for `AnswerTime`: words, milliseconds per row, and the
        mean held-out log density, of standardised y (−inf: too slow to be looked at; inf: all
        rows, as the model was fitted). The one that is used comes first."""
        check_is_fitted(self)
        fast = answering.way_of(self)
        if fast is None:
            raise AttributeError(
                "answer_ways_ is of models that have chosen one: set n_local=AnswerTime(…)"
            )
        return sorted(fast.tried, key=lambda one: one[0] != fast.words)
