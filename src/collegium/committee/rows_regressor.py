"""From rows in arrays, files or a store to the model of CommitteeRegressor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..interface.encoded import columns_of
from ..interface.limits import answer_time_allowed
from ..interface.progress import Progress
from ..interface.tables import (
    Blocks,
    arrays_of,
    encoded_source,
    fits_memory,
    origin_of,
    origin_of_rows,
    refuse_beyond_memory,
)
from ..interface.validation import check_exposure, check_noise_variance, check_rows, check_weights
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.units import exposed
from ..numerics.fingerprint import fingerprint
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from ..rows.store.records import Block
from ..sources.source import Skipped, Source
from .answer_arguments import check_answer_time
from ..pipeline.settings import Settings
from ..pipeline.fitting import GaussianSystem, fit_model, warped
from ..pipeline.job import fit_job, stream_job
from ..pipeline.swept.settings import check_latent_rows, chosen, regression_settings, sweeps_asked
from ..pipeline.swept.system import fit_regression
from ..pipeline.kept.filling import filled_store, fit_stored, store_and_fit
from ..pipeline.swept.stored import fit_stored_regression
from ..pipeline.stream.adding import chunks_of


@dataclass(frozen=True, eq=False)
class Counted:
    """Blocks of a source whose y a likelihood takes: of exposure one, where it knows exposures."""

    blocks: Blocks
    likelihood: Scalar

    def __iter__(self) -> Iterator[Block]:
        for X, y, w, first in self.blocks:
            y = np.asarray(y, np.float64)
            check_weights(w, MOST_COPIES)
            self.likelihood.accept(y)
            if self.likelihood.takes_exposure:
                y = np.column_stack([y, np.ones(y.shape[0])])
            yield X, y, w, first


class FromRows:
    """Rows in arrays, in a `Source`, or in a store -> `model_`."""

    skipped_: list[Skipped]

    def _fit_source(self: Any, source: Source, settings: Settings, given: Scalar | None) -> None:
        """The model of the rows of a source."""
        n = source.n_rows
        small = n <= settings.chunk_rows(n)
        if settings.store is not None and not small:
            self.y_ndim_ = 1 if len(source.target) == 1 else 2
            say = self._say()
            source = encoded_source(self, source)
            settings = settings.for_columns(columns_of(self))
            blocks = Blocks(source, say)
            if given is None:
                self._keep(store_and_fit(self, settings, blocks, n, origin_of(source), say))
            else:
                self._keep(self._latents_of_source(settings, given, blocks, say))
            blocks.find_skipped()
        else:
            if not (small or fits_memory(source, settings.memory_limit)):
                refuse_beyond_memory(source, settings.memory_limit, "give store='some.rows'")
            self._fit_rows(settings, given, *arrays_of(self, source), None)
        self.skipped_ = list(source.skipped)

    def _stored_of(self: Any, settings: Settings, rows: Rows) -> Any:
        """The model of rows in memory that are to be kept on disk."""
        rows = rows.take(rows.w > 0)
        settings = settings.for_columns(columns_of(self))
        origin = origin_of_rows(self, rows)
        blocks = [(*rows.fields(), 0)]
        return store_and_fit(self, settings, blocks, rows.w.size, origin, self._say())

    def _latents_of_source(
        self: Any, settings: Settings, given: Scalar, own: Blocks, say: Progress
    ) -> Any:
        """The model of counts, or of what else is not Gaussian, in a source."""
        source = own.source
        if len(source.target) > 1:
            raise ValueError(
                f"y has {len(source.target)} outputs, but with likelihood={self.likelihood!r} it "
                "has one: fit one model each"
            )
        origin, blocks = origin_of(source), Counted(own, given)
        origin = origin and fingerprint(origin, given.takes_exposure)
        store = filled_store(settings, blocks, source.n_rows, origin, say)
        return fit_stored_regression(self, settings, given, store, say, uneven=False)

    def _stored_latents_of(self: Any, settings: Settings, rows: Rows, given: Scalar) -> Any:
        """The model of rows in memory, whose likelihood is not Gaussian."""
        rows = rows.take(rows.w > 0)
        settings = settings.for_columns(columns_of(self))
        origin, blocks, say = origin_of_rows(self, rows), [(*rows.fields(), 0)], self._say()
        store = filled_store(settings, blocks, rows.w.size, origin, say)
        return fit_stored_regression(self, settings, given, store, say, uneven=exposed(rows.y))

    def _relearnt_on_disk(self: Any, settings: Settings) -> Any:
        model = self.model_
        store = getattr(model.stored, "rows", model.stored).own()
        settings = replace(settings, store=str(store.path))
        settings = settings.for_columns(columns_of(self))
        if model.given is None:
            return fit_stored(self, settings, store, model.warping, self._say())
        uneven = model.units.exposed
        return fit_stored_regression(self, settings, model.given, store, self._say(), uneven=uneven)

    def _chunks_again(self: Any, id: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        model, likelihood = self.model_, chosen(self)
        if model.sizes and model.ids.receipt(id) is None:
            return super()._chunks_again(id, X, y, sample_weight)  # type: ignore[misc]
        rows, _ = self._rows(likelihood, X, y, sample_weight, None, reset=False)
        return chunks_of(stream_job(self, self._settings(likelihood), rows, id), model)

    def _fit_rows(
        self: Any, settings, likelihood, X, y, sample_weight, exposure, noise_variance=None
    ) -> None:
        rows, self.y_ndim_ = self._rows(likelihood, X, y, sample_weight, exposure, reset=True)
        rows = check_noise_variance(noise_variance, rows)
        labels = settings.labels(rows.X.shape[0])
        self._keep(self._made_of(settings, rows, likelihood, labels=labels))

    def _made_of(self: Any, settings, rows: Rows, likelihood, **stream: Any) -> Any:
        """The model of rows."""
        if settings.store is not None:
            n, streaming = rows.w.size, stream.get("streaming", False)
            many = n >= settings.enough() if streaming else n > settings.chunk_rows(n)
            if many and likelihood is None:
                return self._stored_of(settings, rows)
            if many:
                return self._stored_latents_of(settings, rows, likelihood)
            settings = replace(settings, store=None)
        job = fit_job(self, settings, rows, **stream)
        with single_threaded():
            if likelihood is None:
                return fit_model(GaussianSystem(), warped(job))
            return fit_regression(job, likelihood, sweeps_asked(self.sweeps))

    def _relearnt(self: Any) -> Any:
        """The model of the rows that were kept, learnt anew."""
        model = self.model_
        likelihood, sizes = model.given, model.sizes
        settings = self._settings(likelihood, known=getattr(model, "known_noise", False))
        if getattr(model, "stored", None) is not None:
            return self._relearnt_on_disk(settings)
        if not sizes:
            raise ValueError(
                "no rows were kept (n_local=0): relearn needs a model fitted with n_local > 0"
            )
        labels = np.repeat(np.arange(len(sizes)), sizes) if settings.rule == "label" else None
        owners = model.given_owners() if labels is None else None
        return self._made_of(settings, model.rows(), likelihood, labels=labels, owners=owners)

    def _settings(self: Any, likelihood: Scalar | None, *, known: bool = False) -> Settings:
        """`known`: rows have noise variances of their own."""
        if likelihood is None:
            settings = Settings.of(self)
            if answer_time_allowed(self.answer_time) is not None:
                check_answer_time(
                    gaussian=True, transductive=settings.transductive,
                    keeps_rows=settings.keeps_rows,
                )  # fmt: skip
            return settings.with_known_noise() if known else settings
        if answer_time_allowed(self.answer_time) is not None:
            check_answer_time(gaussian=False, transductive=False, keeps_rows=True)
        if known:
            raise ValueError(
                f"noise_variance means nothing with likelihood={self.likelihood!r}: leave it out"
            )
        return regression_settings(self, likelihood)

    def _rows(self: Any, likelihood, X, y, sample_weight, exposure, *, reset) -> tuple[Rows, int]:
        if likelihood is not None:
            rows = check_latent_rows(self, likelihood, X, y, sample_weight, exposure, reset=reset)
            return rows, 1
        check_exposure(exposure, 0, Gaussian())
        return check_rows(self, X, y, sample_weight, reset=reset)
