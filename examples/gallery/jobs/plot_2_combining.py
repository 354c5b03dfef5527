"""
Combining other people's models
===============================

**The question.** Three laboratories have each fitted a model to their own rows. They share
the models, not the rows. What do the three say together?
"""

# %%
# The data
# --------
# Each laboratory has measured another part of the range, with some overlap. The models are
# Gaussian processes of scikit-learn with a common prior.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from collegium.combining import JointGaussian, bayesian

rng = np.random.default_rng(0)


def truth(x):
    return np.sin(1.2 * x) + 0.1 * x


parts = [rng.uniform(low, high, 40) for low, high in [(-5, -1), (-2, 2), (1, 5)]]
rows = [(x[:, None], truth(x) + 0.1 * rng.normal(size=40)) for x in parts]
grid = np.linspace(-5, 5, 150)[:, None]
prior = 1.0 * RBF(1.5)
models = [
    (name, GaussianProcessRegressor(prior, alpha=0.01, optimizer=None).fit(X, y))
    for name, (X, y) in zip(["north", "middle", "south"], rows, strict=True)
]

figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, (name, model), (X, y) in zip(axes, models, rows, strict=True):
    mean, sd = model.predict(grid, return_std=True)
    ax.plot(X, y, "k.", ms=4)
    ax.plot(grid, mean)
    ax.fill_between(grid[:, 0], mean - 2 * sd, mean + 2 * sd, alpha=0.3)
    ax.plot(grid, truth(grid), "k--", lw=1)
    ax.set(title=name, xlabel="x", ylim=(-3, 3))

# %%
# Each model is good where its rows are, and says that it knows nothing elsewhere. An average of
# the three means would be bad everywhere.
#
# The answer
# ----------
# A committee weighs each model by what it knows, jointly over all queries, and counts the prior
# once. All it needs is each model's mean and covariance at the queries.

said = [JointGaussian(*model.predict(grid, return_cov=True)) for _, model in models]
together = bayesian(said, prior=prior(grid))
mean, sd = together.mean, np.sqrt(np.diag(together.covariance))
average = np.mean([model.predict(grid) for _, model in models], axis=0)

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(grid, truth(grid), "k--", lw=1, label="truth")
axes.plot(grid, mean, label="committee")
axes.fill_between(grid[:, 0], mean - 2 * sd, mean + 2 * sd, alpha=0.3)
axes.plot(grid, average, c="gray", lw=1, label="average of the means")
axes.set(xlabel="x", ylabel="y")
axes.legend()

# %%
# How we know that it is right
# ----------------------------
# Compare with the model that nobody could fit: one Gaussian process of all rows.

X, y = np.vstack([X for X, _ in rows]), np.concatenate([y for _, y in rows])
everything = GaussianProcessRegressor(prior, alpha=0.01, optimizer=None).fit(X, y)
for name, prediction in [
    ("committee", mean), ("average", average), ("all rows in one place", everything.predict(grid)),
]:  # fmt: skip
    print(
        f"{name:22} RMSE to the truth {np.sqrt(np.mean((prediction - truth(grid[:, 0])) ** 2)):.3f}"
    )
within = np.abs(mean - truth(grid[:, 0])) < 2 * sd
print(f"truth within two standard deviations at {within.mean():.0%} of the points")

# %%
# What can go wrong
# -----------------
# The committee believes the error bars of its members. One that is far too sure of itself
# outvotes the others: compare each model's intervals with rows that it has not seen before you
# let it vote. If members share rows, these count twice. Where the models are still to be
# fitted, to parts of one table, :class:`~collegium.CommitteeOf` deals the rows, fits and
# combines.
