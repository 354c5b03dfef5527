"""GPyTorch SGPR (Titsias 2009): inducing points and hyperparameters by Adam on all rows.

Follows its SGPR tutorial, with learning in single precision as there; the inducing points start at
k-means centres, and the step size decreases.
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


class SGPR(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood, inducing):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.InducingPointKernel(
            covariance(X.shape[1]), inducing_points=inducing, likelihood=likelihood
        )

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


class Model:
    def __init__(self, seed: int, threads: int, inducing: int = 512, steps: int = 100, lr=0.1):
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        self.seed, self.inducing, self.steps, self.lr = seed, inducing, steps, lr

    def fit(self, X, y):
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        likelihood.noise = 0.1
        Z = centres(X, self.inducing, self.seed)
        self.model = SGPR(tensor(X), tensor(y), likelihood, tensor(Z)).train()
        likelihood.train()
        bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, self.model)
        optimiser = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        for _ in range(self.steps):
            optimiser.zero_grad()
            loss = -bound(self.model(self.model.train_inputs[0]), self.model.train_targets)
            loss.backward()
            optimiser.step()
            falling.step()
        self.found = words(self.model.covar_module.base_kernel, likelihood)

    def predict(self, Xs):
        """Predict in double precision: single is wrong for 100,000 rows in two columns."""
        model = self.model.double()
        rows, targets = model.train_inputs[0].double(), model.train_targets.double()
        model.set_train_data(rows, targets, strict=False)
        return in_batches(model, model.likelihood, tensor(Xs).double())
