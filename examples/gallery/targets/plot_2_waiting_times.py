"""
Waiting times
=============

**The question.** How long until a machine needs repair, given its age and load? Times are
positive and scatter widely: a normal distribution would predict negative ones.
"""

# %%
# The data
# --------
# 700 machines. Times are exponential: their standard deviation equals their mean, so they are
# long and scattered where the load is low.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor

rng = np.random.default_rng(0)
n = 700
age, load = rng.uniform(0, 10, n), rng.uniform(0, 1, n)
expected = np.exp(3.5 - 0.15 * age - 1.5 * load**2)  # weeks
weeks = rng.exponential(expected)
X = np.column_stack([age, load])

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
dots = axes.scatter(age, weeks, c=load, s=8, cmap="viridis")
axes.set(xlabel="age in years", ylabel="weeks until repair")
figure.colorbar(dots, label="load")

# %%
# The answer
# ----------
# One word: the likelihood. The function is then the logarithm of the mean time.

train = np.arange(n) < 450
model = CommitteeRegressor(likelihood="exponential", random_state=0).fit(X[train], weeks[train])
mean = model.predict(X[~train])
tenth, median, ninetieth = np.asarray(model.quantile(X[~train], [0.1, 0.5, 0.9])).T

# %%
# How we know that it is right
# ----------------------------
# A tenth of the machines put aside should need repair before the predicted 10 % quantile, half
# before the median, nine tenths before the 90 % quantile.

for name, quantile in [("10 %", tenth), ("50 %", median), ("90 %", ninetieth)]:
    print(f"{name} quantile: {(weeks[~train] <= quantile).mean():.0%} of the times are below")
gaussian = CommitteeRegressor(noise="constant", transforms=None, members=None, random_state=0).fit(
    X[train], weeks[train]
)
lower, _ = gaussian.predict_interval(X[~train], coverage=0.9)
print(f"with normal errors, {np.mean(lower < 0):.0%} of the 90 % intervals begin below zero")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
axes[0].plot(expected[~train], mean, ".", ms=4)
axes[0].plot([2, 33], [2, 33], c="gray", lw=1)
axes[0].set(xlabel="true mean time", ylabel="predicted mean time")
grid = np.column_stack([np.linspace(0, 10, 100), np.full(100, 0.3)])
bands = np.asarray(model.quantile(grid, [0.1, 0.5, 0.9]))
axes[1].fill_between(grid[:, 0], bands[:, 0], bands[:, 2], alpha=0.3, label="10 % to 90 %")
axes[1].plot(grid[:, 0], bands[:, 1], label="median")
axes[1].set(xlabel="age in years, at a load of .3", ylabel="weeks until repair", ylim=0)
axes[1].legend()

# %%
# What can go wrong
# -----------------
# **Machines that have not failed yet** have no time to give. Leaving them out makes times look
# too short; this library has no censored likelihood, so for such data use survival analysis.
#
# If times scatter less than exponential ones, because parts wear out, ``likelihood="gamma"``
# has a relative spread that is learnt, and ``transforms="log"`` describes times whose
# logarithms are normal.
