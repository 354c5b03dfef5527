"""MuyGPyS: each prediction from its nearest rows alone; leave-one-out likelihood of a batch.

Follows its anisotropic tutorial: length scales and noise by L-BFGS on the leave-one-out likelihood
of a random batch; then a second round with neighbours found in the learnt metric.
"""

import numpy as np
from MuyGPyS.gp import MuyGPS
from MuyGPyS.gp.deformation import Anisotropy, l2
from MuyGPyS.gp.hyperparameter import AnalyticScale, Parameter, VectorParameter
from MuyGPyS.gp.kernels import Matern
from MuyGPyS.gp.noise import HomoscedasticNoise
from MuyGPyS.neighbors import NN_Wrapper
from MuyGPyS.optimize import L_BFGS_B_optimize
from MuyGPyS.optimize.batch import sample_batch
from MuyGPyS.optimize.loss import lool_fn


class Model:
    def __init__(
        self, seed: int, threads: int, neighbours: int = 50, batch: int = 500, rounds: int = 2,
        smoothness: float = 1.5, steps: int = 20,
    ):  # fmt: skip
        np.random.seed(seed)  # noqa: NPY002  (what its batches are drawn with)
        self.k, self.batch, self.rounds, self.threads = neighbours, batch, rounds, threads
        self.smoothness, self.steps = smoothness, steps

    def fit(self, X, y):
        metric, noise = np.full(X.shape[1], np.sqrt(X.shape[1])), 1e-2
        for _ in range(self.rounds):
            lengths, noise = self._learn(X / metric, y, noise)
            metric = metric * lengths
        self.metric, self.X, self.y = metric, X / metric, y
        self.lookup = self._lookup(self.X)
        self.model = _model(X.shape[1], noise, self.smoothness, learn=False)
        batch = self._batch(self.model, self.lookup, self.X, y)
        self.model = self.model.optimize_scale(batch[1], batch[3])
        self.noise = noise * float(np.ravel(self.model.scale())[0])
        shown = ", ".join(f"{v:.3g}" for v in metric)
        self.found = f"Matérn {self.smoothness}, length scales [{shown}], noise {self.noise:.3g}"

    def predict(self, Xs, size: int = 500):
        found = [self._predict(Xs[at : at + size]) for at in range(0, Xs.shape[0], size)]
        means, stds = zip(*found)
        return np.concatenate(means), np.concatenate(stds)

    def _learn(self, X, y, noise):
        """Length scales relative to the metric of X, and the noise relative to the signal."""
        model = _model(X.shape[1], noise, self.smoothness, learn=True)
        crosswise, pairwise, target, near = self._batch(model, self._lookup(X), X, y)
        model = L_BFGS_B_optimize(
            model, target, near, crosswise, pairwise, loss_fn=lool_fn,
            options={"maxiter": self.steps},
        )  # fmt: skip
        return np.ravel(model.kernel.deformation.length_scale()), float(model.noise())

    def _batch(self, model, lookup, X, y):
        rows, near = sample_batch(lookup, self.batch, y.size)
        return model.make_train_tensors(rows, near, X, y)

    def _lookup(self, X):
        return NN_Wrapper(X, self.k, nn_method="exact", n_jobs=self.threads)

    def _predict(self, Xs):
        Xs = Xs / self.metric
        near, _ = self.lookup.get_nns(Xs)
        crosswise, pairwise, targets = self.model.make_predict_tensors(
            np.arange(Xs.shape[0]), near, Xs, self.X, self.y
        )
        Kin, Kcross = self.model.kernel(pairwise), self.model.kernel(crosswise)
        mean = self.model.posterior_mean(Kin, Kcross, targets)
        variance = np.maximum(self.model.posterior_variance(Kin, Kcross), 0.0) + self.noise
        return np.ravel(mean), np.sqrt(np.ravel(variance))


def _model(d: int, noise: float, smoothness: float, *, learn: bool):
    length = [Parameter(1.0, (0.02, 50.0)) if learn else Parameter(1.0) for _ in range(d)]
    return MuyGPS(
        Matern(
            smoothness=Parameter(smoothness),
            deformation=Anisotropy(l2, VectorParameter(*length)),
        ),
        noise=HomoscedasticNoise(noise, (1e-6, 1.0)) if learn else HomoscedasticNoise(noise),
        scale=AnalyticScale(),
    )
