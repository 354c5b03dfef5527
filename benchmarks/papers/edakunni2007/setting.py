"""Setting of the experiments of Edakunni, Schaal & Vijayakumar (2007)."""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.harness.data import Array, centre_and_scale
from benchmarks.papers import experiments
from collegium import RVCRegressor

save = partial(experiments.save, dpi=90)
#: The methods and their colours in all pictures.
COLOURS = {
    "RVC, paper": "#D55E00",
    "RVC": "#0072B2",
    "RVC, start_rows=25": "#56B4E9",
    "RFWR": "#009E73",
    "GP": "0.35",
}


class GaussianProcess:
    """scikit-learn's, squared exponential (one length scale) and noise; inputs standardised."""

    def fit(self, X: Array, y: Array) -> "GaussianProcess":
        self.centre, self.scale = centre_and_scale(X)
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(0.5, (1e-2, 1e2))
        self.model = GaussianProcessRegressor(
            kernel + WhiteKernel(0.1, (1e-6, 10.0)), normalize_y=True, n_restarts_optimizer=1,
            random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(self._scaled(X), y)
        return self

    def predict(self, X: Array, return_std: bool = False):
        return self.model.predict(self._scaled(X), return_std=return_std)

    def _scaled(self, X: Array) -> Array:
        return (X - self.centre) / self.scale


def rvc(mode: str, **given) -> RVCRegressor:
    return RVCRegressor(mode=mode, random_state=0, **given)


def sinc(X: Array) -> Array:
    """sin(x)/x."""
    return np.sinc(X[:, 0] / np.pi)
