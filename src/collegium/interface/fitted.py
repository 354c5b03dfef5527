"""What regressors with a committee inside share: answers, and what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..engines import single_threaded
from ..kernels import Kernel
from ..rows.rows import Prediction
from ..rows.scaling import Scaling
from .arguments import choose_engine
from .progress import Progress
from .regressor import GaussianRegressor

Array = np.ndarray


class WithKernel(GaussianRegressor):
    """`_fitted()` has a scaling; `_kernel_scaled()` and `_noise_scaled()` are for scaled y."""

    @property
    def scaling_(self) -> Scaling:
        return self._fitted().scaling

    @property
    def kernel_(self) -> Kernel:
        """The kernel in the units of X and y (of the first output where there are several)."""
        check_is_fitted(self)
        return self._kernel_scaled().scaled(float(self.scaling_.scale[0] ** 2))

    @property
    def noise_(self) -> float | Array:
        """The noise variance in the units of y; one an output where these differ in scale."""
        check_is_fitted(self)
        noise = self._noise_scaled() * self.scaling_.scale**2
        return float(noise[0]) if np.ptp(noise) == 0.0 else noise


class Cached:
    """Answers come from a `_answers.get(fitted)` that is made once, and never stored."""

    def _forget_answers(self) -> None:
        self._answers = _Answers()

    def __getstate__(self):
        state = super().__getstate__().copy()
        state.pop("_answers", None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._forget_answers()


class Answering(Cached, WithKernel):
    """Both."""


class FittedCommittee(Answering):
    """`built_` has a committee, a scaling, n_chunks, total_weight, and makes its predictor."""

    # -- answers ----------------------------------------------------------------------------

    def _means(self, X: Array) -> Array:
        engine = self._engine()
        return self._answers.get(self.built_).mean(X, engine)

    def _moments(self, X: Array) -> Prediction:
        engine = self._engine()
        return self._answers.get(self.built_).predict(X, engine)

    def _joint(self, X: Array) -> tuple[Prediction, Array]:
        engine = self._engine()
        return self._answers.get(self.built_).joint(X, engine)

    def _engine(self):
        engine = choose_engine(self.engine, self.n_jobs)
        return Progress(self.verbose).watch(engine)

    def _kernel_scaled(self) -> Kernel:
        return self.built_.committee.basis.kernel

    def _noise_scaled(self) -> float:
        return self.built_.committee.noise

    def _prior_variance(self, X: Array) -> float:
        return self.built_.committee.basis.scale(X)

    # -- what was found -----------------------------------------------------------------------

    def _fitted(self):
        check_is_fitted(self)
        return self.built_

    @property
    def anchors_(self) -> Array:
        return self._fitted().committee.basis.Z

    @property
    def n_chunks_(self) -> int:
        return self._fitted().n_chunks

    @property
    def log_evidence_(self) -> float:
        """log p(y | X) in the units of y, summed over outputs."""
        with single_threaded():
            scaled = self._fitted().committee.log_evidence()
        return float((scaled - self._fitted().total_weight * np.log(self.scaling_.scale)).sum())


class FittedLatents(Cached):
    """`built_` is a model of latent functions."""

    built_: Any

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.built_

    @property
    def kernel_(self) -> Kernel:
        return self._fitted().kernel

    @property
    def anchors_(self) -> Array:
        return self._fitted().committees[0].basis.Z

    @property
    def n_chunks_(self) -> int:
        return self._fitted().n_chunks

    @property
    def n_sweeps_(self) -> int:
        return self._fitted().sweeps

    @property
    def change_(self) -> float:
        return self._fitted().change

    @property
    def calibration_(self) -> tuple[float, float]:
        """Factors of latent means and of latent variances, by rows left out."""
        scale = self._fitted().scale
        return scale.mean, scale.mean**2 * scale.variance

    @property
    def log_evidence_(self) -> float:
        with single_threaded():
            return self._fitted().log_evidence()


class _Answers:
    """The predictor of a model, made when first asked for; never stored."""

    def __init__(self):
        self.predictor = None

    def get(self, built):
        if self.predictor is None:
            with single_threaded():
                self.predictor = built.predictor()
        return self.predictor
