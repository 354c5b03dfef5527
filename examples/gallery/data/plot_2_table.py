"""
A table with categories, dates and gaps
=======================================

**The question.** A table as it comes from a database: numbers, words, dates, and holes. How
many bicycles will be hired, and how sure is that?
"""

# %%
# The data
# --------
# 900 days of a generated city. Every fifth temperature was not recorded.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from collegium import CommitteeRegressor
from collegium.metrics import coverage

rng = np.random.default_rng(0)
n = 900
date = pd.date_range("2023-01-01", periods=n)
warm = 12 - 10 * np.cos(2 * np.pi * np.arange(n) / 365) + rng.normal(0, 3, n)
sky = rng.choice(["sun", "clouds", "rain"], n, p=[0.4, 0.4, 0.2])
free = date.day_of_week >= 5
hired = (
    40 + 3.0 * warm - 0.04 * (warm - 14) ** 2
    + pd.Series(sky).map({"sun": 25, "clouds": 10, "rain": -30}).to_numpy()
    + np.where(free, 20, 0) + 0.03 * np.arange(n) + rng.normal(0, 8, n)
)  # fmt: skip
table = pd.DataFrame({"date": date, "temperature": warm, "sky": sky, "weekend": free})
table.loc[rng.random(n) < 0.2, "temperature"] = None
print(table.head())

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for kind, colour in [("sun", "tab:orange"), ("clouds", "tab:gray"), ("rain", "tab:blue")]:
    axes.scatter(table["temperature"][sky == kind], hired[sky == kind], s=6, c=colour, label=kind)
axes.set(xlabel="temperature", ylabel="bicycles hired")
axes.legend()

# %%
# The answer
# ----------
# The frame is given as it is. Words become levels, dates become seconds, and a missing number
# becomes the median plus a column that says it was missing.

train = rng.random(n) < 0.7
model = CommitteeRegressor(random_state=0).fit(table[train], hired[train])
print(model.summary())

# %%
# How we know that it is right
# ----------------------------
# Days that were held out, beside boosted trees, which know words and gaps too but give no
# intervals.

mean, std, lower, upper = model.predict(table[~train], return_std=True, interval=0.9)
y = hired[~train]

codes = table.assign(date=table["date"].astype("int64"), sky=table["sky"].astype("category"))
trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
other = trees.fit(codes[train], hired[train]).predict(codes[~train])
for name, prediction in [("committee", mean), ("boosted trees", other)]:
    print(f"{name:14} RMSE {np.sqrt(np.mean((prediction - y) ** 2)):.1f}")
print(f"90 % intervals cover {coverage(y, lower, upper):.0%} of {len(y)} days; the noise is 8")

missing = table["temperature"][~train].isna().to_numpy()
for name, which in [("there", ~missing), ("missing", missing)]:
    print(f"mean sd where the temperature is {name}: {std[which].mean():.1f}")

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
order = np.argsort(mean)
axes.fill_between(np.arange(len(y)), lower[order], upper[order], alpha=0.3, label="90 % interval")
axes.scatter(
    np.arange(len(y))[~missing[order]], y[order][~missing[order]], s=8, c="k", label="held-out day"
)
axes.scatter(
    np.arange(len(y))[missing[order]],
    y[order][missing[order]],
    s=14,
    c="tab:red",
    label="… without temperature",
)
axes.set(xlabel="days, sorted by prediction", ylabel="bicycles hired")
axes.legend()

# %%
# Intervals are wider where the temperature is missing, as they should be.
#
# What can go wrong
# -----------------
# A word that was never seen is treated as a level of its own, and the prediction rests on the
# other columns.

row = {"date": pd.Timestamp("2025-05-01"), "temperature": 15.0, "sky": "hail", "weekend": False}
print(
    "hail:",
    model.predict(row, return_std=True),
    " sun:",
    model.predict({**row, "sky": "sun"}, return_std=True),
)

# %%
# If values are missing *because* of what they would have been (a thermometer that fails in the
# frost), the column "temperature is missing" helps; if the reason changes after the fit,
# nothing can.
