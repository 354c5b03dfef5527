"""From rows in arrays, files or a store to the model of CommitteeRegressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..interface.tables import (
    Blocks,
    arrays_of,
    fits_memory,
    origin_of,
    refuse_beyond_memory,
    told_columns,
)
from ..interface.validation import check_exposure, check_rows
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..numerics.fingerprint import fingerprint
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..sources.source import Skipped, Source
from .arguments import Settings
from .fitting import GaussianSystem, fit_model, warped
from .job_fitting import fit_job
from .latent_arguments import check_latent_rows, regression_settings, sweeps_asked
from .latent_fitting import fit_regression
from .stored_fitting import fit_stored, store_and_fit


class FromRows:
    """Rows in arrays, in a `Source`, or in a store -> `model_`."""

    skipped_: list[Skipped]

    def _fit_source(self: Any, source: Source, settings: Settings, given: Scalar | None) -> None:
        """The model of the rows of a source."""
        n = source.n_rows
        small = n <= settings.chunk_rows(n)
        if settings.store is not None and not small:
            if given is not None:
                raise ValueError(
                    f"store is for likelihood='gaussian': {given!r} needs all rows in memory"
                )
            self.y_ndim_ = 1 if len(source.target) == 1 else 2
            say = self._say()
            blocks, origin = Blocks(source, say), origin_of(source)
            self._keep(store_and_fit(self, settings, blocks, n, origin, say))
            blocks.find_skipped()
        else:
            if not (small or fits_memory(source, settings.memory_limit)):
                refuse_beyond_memory(source, settings.memory_limit, "give store='some.rows'")
            self._fit_rows(settings, given, *arrays_of(source), None)
        told_columns(self, source)
        self.skipped_ = list(source.skipped)

    def _stored_of(self: Any, settings: Settings, rows: Rows) -> Any:
        """The model of rows in memory that are to be kept on disk."""
        rows = rows.take(rows.w > 0)
        origin = fingerprint(*rows.fields())
        blocks = [(*rows.fields(), 0)]
        return store_and_fit(self, settings, blocks, rows.w.size, origin, self._say())

    def _relearnt_on_disk(self: Any, settings: Settings) -> Any:
        stored = self.model_.stored
        store = stored.own()
        settings = replace(settings, store=stored.path)
        return fit_stored(self, settings, store, self.model_.warping, self._say())

    def _fit_rows(self: Any, settings, likelihood, X, y, sample_weight, exposure) -> None:
        rows, self.y_ndim_ = self._rows(likelihood, X, y, sample_weight, exposure, reset=True)
        labels = settings.labels(rows.X.shape[0])
        self._keep(self._made_of(settings, rows, likelihood, labels=labels))

    def _made_of(self: Any, settings, rows: Rows, likelihood, **stream: Any) -> Any:
        """The model of rows."""
        if settings.store is not None:
            n, streaming = rows.w.size, stream.get("streaming", False)
            many = n >= settings.enough() if streaming else n > settings.chunk_rows(n)
            if likelihood is None and many:
                return self._stored_of(settings, rows)
            settings = replace(settings, store=None)
        job = fit_job(self, settings, rows, **stream)
        with single_threaded():
            if likelihood is None:
                return fit_model(GaussianSystem(), warped(job))
            return fit_regression(job, likelihood, sweeps_asked(self.sweeps))

    def _settings(self: Any, likelihood: Scalar | None) -> Settings:
        return Settings.of(self) if likelihood is None else regression_settings(self, likelihood)

    def _rows(self: Any, likelihood, X, y, sample_weight, exposure, *, reset) -> tuple[Rows, int]:
        if likelihood is not None:
            rows = check_latent_rows(self, likelihood, X, y, sample_weight, exposure, reset=reset)
            return rows, 1
        check_exposure(exposure, 0, Gaussian())
        return check_rows(self, X, y, sample_weight, reset=reset)
