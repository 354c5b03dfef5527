"""CommitteeClassifier: classes with probabilities, by the generalised Bayesian committee."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from ..core.kernels import Kernel
from ..core.latent_learning import Problem
from ..core.local import Prediction, Rows
from ..core.observation.base import Observation
from ..core.observation.logit import Logit
from ..core.observation.probit import Probit
from ..core.observation.softmax import Softmax
from ..engines import single_threaded
from .data import all_or_nothing, check_queries, generator, merged
from .fitted import Cached
from .labels import LabelClassifier, signs
from .latent import (
    LatentBuilt,
    Sweeping,
    add_latent,
    build_latent,
    latent_settings,
)
from .progress import Progress
from .settings import choose_engine

Array = np.ndarray
LINKS = {"logit": Logit, "probit": Probit, "softmax": Softmax}
#: Rows next to a query that correct the anchors.
NEAREST = 100


class CommitteeClassifier(Cached, LabelClassifier):
    """Gaussian-process classification by committee: calibrated probabilities on large tables.

    Every chunk of rows sends a Gaussian message about a latent function, which a Laplace
    approximation makes of its labels; chunks are heard again, each against what the others say,
    until no message moves (the generalised Bayesian committee machine). Up to 2,000 rows, or
    `chunk_size`, it is the ordinary Laplace Gaussian process of scikit-learn.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Of the latent functions: family and starting point, in the units of X. None: a Matérn or
        squared exponential, chosen by evidence.
    likelihood : {"logit", "probit", "softmax"}
        Of a label given the latent function. With more than two classes "logit" and "probit" are
        one class against the rest, "softmax" is all classes at once: slower, and where classes
        overlap better.
    inference : {"inductive", "transductive"}
        "transductive": messages are about the latent functions at the queries themselves.
    sweeps : int or "auto", default="auto"
        How often chunks are heard, at most: 1 is the Bayesian committee machine. "auto": until
        no message moves by more than `tol`.
    schedule : {"parallel", "sequence"}
        Whether chunks are heard all at once or one after the other within a sweep.
    tol : float, default=1e-3
        Change of messages, relative to their sum, at which sweeps end.
    class_weight : dict, "balanced" or None
        Weights of the classes: a row of weight w counts as w equal rows. "balanced" gives all
        classes the same weight together, and needs `fit`.
    partition : {"balanced", "kmeans", "random", "time"} or array of labels
        How rows are cut into chunks.
    chunk_size, n_anchors : int or "auto"
        Rows in a chunk, anchors.
    selection : str, default="kmeans"
        Rule for anchors; see `collegium.selection`.
    anchors : array-like of shape (m, d), default=None
        Anchors to use instead.
    n_local : int or "auto", default="auto"
        Rows next to a query that correct what the anchors say, 100 by default. 0: none, and no
        row is kept.
    query_size : int or "auto"
        Query points of one transductive batch.
    learn : bool, default=True
        Learn the kernel by the Laplace evidence, and scale the latent functions by the log loss
        of rows left out. False: take the kernel as it is.
    time_limit : float or None
        Seconds after which learning goes on with what it has.
    engine, n_jobs : as in CommitteeRegressor
    random_state : int, RandomState or None
    verbose : int, default=0
        1: say what is done.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    kernel_ : the kernel used.
    anchors_ : array of shape (m, d); empty where all rows are one chunk.
    n_chunks_, n_sweeps_ : int, chunks, and how often they were heard.
    change_ : float, by how much messages moved in the last sweep.
    calibration_ : (float, float), factors of the latent means and variances that rows left out
        asked for; (1, 1) with learn=False.
    log_evidence_ : float, Laplace's, of all rows (safe to compare once messages are at rest).

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

    def __init__(
        self,
        kernel=None,
        *,
        likelihood="logit",
        inference="inductive",
        sweeps="auto",
        schedule="parallel",
        tol=1e-3,
        class_weight=None,
        partition="balanced",
        chunk_size="auto",
        n_anchors="auto",
        selection="kmeans",
        anchors=None,
        n_local="auto",
        query_size="auto",
        learn=True,
        time_limit=None,
        engine=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.sweeps = sweeps
        self.schedule = schedule
        self.tol = tol
        self.class_weight = class_weight
        self.partition = partition
        self.chunk_size = chunk_size
        self.n_anchors = n_anchors
        self.selection = selection
        self.anchors = anchors
        self.n_local = n_local
        self.query_size = query_size
        self.learn = learn
        self.time_limit = time_limit
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Forget everything, and learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,), labels
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        settings = self._settings()
        X, y = self._check(X, y, reset=True)
        labels = settings.labels(X.shape[0])
        w = self._weights(X, sample_weight)
        rows, self.classes_ = self._coded(X[w > 0], y[w > 0], unique_labels(y[w > 0]), w[w > 0])
        labels = None if labels is None else labels[w > 0]
        return self._build(settings, self._weighted(rows), labels)

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows; each new chunk meets the present belief once.

        Rows wait in one chunk until there are enough for anchors and a kernel. Transductive
        answers hear all chunks again, as after `fit`.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever come; needed in the first call.

        Returns
        -------
        self
        """
        first, settings = not hasattr(self, "built_"), self._settings()
        if self._balanced():
            raise ValueError("class_weight='balanced' needs all rows at once: give a dict, or fit")
        X, y = self._check(X, y, reset=first)
        rows, self.classes_ = self._coded(X, y, self._known(classes, first), sample_weight)
        rows = self._weighted(rows)
        if first:
            return self._build(settings, rows, None, streaming=True)
        if self.built_.waiting is not None:
            return self._build(settings, self.built_.waiting + rows, None, streaming=True)
        rows, _ = merged(rows, None, in_order=settings.in_order)
        targets = [problem.y for problem in self._problems(rows.y)]
        with single_threaded():
            rng = generator(self.random_state)
            self.built_ = add_latent(self.built_, rows, targets, settings, rng)
        self._forget_answers()
        return self

    def _build(self, settings, rows: Rows, labels, *, streaming=False):
        rows, labels = merged(rows, labels, in_order=settings.in_order)
        earlier = getattr(self, "built_", None) if streaming else None
        problems, rng, say = self._problems(rows.y), generator(self.random_state), self._say()
        loss = partial(log_loss, problems[0].likelihood) if settings.learn else None
        with single_threaded():
            self.built_ = build_latent(
                rows, problems, labels, settings, Sweeping.of(self), rng, say,
                streaming=streaming, earlier=earlier, loss=loss,
            )  # fmt: skip
        self._forget_answers()
        return self

    def _say(self) -> Progress:
        return Progress(self.verbose)

    def _settings(self):
        if not isinstance(self.likelihood, str) or self.likelihood not in LINKS:
            raise ValueError(f"likelihood={self.likelihood!r}: give one of {tuple(LINKS)}")
        return latent_settings(self, n_local=NEAREST)

    def _problems(self, codes: Array) -> Sequence[Problem]:
        n = self.classes_.size
        if self.likelihood == "softmax":
            return [Problem(Softmax(classes=n), codes)]
        link = LINKS[self.likelihood]()
        return [Problem(link, sign) for sign in signs(codes, 1 if n == 2 else n)]

    def _balanced(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced"

    def _weighted(self, rows: Rows) -> Rows:
        """With the weights of the classes; "balanced": all have the same weight together."""
        codes, given = rows.y[:, 0].astype(int), self.class_weight
        if self._balanced():
            total = np.bincount(codes, rows.w)
            weights = total.sum() / (total.size * total)
        else:
            try:
                weights = compute_class_weight(given, classes=self.classes_, y=self.classes_)
            except (TypeError, ValueError, AttributeError) as error:
                raise ValueError(f"class_weight={given!r}: {error}") from error
        w = rows.w * weights[codes]
        if not ((weights >= 0).all() and np.isfinite(w).all() and (w > 0).any()):
            raise ValueError(
                f"class_weight={given!r}: give weights of at least 0, some of them more"
            )
        return Rows(rows.X, rows.y, w)

    # -- answers ------------------------------------------------------------------------------

    def _latents(self, X) -> list[Prediction]:
        check_is_fitted(self)
        X = check_queries(self, X)
        engine = self._say().watch(choose_engine(self.engine, self.n_jobs))
        with single_threaded():
            return self._answers.get(self.built_).predict(X, engine)

    def predict_proba(self, X):
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

    def predict_log_proba(self, X):
        """Log probability of each class.

        Returns
        -------
        log_probability : array of shape (n, n_classes)
        """
        found = self._latents(X)
        return log_probabilities(self.built_.likelihoods[0], found)

    def decision_function(self, X):
        """Log odds of the second of two classes, or log probabilities of several.

        Returns
        -------
        score : array of shape (n,) with two classes, else (n, n_classes)
        """
        table = self.predict_log_proba(X)
        return table if self.classes_.size > 2 else table[:, 1] - table[:, 0]

    def predict_latent(self, X, return_std=False):
        """Posterior means of the latent functions, with their standard deviations on request.

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

    # -- what was found -----------------------------------------------------------------------

    def _fitted(self) -> LatentBuilt:
        check_is_fitted(self)
        return self.built_

    @property
    def kernel_(self) -> Kernel:
        return self._fitted().kernel

    @property
    def anchors_(self) -> Array:
        return self._fitted().committees[0].basis.Z

    @property
    def n_chunks_(self) -> int:
        return self._fitted().n_chunks

    @property
    def n_sweeps_(self) -> int:
        return self._fitted().sweeps

    @property
    def change_(self) -> float:
        return self._fitted().change

    @property
    def calibration_(self) -> tuple[float, float]:
        """Factors of latent means and of latent variances, by rows left out."""
        scale = self._fitted().scale
        return scale.mean, scale.mean**2 * scale.variance

    @property
    def log_evidence_(self) -> float:
        with single_threaded():
            return self._fitted().log_evidence()


def log_probabilities(likelihood: Observation, found: list[Prediction]) -> Array:
    """Of each class, from what is known about its latent function, or about that of the second
    of two  (n, classes)."""
    m = np.column_stack([one.mean[:, 0] for one in found])
    v = np.column_stack([one.variance for one in found])
    if isinstance(likelihood, Softmax):
        return np.log(np.maximum(likelihood.probability(m, v), np.finfo(float).tiny))
    assert isinstance(likelihood, Logit | Probit)
    if len(found) == 1:
        m, v = np.hstack([-m, m]), np.hstack([v, v])
    table = likelihood.log_probability(m, v)
    top = table.max(axis=1, keepdims=True)
    return table - top - np.log(np.exp(table - top).sum(axis=1, keepdims=True))


def log_loss(likelihood: Observation, y: list[Array], w: Array, found: list[Prediction]) -> float:
    """Mean −log probability of the classes that came; y as the problems have them."""
    if isinstance(likelihood, Softmax):
        codes = y[0][:, 0].astype(int)
    else:
        codes = np.hstack(y).argmax(axis=1) if len(y) > 1 else (y[0][:, 0] > 0).astype(int)
    table = log_probabilities(likelihood, found)
    return -float(w @ table[np.arange(codes.size), codes]) / float(w.sum())
