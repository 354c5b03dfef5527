"""
Outliers
========

**The question.** A sensor now and then reports nonsense. How can the curve be kept from
bending towards it?
"""

# %%
# The data
# --------
# A smooth curve, and one reading in eight that is off by several units.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor


def curve(x):
    return np.sin(1.5 * x) + 0.3 * x


rng = np.random.default_rng(0)
n = 240
x = np.sort(rng.uniform(-4, 4, n))
broken = rng.random(n) < 0.125
y = curve(x) + 0.15 * rng.normal(size=n) + np.where(broken, rng.normal(3, 2, n), 0)
X, grid = x[:, None], np.linspace(-4, 4, 200)[:, None]

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(x[~broken], y[~broken], "k.", ms=4)
axes.plot(x[broken], y[broken], "rx", ms=5, label="broken")
axes.set(xlabel="x", ylabel="y")
axes.legend()

# %%
# The answer
# ----------
# ``likelihood="student-t"``: noise with heavy tails. A reading far away then hardly counts,
# while with Gaussian noise it counts the more, the farther away it is.

robust = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, y)
normal = CommitteeRegressor(noise="constant", learn=True, transforms=None, random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, model, name in [(axes[0], normal, "Gaussian noise"), (axes[1], robust, "Student's t")]:
    low, high = model.predict_interval(grid, coverage=0.9, level="function")
    ax.plot(x, y, ".", c="gray", ms=3)
    ax.plot(grid, curve(grid), "k--", lw=1, label="truth")
    ax.plot(grid, model.predict(grid), label="mean")
    ax.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % of the function")
    ax.set(title=name, xlabel="x", ylim=(-4, 9))
axes[0].legend()

# %%
# How we know that it is right
# ----------------------------
# By the true curve, and by intervals of the function that contain it:

truth = curve(grid[:, 0])
for name, model in [("Gaussian", normal), ("Student's t", robust)]:
    low, high = model.predict_interval(grid, coverage=0.9, level="function")
    error = np.sqrt(np.mean((model.predict(grid) - truth) ** 2))
    inside = (low <= truth) & (truth <= high)
    print(f"{name:12} RMSE to the curve {error:.3f}, intervals contain it {inside.mean():.0%}")

# %%
# What can go wrong
# -----------------
# Outliers that agree with each other, such as a sensor stuck for a whole day, are a second
# curve, and no likelihood can know which one is meant. Outliers in X are not covered at all.
#
# Heavy tails without outliers in this sense, prices say, do not need this: the default learns
# heavy tails of the *errors* from held-out rows, at no loss in accuracy.
