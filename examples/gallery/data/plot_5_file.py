"""
A file larger than memory
=========================

**The question.** The rows are in Parquet files, more than fit into memory. How is a model
fitted to all of them?
"""

# %%
# The data
# --------
# Twelve files stand in for a thousand. Nothing below depends on how many there are.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import collegium
from collegium import CommitteeRegressor, plots

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)


def rides(n):
    lon, lat, hour = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.uniform(0, 24, n)
    fare = 8 + 6 * np.hypot(lon, lat) + 2 * np.exp(-((hour - 18) ** 2) / 8) + rng.gamma(2, 0.5, n)
    return pd.DataFrame({"lon": lon, "lat": lat, "hour": hour, "fare": fare})


for month in range(12):
    rides(1_500).to_parquet(folder / f"rides-{month:02d}.parquet")
sample = rides(2_000)

figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
dots = axes.scatter(sample["lon"], sample["lat"], c=sample["fare"], s=5, cmap="viridis")
axes.set(xlabel="lon", ylabel="lat", title="a few rows of one file")
figure.colorbar(dots, label="fare")

# %%
# The answer
# ----------
# :func:`collegium.open` reads schemas only. ``store=`` is a folder into which rows are sorted,
# cell by cell; predictions find their nearest rows there. Memory stays at about a gigabyte,
# whatever the number of rows.

source = collegium.open(str(folder / "rides-*.parquet"), target="fare")
model = CommitteeRegressor(store=folder / "store", n_local=50, random_state=0).fit(source)
print(model.summary())

# %%
# Predictions go from file to file, too.

sample.drop(columns="fare").to_parquet(folder / "questions.parquet")
model.predict_to(folder / "questions.parquet", folder / "answers.parquet", interval=0.9)
answers = pd.read_parquet(folder / "answers.parquet")
print(answers.head())

# %%
# How we know that it is right
# ----------------------------
# The 2,000 rows in ``sample`` are in none of the files.

error = answers["mean"] - sample["fare"]
inside = (answers["lower"] <= sample["fare"]) & (sample["fare"] <= answers["upper"])
noise = np.sqrt(2) * 0.5
print(f"RMSE {np.sqrt((error**2).mean()):.3f}; the noise alone has {noise:.3f}")
print(f"90 % intervals cover {inside.mean():.1%}")
size = sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())
print(f"the store has {size / 1e6:.1f} MB on disk")

figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
inputs = sample[["lon", "lat", "hour"]]
plots.calibration(model, inputs, sample["fare"], ax=axes[0])
plots.pit(model, inputs, sample["fare"], ax=axes[1])

# %%
# Left: intervals hold about as many rows as they promise; crosses are where chance alone does
# not explain the difference. Right: rows fall everywhere in their predictive distributions about
# equally often, although the noise is skewed (a gamma distribution).
#
# What can go wrong
# -----------------
# The model file keeps the *path* of the store, not its rows: before loading the model
# elsewhere, copy the folder too. Files that change while they are read are refused. A bad value
# is reported with file, row group, row and column; ``on_bad_chunk="skip"`` skips its chunk
# instead.
