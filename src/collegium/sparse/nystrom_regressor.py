"""NystromRegressor: the Nyström method, with its instability told."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..interface.checks.arguments import check_square, yes_or_no
from ..interface.checks.rows import check_rows, generator
from ..interface.estimator import all_or_nothing, fitted
from ..interface.regressor import Regressor
from ..numerics.threads import single_threaded
from ..pipeline.fitting import fit_model
from ..pipeline.job import Job
from ..pipeline.settings import Settings
from ..rows.scaling import merged
from .fitting import SparseSteps
from .nystrom import NystromWarning

Array = np.ndarray
#: Weights of standardised targets, times the prior variance, beyond this have exploded: such
#: values went with poor predictions in Schwaighofer & Tresp (2002).
EXPLODED = 1e3
#: The two kernels disagree by more than this share of y at the rows themselves.
DISAGREE = 0.5


@dataclass(eq=False, repr=False)
class NystromRegressor(Regressor):
    """Gaussian-process regression by the Nyström method (Williams & Seeger 2001).

    The inverse of the covariance is approximated through anchors, predictions use the full
    kernel. Where the noise is small the two do not match and weights explode: a
    `NystromWarning` tells, `error_bound()` says by how much. It is here to be compared with;
    `SparseGPRegressor(method="dtc")` costs less and is sound.

    Parameters
    ----------
    kernel, noise, learn, engine, n_jobs, random_state, verbose :
        As in `SparseGPRegressor`. Hyperparameters are learnt by the evidence of the low-rank
        covariance.
    anchors : "auto", int, array of shape (m, d) or Select, default="auto"
        As in `SparseGPRegressor`, but drawn at random, as the method was published, unless
        `collegium.Select(rule, m)` names another rule.

    Attributes
    ----------
    weights_ : array of shape (n,) or (n, p), one weight a distinct row and output, for
        standardised targets.
    kernel_, noise_, anchors_, selection_, log_evidence_ : as in `SparseGPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import NystromRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=300)
    >>> model = NystromRegressor(anchors=40, random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.0)) < 0.2)
    True
    """

    kernel: Any = None
    _: KW_ONLY
    anchors: Any = "auto"
    noise: Any = "constant"
    learn: Any = True
    engine: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, p)
        sample_weight : array-like of shape (n,), default=None
            A weight w means w equal rows.

        Returns
        -------
        self
        """
        yes_or_no(self.learn, "learn")
        settings = Settings.of(self, selection="random")
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        rows, _ = merged(rows, None, in_order=False)
        rng = generator(self.random_state)
        job = Job(rows, None, settings, rng, self._say(), streaming=True)
        with single_threaded():
            self._keep(fit_model(SparseSteps("nystrom"), job))
            found = self._predictor()
            largest, gap = found.largest_weight(), found.mismatch()
        if largest > EXPLODED or gap > DISAGREE:
            warnings.warn(
                f"the Nyström method is unstable here (weights up to {largest:.1e}, its two "
                f"kernels differ by {gap:.1e} of the size of y at the rows themselves): its "
                "predictions should not be trusted; give more anchors or more noise, or use "
                "SparseGPRegressor(method='dtc')",
                NystromWarning,
                stacklevel=3,
            )
        return self

    def error_bound(self) -> float:
        """max |λ − λ̃|/(λ̃ + σ²) over the eigenvalues of the covariance and its approximation.

        How far the inverse that was used may be from the right one (Schwaighofer & Tresp 2002,
        eq. 11). It takes the eigenvalues of an (n, n) matrix.
        """
        found = self._predictor()
        check_square(found.rows.X.shape[0], "error_bound")
        return found.error_bound()

    @property
    def weights_(self) -> Array:
        return self._shaped(self._predictor().weights)

    kernel_ = fitted("kernel_in_units", "The kernel in the units of X and y.")
    noise_ = fitted("noise_in_units", "The noise variance in the units of y.")
    anchors_ = fitted("committee.basis.Z", "Array of shape (m, d).")
    selection_ = fitted("selection", "The anchors with the gain of each, against the rows fitted.")
    n_chunks_ = fitted("chunks.n", "Chunks of rows.")
    log_evidence_ = fitted("log_evidence_in_units", "log p(y | X) of the low-rank covariance.")
    scaling_ = fitted("scaling", "Centre and scale of y.")
