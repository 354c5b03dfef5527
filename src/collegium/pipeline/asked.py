"""Groups of arguments, each of which reads and checks its own; sizes still open are None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..interface.checks.arguments import (
    check_square,
    given_hyperparameters,
    is_auto,
    label_id,
    learning_asked,
    noise_word,
    number_or_auto,
    one_of,
    partition_rule,
    pool_asked,
    rows_asked,
    tolerance,
    whole_number,
)
from ..interface.frames.encoded import Columns
from ..interface.options import CG, Chunks, Inductive, Select, Transductive, Transform
from ..kernels import Kernel, needs_one_column
from ..learning.anchors import RULES as SELECTION
from ..learning.anchors import CandidatePool, Stop
from ..learning.seasons.search import FoundSeasons
from ..learning.trend import Lines
from ..members.boosting import grow_trees
from ..members.own import GivenMember, check_member, is_fitted, train
from ..members.tuning import TUNING as MEMBERS
from ..rows.ids import Owners
from ..transforms.targets import KINDS

Array = np.ndarray
#: Starts of learning, each of which takes as long as the first.
MOST_STARTS = 1000


@dataclass(frozen=True, eq=False)
class PriorAsked:
    """Kernel, noise and trend as they were given."""

    kernel: Kernel | None  # white noise taken out
    one_column: bool  # the kernel is a covariance in one dimension only
    noise: Array | None  # kept as given  (1,) or (p,)
    noise_start: float | None  # from white noise in the kernel
    errors: str  # of NOISES: whether their scale may vary
    trend: Lines | None  # beside the kernel
    levels: tuple[int, ...] = ()  # columns of X that hold codes of levels
    dates: tuple[int, ...] = ()  # columns of X that hold dates, in seconds
    names: tuple[str, ...] | None = None  # of the columns of X, where they have some
    seasons: FoundSeasons | None = None  # from which the trend was made; None: it was given

    @classmethod
    def of(cls, a: dict[str, Any], words: tuple[str, ...], ways: tuple[str, ...]) -> PriorAsked:
        """Read `kernel`, `noise` and `trend`; `words`, `ways`: how noise and hyperparameters may
        be learnt."""
        learn, _ = learning_asked(a["learn"])
        kernel, noise, start = given_hyperparameters(a["kernel"], a["noise"], learn, words, ways)
        return cls(
            kernel, needs_one_column(a["kernel"]), noise, start, noise_word(a["noise"], words),
            Lines.asked(a["trend"]),
        )  # fmt: skip

    def for_columns(self, seen: Columns) -> PriorAsked:
        """Find columns of kernel and trend by name, and mark columns of levels."""
        kernel = None if self.kernel is None else seen.known_to(self.kernel)
        trend = None if self.trend is None else self.trend.on_columns(seen.names, seen.levels)
        return replace(
            self, kernel=kernel, trend=trend, levels=tuple(seen.levels), dates=seen.dates,
            names=seen.names,
        )  # fmt: skip

    @property
    def free(self) -> bool:
        """Whether kernel, noise and trend are all to be learnt."""
        return self.kernel is None and self.noise is None and self.trend is None

    @property
    def varying(self) -> bool:
        """Whether the scale of errors varies in any case."""
        return self.errors == "varying"

    def check_columns(self, d: int) -> None:
        if self.one_column and d > 1:
            raise ValueError(
                f"kernel has an ExpSineSquared, which is no covariance on {d} columns: give "
                "collegium.kernels.Periodic, a product over columns"
            )


@dataclass(frozen=True)
class LearningAsked:
    """How hyperparameters are learnt."""

    on: bool
    anchored: bool  # learn on by the committee's own evidence
    averaging: str  # over hyperparameters: "average", "auto" (where rows are few), or "" (never)
    n_starts: int

    @classmethod
    def of(cls, value: Any) -> LearningAsked:
        how, n_starts = learning_asked(value)
        word = how if isinstance(how, str) else ""
        starts = whole_number(n_starts, "n_starts of learn=Learn(…)", most=MOST_STARTS)
        return cls(bool(how), word == "anchored", "" if word == "anchored" else word, starts)


@dataclass(frozen=True, eq=False)
class ChunksAsked:
    """How rows are cut into chunks."""

    rule: str  # a partition rule, or "label"
    given: Array | None  # labels, one per row
    size: int | None

    @classmethod
    def of(cls, value: Any) -> ChunksAsked:
        """Read `chunks`: "auto" or a size, a rule or labels, or Chunks(size, rule)."""
        if isinstance(value, Chunks):
            rule, labels = partition_rule(value.rule, "rule of chunks=Chunks(…)")
            return cls(rule, labels, number_or_auto(value.size, "size of chunks=Chunks(…)"))
        if is_auto(value) or isinstance(value, Integral):
            return cls("balanced", None, number_or_auto(value, "chunks"))
        others = ", a number of rows, 'auto', or collegium.Chunks(size, rule)"
        return cls(*partition_rule(value, "chunks", others), None)

    @property
    def in_order(self) -> bool:
        """Whether the order of rows means something."""
        return self.rule in ("time", "label")

    def labels(self, n: int) -> Owners | None:
        """The given labels as ids of chunks; None where a rule makes the chunks."""
        if self.given is None:
            return None
        if self.given.shape != (n,):
            raise ValueError(
                f"chunks gives {self.given.size} labels for {n} rows: give one per row"
            )
        known, number = np.unique(self.given, return_inverse=True)
        return Owners.labelled([label_id(one) for one in known], number)


@dataclass(frozen=True, eq=False)
class AnchorsAsked:
    """The rule that chooses anchors, their number if given, or the anchors themselves."""

    rule: str
    m: int | None = None
    Z: Array | None = None
    pool: CandidatePool = CandidatePool()

    @classmethod
    def of(cls, value: Any, rule: str = "kmeans") -> AnchorsAsked:
        if isinstance(value, Select):
            rule = one_of(value.rule, "rule of anchors=Select(…)", tuple(SELECTION))
            m = number_or_auto(value.m, "m of anchors=Select(…)")
            pool = pool_asked(rule, value.candidates, value.picks, " of anchors=Select(…)")
            return cls(rule, m, pool=pool)
        if is_auto(value):
            return cls(rule)
        if isinstance(value, Integral):
            return cls(rule, whole_number(value, "anchors"))
        return cls(rule, Z=_given_anchors(value))

    def stop(self, m: int) -> Stop:
        """Stop at m anchors."""
        return Stop(m, pool=self.pool)

    @property
    def free(self) -> bool:
        """Whether their number is ours to choose."""
        return self.m is None and self.Z is None

    def check_columns(self, d: int) -> None:
        if self.Z is not None and self.Z.shape[1] != d:
            raise ValueError(f"the anchors have {self.Z.shape[1]} columns, but X has {d}")


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


@dataclass(frozen=True)
class AnswersAsked:
    """How queries are answered."""

    n_local: int | None
    joint: Transductive | None = None  # None: inductive
    refine: CG | None = None  # means by conjugate gradients, to those of the exact GP
    auto: bool = False  # whether means may be refined where held-out rows gain by it
    combination: str | None = None  # a rule for whole experts; None: messages add up
    communication: int | None = None  # rows that all experts of a GRBCM share

    @classmethod
    def of(cls, a: dict[str, Any]) -> AnswersAsked:
        """Read `inference`, `n_local`, `combination` and `communication`."""
        joint, refine, auto = _inference(a["inference"])
        n_local = rows_asked(a["n_local"])
        if joint is not None and n_local is not None:
            raise ValueError("n_local means nothing with inference='transductive': leave it out")
        shared = number_or_auto(a["communication"], "communication")
        return cls(n_local, joint, refine, auto, a["combination"], shared)

    @property
    def transductive(self) -> bool:
        return self.joint is not None

    @property
    def query_size(self) -> int | None:
        """Query points of one transductive batch, where the user gave their number."""
        return None if self.joint is None else number_or_auto(self.joint.query_size, "")

    @property
    def screening(self) -> float:
        return 0.0 if self.joint is None else self.joint.screening

    @property
    def keeps_rows(self) -> bool:
        return self.n_local != 0

    @property
    def corrected(self) -> bool:
        """Whether raw rows near a query correct what the anchors say."""
        return self.keeps_rows and not self.transductive

    @property
    def experts(self) -> bool:
        """Whether chunks answer as experts of their own."""
        return self.combination is not None

    def local_rows(self, d: int) -> int:
        return nearest_rows(d) if self.n_local is None else self.n_local

    def query_points(self, dof: float) -> int:
        """Points of one transductive batch: twice the degrees of freedom, 200 to 1000."""
        if not self.transductive:
            return 0
        return self.query_size or int(np.clip(2.0 * dof, 200, 1000))

    def communication_rows(self, n: int, size: int) -> int:
        """Rows that all experts of a GRBCM share: as many as a chunk has (Liu et al. 2018)."""
        return min(self.communication or size, n - 1)

    def check_sizes(self, n: int, d: int) -> None:
        check_square(min(self.local_rows(d), n), "n_local")
        check_square(self.query_size or 0, "query_size")


def nearest_rows(d: int) -> int:
    """Nearest rows that correct a prediction, of d columns, by default."""
    return min(400, 100 + 50 * d)


def _inference(value: Any) -> tuple[Transductive | None, CG | None, bool]:
    """The joint committee over queries and conjugate gradients, None where not asked for; and
    whether the latter are left to us."""
    named = {"inductive": Inductive(), "transductive": Transductive(), "cg": CG()}
    if isinstance(value, str) and value == "auto":
        return None, None, True
    if isinstance(value, str) and value in named:
        value = named[value]
    if isinstance(value, Transductive):
        number_or_auto(value.query_size, "query_size of inference=Transductive(…)")
        tolerance(value.screening, "screening of inference=Transductive(…)")
        return value, None, False
    if isinstance(value, CG):
        tolerance(value.tol, "tol of inference=CG(…)")
        whole_number(value.max_iter, "max_iter of inference=CG(…)")
        return None, value, False
    if not isinstance(value, Inductive):
        raise ValueError(
            f"inference={value!r}: give one of {('auto', *named)}, or collegium.Inductive(sweeps), "
            "Transductive(query_size, screening, sweeps) or CG(tol, max_iter)"
        )
    return None, None, False


@dataclass(frozen=True)
class TransformsAsked:
    """Transforms of y and of X: "auto", a kind, or None."""

    y: str | None = None
    X: str | None = None

    @classmethod
    def of(cls, value: Any) -> TransformsAsked:
        if isinstance(value, Transform):
            if value.y is not None:
                one_of(value.y, "y of transforms=Transform(…)", ("auto", *KINDS))
            if value.X is not None:
                one_of(value.X, "X of transforms=Transform(…)", ("auto", "rank"))
            return cls(value.y, value.X)
        if value is None:
            return cls()
        if not isinstance(value, str) or value not in ("auto", *KINDS):
            raise ValueError(
                f"transforms={value!r}: give one of {('auto', *KINDS)} for y, None, or "
                "collegium.Transform(y, X)"
            )
        return cls(value, "auto")

    @property
    def wanted(self) -> bool:
        return self.y is not None or self.X is not None

    def without_auto(self) -> TransformsAsked:
        """Leave what was not asked for by name."""
        return TransformsAsked(*(None if one == "auto" else one for one in (self.y, self.X)))


@dataclass(frozen=True, eq=False)
class MembersAsked:
    """Other opinions beside the committee: trees, or a regressor of the user."""

    on: bool
    auto: bool = False  # only where they are likely to pay
    own: Any = None  # a regressor; None: trees

    @classmethod
    def of(cls, value: Any) -> MembersAsked:
        if value is None:
            return cls(False)
        if isinstance(value, str):
            return cls(True, auto=one_of(value, "members", ("auto", "trees")) == "auto")
        return cls(True, own=check_member(value))

    @property
    def by_name(self) -> bool:
        """Whether they were asked for, and not left to us."""
        return self.on and not self.auto

    @property
    def fixed(self) -> bool:
        """Whether the regressor was fitted before."""
        return self.own is not None and is_fitted(self.own)

    @property
    def words(self) -> str:
        return "trees" if self.own is None else type(self.own).__name__

    def wanted(self, job: Any, model: Any) -> bool:
        """Whether to try them with these rows."""
        if not self.auto or not self.on:
            return self.on
        s, few = job.settings, job.n < MEMBERS.fewest
        free = s.prior.free and s.anchors.Z is None and s.answers.corrected
        return (
            free and not (few or job.streaming) and model.scaling.scale.size <= MEMBERS.most_outputs
        )

    def grower(self, job: Any, model: Any, output: int) -> Callable[..., Any]:
        """Make the function (rows of one output, seed, hopeless) -> member, or None."""
        if self.own is None:
            levels = job.settings.prior.levels
            return lambda rows, seed, *hopeless: grow_trees(rows, levels, seed, *hopeless)
        if self.fixed:
            came = job.rows if job.came is None else job.came
            least = float(came.y[:, output].min())
            found = GivenMember(self.own, model.scaling, model.warping, output, least)
            return lambda rows, seed, *hopeless: found
        return lambda rows, seed, *hopeless: train(self.own, rows, *hopeless)
