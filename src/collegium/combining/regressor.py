"""CommitteeOf: any regressors that predict jointly, each on rows of its own, combined."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import column_or_1d

from ..answers.answers import Answers
from ..engines import engine_for
from ..interface.checks.arguments import check_is_fitted, check_square, partition_rule, whole_number
from ..interface.checks.rows import check_queries, check_rows, generator
from ..interface.estimator import all_or_nothing, fitted
from ..interface.frames.sources import reads_sources
from ..interface.regressor import Regressor
from ..interface.turns import of_one_state
from ..learning import anchors as selection
from ..members.estimators import fitted_copy
from ..numerics.threads import single_threaded
from ..rows import partition
from ..rows.metric import Metric, column_scales
from ..rows.partition import first_of_equals
from ..rows.rows import Rows
from .members import JOINT, POINTWISE, average_prior, check_members, check_weights
from .model import MembersModel, MembersPredictor

Array = np.ndarray


@dataclass(eq=False, repr=False)
class CommitteeOf(MetaEstimatorMixin, Regressor, _BaseComposition):
    """A committee of regressors, each trained on rows of its own.

    Joint predictions at the queries are multiplied, each divided by its own prior (Tresp 2000,
    eq. 3). Members need not be of one kind.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members: scikit-learn's GaussianProcessRegressor, BayesianRidge or ARDRegression,
        regressors of collegium, pipelines that end with one of these, or objects with
        `predict(X)`, `jacobian(X)`, `weight_covariance_`, `weight_prior_covariance_` (and
        `weights_`, `weight_prior_mean_`, `noise_` where there are such), or with
        `predict(X, return_cov=True)` and `prior(X)`. "drop" in place of an estimator leaves it
        out.
    combination : {"bcm", "independent", "poe", "gpoe", "rbcm", "barycenter"}, default="bcm"
        "bcm": posteriors multiplied, the prior counted once; it is the average of the members'
        priors. "independent": weighed by inverse covariances, without a prior. The others work
        query by query, and give no covariance between queries.
    partition : {"random", "balanced", "kmeans", "time"} or array of n labels
        How rows are dealt to members. Labels: as many distinct ones as members, which take
        them in sorted order.
    query_size : int, default=200
        Query points combined at a time in "bcm" and "independent". Fewer queries are
        predicted together with points of `anchors_` near them: more points approximate the joint
        posterior better (Tresp 2000, sec. 5).
    n_jobs : int, default=None
        Threads; the results do not depend on it. None: 1, −1: all cores.
    random_state : int, RandomState or None
        Seed of the partition and of the anchors; members have their own.
    verbose : int, default=0
        1: report what is done.

    Attributes
    ----------
    estimators_ : list of the fitted members, without those dropped.
    named_estimators_ : Bunch, the fitted members by name.
    chunks_ : list of arrays, the numbers of the rows that each member was trained on.
    chunk_weights_ : array, the sum of their weights.
    noise_ : float or array of p, the members' noise variances averaged over their rows: a
        member that fits badly, and takes its misfit for noise, widens the error bars of all.
    anchors_ : array of shape (m, d), m at most `query_size`; points predicted together with few
        queries.

    Notes
    -----
    ARDRegression is certain of the columns it drops; without a prior ("independent") members
    that drop different ones contradict each other.

    Error bars are the members' own: unlike those of `CommitteeRegressor` they are not checked
    on held-out rows. Members are trained on numbers: frames are handed on as frames, with their
    column names, but columns of words are not taken.

    Equal rows (x and y) go to the same member, except with "time" or labels; rows of weight
    zero go to none. The answer of "bcm" and "independent" depends on the other queries, the
    less the larger `query_size`. Its cost is O(M q³) for M members and q = `query_size` points,
    for each batch of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from collegium import CommitteeOf
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> gp = GaussianProcessRegressor(RBF(0.8), alpha=0.01, optimizer=None)
    >>> model = CommitteeOf([("a", gp), ("b", gp), ("c", gp)], random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.1 < std[0] < 0.12)
    (True, True)
    """

    acts_after_fit = ("combination", "query_size", "n_jobs", "verbose")

    estimators: Any
    _: KW_ONLY
    combination: str = "bcm"
    partition: Any = "random"
    query_size: int = 200
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def get_params(self, deep=True):
        """Parameters, those of the members as name__parameter."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params):
        """Set parameters, members by name (or "drop"), or parameters of members."""
        before = self._arguments_of_fit()
        self._set_params("estimators", **params)
        self._warn_of_waiting(params, before)
        return self

    @all_or_nothing
    @reads_sources
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Deal the rows to the members and train each on its own.

        Parameters
        ----------
        X : array-like of shape (n, d), or a `Source` of `collegium.open`, which has y inside
        y : array-like of shape (n,) or (n, p), or the name of a column of the frame X
            Several outputs: where all members take them.
        sample_weight : array-like of shape (n,), default=None
            Passed on to the members, which must take it.

        Returns
        -------
        self
        """
        asked = self._checked()
        say = self._say()
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        if self.y_ndim_ == 2 and not self.__sklearn_tags__().target_tags.multi_output:
            column_or_1d(y, warn=True)  # some member takes one output only
            self.y_ndim_ = 1
        weight = None if sample_weight is None else rows.w
        check_weights(asked.members, weight)
        framed = hasattr(X, "iloc") and hasattr(self, "feature_names_in_")
        with single_threaded():
            distinct, _ = partition.distinct(rows.X[rows.w > 0])
            metric = Metric(distinct.mean(axis=0), 1.0 / column_scales(distinct))
            chunks = _dealt(asked, rows, metric)
            anchors = _padding_points(distinct, asked, metric)
        weights = np.array([rows.w[own].sum() for own in chunks])
        say(f"{rows.X.shape[0]} rows for {len(chunks)} members")
        model = MembersModel(
            metric, anchors, tuple(chunks), weights, np.zeros(rows.y.shape[1]),
            tuple(self.feature_names_in_) if framed else (),
        )  # fmt: skip
        targets = rows.y[:, 0] if self.y_ndim_ == 1 else rows.y

        def trained(i: int):
            own = chunks[i]
            weights = None if weight is None else weight[own]
            return fitted_copy(
                asked.members[i][1], model.framed(rows.X[own]), targets[own], weights
            )  # fmt: skip

        self.estimators_ = asked.engine.map(trained, range(len(asked.members)))
        fitted = dict(zip([name for name, _ in asked.members], self.estimators_))
        self.named_estimators_ = Bunch(
            **{name: fitted.get(name, "drop") for name, _ in self.estimators}
        )
        self._keep(model)
        members = list(zip(*self._members_predictor().members_at(rows.X[:1])))
        noise = np.average([[m.noise for m in each] for each in members], axis=0, weights=weights)
        self._keep(replace(model, noise=noise))
        say("trained")
        return self

    def _without_rows(self):
        found = super()._without_rows()
        members = [each._without_rows() for each in self.estimators_]
        own = {id(old): new for old, new in zip(self.estimators_, members)}
        named = {name: own.get(id(each), each) for name, each in self.named_estimators_.items()}
        found.estimators_, found.named_estimators_ = members, Bunch(**named)
        return found

    def __getstate__(self):
        """Members by their position: a model file has each of them once."""
        state = super().__getstate__()
        if "named_estimators_" in state:
            at = {id(each): i for i, each in enumerate(self.estimators_)}
            named = state["named_estimators_"].items()
            state["named_estimators_"] = {name: at.get(id(each)) for name, each in named}
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "named_estimators_" in state:
            self.named_estimators_ = Bunch(**{
                name: "drop" if i is None else self.estimators_[i]
                for name, i in state["named_estimators_"].items()
            })  # fmt: skip

    # -- arguments ---------------------------------------------------------------------------

    def _checked(self) -> _Asked:
        members = self._members()
        if not isinstance(self.combination, str) or self.combination not in JOINT + POINTWISE:
            raise ValueError(f"combination={self.combination!r}: give one of {JOINT + POINTWISE}")
        rule, labels = partition_rule(self.partition, "partition")
        query_size = whole_number(self.query_size, "query_size")
        check_square(query_size, "query_size")
        rng, engine = generator(self.random_state), engine_for(self.n_jobs)
        return _Asked(members, rule, labels, query_size, rng, engine)

    def _members(self):
        members = check_members(self.estimators)
        self._validate_names([name for name, _ in self.estimators])
        return members

    # -- answers ------------------------------------------------------------------------------

    @of_one_state
    def prior(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and covariance of the committee's prior of the function at X, as in `predict`."""
        check_is_fitted(self)
        X = check_queries(self, X)
        priors = [
            average_prior([m.prior for m in members])
            for members in self._members_predictor().members_at(X)
        ]
        mean = np.stack([each.mean for each in priors], axis=-1)
        return self._shaped(mean), self._shaped(np.stack([p.covariance for p in priors], axis=-1))

    def _answers_at(self, X: Array, shift: Array, predictor: Any = None) -> Answers:
        model = self.model_
        return Answers(
            X, self._members_predictor(), model.likelihoods, model.units, self._engine()
        )  # fmt: skip

    def _members_predictor(self) -> MembersPredictor:
        named = self.named_estimators_.items()
        names = tuple(name for name, each in named if not isinstance(each, str))
        return MembersPredictor(
            self.combination, names, tuple(self.estimators_), self.model_, self.query_size
        )

    chunks_ = fitted("chunks", "The numbers of the rows that each member was trained on.")
    chunk_weights_ = fitted("chunk_weights", "The sums of the weights of these rows.")
    anchors_ = fitted("anchors", "Array of shape (m, d): points predicted with few queries.")
    noise_ = fitted("noise_in_units", "The members' noise variances, averaged over their rows.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            several = [get_tags(e).target_tags.multi_output for _, e in self._members()]
        except ValueError:
            several = [True]
        tags.target_tags.multi_output = all(several)
        return tags


@dataclass(frozen=True, eq=False)
class _Asked:
    """The arguments, checked."""

    members: list[tuple]  # (name, estimator)
    rule: str
    labels: Array | None
    query_size: int
    rng: np.random.Generator
    engine: Any


def _dealt(asked: _Asked, rows: Rows, metric: Metric) -> list[Array]:
    """Deal rows to members: row numbers of each, by value unless rows are in order of time."""
    n, M = rows.X.shape[0], len(asked.members)
    used = np.flatnonzero(rows.w > 0)
    if asked.labels is not None:
        if asked.labels.shape != (n,):
            raise ValueError(f"partition gives {asked.labels.size} labels for n_samples={n}")
        groups = [used[own] for own in partition.by_label(asked.labels[used])]
        if len(groups) != M:
            raise ValueError(
                f"partition has {len(groups)} distinct labels for {M} estimators: give as many"
            )
        return groups
    if used.size < M:
        raise ValueError(
            f"n_samples={used.size} rows (of positive weight) cannot be dealt to {M} "
            "estimators: give more rows, or drop some"
        )
    first, inverse = np.arange(used.size), np.arange(used.size)
    if asked.rule != "time":  # equal rows together, in any order: a weight is a repetition
        table = np.column_stack([rows.X, rows.y])[used]
        unique, where = first_of_equals(table)
        if unique.size >= M:
            first, inverse = unique, where
    points = metric.forward(rows.X[used[first]])
    groups = partition.deal(points, M, asked.rule, asked.rng)
    owner = np.empty(first.size, dtype=int)
    for i, group in enumerate(groups):
        owner[group] = i
    order = np.lexsort([rows.w[used], inverse])  # members see their rows sorted, in any order
    return [used[order[owner[inverse[order]] == i]] for i in range(M)]


def _padding_points(distinct: Array, asked: _Asked, metric: Metric) -> Array:
    if distinct.shape[0] <= asked.query_size:
        return distinct
    centres = selection.kmeans(metric.forward(distinct), asked.query_size, asked.rng)
    return metric.backward(centres)
