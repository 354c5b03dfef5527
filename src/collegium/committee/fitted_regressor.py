"""What is read from a fitted committee."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..interface.arguments import check_square, choose_engine, number_or_auto, whole_number
from ..interface.effects import Explained
from ..interface.estimator import fitted
from ..interface.limits import answer_time_allowed
from ..likelihoods.base import Scalar
from ..numerics.threads import single_threaded
from ..transforms.warping import WarpedAnswers
from .answering import chosen, with_n_local
from .arguments import check_answer_time, nearest_rows

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

    def _predictor(self, n_local: Any = None) -> Any:
        """Of the model as it was fitted; or with other nearest rows, or within `answer_time`.

        Each is made when first asked for. What a call asks for counts before the arguments.
        """
        check_is_fitted(self)
        asked = self._other_rows(n_local)
        if asked is not None:
            make = partial(self._with_rows, asked)
            return self._made.named(f"n_local={asked}", make)
        limit = answer_time_allowed(self.answer_time)
        if limit is None or n_local is not None:
            return super()._predictor()  # type: ignore[misc]
        return self._made.named(f"answer_time={limit}", partial(self._within, limit))

    def _other_rows(self, n_local: Any) -> int | None:
        """Nearest rows, where they are not as many as the model has."""
        model = self.model_
        if n_local is None:
            n_local = number_or_auto(self.n_local, "n_local", least=0)
            n_local = nearest_rows(model.anchors.shape[1]) if n_local is None else n_local
        else:
            n_local = whole_number(n_local, "n_local", least=0)
        if n_local == model.n_local or model.query_size or model.all_rows:
            return None
        if n_local and not model.n_local:
            raise ValueError(
                f"n_local={n_local}: this model keeps no rows, it was fitted with n_local=0. Leave "
                "n_local out, or fit with another"
            )
        check_square(n_local, "n_local")
        return n_local

    def _with_rows(self, n_local: int) -> Any:
        with single_threaded():
            return with_n_local(self.model_, n_local, self._say()).predictor()

    def _within(self, limit: tuple[float, float]) -> Any:
        """Who answers in time: as `fit` found it, or looked for now."""
        model = self.model_
        check_answer_time(
            gaussian=model.given is None, transductive=model.query_size > 0,
            keeps_rows=model.n_local > 0,
        )  # fmt: skip
        with single_threaded():
            if model.fast is not None and model.fast.holds(*limit, model.n_kept):
                return model.fast.of(model).predictor()
            return chosen(model, *limit, self._say())[1]

    def _prepare(self) -> None:
        """After `fit`: choose how to answer in time, and make what that needs."""
        limit = answer_time_allowed(self.answer_time)
        if limit is None:
            return
        say, engine = self._say(), choose_engine(self.engine, self.n_jobs)
        with single_threaded():
            fast, own = chosen(self.model_, *limit, say)
            say.task = "preparing answers"
            if number := own.prepare(say.watch(engine)):
                say(f"{number} cells are ready")
                fast = replace(fast, cells=own.with_weights())
            self.model_ = replace(self.model_, fast=fast)
            self._made.others[f"answer_time={limit}"] = own

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
