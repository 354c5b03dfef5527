"""The arguments of a committee, checked and resolved."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..averaging.averaged import points_for
from ..interface.checks.arguments import (
    LEARN,
    check_square,
    check_verbose,
    choose_engine,
    given_hyperparameters,
    is_auto,
    learning_asked,
    noise_word,
    number_or_auto,
    one_of,
    partition_rule,
    rows_asked,
    tolerance,
    whole_number,
)
from ..interface.checks.limits import limits_allowed
from ..interface.frames.encoded import Columns
from ..interface.options import CG, Inductive, Select, Transductive, Transform
from ..kernels import Kernel, needs_one_column
from ..learning.anchors import RULES as SELECTION
from ..learning.trend import Lines
from ..numerics.clock import Clock
from ..transforms.targets import KINDS

Array = np.ndarray
#: Up to this many rows are one chunk by default: the exact GP.
EXACT = 2000
#: Seconds that a fit may take, at least, if transforms are to be chosen: that takes about two.
TIME_TO_CHOOSE = 30.0
#: Starts of learning, each of which takes as long as the first.
MOST_STARTS = 1000
#: By default a model is averaged where it has no more outputs, and at least so many seconds left.
AVERAGED_OUTPUTS, AVERAGING_SECONDS = 4, 10.0
#: What estimators take that lack an argument.
DEFAULTS = {
    "kernel": None, "noise": "constant", "learn": True, "inference": "inductive",
    "combination": None, "communication": "auto", "partition": "balanced", "chunk_size": "auto",
    "anchors": "auto", "n_local": "auto", "limits": None, "engine": None, "n_jobs": None,
    "verbose": 0, "transforms": None, "store": None, "trend": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments as checked; sizes still open are None."""

    kernel: Kernel | None  # white noise taken out
    one_column: bool  # the kernel is a covariance in one dimension only
    noise: Array | None  # kept as given  (1,) or (p,)
    errors: str  # of NOISES: whether their scale may vary
    noise_start: float | None  # from white noise in the kernel
    learn: bool
    anchored: bool  # learn on by the committee's own evidence
    averaging: str  # over hyperparameters: "average", "auto" (where rows are few), or "" (never)
    inference: Transductive | None  # None: inductive
    combination: str | None  # a rule for whole experts; None: messages add up
    communication: int | None  # rows that all experts of a GRBCM share
    refine: CG | None  # means by conjugate gradients, to those of the exact GP
    rule: str  # a partition rule, or "label"
    given_labels: Array | None
    chunk_size: int | None
    n_anchors: int | None
    selection: str  # a rule for anchors
    anchors: Array | None
    n_local: int | None
    n_starts: int
    clock: Clock  # started when the arguments were read
    memory_limit: float  # bytes
    engine: Any
    target_transform: str | None = None  # "auto", a kind or None
    input_transform: str | None = None
    store: str | None = None  # the folder of rows that are not kept in memory
    levels: tuple[int, ...] = ()  # columns of X that hold codes of levels
    trend: Lines | None = None  # beside the kernel

    @classmethod
    def of(
        cls, estimator: Any, words: tuple[str, ...] = ("constant",),
        ways: tuple[str, ...] = LEARN, **fixed: Any,
    ) -> Settings:  # fmt: skip
        """Read an estimator's arguments; `fixed` stand in place of its own.

        `words`, `ways`: how noise and hyperparameters may be learnt.
        """
        a = {**DEFAULTS, **estimator.get_params(deep=False), **fixed}
        learn, n_starts = learning_asked(a["learn"])
        kernel, noise, start = given_hyperparameters(a["kernel"], a["noise"], learn, words, ways)
        inference, refine = _inference(a["inference"])
        n_local = rows_asked(a["n_local"])
        if inference is not None and n_local is not None:
            raise ValueError("n_local means nothing with inference='transductive': leave it out")
        rule, labels = partition_rule(a["partition"])
        selection, n_anchors, anchors = anchors_asked(a["anchors"], a.get("selection", "kmeans"))
        check_verbose(a["verbose"])
        seconds, memory_limit = limits_allowed(a["limits"])
        settings = cls(
            kernel=kernel,
            one_column=needs_one_column(a["kernel"]),
            noise=noise,
            errors=noise_word(a["noise"], words),
            noise_start=start,
            learn=bool(learn),
            anchored=isinstance(learn, str) and learn == "anchored",
            averaging=learn if isinstance(learn, str) and learn != "anchored" else "",
            inference=inference,
            combination=a["combination"],
            communication=number_or_auto(a["communication"], "communication"),
            refine=refine,
            rule=rule,
            given_labels=labels,
            chunk_size=number_or_auto(a["chunk_size"], "chunk_size"),
            n_anchors=n_anchors,
            selection=selection,
            anchors=anchors,
            n_local=n_local,
            n_starts=whole_number(n_starts, "n_starts of learn=Learn(…)", most=MOST_STARTS),
            clock=Clock(seconds),
            memory_limit=memory_limit,
            engine=choose_engine(a["engine"], a["n_jobs"]),
            store=store_path(a["store"]),
            trend=Lines.asked(a["trend"]),
        )
        settings = settings.with_transforms(*transforms_asked(a["transforms"]))
        if settings.store is not None:
            settings.check_store()
        if settings.averaging == "average":
            settings.check_averaging()
        if settings.refine and not settings.can_refine:
            raise ValueError(
                "inference='cg' needs the rows, and n_local=0 keeps none: leave one of them out"
            )
        return settings

    def for_columns(self, seen: Columns) -> Settings:
        """Find columns of kernel and trend by name, and mark columns of levels."""
        kernel = None if self.kernel is None else seen.known_to(self.kernel)
        trend = None if self.trend is None else self.trend.on_columns(seen.names, seen.levels)
        return replace(self, kernel=kernel, trend=trend, levels=tuple(seen.levels))

    def with_transforms(self, target: str | None, inputs: str | None) -> Settings:
        """ "auto" is None where kernel, trend, noise or anchors are given, or little time."""
        given = any(one is not None for one in (self.kernel, self.trend, self.noise, self.anchors))
        free = self.learn and not given and self.clock.limit >= TIME_TO_CHOOSE
        found = [None if one == "auto" and not free else one for one in (target, inputs)]
        return replace(self, target_transform=found[0], input_transform=found[1])

    def check_store(self) -> None:
        """Refuse what needs all rows in memory."""
        asked = {
            "inference='transductive'": self.transductive,
            "inference='cg'": self.refine is not None,
            "learn='anchored'": self.anchored,
            "learn='average'": self.averaging == "average",
            "partition": self.rule != "balanced",
            "combination": self.experts,
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            raise ValueError(
                f"{', '.join(named)}: this needs all rows in memory, and store={self.store!r} "
                "keeps them on disk. Leave one of them out"
            )

    def with_known_noise(self) -> Settings:
        """Take rows with noise variances: noise beside them is constant, and y is as it came."""
        asked = {
            "noise='varying'": self.scale_always,
            "noise of several values": self.noise is not None and np.ptp(self.noise) > 0.0,
            "learn='average'": self.averaging == "average",
            "transform of y": self.target_transform not in (None, "auto"),
            "store": self.store is not None,
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            raise ValueError(f"noise_variance does not go with {', '.join(named)}: leave one out")
        return replace(self, errors="constant", averaging="", target_transform=None)

    def averages(self, shape: tuple[int, ...], p: int) -> bool:
        """Whether the model of (n, d) rows that are one chunk is averaged over hyperparameters."""
        if self.averaging == "average":
            return True
        free = self.kernel is None and self.noise is None and self.trend is None
        free = free and self.can_refine
        free = free and p <= AVERAGED_OUTPUTS
        quick = self.clock.left() > AVERAGING_SECONDS
        return self.averaging == "auto" and free and quick and points_for(*shape) > 0

    @property
    def scale_wanted(self) -> bool:
        """Whether the scale of errors may vary: not where the noise is given."""
        return self.scale_always or (self.errors == "auto" and self.learn and self.noise is None)

    @property
    def scale_always(self) -> bool:
        return self.errors == "varying"

    @property
    def transductive(self) -> bool:
        return self.inference is not None

    def check_averaging(self) -> None:
        """Refuse what learn='average' has no use for."""
        given = {
            "kernel": self.kernel, "noise": self.noise, "anchors": self.anchors,
            "trend": self.trend,
        }  # fmt: skip
        named = [name for name, value in given.items() if value is not None]
        if named or not self.can_refine:
            raise ValueError(
                "learn='average' has priors and a kernel of its own and keeps all rows: leave out "
                + (", ".join(named) or "inference and n_local=0")
            )

    @property
    def query_size(self) -> int | None:
        """Query points of one transductive batch, where the user gave their number."""
        return None if self.inference is None else number_or_auto(self.inference.query_size, "")

    @property
    def screening(self) -> float:
        return 0.0 if self.inference is None else self.inference.screening

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
        in_memory = self.keeps_rows and self.store is None
        return not self.transductive and not self.experts and in_memory

    @property
    def experts(self) -> bool:
        """Whether chunks answer as experts of their own."""
        return self.combination is not None

    def labels(self, n: int) -> Array | None:
        """The given labels as numbers of chunks; None where a rule makes the chunks."""
        if self.given_labels is None:
            return None
        if self.given_labels.shape != (n,):
            raise ValueError(
                f"partition gives {self.given_labels.size} labels for {n} rows: give one per row"
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

    def anchor_budget(self) -> int:
        """Anchors of a stream, at most."""
        return self.n_anchors or self.anchor_count(10**9)

    def query_points(self, dof: float) -> int:
        """Points of one transductive batch: twice the degrees of freedom, 200 to 1000."""
        if not self.transductive:
            return 0
        return self.query_size or int(np.clip(2.0 * dof, 200, 1000))

    def communication_rows(self, n: int, size: int) -> int:
        """Rows that all experts of a GRBCM share: as many as a chunk has (Liu et al. 2018)."""
        return min(self.communication or size, n - 1)

    def local_rows(self, d: int) -> int:
        return nearest_rows(d) if self.n_local is None else self.n_local

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
        check_square(n_anchors, "anchors")
        check_square(min(self.local_rows(d), n), "n_local")
        check_square(self.query_size or 0, "query_size")

    def enough(self) -> int:
        """Rows of a stream that wait before anchors and hyperparameters are learnt."""
        ready = self.anchors is not None or (self.experts and self.combination != "grbcm")
        if ready and not self.learn:
            return 0
        return max(self.chunk_size or EXACT, 4 * (self.n_anchors or self.communication or 0))


def nearest_rows(d: int) -> int:
    """Nearest rows that correct a prediction, of d columns, by default."""
    return min(400, 100 + 50 * d)


def store_path(value: Any) -> str | None:
    """A path that means the same from any working directory."""
    if value is None:
        return None
    try:
        return os.path.abspath(os.fspath(value))
    except TypeError:
        raise ValueError(f"store={value!r}: give the path of a folder, or None") from None


def anchors_asked(value: Any, rule: str = "kmeans") -> tuple[str, int | None, Array | None]:
    """The rule that chooses anchors, their number if given, or the anchors themselves."""
    if isinstance(value, Select):
        rule = one_of(value.rule, "rule of anchors=Select(…)", tuple(SELECTION))
        return rule, number_or_auto(value.m, "m of anchors=Select(…)"), None
    if is_auto(value):
        return rule, None, None
    if isinstance(value, Integral):
        return rule, whole_number(value, "anchors"), None
    return rule, None, _given_anchors(value)


def _given_anchors(value: Any) -> Array:
    try:
        Z = np.array(value, dtype=float) if not np.iscomplexobj(value) else np.empty(0)
    except (TypeError, ValueError):
        Z = np.empty(0)
    if Z.ndim != 2 or Z.shape[0] < 1 or not np.isfinite(Z).all():
        raise ValueError(
            "anchors: give 'auto', their number, collegium.Select(rule, m), or a finite array of "
            "shape (m, d) with m of at least 1"
        )
    return Z


def _inference(value: Any) -> tuple[Transductive | None, CG | None]:
    """The joint committee over queries, and conjugate gradients; None where not asked for."""
    named = {"inductive": Inductive(), "transductive": Transductive(), "cg": CG()}
    if isinstance(value, str) and value in named:
        value = named[value]
    if isinstance(value, Transductive):
        number_or_auto(value.query_size, "query_size of inference=Transductive(…)")
        tolerance(value.screening, "screening of inference=Transductive(…)")
        return value, None
    if isinstance(value, CG):
        tolerance(value.tol, "tol of inference=CG(…)")
        whole_number(value.max_iter, "max_iter of inference=CG(…)")
        return None, value
    if not isinstance(value, Inductive):
        raise ValueError(
            f"inference={value!r}: give one of {tuple(named)}, or collegium.Inductive(sweeps), "
            "Transductive(query_size, screening, sweeps) or CG(tol, max_iter)"
        )
    return None, None


def transforms_asked(value: Any) -> tuple[str | None, str | None]:
    """Transforms of y and of X: "auto", a kind, or None."""
    if isinstance(value, Transform):
        if value.y is not None:
            one_of(value.y, "y of transforms=Transform(…)", ("auto", *KINDS))
        if value.X is not None:
            one_of(value.X, "X of transforms=Transform(…)", ("auto", "rank"))
        return value.y, value.X
    if value is None:
        return None, None
    if not isinstance(value, str) or value not in ("auto", *KINDS):
        raise ValueError(
            f"transforms={value!r}: give one of {('auto', *KINDS)} for y, None, or "
            "collegium.Transform(y, X)"
        )
    return value, "auto"
