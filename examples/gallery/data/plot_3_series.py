"""
A time series with a trend and seasons
======================================

**The question.** Eleven years of monthly sales. What will the next two years be, and how far
might we be off?
"""

# %%
# The data
# --------
# The season grows with the level, as it does in most sales. The last two years are put aside.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from collegium import CommitteeRegressor, ExtrapolationWarning, plots
from collegium.kernels import Matern32

rng = np.random.default_rng(0)
n, ahead = 132, 24
month = pd.date_range("2014-01-01", periods=n, freq="MS")
k = np.arange(n)
season = 0.25 * np.sin(2 * np.pi * k / 12) + 0.10 * np.cos(4 * np.pi * k / 12)
wander = 0.02 * np.cumsum(rng.normal(size=n))
sales = 200 * np.exp(0.008 * k + season + wander + 0.04 * rng.normal(size=n))
table = pd.DataFrame({"month": month})
past, future = slice(0, n - ahead), slice(n - ahead, n)

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
axes.plot(month[past], sales[past], "k.-", lw=0.7)
axes.set(ylabel="sales", title="nine years to learn from")

# %%
# The answer
# ----------
# A column of dates is enough: the model looks for a trend and for seasons of a year, a week and
# a day, and keeps those by which forecasts of held-out *future* rows gain.

model = CommitteeRegressor(random_state=0).fit(table[past], sales[past])
print(model.summary())

# %%
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
plots.series(
    model, table[past], sales[past], table[future],
    y_future=sales[future], coverage=0.9, ax=axes,
)  # fmt: skip

# %%
# How we know that it is right
# ----------------------------
# By the two years that were put aside, and beside two simpler forecasts: last year again, and a
# kernel that knows nothing of seasons (it warns that it is asked beyond its rows, and rightly
# so).

warnings.simplefilter("ignore", ExtrapolationWarning)
y = sales[future]
mean = model.predict(table[future])
lower, upper = model.predict_interval(table[future], coverage=0.9)
last_year = np.tile(sales[past][-12:], 2)
plain = CommitteeRegressor(Matern32(), random_state=0).fit(table[past], sales[past])
for name, forecast in [
    ("model", mean),
    ("last year again", last_year),
    ("no season, no trend", plain.predict(table[future])),
]:
    print(f"{name:20} RMSE {np.sqrt(np.mean((forecast - y) ** 2)):.0f}")
inside = (lower <= y) & (y <= upper)
print(f"90 % intervals cover {inside.sum()} of {ahead} months")

# %%
# The intervals widen with the distance from the last row, because the level wanders.
#
# What can go wrong
# -----------------
# Forecasts are as good as the past is like the future. Errors of successive months go together:
# if the level leaves the interval it stays outside for a while, so "nine out of ten" holds over
# many series rather than within one. With less than two or three full periods no season can be
# told from chance, and the model says so by not using one.
