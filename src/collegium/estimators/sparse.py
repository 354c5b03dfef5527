"""SparseGPRegressor: Gaussian processes seen through a few anchors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.chunk import cut
from ..core.committee import Committee, Global, Own
from ..core.experts import Block, Diagonal, Expert, Projected, Variational
from ..core.kernels import Kernel
from ..core.learning import refine
from ..core.local import Rows
from ..core.nystrom import Nystrom
from ..core.scales import Metric
from ..core.selection import RULES, Selection, Stop, centres
from ..core.transductive import Joint
from ..engines import single_threaded
from .building import choose_scaling, hyperparameters
from .checking import chunk_groups, degrees_of_freedom
from .data import (
    Scaling,
    all_or_nothing,
    check_outputs,
    check_rows,
    for_learning,
    generator,
    merged,
)
from .fitted import FittedCommittee
from .progress import Progress
from .settings import Settings

Array = np.ndarray
#: Rows and anchors by which a method's own evidence is maximised.
REFINE_ROWS, REFINE_ANCHORS = 8000, 300


@dataclass(frozen=True)
class Method:
    """Who speaks for a chunk, who answers, and whether that needs the rows."""

    expert: type[Expert]
    answer: Callable[[Committee], Any]
    keeps_rows: bool = False


METHODS = {
    "sor": Method(Projected, partial(Global, degenerate=True)),
    "dtc": Method(Projected, Global),
    "fitc": Method(Diagonal, Global),
    "pitc": Method(Block, Global),
    "pic": Method(Block, Own.of, keeps_rows=True),
    "vfe": Method(Variational, Global),
    "nystrom": Method(Projected, Nystrom.of, keeps_rows=True),
}


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


@dataclass(frozen=True, eq=False)
class Sparse:
    """A fitted model: records of arrays, numbers and strings."""

    committee: Committee
    scaling: Scaling
    method: str
    query_size: int  # 0: fixed anchors
    selection: Selection
    n_chunks: int
    total_weight: float
    dof: float

    def predictor(self) -> Any:
        if self.query_size:
            return Joint.of(self.committee, self.query_size)
        return METHODS[self.method].answer(self.committee)

    def add(self, rows: Rows, settings: Settings, rng: np.random.Generator) -> Sparse:
        scaled = Rows(rows.X, self.scaling.forward(rows.y), rows.w)
        groups = _groups(self.committee.basis.kernel, rows.X, None, settings, rng)
        chunks = cut(*scaled.fields(), groups, first_id=self.n_chunks)
        return replace(
            self,
            committee=self.committee.add(chunks, settings.engine, keep=self.keeps_rows),
            n_chunks=self.n_chunks + len(groups),
            total_weight=self.total_weight + float(rows.w.sum()),
        )

    @property
    def keeps_rows(self) -> bool:
        return METHODS[self.method].keeps_rows or self.query_size > 0


def sparse_settings(*, selection, transductive=False, **given) -> Settings:
    """The arguments of a sparse estimator as those of a committee."""
    if not isinstance(given["learn"], (bool, np.bool_)):
        raise ValueError(f"learn={given['learn']!r}: give True or False")
    by_rule = isinstance(selection, str)
    default = {"partition": "balanced", "chunk_size": "auto", "query_size": "auto"}
    fixed = {"combination": "bcm", "n_local": "auto", "n_starts": 1, "screening": 0.0}
    fixed |= {"refine": None, "refine_tol": 1e-3, "refine_max_iter": 1}
    fixed |= {"time_limit": None, "memory_limit": None}
    fixed["inference"] = "transductive" if transductive else "inductive"
    fixed |= {"selection": selection, "anchors": None}
    if not by_rule:
        fixed |= {"selection": "kmeans", "anchors": selection}
    return Settings.of(SimpleNamespace(**default | given | fixed), anchors_name="selection")


def build_sparse(
    rows: Rows, labels: Array | None, settings: Settings, method: str,
    rng: np.random.Generator, say: Progress,
) -> Sparse:  # fmt: skip
    """Rows in the units of the user -> model."""
    n, d = rows.X.shape
    size = settings.chunk_rows(n, streaming=True)
    settings.check_sizes(n, d, size if labels is None else int(np.bincount(labels).max()))
    scaling, expert = choose_scaling(rows, settings), METHODS[method].expert
    scaled = Rows(rows.X, scaling.forward(rows.y), rows.w)
    plain = replace(settings, transductive=False)  # the family by chunks and rows left out
    kernel, noise, _ = hyperparameters(scaled, scaling, plain, rng, say, None)
    if settings.learn:
        kernel, noise = _refined(kernel, noise, scaled, settings, expert, rng)
        say(f"by the evidence of {method}: {kernel!r}, noise {noise:.3g} (standardised targets)")
    dof = degrees_of_freedom(kernel, noise, scaled)
    if settings.transductive:
        chosen = _given(np.empty((0, d)))
    elif settings.anchors is not None:
        chosen = _given(settings.anchors)
    else:
        stop = Stop(min(settings.anchor_count(n, dof, most=500), n))
        chosen = RULES[settings.selection](kernel, noise, scaled, stop, rng)
    say(f"{n} rows, {len(chosen.Z)} anchors, about {dof:.0f} effective degrees of freedom")
    groups = _groups(kernel, rows.X, labels, settings, rng)
    model = Sparse(
        Committee.start(kernel, noise, chosen.Z, rows.y.shape[1], expert), scaling, method,
        settings.query_points(dof), chosen, len(groups), float(rows.w.sum()), dof,
    )  # fmt: skip
    chunks = cut(*scaled.fields(), groups)
    committee = model.committee.add(chunks, settings.engine, keep=model.keeps_rows)
    return replace(model, committee=committee)


def _given(Z: Array) -> Selection:
    return Selection(Z, np.empty(0, dtype=int), np.zeros(len(Z)), 0.0)


def _groups(
    kernel: Kernel, X: Array, labels: Array | None, settings: Settings, rng: np.random.Generator
) -> list[Array]:
    points = Metric.of(kernel, X).forward(X)
    size = settings.chunk_rows(X.shape[0], streaming=True)
    return chunk_groups(points, labels, settings, size, rng)


def _refined(
    kernel: Kernel, noise: float, rows: Rows, settings: Settings, expert: type[Expert],
    rng: np.random.Generator,
) -> tuple[Kernel, float]:  # fmt: skip
    """Hyperparameters by the method's own evidence, on some of the rows."""
    n, rows = rows.X.shape[0], for_learning(rows)
    if n > REFINE_ROWS:
        rows = rows.take(np.sort(rng.choice(n, REFINE_ROWS, replace=False)))
    m = min(settings.anchor_count(n, most=500), REFINE_ANCHORS, rows.X.shape[0])
    Z = centres(kernel, noise, rows, Stop(m), rng).Z
    if settings.anchors is not None and len(settings.anchors) <= REFINE_ANCHORS:
        Z = settings.anchors
    found = refine(
        kernel, noise, Z, cut(*rows.fields(), _groups(kernel, rows.X, None, settings, rng)),
        settings.engine, noise_fixed=settings.noise is not None, expert=expert,
    )  # fmt: skip
    return found.kernel, found.noise
