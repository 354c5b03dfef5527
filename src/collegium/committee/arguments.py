"""The arguments of a committee, checked and resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..combining.pointwise import RULES as POINTWISE
from ..interface.arguments import (
    _one_of,
    _tolerance,
    check_square,
    choose_engine,
    given_hyperparameters,
    partition_rule,
    whole_number,
)
from ..interface.limits import bytes_allowed, seconds_allowed
from ..kernels import Kernel, needs_one_column
from ..learning.anchors import RULES as SELECTION
from ..numerics.clock import Clock

Array = np.ndarray


#: Up to this many rows are one chunk by default: the exact GP.
EXACT = 2000


#: "bcm" is the joint committee; by the others whole experts are combined query by query.
COMBINATIONS = ("bcm", *(rule for rule in POINTWISE if rule != "bcm"), "npae")


@dataclass(frozen=True, eq=False)
class Settings:
    """What the user asked for; sizes still open are None."""

    kernel: Kernel | None  # white noise taken out
    one_column: bool  # the kernel is a covariance in one dimension only
    noise: Array | None  # kept as given  (1,) or (p,)
    noise_start: float | None  # from white noise in the kernel
    learn: bool
    anchored: bool  # learn on by the committee's own evidence
    transductive: bool
    combination: str  # "bcm" (joint), or a rule for whole experts
    screening: float  # tolerance, in posterior standard deviations
    refine: bool  # means by conjugate gradients, to those of the exact GP
    refine_tol: float  # of the residual there
    refine_max_iter: int
    rule: str  # a partition rule, or "label"
    given_labels: Array | None
    chunk_size: int | None
    n_anchors: int | None
    selection: str  # a rule for anchors
    anchors: Array | None
    n_local: int | None
    query_size: int | None
    n_starts: int
    clock: Clock  # started when the arguments were read
    memory_limit: float  # bytes
    engine: Any

    @classmethod
    def of(cls, estimator, anchors_name: str = "anchors") -> Settings:
        e = estimator
        kernel, noise, start = given_hyperparameters(e.kernel, e.noise, e.learn)
        transductive = (
            _one_of(e.inference, "inference", ("inductive", "transductive")) == "transductive"
        )
        combination = _one_of(e.combination, "combination", COMBINATIONS)
        n_local = whole_number(e.n_local, "n_local", least=0)
        if transductive and n_local is not None:
            raise ValueError("n_local means nothing with inference='transductive': leave it out")
        if not transductive and e.query_size != "auto":
            raise ValueError("query_size means something with inference='transductive' only")
        if combination != "bcm":
            _check_experts(e, combination, transductive)
        rule, labels = partition_rule(e.partition)
        verbose = int(e.verbose) if isinstance(e.verbose, bool) else e.verbose
        whole_number(verbose, "verbose", least=0, auto=False)
        settings = cls(
            kernel=kernel,
            one_column=needs_one_column(e.kernel),
            noise=noise,
            noise_start=start,
            learn=bool(e.learn),
            anchored=isinstance(e.learn, str) and e.learn == "anchored",
            transductive=transductive,
            combination=combination,
            screening=_tolerance(e.screening, "screening"),
            refine=_refine(e.refine),
            refine_tol=_tolerance(e.refine_tol, "refine_tol"),
            refine_max_iter=whole_number(e.refine_max_iter, "refine_max_iter", auto=False) or 1,
            rule=rule,
            given_labels=labels,
            chunk_size=whole_number(e.chunk_size, "chunk_size"),
            n_anchors=whole_number(e.n_anchors, "n_anchors"),
            selection=_one_of(e.selection, "selection", tuple(SELECTION)),
            anchors=_anchors(e.anchors, anchors_name),
            n_local=n_local,
            query_size=whole_number(e.query_size, "query_size"),
            n_starts=whole_number(e.n_starts, "n_starts", auto=False) or 1,
            clock=Clock(seconds_allowed(e.time_limit)),
            memory_limit=bytes_allowed(e.memory_limit),
            engine=choose_engine(e.engine, e.n_jobs),
        )
        if settings.refine and not settings.can_refine:
            raise ValueError(
                "refine='cg' needs the default committee and its rows: inference='inductive', "
                "combination='bcm' and n_local above 0"
            )
        return settings

    @property
    def in_order(self) -> bool:
        """Whether the order of rows means something."""
        return self.rule in ("time", "label")

    @property
    def keeps_rows(self) -> bool:
        return self.n_local != 0

    @property
    def can_refine(self) -> bool:
        """Whether means may go on to those of the exact GP."""
        return not self.transductive and self.combination == "bcm" and self.keeps_rows

    @property
    def experts(self) -> bool:
        """Whether chunks answer as experts of their own."""
        return self.combination != "bcm"

    def labels(self, n: int) -> Array | None:
        """The given labels as numbers of chunks; None where a rule makes the chunks."""
        if self.given_labels is None:
            return None
        if self.given_labels.shape != (n,):
            raise ValueError(
                f"partition gives {self.given_labels.size} labels for {n} rows: give one a row"
            )
        return np.unique(self.given_labels, return_inverse=True)[1]

    def chunk_rows(self, n: int, *, streaming: bool = False) -> int:
        """Rows in a chunk; a stream does not know how many will come."""
        if self.chunk_size is not None:
            return self.chunk_size
        if n <= EXACT and not streaming:
            return max(n, 1)
        return 1000 if self.transductive else 500

    def anchor_count(self, n: int, dof: float = np.inf, *, most: int | None = None) -> int:
        """Twice the degrees of freedom, at least 20, at most 200 (500 where no raw rows correct
        the anchors), and not above a tenth of the rows."""
        most = most or (200 if self.keeps_rows and not self.transductive else 500)
        return self.n_anchors or int(min(np.clip(2.0 * dof, 20, most), max(n // 10, 20)))

    def query_points(self, dof: float) -> int:
        """Points of one transductive batch: twice the degrees of freedom, 200 to 1000."""
        if not self.transductive:
            return 0
        return self.query_size or int(np.clip(2.0 * dof, 200, 1000))

    def communication_rows(self, n: int, size: int) -> int:
        """Rows that all experts of a GRBCM share: as many as a chunk has (Liu et al. 2018)."""
        return min(self.n_anchors or size, n - 1)

    def local_rows(self, d: int) -> int:
        return min(400, 100 + 50 * d) if self.n_local is None else self.n_local

    def check_sizes(self, n: int, d: int, largest_chunk: int) -> None:
        """Refuse what does not fit the rows, or no dense factorisation could hold."""
        if self.anchors is not None and self.anchors.shape[1] != d:
            raise ValueError(f"the anchors have {self.anchors.shape[1]} columns, but X has {d}")
        if self.one_column and d > 1:
            raise ValueError(
                f"kernel has an ExpSineSquared, which is no covariance on {d} columns: give "
                "collegium.kernels.Periodic, a product over columns"
            )
        check_square(min(largest_chunk, n), "chunk_size (or partition)")
        n_anchors = min(self.anchor_count(n), n) if self.anchors is None else len(self.anchors)
        check_square(n_anchors, "n_anchors (or anchors)")
        check_square(min(self.local_rows(d), n), "n_local")
        check_square(self.query_size or 0, "query_size")

    def enough(self) -> int:
        """Rows of a stream that wait before anchors and hyperparameters are learnt."""
        ready = self.anchors is not None or (self.experts and self.combination != "grbcm")
        if ready and not self.learn:
            return 0
        return max(self.chunk_size or EXACT, 4 * (self.n_anchors or 0))


def _check_experts(e, combination: str, transductive: bool) -> None:
    """Refuse what means nothing where whole experts answer query by query."""
    if transductive:
        raise ValueError(
            f"combination={combination!r} answers query by query: it needs "
            "inference='inductive' (the transductive committee is combination='bcm')"
        )
    meaningless = {"n_local": e.n_local != "auto", "anchors": e.anchors is not None}
    meaningless["n_anchors"] = e.n_anchors != "auto" and combination != "grbcm"
    meaningless["selection"] = e.selection != "kmeans"
    meaningless["learn='anchored'"] = isinstance(e.learn, str) and e.learn == "anchored"
    for name, given in meaningless.items():
        if given:
            raise ValueError(
                f"{name} means nothing with combination={combination!r}, whose experts share no "
                "anchors: leave it out"
            )


def _refine(refine) -> bool:
    if refine is None:
        return False
    if not isinstance(refine, str) or refine != "cg":
        raise ValueError(f"refine={refine!r}: give None or 'cg'")
    return True


def _anchors(anchors, name: str) -> Array | None:
    if anchors is None:
        return None
    try:
        Z = np.array(anchors, dtype=float) if not np.iscomplexobj(anchors) else np.empty(0)
    except (TypeError, ValueError):
        Z = np.empty(0)
    if Z.ndim != 2 or Z.shape[0] < 1 or not np.isfinite(Z).all():
        raise ValueError(f"{name} must be a finite array of shape (m, d) with m of at least 1")
    return Z
