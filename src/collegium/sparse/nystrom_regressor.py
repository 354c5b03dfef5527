"""NystromRegressor: the Nyström method, with its instability told."""

from __future__ import annotations

import warnings

import numpy as np

from ..engines import single_threaded
from ..interface.arguments import check_square
from ..interface.fitted import FittedCommittee
from ..interface.progress import Progress
from ..interface.validation import all_or_nothing, check_rows, generator
from ..rows.scaling import merged
from .fitting import build_sparse, sparse_settings
from .nystrom import Nystrom, NystromWarning

Array = np.ndarray
#: Weights of standardised targets, times the prior variance, beyond this have exploded: such
#: values went with poor predictions in Schwaighofer & Tresp (2002).
EXPLODED = 1e3
#: The two kernels disagree by more than this share of y at the rows themselves.
DISAGREE = 0.5


class NystromRegressor(FittedCommittee):
    """Gaussian-process regression by the Nyström method (Williams & Seeger 2001).

    The inverse of the covariance is approximated through anchors, predictions use the full
    kernel. Where the noise is small the two do not match and weights explode: a
    `NystromWarning` tells, `error_bound()` says by how much. It is here to be compared with;
    `SparseGPRegressor(method="dtc")` costs less and is sound.

    Parameters
    ----------
    kernel, selection, n_anchors, noise, learn, engine, n_jobs, random_state, verbose :
        As in `SparseGPRegressor`. Hyperparameters are learnt by the evidence of the low-rank
        covariance; `selection="random"` is what the method was published with.

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
    >>> model = NystromRegressor(n_anchors=40, random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.0)) < 0.2)
    True
    """

    def __init__(
        self,
        kernel=None,
        *,
        selection="random",
        n_anchors="auto",
        noise=None,
        learn=True,
        engine=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.selection = selection
        self.n_anchors = n_anchors
        self.noise = noise
        self.learn = learn
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
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
        settings = sparse_settings(**self.get_params(deep=False))
        rows, self.y_ndim_ = check_rows(self, X, y, sample_weight, reset=True)
        rows, _ = merged(rows, None, in_order=False)
        rng, say = generator(self.random_state), Progress(self.verbose)
        with single_threaded():
            self.built_ = build_sparse(rows, None, settings, "nystrom", rng, say)
        self._forget_answers()
        with single_threaded():
            found = self._nystrom()
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
        found = self._nystrom()
        check_square(found.rows.X.shape[0], "error_bound")
        return found.error_bound()

    def _nystrom(self) -> Nystrom:
        return self._answers.get(self._fitted())

    @property
    def weights_(self) -> Array:
        weights = self._nystrom().weights
        return weights[:, 0] if self.y_ndim_ == 1 else weights

    @property
    def selection_(self):
        """The anchors with the gain of each, against the rows fitted."""
        return self._fitted().selection
