"""Base of fitted records: what estimators ask of them, in the units of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..answers.answers import Answers
from ..kernels import Kernel
from ..likelihoods.base import Scalar
from ..likelihoods.targets.units import Units
from ..rows.rows import Rows
from ..rows.scaling import Scaling

Array = np.ndarray


def without_rows(model: Any) -> Any:
    """Drop rows that answers do not need: those that a stream relearns from."""
    if hasattr(model, "without_rows"):
        return model.without_rows()
    return replace(model, **dict.fromkeys(getattr(model, "for_streams", ())))


class Model:
    """A fitted record of arrays, numbers and strings.

    A subclass has the kernel, one likelihood per output and the units of the targets it was
    fitted to, the weight of all rows, `log_evidence()` of each output and `predictor()`.
    """

    kernel: Kernel
    likelihoods: tuple[Scalar, ...]
    units: Units
    total_weight: float
    #: Fields that keep rows for a stream alone; None where there are none.
    for_streams: ClassVar[tuple[str, ...]] = ()

    def predictor(self) -> Any:
        raise TypeError("abstract model")

    def log_evidence(self) -> Array | float:
        raise TypeError("abstract model")

    def some_inputs(self) -> Array:
        """Rows that were kept, or points where none were, as the predictor sees them  (k, d)."""
        raise TypeError("abstract model")

    def some_targets(self) -> Rows | None:
        """Rows that were kept, in the units of y; None: none were, or their y is no number."""
        return None

    def answers_by(self, predictor: Any) -> Callable[..., Any]:
        """Prepare answers by a predictor in the units of y: a function of queries, `engine`,
        `shift` (added to latent functions) and `offset` (added to y)."""
        return partial(
            getattr(predictor, "answers", Answers), predictor=predictor,
            likelihoods=self.likelihoods, units=self.units, kernel=self.kernel,
        )  # fmt: skip

    @property
    def likelihood_name(self) -> str:
        """The likelihood in words, where it is not Gaussian noise."""
        return ""

    @property
    def known_noise(self) -> bool:
        """Whether rows came with noise variances of their own."""
        return False

    def rows_words(self) -> str:
        """How rows are used, in words that follow their number."""
        return ", used as they are (an exact Gaussian process)"

    @property
    def costly_means(self) -> bool:
        """Whether a mean costs more than a look at anchors or at few rows."""
        return False

    def for_means(self) -> Any:
        """A model of about the same means, which cost less where this one has costly ones."""
        return self

    @property
    def scaling(self) -> Scaling:
        return self.units.scaling

    @property
    def kernel_in_units(self) -> Kernel:
        """The kernel in the units of the first output."""
        return self.kernel.scaled(float(self.scaling.scale[0] ** 2))

    @property
    def noise_in_units(self) -> float | Array | None:
        """One number per output where these differ; None where the likelihood has no noise."""
        noise = getattr(self.likelihoods[0], "noise", None)
        if noise is None:
            return None
        each = noise * self.scaling.scale**2
        return float(each[0]) if np.ptp(each) == 0.0 else each

    @property
    def likelihood_in_units(self) -> Scalar:
        noise = self.noise_in_units
        own: dict[str, Any] = {} if noise is None else {"noise": noise}
        return replace(self.likelihoods[0], **own)

    @property
    def log_evidence_in_units(self) -> float:
        """log p(y | X), summed over outputs."""
        scaled = self.log_evidence() - self.total_weight * np.log(self.scaling.scale)
        return float(scaled.sum())
