"""
Choosing anchors
================

**The question.** A committee sees the rows through a few *anchors*. How many are enough, and
does it matter where they are?
"""

# %%
# The data
# --------
# 3,000 rows in two columns, crowded in some places.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor, Select, SparseGPRegressor, effective_dof, select_anchors

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([1, 1], 0.5, (1_500, 2)), rng.uniform(-3, 3, (1_500, 2))])
y = np.sin(2 * X[:, 0]) * np.cos(1.5 * X[:, 1]) + 0.1 * rng.normal(size=3_000)
train, test = np.arange(3_000) % 3 != 0, np.arange(3_000) % 3 == 0

model = CommitteeRegressor(learn=True, noise="constant", members=None, random_state=0)
model.fit(X[train], y[train])
kernel, noise = model.kernel_, float(model.noise_)
print(kernel, f"noise {noise:.4f}")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, rule in zip(axes, ["random", "kmeans", "sgma"], strict=True):
    Z = select_anchors(X[train], kernel=kernel, rule=rule, n_anchors=40, random_state=0).Z
    ax.plot(*X[train].T, ".", ms=1, c="lightgray")
    ax.plot(*Z.T, "r.", ms=6)
    ax.set(title=rule, aspect="equal")

# %%
# Random anchors follow the crowd. K-means (the default) and the greedy rule spread out.
#
# The answer
# ----------
# Two numbers help. *Effective degrees of freedom* is how many numbers the rows determine about
# the function: a committee needs about as many anchors. And ``remaining`` is the share of the
# variance that anchors leave unexplained, for every number of them.

dof = effective_dof(kernel, noise, X[train])
print(f"effective degrees of freedom of {train.sum()} rows: {dof:.0f}")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for rule in ["random", "kmeans", "sgma", "pivoted-cholesky"]:
    left = select_anchors(
        X[train],
        y[train],
        kernel=kernel,
        noise=noise,
        rule=rule,
        n_anchors=200,
        random_state=0,
        share=1e-9,
    ).remaining
    axes.semilogy(np.arange(1, len(left) + 1), left, label=rule)
axes.axvline(dof, c="gray", ls=":", label="effective degrees of freedom")
axes.set(xlabel="anchors", ylabel="share of the variance left")
axes.legend()

# %%
# How we know that it is right
# ----------------------------
# By the error on rows put aside, for sparse models that have nothing but their anchors:

numbers = [10, 20, 40, 80, 160]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for rule in ["random", "kmeans", "sgma"]:
    errors = []
    for m in numbers:
        sparse = SparseGPRegressor(
            kernel, method="fitc", anchors=Select(rule, m), noise=noise, learn=False, random_state=0
        ).fit(X[train], y[train])
        errors.append(np.sqrt(np.mean((sparse.predict(X[test]) - y[test]) ** 2)))
    axes.loglog(numbers, errors, "o-", ms=4, label=rule)
exact = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
axes.axhline(exact, c="k", ls="--", lw=1, label="all rows (exact)")
axes.axvline(dof, c="gray", ls=":")
axes.set(xlabel="anchors", ylabel="RMSE of rows put aside")
axes.legend()

# %%
# Once there are about as many anchors as effective degrees of freedom, more of them buy
# nothing, and where they are hardly matters. Below that, spread anchors are better than random
# ones.
#
# What can go wrong
# -----------------
# Degrees of freedom depend on the kernel: a rough function with little noise has as many as
# there are rows, and no number of anchors is enough. ``CommitteeRegressor`` therefore corrects
# every prediction by the nearest rows, so that anchors only have to carry what is smooth; it
# chooses their number by itself, and ``anchors=`` is rarely worth touching.
