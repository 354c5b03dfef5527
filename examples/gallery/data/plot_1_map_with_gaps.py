"""
A map with gaps
===============

**The question.** A satellite has measured a surface along its tracks, and clouds have hidden
some places. What is the surface in between, and where should the answer not be trusted?
"""

# %%
# The data
# --------
# We make the surface ourselves, so that we can look up the truth later. There are 3,000
# readings, with noise, none of them below two clouds.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor

rng = np.random.default_rng(0)
CLOUDS = np.array([[3.0, 6.5, 1.4], [7.0, 3.0, 1.8]])  # east, north, radius


def surface(X):
    """Hills of two sizes."""
    east, north = X.T
    return np.sin(east) * np.cos(0.8 * north) + 0.4 * np.sin(2.5 * east + north)


def below_cloud(X):
    distance = np.linalg.norm(X[:, None] - CLOUDS[:, :2], axis=2)
    return (distance < CLOUDS[:, 2]).any(axis=1)


tracks = rng.integers(0, 60, 6_000) / 6.0 + rng.normal(0, 0.02, 6_000)
X = np.column_stack([tracks, rng.uniform(0, 10, 6_000)])
X = X[~below_cloud(X)][:3_000]
y = surface(X) + 0.15 * rng.normal(size=len(X))

figure, axes = plt.subplots(figsize=(5.5, 4.4), layout="constrained")
dots = axes.scatter(*X.T, c=y, s=4, cmap="viridis")
axes.set(title="readings along tracks", xlabel="east", ylabel="north", aspect="equal")
figure.colorbar(dots, label="height")

# %%
# The answer
# ----------
# Nothing is tuned. ``level="function"`` asks for the surface itself; the default would add the
# noise of a new reading.

model = CommitteeRegressor(random_state=0).fit(X, y)

side = np.linspace(0, 10, 70)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
mean, sd = model.predict(grid, return_std=True, level="function")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, values, title, colours in [
    (axes[0], mean, "mean", "viridis"),
    (axes[1], sd, "standard deviation", "magma"),
]:
    picture = ax.imshow(values.reshape(70, 70), origin="lower", extent=(0, 10, 0, 10), cmap=colours)
    ax.set(title=title, xlabel="east", ylabel="north")
    figure.colorbar(picture, ax=ax, shrink=0.8)

# %%
# The right picture is the honest part: the standard deviation is small along the tracks and
# grows under the clouds, most of all in the middle of them.
#
# How we know that it is right
# ----------------------------
# We know the truth here. A 90 % interval should contain it about nine times out of ten, under
# the clouds too.

hidden = below_cloud(grid)
lower, upper = model.predict_interval(grid, coverage=0.9, level="function")
truth = surface(grid)
inside = (lower <= truth) & (truth <= upper)
error = np.abs(mean - truth)
for name, where in [("in view", ~hidden), ("under clouds", hidden)]:
    print(
        f"{name:13} mean error {error[where].mean():.3f}, mean sd {sd[where].mean():.3f}, "
        f"90 % intervals contain the truth {inside[where].mean():.0%} of the time"
    )

# %%
# Errors and error bars grow together. The share under the clouds is that of two places, whose
# errors go together, so it varies much from one draw of the data to the next.
#
# What can go wrong
# -----------------
# Beyond the map there is nothing to go by, and no method can promise error bars there.
# :meth:`model.outside <collegium.CommitteeRegressor.outside>` says which queries these are.

print(model.outside([[5.0, 5.0], [14.0, 5.0]]))

# %%
# A gap is filled by what the rest of the map looks like. If there is a volcano under the cloud,
# it is not in the interval.
