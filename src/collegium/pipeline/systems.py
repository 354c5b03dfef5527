"""The likelihood decides the system: sums that are exact at once, or sums that are swept.

A system knows what differs by likelihood: which arguments and rows it takes, how it fits them and
adds more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..errors.mass import warn_of_masses
from ..interface.checks.arguments import NOISES, is_auto
from ..interface.checks.groups import check_groups
from ..interface.checks.limits import answer_time_allowed
from ..interface.checks.rows import check_exposure, check_noise_variance, check_rows, check_weights
from ..interface.frames.sources import Blocks, origin_of
from ..likelihoods.base import Observation, Scalar
from ..likelihoods.conformance import check_methods
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.targets.support import SIGNS
from ..likelihoods.targets.units import exposed
from ..members.own import check_member_weights
from ..numerics.fingerprint import fingerprint
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from ..rows.store.records import Block
from ..transforms.choosing import choose
from ..transforms.warping import Warping
from . import exact
from .fitting import fit_model, still_good, warped
from .job import Job
from .model import CommitteeModel
from .seasons import with_seasons
from .settings import Settings
from .stream import adding
from .swept import adding as swept_adding
from .swept.model import SweptModel
from .swept.settings import refuse_answer_time, regression_settings, sweeps_asked, sweeps_of
from .swept.steps import fit_regression
from .swept.sweeping import Sweeping

Array = np.ndarray
#: Likelihoods of a regressor's y, by name.
LIKELIHOODS = {name: own for name, own in Scalar.named().items() if own.support != SIGNS}
GAUSSIAN = "gaussian"


class SystemBase:
    """Steps from rows to a model that differ by likelihood, as they are where they do not."""

    def counting(self, rows: Rows) -> Rows:
        """Drop rows without influence: those of classes of weight zero."""
        return rows

    def knowing(self, rows: Rows) -> Any:
        """Read from all rows what a sample of them may not show."""
        return self

    def again(self, model: Any) -> Any:
        """Read from a fitted model what is known of its rows, before these are fitted again."""
        return self

    def rows_of(self, model: Any) -> Rows:
        """The rows that a model kept, as they came."""
        return model.rows()

    def choose(
        self, rows: Rows, settings: Settings, say: Any, stop: Callable[[], bool], *, more: bool
    ) -> Warping:
        """Choose transforms by the log density of held-out rows."""
        s = settings
        return choose(
            rows, s.transforms.y, s.transforms.X, s.engine, say, more=more, levels=s.prior.levels,
            stop=stop,
        )  # fmt: skip


@dataclass(frozen=True)
class ExactFit(SystemBase):
    """Gaussian noise: messages add up once, and that is exact."""

    multi_output: bool = True
    positive: bool = False

    def settings(self, estimator: Any, *, known: bool = False) -> Settings:
        """Read the arguments; `known`: rows have noise variances of their own."""
        settings = Settings.of(estimator, NOISES, ("auto", "average", "anchored"))
        if answer_time_allowed(estimator.n_local) is not None:
            check_answer_time(settings.answers.transductive, settings.answers.keeps_rows)
        if settings.members.by_name:
            settings.check_members()
        return settings.with_known_noise() if known else settings

    def rows(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, exposure: Any,
        noise_variance: Any = None, *, reset: bool,
    ) -> tuple[Rows, int]:  # fmt: skip
        """Validate rows; and count the dimensions that y came with."""
        check_exposure(exposure, 0, Gaussian())
        rows, y_ndim = check_rows(estimator, X, y, sample_weight, reset=reset)
        check_member_weights(getattr(estimator, "members", None), rows.w)
        return check_noise_variance(noise_variance, rows), y_ndim

    def grouped(self, rows: Rows, groups: Any, settings: Settings) -> Rows:
        """Note the groups that rows come in."""
        if groups is not None:
            settings.check_grouped()
        return check_groups(groups, rows)

    def blocks(self, estimator: Any, blocks: Blocks) -> tuple[ExactFit, Iterable[Block], str]:
        """Prepare rows of a source for a store: the system that fits them, the rows, and a hash of
        where they come from."""
        return self, blocks, origin_of(blocks.source)

    def fit(self, job: Job) -> CommitteeModel:
        if job.earlier is None:
            y = job.rows.y if job.warping is None else job.warping.backward(job.rows.y)
            warn_of_masses(y, job.rows.w)
        job = with_seasons(job)
        return fit_model(exact.ExactSteps(), warped(job, self.choose, still=still_good(job)))

    def add(self, model: CommitteeModel, job: Job, check: Any) -> CommitteeModel:
        return adding.add_rows(model, job, check)

    def matches(self, model: Any) -> bool:
        """Whether a model was fitted by this system."""
        return isinstance(model, CommitteeModel)


@dataclass(frozen=True)
class SweptFit(SystemBase):
    """A likelihood that is not Gaussian: chunks are approximated in sweeps."""

    likelihood: Scalar
    sweeping: Sweeping
    uneven: bool | None = None  # whether any row has another exposure than one, if it is known

    multi_output = False

    @property
    def positive(self) -> bool:
        return self.likelihood.support.low >= 0.0

    def settings(self, estimator: Any, *, known: bool = False) -> Settings:
        if known:
            raise ValueError(
                f"noise_variance means nothing with likelihood={estimator.likelihood!r}: leave it "
                "out"
            )
        return regression_settings(estimator, self.likelihood)

    def rows(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, exposure: Any,
        noise_variance: Any = None, *, reset: bool,
    ) -> tuple[Rows, int]:  # fmt: skip
        """Validate rows: y (n, 1), or counts and exposures (n, 2)."""
        rows, y_ndim = check_rows(estimator, X, y, sample_weight, reset=reset)
        check_weights(rows.w, MOST_COPIES)
        refuse_outputs(estimator, rows.y.shape[1])
        if y_ndim == 2:
            column_or_1d(rows.y, warn=True)
        e = check_exposure(exposure, rows.X.shape[0], self.likelihood)
        self.likelihood.accept(rows.y)
        if not self.likelihood.takes_exposure:
            return rows, 1
        return Rows(rows.X, np.column_stack([rows.y, e]), rows.w), 1

    def grouped(self, rows: Rows, groups: Any, settings: Settings) -> Rows:
        if groups is not None:
            raise ValueError(
                "groups is for likelihood='gaussian': other likelihoods hold rows out one at a "
                "time. Leave one of them out"
            )
        return rows

    def blocks(self, estimator: Any, blocks: Blocks) -> tuple[SweptFit, Iterable[Block], str]:
        refuse_outputs(estimator, len(blocks.source.target))
        origin = origin_of(blocks.source)
        origin = origin and fingerprint(origin, self.likelihood.takes_exposure)
        return self, Counted(blocks, self.likelihood), origin

    def knowing(self, rows: Rows) -> SweptFit:
        return replace(self, uneven=exposed(rows.y))

    def again(self, model: SweptModel) -> SweptFit:
        return replace(self, uneven=model.units.exposed) if model.stored is not None else self

    def fit(self, job: Job) -> SweptModel:
        uneven = False if self.uneven is None and job.on_disk is not None else self.uneven
        return fit_regression(job, self.likelihood, self.sweeping, uneven=uneven)

    def add(self, model: SweptModel, job: Job, check: Any) -> SweptModel:
        return swept_adding.add_swept_rows(model, job)

    def matches(self, model: Any) -> bool:
        return isinstance(model, SweptModel) and self.likelihood == model.sum.asked


def system_for(estimator: Any) -> ExactFit | SweptFit:
    """Choose the system by the likelihood that a regressor was asked for."""
    asked, sweeping = estimator.likelihood, sweeps_asked(estimator.inference)
    if isinstance(asked, str) and asked == GAUSSIAN:
        if not is_auto(sweeps_of(estimator.inference)):
            raise ValueError(
                f"sweeps of inference={type(estimator.inference).__name__}(…) means nothing with "
                "likelihood='gaussian', where messages do not move: leave it out"
            )
        return ExactFit()
    if isinstance(asked, str) and asked in LIKELIHOODS:
        return SweptFit(LIKELIHOODS[asked](), sweeping)
    if isinstance(asked, Scalar) and asked.support:
        check_methods(asked)
        return SweptFit(asked, sweeping)
    if isinstance(asked, type) and issubclass(asked, Observation):
        raise ValueError(f"likelihood={asked!r} is a class: give an instance, {asked.__name__}()")
    raise ValueError(
        f"likelihood={asked!r}: give one of {tuple(LIKELIHOODS)}, or a likelihood of "
        "collegium.likelihoods with one latent function"
    )


def system_of(model: Any, estimator: Any) -> ExactFit | SweptFit:
    """The system by which a model was fitted, whatever the arguments say by now."""
    if isinstance(model, CommitteeModel):
        return ExactFit()
    return SweptFit(model.sum.asked, sweeps_asked(estimator.inference))


def check_answer_time(transductive: bool, keeps_rows: bool) -> None:
    """Refuse n_local=AnswerTime(…) where nothing can be chosen."""
    if transductive:
        raise ValueError(
            "n_local=AnswerTime(…) is for inference='inductive', where answers do not depend on "
            "each other: leave one of them out"
        )
    if not keeps_rows:
        raise ValueError(
            "n_local=AnswerTime(…) means nothing in a model of n_local=0, where answers are of the "
            "anchors alone, and quick: leave one of them out"
        )


def check_fitted_answer_time(model: Any) -> None:
    """Refuse n_local=AnswerTime(…) where a fitted model has no choice."""
    if not isinstance(model, CommitteeModel):
        refuse_answer_time()
    check_answer_time(model.sizes.query_size > 0, model.sizes.n_local > 0)


def refuse_outputs(estimator: Any, count: int) -> None:
    """Refuse several outputs, where a likelihood has one."""
    if count > 1:
        raise ValueError(
            f"y has {count} outputs, but with likelihood={estimator.likelihood!r} it has one: fit "
            "one model each"
        )


@dataclass(frozen=True, eq=False)
class Counted:
    """Blocks of a source whose y a likelihood takes, with an exposure of one where it knows any."""

    blocks: Iterable[Block]
    likelihood: Scalar

    def __iter__(self) -> Iterator[Block]:
        for X, y, w, first in self.blocks:
            y = np.asarray(y, np.float64)
            check_weights(w, MOST_COPIES)
            self.likelihood.accept(y)
            if self.likelihood.takes_exposure:
                y = np.column_stack([y, np.ones(y.shape[0])])
            yield X, y, w, first
