"""CommitteeClassifier: classes with probabilities, by the generalised Bayesian committee."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..explain.covariances import quick
from ..interface.checks.arguments import check_chunk_id, check_is_fitted
from ..interface.checks.rows import check_queries
from ..interface.classifier import Classifier, distinct_labels
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.encoded import KnownColumns
from ..interface.frames.sources import arrays_of, as_source
from ..interface.streams.watching import StreamCheck
from ..interface.turns import of_one_state
from ..numerics.threads import single_threaded
from ..pipeline import models
from ..pipeline.asked import TransformsAsked
from ..pipeline.job import stream_job
from ..pipeline.settings import Settings
from ..pipeline.swept.adding import with_kernel_of
from ..pipeline.swept.settings import class_settings, sweeps_asked
from ..rows.rows import Prediction, Rows
from ..sources.source import Skipped
from .beside import log_probabilities_of
from .classes import (
    chosen_link,
    class_weights,
    counts,
    is_balanced,
    moved,
    ripe,
    rows_seen,
    warn_of_ids,
)
from .labels import Labels

Array = np.ndarray
#: Rows next to a query that correct the anchors.
NEAREST = 100


@dataclass(eq=False, repr=False)
class CommitteeClassifier(Classifier):
    """Gaussian-process classification by committee: calibrated probabilities on large tables.

    Most people need three calls::

        model = CommitteeClassifier().fit(X, y)
        label = model.predict(X_new)
        probability = model.predict_proba(X_new)  # a column for each of model.classes_

    Every chunk of rows sends a Gaussian message about a latent function, which a Laplace
    approximation makes of its labels; chunks are approximated again, each given the others,
    until no message moves (the generalised Bayesian committee machine). Up to 2,000 rows, or
    the size of `chunks`, it is the ordinary Laplace Gaussian process of scikit-learn.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Of the latent functions: family and starting point, in the units of X. None: a Matérn or
        squared exponential, chosen by evidence.
    likelihood : {"logit", "probit", "softmax"} or a likelihood of `collegium.likelihoods`
        Of a label given the latent function. With more than two classes "logit" and "probit" are
        one class against the rest, "softmax" is all classes at once: slower, and where classes
        overlap better. One of your own is of labels ±1, the second of two classes being 1.
    inference : {"inductive", "transductive"}, Inductive or Transductive, default="inductive"
        "transductive": messages are about the latent functions at the queries themselves;
        `collegium.Transductive(query_size)` says at how many together. `Transductive(sweeps=…)`
        and `collegium.Inductive(sweeps)` say how often chunks are approximated again, by default
        until messages are at rest: 1 is the Bayesian committee machine.
    class_weight : dict, "balanced" or None
        Weights of the classes: a row of weight w counts as w equal rows, but the kernel is learnt
        without these weights. "balanced" gives all classes the same weight together, and needs
        `fit`.
    chunks : "auto", int, {"balanced", "kmeans", "random", "time"}, array of n labels or Chunks
        How rows are cut into chunks: their size, a rule, labels, or `collegium.Chunks(size, rule)`;
        as in CommitteeRegressor.
    anchors : "auto", int, array of shape (m, d) or Select, default="auto"
        Their number, themselves, or `collegium.Select(rule, m)`; see `collegium.select_anchors`.
    n_local : int or "auto", default="auto"
        Rows next to a query that correct what the anchors say, 100 by default. 0: none, and no
        row is kept.
    learn : bool, default=True
        Learn the kernel by the Laplace evidence, and scale the latent functions by the log loss
        of held-out rows. False: take the kernel as it is.
    trend : None, "linear", column or list of columns, default=None
        A level and slopes of the latent functions beside the kernel, as in CommitteeRegressor.
    transforms : {"auto", None} or Transform, default="auto"
        Of the columns of X: "auto" takes very skewed ones as normal scores, where held-out rows
        gain by it in log loss; `collegium.Transform(X="rank")` takes all with many values so, None
        none. Labels are not transformed.
    members : {"auto", "trees"} or None, default="auto"
        Log odds of boosted trees beside those of the committee, which count where it is unsure and
        held-out rows gain by it. "auto": from 600 rows on, where kernel, trend and anchors are
        left to us. `predict_latent` is the committee's own. See docs/members.md.
    store : path, default=None
        A folder for rows that do not fit into memory, as in CommitteeRegressor.
    categorical_features : "from_dtype", array-like of names, positions or a mask, or None
        Columns whose values are levels, equal or not. "from_dtype": words and categorical types;
        others are given by name or position. None: none, and words are refused.
    limits : None, float, str or Limits, default=None
        A number: about how many seconds learning and the check on held-out rows may take. Learning
        ends with what it has, and where no time is left for the check that is warned of. Messages
        are added up however long that takes. A text such as "2GB", or `collegium.Limits(time,
        memory)`: memory, as in CommitteeRegressor.
    engine, n_jobs : as in CommitteeRegressor
    random_state : int, RandomState or None
    verbose : int, default=0
        1: say what is done.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_weight_, class_count_ : arrays of shape (n_classes,), weights of the classes, and how
        many rows of each came.
    kernel_ : the kernel used.
    anchors_ : array of shape (m, d); empty where all rows are one chunk.
    n_chunks_, n_sweeps_ : int, chunks, and how often they were approximated.
    change_ : float, by how much messages moved in the last sweep.
    calibration_ : (float, float), factors of the latent means and variances that held-out rows
        asked for; (1, 1) with learn=False.
    input_transform_ : None, or a tuple of "rank" or None per column: transforms of X.
    conformal_ : rows of `calibrate`; there is none before it was called, and after `fit`.
    log_evidence_ : float, Laplace's, of all rows (safe to compare once messages are at rest).
    feature_importances_ : array, the share of the latent functions' variance that each column
        explains, with interactions; `summary()` says in words what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1]) < 1, "in", "out")
    >>> model = CommitteeClassifier(random_state=0).fit(X, y)
    >>> [str(label) for label in model.predict([[0.0, 0.1], [2.0, 1.0]])]
    ['in', 'out']
    >>> bool(model.predict_proba([[0.0, 0.1]])[0, 0] > 0.9)
    True
    """

    kernel: Any = None
    _: KW_ONLY
    likelihood: Any = "logit"
    inference: Any = "inductive"
    class_weight: Any = None
    chunks: Any = "auto"
    anchors: Any = "auto"
    n_local: Any = "auto"
    learn: Any = True
    categorical_features: Any = "from_dtype"
    limits: Any = None
    trend: Any = None
    transforms: Any = "auto"
    members: Any = "auto"
    store: Any = None
    engine: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    takes_tables = True
    sums_messages = True
    explains = True

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, and learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,), or the name of a column of the frame X, labels
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        settings, source = self._settings(), as_source(X, y, sample_weight)
        if source is None:
            self._fit_rows(settings, X, y, sample_weight)
            return self
        model = models.model_of_source(self, self._system(), settings, source)
        if model is None:
            self._fit_rows(settings, *arrays_of(self, source))
        else:
            self._keep_learnt(model)
        self.skipped_: list[Skipped] = list(source.skipped)
        return self

    def _fit_rows(self, settings: Settings, X: Any, y: Any, sample_weight: Any) -> None:
        table, words = self._check(X, y, reset=True)
        labels, w = settings.chunks.labels(table.shape[0]), self._weights(table, sample_weight)
        used = w > 0
        known = distinct_labels(words[used])
        rows, classes = self._coded(table[used], words[used], known, w[used])
        labels = None if labels is None else labels.take(used)
        self._note_classes(classes, rows, counts(rows, classes.size))
        self._keep_learnt(models.model_of_rows(self, self._system(), settings, rows, labels))

    def _note_classes(self, classes: Array, rows: Rows, count: Array) -> None:
        self.classes_ = classes
        self.class_weight_ = class_weights(self.class_weight, classes, rows)
        self.class_count_ = self.learnt_count_ = count
        warn_of_ids(count)

    def _system(self, *, learnable: bool = True) -> Labels:
        weights = getattr(self, "class_weight_", np.ones(0))
        link = chosen_link(self.likelihood)
        return Labels(link, weights, sweeps_asked(self.inference), learnable)

    def _keep_learnt(self, model: Any, check: Any = None, before: Any = None) -> None:
        """Keep a model; note the classes that it was learnt from, if it was learnt just now."""
        learnt_at, seen = model.stream.learnt_at, rows_seen(model)
        before_at = 0 if before is None else before.stream.learnt_at
        if learnt_at and (learnt_at == seen if seen is not None else learnt_at != before_at):
            self.learnt_count_ = self.class_count_
        self._keep(model, check)

    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        chunk_id: int | str | None = None,
    ) -> Self:
        """Learn from more rows; each new chunk is approximated once, given the present belief.

        Rows wait in one chunk until there are enough for anchors and a kernel. Nothing is learnt
        from rows of one class, and kernel, anchors and scale are relearnt, from the rows that
        were kept, where classes come in other shares than before (with `n_local=0` from a sample
        of 2,000 rows of the stream, the messages so far being carried over). Transductive answers
        use all chunks again, as after `fit`.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever come; needed in the first call.
        chunk_id : int or str, default=None
            A name for these rows, for `forget` and `merge`; None: numbers.

        Returns
        -------
        self
        """
        first, settings = not hasattr(self, "model_"), self._settings()
        if not first and type(chosen_link(self.likelihood)) is not type(self.model_.likelihoods[0]):
            raise ValueError(f"likelihood={self.likelihood!r} is not that of earlier calls: fit")
        if is_balanced(self.class_weight):
            raise ValueError("class_weight='balanced' needs all rows at once: give a dict, or fit")
        X, y = self._check(X, y, reset=first)
        rows, self.classes_ = self._coded(X, y, self._known(classes, first), sample_weight)
        check = self._check_of(rows.w.size, self._arrived(rows))
        count = counts(rows, self.classes_.size)
        if first:
            self.class_weight_ = class_weights(self.class_weight, self.classes_, rows)
            self.class_count_ = self.learnt_count_ = np.zeros_like(count)
        self.class_count_ = self.class_count_ + count
        model = getattr(self, "model_", None)
        chunk_id = check_chunk_id(chunk_id, None if model is None else model.chunks.ids)
        system = self._system(learnable=ripe(self.class_count_))
        steady = model is not None and model.stream.steady
        again = settings.learning.on and moved(self.learnt_count_, self.class_count_) and not steady
        if again and model is not None and not model.alone:
            if self._relearnt_with(system, settings, rows, chunk_id, check):
                return self
        found = models.after(self, system, settings, rows, chunk_id, check, fresh=again)
        self._keep_learnt(found, check, model)
        return self

    def _relearnt_with(
        self, system: Labels, settings: Settings, rows: Rows, chunk_id: Any, check: Any
    ) -> bool:
        """Relearn from all rows kept and these; False: these are still to be added."""
        model = self.model_
        if model.stored is not None:
            found = system.add(model, stream_job(self, settings, rows, chunk_id), check)
            self._keep(found, check)
            self._keep_learnt(models.fitted_again(self, self._system(), settings), check)
            return True
        if model.sum.arrived():
            both = system.rows_of(model) + rows
            found = models.begun(
                self, system, settings, both, rows.w.size, chunk_id, owned_by=model
            )
            self._keep_learnt(found, check)
            return True
        if model.stream.following is None:
            warnings.warn(
                "classes come in other shares than those the kernel was learnt from, and with "
                "given anchors n_local=0 keeps no rows to relearn from: mix the stream, or leave "
                "the anchors out",
                stacklevel=4,
            )
            return False
        own = rows if model.warping is None else model.warping.rows(rows)
        sample = model.stream.following.sample.add(own).rows
        settings = replace(settings, transforms=TransformsAsked())  # the sample has them already
        other = models.model_of_rows(self, system, settings, sample, streaming=True)
        self._keep_learnt(with_kernel_of(model, other), check)
        return False

    def _watched_log_proba(self, X: Array) -> Array:
        """By anchors and a few rows: the model's own answers would cost more than learning does."""
        with single_threaded():
            model = self.model_
            places = model.places(X)
            found = model.watcher().latents.predict(places, self._engine())
            return log_probabilities_of(model, places, found)

    def _differs_from(self, other: Any) -> list[str]:
        same = np.array_equal(self.classes_, other.classes_)
        same = same and np.array_equal(self.class_weight_, other.class_weight_)
        return super()._differs_from(other) + ["set of classes, or class_weight"] * (not same)

    def _merged_with(self, other: Any) -> None:
        self.class_count_ = self.class_count_ + other.class_count_

    def _forgotten(self) -> None:
        """Count the rows of each class that the model has kept."""
        model, K = self.model_, self.classes_.size
        self.class_count_ = np.zeros(K, dtype=int)
        if model.stored is not None:
            for chunk in model.stored.chunks(model.stored.open()):
                codes = chunk.load()[1][:, 0].astype(int)
                self.class_count_ += np.bincount(codes, minlength=K)
        elif model.alone or model.sum.arrived():
            self.class_count_ = counts(self._system().rows_of(model), K)

    @all_or_nothing
    def relearn(self) -> Self:
        """Relearn kernel, anchors and scale from the rows that were kept.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        found = models.fitted_again(self, self._system(), self._settings())
        self._keep_learnt(found, StreamCheck())
        return self

    def _more_rows(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> Rows:
        """Check further rows of a fitted model."""
        if exposure is not None:
            raise ValueError("exposure is for counts: leave it out with labels")
        X, y = self._check(X, y, reset=False)
        return self._coded(X, y, self.classes_, sample_weight)[0]

    def _more_settings(self) -> Settings:
        """Read the arguments by which further rows are cut."""
        return self._settings()

    def _settings(self) -> Settings:
        chosen_link(self.likelihood)
        settings = class_settings(self, NEAREST)
        if settings.learning.n_starts != 1:
            raise ValueError(
                "n_starts of learn=Learn(…) means nothing in CommitteeClassifier: leave it out"
            )
        if settings.answers.refine:
            raise ValueError(
                "inference='cg' is for regression with Gaussian noise: give 'inductive' or "
                "'transductive'"
            )
        return settings

    # -- answers ------------------------------------------------------------------------------

    def _latents(self, X) -> list[Prediction]:
        return self._answered(X)[1]

    def _answered(self, X) -> tuple[Array, list[Prediction]]:
        """Queries as the predictor sees them, and latent functions there."""
        check_is_fitted(self)
        X = check_queries(self, X)
        engine, predictor = self._engine(), self._predictor()
        with single_threaded():
            places = self.model_.places(X)
            return places, predictor.predict(places, engine)

    def _latents_at(self, X: Array) -> tuple[list[Prediction], Callable[..., Array]]:
        """Latent functions at X as the model sees it, and log probabilities of the classes by
        these, or by others in their place."""
        places, found = self._answered(X.view(KnownColumns))
        return found, lambda other=None: log_probabilities_of(self.model_, places, other or found)

    def _latent_covariances(self, X: Array) -> list[Array]:
        """Covariances of each latent function, but for a factor  (n, n)."""
        places, predictor = self.model_.places(X), self._predictor()
        if predictor.together is not None:
            return [C for _, C in predictor.joint(places, self._engine())]
        return [quick(one).joint(places, self._engine())[1] for one in predictor.each]

    @of_one_state
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probability of each class, latent functions integrated out.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.

        Returns
        -------
        probability : array of shape (n, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    @of_one_state
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Log probability of each class.

        Returns
        -------
        log_probability : array of shape (n, n_classes)
        """
        places, found = self._answered(X)
        return log_probabilities_of(self.model_, places, found)

    @of_one_state
    def decision_function(self, X: ArrayLike) -> Array:
        """Log odds of the second of two classes, or log probabilities of several.

        Returns
        -------
        score : array of shape (n,) with two classes, else (n, n_classes)
        """
        table = self.predict_log_proba(X)
        return table if self.classes_.size > 2 else table[:, 1] - table[:, 0]

    @of_one_state
    def predict_latent(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Means of the latent functions, scaled by `calibration_`, with standard deviations.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std : bool

        Returns
        -------
        mean : array of shape (n,) with two classes (softmax: (n, 2)), else (n, n_classes)
        std : array of the same shape
        """
        found = self._latents(X)
        mean = np.column_stack([one.mean[:, 0] for one in found])
        std = np.sqrt(np.column_stack([one.variance for one in found]))
        if mean.shape[1] == 1:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    kernel_ = fitted("kernel", "The kernel of the latent functions.")
    n_dropped_ = fitted("n_dropped", "Anchors of a stream that were dropped at the budget.")
    n_relearnt_ = fitted("n_relearnt", "How often a stream without rows was relearnt.")
    anchors_ = fitted("anchors", "Array of shape (m, d); empty where all rows are one chunk.")
    n_chunks_ = fitted("chunks.n", "Chunks of rows.")
    chunk_ids_ = fitted("chunk_ids", "Ids of all chunks: numbers, and names that were given.")
    basis_id_ = fitted("basis_id", "Hash of kernel, likelihood and anchors.")
    n_sweeps_ = fitted("sum.sweeps", "How often chunks were approximated.")
    change_ = fitted("sum.change", "By how much messages moved in the last sweep.")
    calibration_ = fitted(
        "sum.calibration", "Factors of latent means and variances, by held-out rows."
    )
    log_evidence_ = fitted("log_evidence_in_units", "Laplace's log p(labels | X), of all rows.")

    @property
    def input_transform_(self) -> Any:
        """The kind of transform of each column of X; None: all are as they came."""
        check_is_fitted(self)
        return None if self.model_.warping is None else self.model_.warping.input_kinds
