"""The arguments of a committee, checked and resolved."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..averaging.averaged import points_for
from ..interface.checks.arguments import LEARN, check_square, check_verbose, choose_engine
from ..interface.checks.limits import limits_allowed
from ..interface.frames.encoded import Columns
from ..numerics.clock import Clock
from .asked import (
    AnchorsAsked,
    AnswersAsked,
    ChunksAsked,
    LearningAsked,
    MembersAsked,
    PriorAsked,
    TransformsAsked,
)

Array = np.ndarray
#: Up to this many rows are one chunk by default: the exact GP.
EXACT = 2000
#: Seconds that a fit may take, at least, if transforms are to be chosen: that takes about two.
TIME_TO_CHOOSE = 30.0
#: By default a model is averaged where it has no more outputs.
AVERAGED_OUTPUTS = 4
#: What estimators take that lack an argument.
DEFAULTS = {
    "kernel": None, "noise": "constant", "learn": True, "inference": "inductive",
    "combination": None, "communication": "auto", "chunks": "auto", "anchors": "auto",
    "n_local": "auto", "limits": None, "engine": None, "n_jobs": None, "verbose": 0,
    "transforms": None, "store": None, "trend": None, "members": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments by subject, and what follows from several of them."""

    prior: PriorAsked
    learning: LearningAsked
    chunks: ChunksAsked
    anchors: AnchorsAsked
    answers: AnswersAsked
    transforms: TransformsAsked
    clock: Clock  # started when the arguments were read
    memory_limit: float  # bytes
    engine: Any
    members: MembersAsked
    store: str | None = None  # the folder of rows that are not kept in memory

    @classmethod
    def of(
        cls, estimator: Any, words: tuple[str, ...] = ("constant",),
        ways: tuple[str, ...] = LEARN, **fixed: Any,
    ) -> Settings:  # fmt: skip
        """Read an estimator's arguments; `fixed` stand in place of its own.

        `words`, `ways`: how noise and hyperparameters may be learnt.
        """
        a = {**DEFAULTS, **estimator.get_params(deep=False), **fixed}
        check_verbose(a["verbose"])
        seconds, memory_limit = limits_allowed(a["limits"])
        settings = cls(
            prior=PriorAsked.of(a, words, ways),
            learning=LearningAsked.of(a["learn"]),
            chunks=ChunksAsked.of(a["chunks"]),
            anchors=AnchorsAsked.of(a["anchors"], a.get("selection", "kmeans")),
            answers=AnswersAsked.of(a),
            transforms=TransformsAsked.of(a["transforms"]),
            clock=Clock(seconds),
            memory_limit=memory_limit,
            engine=choose_engine(a["engine"], a["n_jobs"]),
            members=MembersAsked.of(a["members"]),
            store=store_path(a["store"]),
        )
        if not settings.may_transform:
            settings = replace(settings, transforms=settings.transforms.without_auto())
        if settings.store is not None:
            settings.check_store()
        if settings.learning.averaging == "average":
            settings.check_averaging()
        if settings.answers.refine and not settings.can_refine:
            raise ValueError(
                "inference='cg' needs the rows, and n_local=0 keeps none: leave one of them out"
            )
        return settings

    def for_columns(self, seen: Columns) -> Settings:
        """Find columns of kernel and trend by name, and mark columns of levels."""
        return replace(self, prior=self.prior.for_columns(seen))

    def placed(self, places: Callable[[Array], Array]) -> Settings:
        """Transform given anchors as inputs are."""
        Z = self.anchors.Z
        return self if Z is None else replace(self, anchors=replace(self.anchors, Z=places(Z)))

    @property
    def may_transform(self) -> bool:
        """Whether transforms may be chosen: nothing is given that they would change, and there is
        time."""
        free = self.prior.free and self.anchors.Z is None
        return self.learning.on and free and self.clock.limit >= TIME_TO_CHOOSE

    def check_store(self) -> None:
        """Refuse what needs all rows in memory."""
        asked = {
            "inference='transductive'": self.answers.transductive,
            "inference='cg'": self.answers.refine is not None,
            "learn='anchored'": self.learning.anchored,
            "learn='average'": self.learning.averaging == "average",
            f"chunks cut by {self.chunks.rule!r}": self.chunks.rule != "balanced",
            "combination": self.answers.experts,
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            raise ValueError(
                f"{', '.join(named)}: this needs all rows in memory, and store={self.store!r} "
                "keeps them on disk. Leave one of them out"
            )

    def with_known_noise(self) -> Settings:
        """Take rows with noise variances: noise beside them is constant, and y is as it came."""
        noise = self.prior.noise
        asked = {
            "noise='varying'": self.prior.varying,
            "noise of several values": noise is not None and np.ptp(noise) > 0.0,
            "learn='average'": self.learning.averaging == "average",
            "transform of y": self.transforms.y not in (None, "auto"),
            "store": self.store is not None,
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            raise ValueError(f"noise_variance does not go with {', '.join(named)}: leave one out")
        return replace(
            self,
            prior=replace(self.prior, errors="constant"),
            learning=replace(self.learning, averaging=""),
            transforms=replace(self.transforms, y=None),
        )

    def check_grouped(self) -> None:
        """Refuse groups of rows where no errors are learnt from held-out rows."""
        if self.store is not None:
            raise ValueError(
                f"groups needs all rows in memory, and store={self.store!r} keeps them on disk. "
                "Leave one of them out"
            )
        if not self.scale_wanted:
            raise ValueError(
                "groups is for errors that are learnt from held-out rows: leave out noise, "
                "noise_variance and learn=False, or leave out groups"
            )

    def check_members(self) -> None:
        """Refuse members where nothing can be weighed."""
        if not self.scale_wanted:
            raise ValueError(
                "members are weighed by errors at held-out rows, and noise or learn=False leave "
                "none to learn: leave out one of them"
            )
        if self.answers.transductive or self.answers.experts:
            raise ValueError(
                "members stand beside a committee whose answers do not depend on each other: leave "
                "out members, or inference='transductive'"
            )

    def check_averaging(self) -> None:
        """Refuse what learn='average' has no use for."""
        given = {
            "kernel": self.prior.kernel, "noise": self.prior.noise, "anchors": self.anchors.Z,
            "trend": self.prior.trend,
        }  # fmt: skip
        named = [name for name, value in given.items() if value is not None]
        if named or not self.can_refine:
            raise ValueError(
                "learn='average' has priors and a kernel of its own and keeps all rows: leave out "
                + (", ".join(named) or "inference and n_local=0")
            )

    def averages(self, shape: tuple[int, ...], p: int) -> bool:
        """Whether the model of (n, d) rows that are one chunk is averaged over hyperparameters."""
        if self.members.by_name and self.learning.averaging != "average":
            return False
        if self.learning.averaging == "average":
            return True
        free = self.prior.free and self.can_refine and p <= AVERAGED_OUTPUTS
        return self.learning.averaging == "auto" and free and points_for(*shape) > 0

    @property
    def scale_wanted(self) -> bool:
        """Whether the scale of errors may vary: not where the noise is given."""
        prior = self.prior
        free = prior.errors == "auto" and self.learning.on and prior.noise is None
        return prior.varying or free

    @property
    def can_refine(self) -> bool:
        """Whether means may go on to those of the exact GP."""
        return self.answers.corrected and not self.answers.experts and self.store is None

    @property
    def may_refine(self) -> bool:
        """Whether they do where that was asked for, or there is time."""
        return self.can_refine and (self.answers.auto or self.answers.refine is not None)

    def chunk_rows(self, n: int, *, streaming: bool = False) -> int:
        """Rows in a chunk; a stream does not know how many will come."""
        if self.chunks.size is not None:
            return self.chunks.size
        if n <= EXACT and not streaming:
            return max(n, 1)
        return 1000 if self.answers.transductive else 500

    def anchor_count(self, n: int, dof: float = np.inf, *, most: int | None = None) -> int:
        """Twice the degrees of freedom, at least 20, at most 200 (500 where no raw rows correct
        the anchors), and not above a tenth of the rows."""
        most = most or (200 if self.answers.corrected else 500)
        return self.anchors.m or int(min(np.clip(2.0 * dof, 20, most), max(n // 10, 20)))

    def anchor_budget(self) -> int:
        """Anchors of a stream, at most."""
        return self.anchor_count(10**9)

    def check_sizes(self, n: int, d: int, largest_chunk: int) -> None:
        """Refuse what does not fit the rows, or no dense factorisation could hold."""
        self.anchors.check_columns(d)
        self.prior.check_columns(d)
        check_square(min(largest_chunk, n), "chunks")
        Z = self.anchors.Z
        check_square(min(self.anchor_count(n), n) if Z is None else len(Z), "anchors")
        self.answers.check_sizes(n, d)

    def enough(self) -> int:
        """Rows of a stream that wait before anchors and hyperparameters are learnt."""
        a = self.answers
        ready = self.anchors.Z is not None or (a.experts and a.combination != "grbcm")
        if ready and not self.learning.on:
            return 0
        return max(self.chunks.size or EXACT, 4 * (self.anchors.m or a.communication or 0))


def store_path(value: Any) -> str | None:
    """A path that means the same from any working directory."""
    if value is None:
        return None
    try:
        return os.path.abspath(os.fspath(value))
    except TypeError:
        raise ValueError(f"store={value!r}: give the path of a folder, or None") from None
