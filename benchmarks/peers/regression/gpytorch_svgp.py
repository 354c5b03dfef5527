"""GPyTorch SVGP (Hensman et al. 2013): a variational GP by Adam on small batches.

Follows its SVGP tutorial: batches of 1024, whitened, inducing points learnt; the step size
decreases.
"""

import gpytorch
import torch

from benchmarks.peers.regression.gpytorch_common import (
    centres,
    covariance,
    in_batches,
    tensor,
    words,
)


class SVGP(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        q = gpytorch.variational.CholeskyVariationalDistribution(inducing.shape[0])
        strategy = gpytorch.variational.VariationalStrategy(
            self, inducing, q, learn_inducing_locations=True
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = covariance(inducing.shape[1])

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


class Model:
    def __init__(
        self, seed: int, threads: int, inducing: int = 1024, batch: int = 1024,
        epochs: int = 30, least_steps: int = 500, most_steps: int = 2_000, lr: float = 0.1,
    ):  # fmt: skip
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        self.seed, self.inducing, self.batch, self.lr = seed, inducing, batch, lr
        self.epochs, self.range = epochs, (least_steps, most_steps)

    def fit(self, X, y):
        Z = centres(X, min(self.inducing, y.size), self.seed)
        self.model, self.likelihood = SVGP(tensor(Z)), _likelihood()
        bound = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=y.size)
        parameters = [*self.model.parameters(), *self.likelihood.parameters()]
        steps = self._steps(y.size)
        optimiser = torch.optim.Adam(parameters, lr=self.lr)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        X, y = tensor(X), tensor(y)
        for rows in _batches(y.numel(), self.batch, steps):
            optimiser.zero_grad()
            loss = -bound(self.model(X[rows]), y[rows])
            loss.backward()
            optimiser.step()
            falling.step()
        self.found = f"{words(self.model.covar_module, self.likelihood)}, {steps:,} steps"

    def _steps(self, n: int) -> int:
        least, most = self.range
        return min(most, max(least, self.epochs * n // min(n, self.batch)))

    def predict(self, Xs):
        return in_batches(self.model, self.likelihood, tensor(Xs))


def _likelihood():
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    return likelihood


def _batches(n: int, size: int, steps: int):
    """Rows of each step: the data in a new random order for every epoch."""
    done = 0
    while done < steps:
        for rows in torch.randperm(n).split(size)[: steps - done]:
            yield rows
            done += 1
