"""Code that both models of GPyTorch use."""

import gpytorch
import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans


def tensor(A):
    """Single precision, which is GPyTorch's own choice, and twice as fast."""
    return torch.as_tensor(np.ascontiguousarray(A), dtype=torch.float32)


def covariance(d: int):
    """Matérn 3/2 with a length scale per column; starts at √d, as rows are standardised."""
    kernel = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=d)
    kernel.lengthscale = float(np.sqrt(d))
    return gpytorch.kernels.ScaleKernel(kernel)


def centres(X, count: int, seed: int):
    """Centres of k-means, on at most 20,000 rows."""
    rows = np.random.default_rng(seed).permutation(X.shape[0])[:20_000]
    count = min(count, rows.size)
    return MiniBatchKMeans(count, random_state=seed, n_init=1).fit(X[rows]).cluster_centers_


def in_batches(model, likelihood, Xs, size: int = 2_000):
    """Mean and standard deviation of new observations."""
    model.eval()
    likelihood.eval()
    means, stds = [], []
    with torch.no_grad():
        for part in Xs.split(size):
            found = likelihood(model(part))
            means.append(found.mean.double().numpy())
            stds.append(found.variance.double().sqrt().numpy())
    return np.concatenate(means), np.concatenate(stds)


def words(kernel, likelihood) -> str:
    lengths = ", ".join(f"{v:.3g}" for v in kernel.base_kernel.lengthscale.detach().ravel())
    return (
        f"Matérn 3/2, variance {kernel.outputscale.item():.3g}, length scales [{lengths}], "
        f"noise {likelihood.noise.item():.3g}"
    )
