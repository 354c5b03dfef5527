"""OnlineGPClassifier: labels from a stream, with probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import unique_labels

from ..interface.checks.arguments import check_is_fitted
from ..interface.checks.rows import check_queries, generator
from ..interface.classifier import Classifier
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.encoded import columns_of
from ..interface.frames.sources import reads_sources
from ..interface.streams.waiting import Waiting, lengthened
from ..interface.turns import of_one_state
from ..interface.words.progress import Progress
from ..kernels import Kernel
from ..kernels.base import told
from ..likelihoods.labels.probit import Probit
from ..likelihoods.targets.units import signs
from ..numerics.records import record
from ..numerics.threads import single_threaded
from ..rows.rows import Prediction, Rows
from .arguments import OnlineOptions, first_rows, repeated, shuffled
from .gp import OnlineGP, Rules
from .learning import default_kernel, search_kernel
from .stream import by_rates, points_by_rates
from .watch import Watch, follow

Array = np.ndarray
#: The least probability that has a log.
TINY = np.finfo(float).tiny


@record("online.labels/1")
@dataclass(frozen=True, eq=False)
class LabelModel:
    """One online GP for two classes, or one per class against the rest."""

    for_streams: ClassVar[tuple[str, ...]] = ("waiting", "watch")

    gps: tuple[OnlineGP, ...]
    waiting: Waiting | None
    n_seen: int
    watch: Watch | None  # None: the kernel stays as it is

    @property
    def n_rows(self) -> int:
        return self.gps[0].n_rows

    @property
    def forgetting(self) -> float:
        """λ: how much the past counts after each row."""
        return self.gps[0].rules.forgetting

    @property
    def n_relearnt(self) -> int:
        return 0 if self.watch is None else self.watch.n_relearnt

    def with_rows(self, rows: Rows) -> LabelModel:
        """Add rows of a stream, one by one in order; y are positions among the classes."""
        return self.scored(rows)[0]

    def scored(self, rows: Rows) -> tuple[LabelModel, Array]:
        """Add rows; return the log probability of each label before it was added too  (n,)."""
        return self.absorbed(rows) if self.watch is None else follow(self, rows)

    def beside(self, options: OnlineOptions) -> LabelModel:
        """Change the rate of forgetting before any row has come."""
        watch = options.watch(self.gps[0].Z.shape[1], 1, labels=True)
        return replace(self, gps=self._ruled(self.gps, options.rules), watch=watch)

    def again_from(self, other: LabelModel) -> LabelModel:
        """Go on from what the model of another rate believes, by rules of this one."""
        watch = other.watch
        if self.watch is not None and watch is not None:
            watch = self.watch.again_from(watch, other.gps[0].rules.memory)
        return replace(other, gps=self._ruled(other.gps, self.gps[0].rules), watch=watch)

    def _ruled(self, gps: tuple[OnlineGP, ...], rules: Rules) -> tuple[OnlineGP, ...]:
        return tuple(replace(gp, rules=rules) for gp in gps)

    def fitted(self, rows: Rows, n_sweeps: int) -> LabelModel:
        """Add all rows of one `fit`, from which the kernel was learnt."""
        gps = tuple(gp.sweep(rows.X, sign, times=n_sweeps) for gp, sign in self._signs(rows))
        watch = self.watch
        if watch is not None:
            watch = replace(watch, sample=watch.sample.add(rows), learnt_at=gps[0].n_rows)
        return replace(self, gps=gps, watch=watch)

    def absorbed(self, rows: Rows) -> tuple[LabelModel, Array]:
        """Add rows with the present kernel; return the log probabilities of labels (n,) too."""
        gps, (densities, shortfall) = [], np.zeros((2, rows.w.size))
        for gp, sign in self._signs(rows):
            after, before = gp.add(rows.X, sign)
            gps.append(after)
            came, expected = _log_probabilities(sign[:, 0], before)
            densities += came
            shortfall += (expected - came) / len(self.gps)
        watch = None if self.watch is None else self.watch.after(rows, shortfall)
        return replace(self, gps=tuple(gps), watch=watch), densities

    def gain(self) -> float:
        """Return 0: labels are relearnt from only where they surprise."""
        return 0.0

    def relearnt(self) -> LabelModel:
        """Relearn the kernel from the sample; carry over the belief about f."""
        assert self.watch is not None
        gps, kernel = self.gps, self.learnt(self.watch.sample.rows)
        gps = tuple(gp.with_prior(kernel, gp.likelihood) for gp in gps)
        return replace(self, gps=gps, watch=self.watch.relearnt(self.n_rows))

    def learnt(self, rows: Rows) -> Kernel:
        """Learn the kernel by the evidence of rows, starting from the present one."""
        if np.ptp(rows.y) == 0:  # one class alone says nothing about lengths
            return self.kernel
        gp, d = self.gps[0], rows.X.shape[1]

        def log_evidence(tried: Kernel) -> float:
            start = (OnlineGP.start(tried, gp.likelihood, d, 1, gp.rules),) * len(self.gps)
            return replace(self, gps=start, watch=None).with_rows(rows).log_evidence

        return search_kernel(log_evidence, self.kernel, rows.X)

    def _signs(self, rows: Rows):
        return zip(self.gps, signs(rows.y, len(self.gps)), strict=True)

    @property
    def kernel(self) -> Kernel:
        return self.gps[0].kernel

    @property
    def log_evidence(self) -> float:
        return float(sum(gp.log_evidence[0] for gp in self.gps))

    @property
    def basis(self) -> Array | list[Array]:
        points = [gp.Z for gp in self.gps]
        return points[0] if len(points) == 1 else points


def _log_probabilities(sign: Array, before: Prediction) -> tuple[Array, Array]:
    """log p and E log p of labels ±1, given the prediction of f  (n,)."""
    m, v, probit = before.mean[:, 0], before.variance, Probit()
    one, other = probit.log_probability(m, v), probit.log_probability(-m, v)
    return np.where(sign > 0, one, other), np.exp(one) * one + np.exp(other) * other


def begin_labels(first: Rows, n_classes: int, options: OnlineOptions, say: Progress) -> LabelModel:
    """Start before any row: one kernel for all classes, learnt from the first rows."""
    n_gps, d = n_classes if n_classes > 2 else 1, first.X.shape[1]
    given = options.kernel_for(d)
    kernel = default_kernel(first.X, options.levels) if given is None else given

    gps = (OnlineGP.start(kernel, Probit(), d, 1, options.rules),) * n_gps
    model = LabelModel(gps, None, 0, options.watch(d, 1, labels=True))
    if options.learn:
        kernel = model.learnt(first)
        model = replace(model, gps=tuple(replace(gp, kernel=kernel) for gp in gps))
        say(f"learnt {told(say, kernel)} from {first.X.shape[0]} rows")
    return model


@dataclass(eq=False, repr=False)
class OnlineGPClassifier(Classifier):
    """Gaussian-process classification on a stream, in bounded memory (Csató & Opper 2002).

    The probability of a class is a probit of a latent function, p(y = 1) = Φ(f). Rows are used
    one after the other, by matching moments, and then dropped. More than two classes are handled
    one against the rest, with probabilities normalised.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn, default=None
        Kernel of the latent functions, shared by all classes: family and starting point. None: a
        Matérn 5/2 with lengths from the columns' scales.
    budget : int, default=200
        Most points of each basis. A row costs O(budget²).
    novelty : float, default=1e-4
        A row joins the basis where the basis leaves more than this share of the prior variance
        unexplained; other rows are projected onto it.
    removal : {"posterior", "mean"}
        Which point to drop when a basis is full: the one whose loss changes the mean least, in
        units of the posterior spread, α²/(Q + C), or absolutely, |α|/Q.
    forgetting : float, "auto" or tuple of floats, default=1.0
        With λ < 1 a row that came t rows ago counts λᵗ times: for classes that drift. (Applied
        in steps of at most 2 %.) "auto": models with λ = 1, 0.995, 0.98 and 0.95 run side by side;
        the one that has predicted the last rows best is followed. Usually twice the time, more
        where the basis is large. A
        tuple, such as (1.0, 0.99), the largest first: these rates. (All but the first
        have a `budget` of 2/(1 − λ) at most, and steps of at most 35 %.)
    learn : bool, default=True
        Learn one factor of the kernel's variances and one of its length scales by the evidence
        of the first rows, and relearn them from a sample of the stream where labels surprise.
        False: keep `kernel` as given.
    n_sweeps : int, default=1
        Passes of `fit` through the rows. Later passes start from the basis found before, and the
        last one keeps it fixed.
    learn_rows : int, default=500
        Rows to learn from: the first ones, and later a uniform sample of the stream, which is
        kept. (With `forgetting` the sample is from the last rows, of which up to four times as
        many are kept.)
    categorical_features : "from_dtype", array-like of names, positions or a mask, or None
        Columns whose values are levels. "from_dtype": words and categorical types; others are
        given by name or position. None: no such columns, and words are refused.
    random_state : int, RandomState or None
        Seed of the order in which `fit` presents the rows.
    verbose : int, default=0
        1: report what is learnt.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    kernel_ : the kernel used, in the units of X.
    basis_ : array of shape (b, d), the points kept; with several classes a list of arrays.
    n_seen_ : int, rows seen.
    forgetting_ : float, the rate of forgetting that is followed now.
    n_relearnt_ : int, how often the kernel was relearnt.
    log_evidence_ : float, Σ log p(label | the rows before it), summed over GPs.

    Notes
    -----
    `partial_fit` uses rows in their order. `fit` shuffles them first, since sorted rows make a
    poor basis, unless `forgetting` gives the order a meaning. Arguments are read when a stream
    begins. Weights must be whole numbers: rows are repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import OnlineGPClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1]) < 1, "in", "out")
    >>> model = OnlineGPClassifier(budget=40, random_state=0).fit(X, y)
    >>> [str(label) for label in model.predict([[0.0, 0.1], [2.0, 1.0]])]
    ['in', 'out']
    >>> bool(model.predict_proba([[0.0, 0.1]])[0, 0] > 0.9)
    True
    """

    kernel: Any = None
    _: KW_ONLY
    budget: int = 200
    novelty: float = 1e-4
    removal: str = "posterior"
    forgetting: Any = 1.0
    learn: bool = True
    n_sweeps: int = 1
    learn_rows: int = 500
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    verbose: int = 0

    takes_tables = True

    @all_or_nothing
    @reads_sources
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows; earlier ones are forgotten.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,), labels, or the name of a column of the frame X
        sample_weight : array-like of shape (n,), default=None
            Whole numbers: a weight w means w equal rows.

        Returns
        -------
        self
        """
        options = self._options()
        X, y = self._check(X, y, reset=True)
        options = options.for_columns(columns_of(self))
        rows, self.classes_ = self._coded(X, y, unique_labels(y), sample_weight)
        rng, n = generator(self.random_state), rows.X.shape[0]
        rows = shuffled(rows, options, rng, self, repeat=True)
        with single_threaded():
            first = first_rows(rows, options, rng)
            model = begin_labels(first, self.classes_.size, options, self._say())
            model = points_by_rates(model, rows, options)
        self._keep(replace(model, n_seen=n))
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows, in their order.

        The kernel is learnt from the first `learn_rows` rows of a stream: until these have come
        it is relearnt whenever their number has doubled; later where labels surprise.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever come; required in the first call.

        Returns
        -------
        self
        """
        model, options = getattr(self, "model_", None), self._options()
        X, y = self._check(X, y, reset=model is None)
        options = options.for_columns(columns_of(self))
        known = self._known(classes, model is None)
        rows, self.classes_ = self._coded(X, y, known, sample_weight)
        check, n = self._check_of(rows.w.size, self._arrived(rows)), rows.w.size
        enough = options.learn_rows if options.learn else 0

        def begin(rows: Rows) -> Any:
            first = rows.take(slice(options.learn_rows))
            begun = begin_labels(first, self.classes_.size, options, self._say())
            return by_rates(begun, options).with_rows(rows)

        self._keep(lengthened(model, repeated(rows, self), n, begin, enough), check)
        return self

    def _options(self) -> OnlineOptions:
        options = OnlineOptions.of(self)
        if not options.learn and options.kernel is None:
            raise ValueError("learn=False needs a kernel")
        return options

    # -- answers ------------------------------------------------------------------------------

    @of_one_state
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.

        Returns
        -------
        probability : array of shape (n, n_classes)
        """
        check_is_fitted(self)
        X = check_queries(self, X)
        with single_threaded():
            found = [gp.predict(X) for gp in self.model_.gps]
        return _probabilities(found)

    def _latents_at(self, X: Array) -> tuple[list[Prediction], Callable[..., Array]]:
        """Latent functions, and log probabilities of the classes by these or by others."""
        found = [gp.predict(X) for gp in self.model_.gps]
        return found, lambda other=None: np.log(np.maximum(_probabilities(other or found), TINY))

    def _latent_covariances(self, X: Array) -> list[Array]:
        """Covariances of each latent function  (n, n)."""
        return [gp.joint(X) for gp in self.model_.gps]

    kernel_ = fitted("kernel", "The kernel of the latent functions, in the units of X.")
    basis_ = fitted("basis", "The points kept; with several classes a list of arrays.")
    n_seen_ = fitted("n_seen", "Rows seen.")
    forgetting_ = fitted("forgetting", "The rate of forgetting that is followed now.")
    n_relearnt_ = fitted("n_relearnt", "How often the kernel was relearnt.")
    log_evidence_ = fitted("log_evidence", "Σ log p(label | the rows before it).")


def _probabilities(found: list[Prediction]) -> Array:
    """Probabilities of two classes by one latent function, or of several by one each  (n, K)."""
    probit = Probit()
    if len(found) == 1:
        m, v = found[0].mean[:, 0], found[0].variance
        return np.column_stack([probit.probability(-m, v), probit.probability(m, v)])
    logs = [probit.log_probability(one.mean[:, 0], one.variance) for one in found]
    table = np.column_stack(logs)
    table = np.exp(table - table.max(axis=1, keepdims=True))
    return table / table.sum(axis=1, keepdims=True)
