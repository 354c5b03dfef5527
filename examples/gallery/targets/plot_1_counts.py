"""
Counts with exposure
====================

**The question.** Accidents were counted on road sections, some over one year and some over
ten. What is the rate of each kind of section, and how many accidents should be expected next
year?
"""

# %%
# The data
# --------
# 900 sections with their traffic and their bends. The *exposure* is the number of years
# counted.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor

rng = np.random.default_rng(0)
n = 900
traffic, bends = rng.uniform(0, 1, n), rng.uniform(0, 1, n)
years = rng.choice([1.0, 3.0, 10.0], n)
rate = np.exp(-1.5 + 2.0 * traffic + np.sin(5 * bends))  # per year
accidents = rng.poisson(rate * years)
X = np.column_stack([traffic, bends])

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for span, colour in [(1, "tab:orange"), (3, "tab:green"), (10, "tab:blue")]:
    who = years == span
    axes.scatter(bends[who], accidents[who] / span, s=7, c=colour, label=f"years counted: {span}")
axes.set(xlabel="bends", ylabel="accidents per year")
axes.legend()

# %%
# Rates from one year scatter far more than those from ten. Dividing counts by years and fitting
# the quotient would treat them alike, and zeros have no logarithm.
#
# The answer
# ----------
# y stays the count, and the exposure says over how long.

train = np.arange(n) < 600
model = CommitteeRegressor(likelihood="poisson", random_state=0)
model.fit(X[train], accidents[train], exposure=years[train])
per_year = model.predict(X[~train], exposure=1.0)

# %%
# How we know that it is right
# ----------------------------
# The true rates are known here. And on the sections that were put aside, 90 % intervals of the
# count should contain at least 90 % of the counts (whole numbers cannot hit 90 % exactly).

lower, upper = model.predict_interval(X[~train], coverage=0.9, exposure=years[~train])
inside = (lower <= accidents[~train]) & (accidents[~train] <= upper)
ratio = per_year / rate[~train]
print(
    f"median of predicted / true rate {np.median(ratio):.2f}, nine tenths within "
    f"{np.quantile(ratio, 0.05):.2f} and {np.quantile(ratio, 0.95):.2f}"
)
print(f"90 % intervals contain {inside.mean():.0%} of {inside.size} counts")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
axes[0].loglog(rate[~train], per_year, ".", ms=4)
axes[0].plot([0.1, 4], [0.1, 4], c="gray", lw=1)
axes[0].set(xlabel="true rate", ylabel="predicted rate")
grid = np.column_stack([np.full(100, 0.5), np.linspace(0, 1, 100)])
low, high = model.predict_interval(grid, coverage=0.9, level="function", exposure=1.0)
axes[1].fill_between(grid[:, 1], low, high, alpha=0.3, label="90 % of the rate")
axes[1].plot(grid[:, 1], model.predict(grid, exposure=1.0), label="mean")
axes[1].plot(grid[:, 1], np.exp(-0.5 + np.sin(5 * grid[:, 1])), "k--", lw=1, label="truth")
axes[1].set(xlabel="bends, at medium traffic", ylabel="accidents per year")
axes[1].legend()

# %%
# What can go wrong
# -----------------
# A Poisson count varies by no more than its mean says. Real counts often vary more (sections
# differ by what the table does not contain). Then these intervals are too narrow: compare their
# coverage on rows put aside, and if it falls short, calibrate:
# :meth:`~collegium.CommitteeRegressor.calibrate` and ``method="split"``.
