"""What is read from a fitted committee."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..interface.effects import Explained
from ..interface.estimator import fitted
from ..likelihoods.base import Scalar
from ..transforms.warping import WarpedAnswers

Array = np.ndarray


class Fitted(Explained):
    """Attributes of CommitteeRegressor that read `model_`."""

    model_: Any

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y; of counts None.")
    n_dropped_ = fitted("n_dropped", "Anchors of a stream that were dropped at the budget.")
    n_relearnt_ = fitted("n_relearnt", "How often a stream without rows was learnt anew.")
    anchors_ = fitted("anchors", "Array of shape (m, d).")
    n_chunks_ = fitted("n_chunks", "Chunks of rows.")
    chunk_ids_ = fitted("chunk_ids", "Ids of all chunks: numbers, and names that were given.")
    basis_id_ = fitted("basis_id", "Hash of kernel, noise, anchors and scaling of y.")
    chunk_size_ = fitted("chunk_size", "Rows in a chunk, at most.")
    query_size_ = fitted("query_size", "Query points of one transductive batch; 0: inductive.")
    residuals_ = fitted("residuals", "Relative residuals of refined means, one an iteration.")
    n_sweeps_ = fitted("sweeps", "How often chunks were approximated; with Gaussian noise once.")
    change_ = fitted("change", "By how much messages moved in the last sweep.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X), summed over outputs.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
    effective_dof_ = fitted("effective_dof", "P_eff = trace K(K + noise·I)⁻¹, from a sample.")

    def _answers_at(self, X: Array, shift: Array, predictor: Any = None) -> Any:
        warping = self.model_.warping
        own = super()._answers_at  # type: ignore[misc]
        if warping is None:
            return own(X, shift, predictor)
        return WarpedAnswers(own(warping.places(X), shift, predictor), warping)

    @property
    def n_local_(self) -> int:
        """Nearest rows that correct a prediction; 0 where none do."""
        check_is_fitted(self)
        return 0 if self.model_.query_size else self.model_.n_local

    @property
    def likelihood_(self) -> Scalar:
        """The likelihood used, where that is not Gaussian noise, in the units of y."""
        check_is_fitted(self)
        if self.model_.given is None:
            raise AttributeError("likelihood_ is of likelihoods other than 'gaussian': see noise_")
        return self.model_.likelihood_in_units

    @property
    def target_transform_(self) -> Any:
        """The kind of transform of y, None where there is none; of several outputs, one each."""
        check_is_fitted(self)
        warping = self.model_.warping
        if warping is not None:
            return warping.target_kinds
        p = self.model_.scaling.scale.size
        return None if p == 1 else (None,) * p

    @property
    def input_transform_(self) -> Any:
        """The kind of transform of each column of X; None: all are as they came."""
        check_is_fitted(self)
        return None if self.model_.warping is None else self.model_.warping.input_kinds
