"""
A stream that wanders and drifts
================================

**The question.** Rows never end, inputs move to places not seen before, and the function
itself changes. Can one model keep up, in constant memory, and say when it does not?
"""

# %%
# The data
# --------
# 3,000 rows, 25 at a time. Inputs wander; after 1,500 rows the function jumps, as if a sensor
# had been replaced.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from collegium import OnlineGPRegressor, StreamWarning

rng = np.random.default_rng(0)
n, size = 3_000, 25
t = np.arange(n)
X = np.column_stack([3 * np.sin(t / 400) + 0.7 * rng.normal(size=n), rng.uniform(-2, 2, n)])
phase = np.where(t < n // 2, 0.0, 1.5)
truth = np.sin(1.5 * X[:, 0] + phase) + 0.5 * X[:, 1]
y = truth + 0.1 * rng.normal(size=n)

figure, axes = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
axes[0].plot(t, X[:, 0], ".", ms=1)
axes[0].set(ylabel="first input")
axes[1].plot(t, y, ".", ms=1)
axes[1].axvline(n // 2, c="r", lw=1)
axes[1].set(xlabel="row", ylabel="y")

# %%
# The answer
# ----------
# ``forgetting="auto"`` runs models with different rates of forgetting side by side and follows
# the one that has predicted the last rows best. Each batch is predicted, then learnt from:
# every error below is that of a prediction made before the row was seen.

batches = [slice(i, i + size) for i in range(0, n, size)]
tracks, alarms = {}, {}
for name, forgetting in [("keeps everything", 1.0), ("follows", "auto")]:
    model = OnlineGPRegressor(budget=80, forgetting=forgetting, random_state=0)
    errors, rates, inside = [], [], []
    model.partial_fit(X[batches[0]], y[batches[0]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", StreamWarning)
        for rows in batches[1:]:
            mean, std = model.predict(X[rows], return_std=True)
            model.partial_fit(X[rows], y[rows])
            errors.append(np.sqrt(np.mean((mean - y[rows]) ** 2)))
            inside.append(np.mean(np.abs(y[rows] - mean) < 1.96 * std))
            rates.append(model.forgetting_ if forgetting == "auto" else 1.0)
    alarms[name] = len(said)
    tracks[name] = np.array([errors, inside, rates])

figure, axes = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
at = t[size::size]
for name, (errors, _, _) in tracks.items():
    axes[0].semilogy(at, errors, lw=1, label=name)
axes[0].axhline(0.1, c="gray", ls=":", label="noise")
axes[0].set(ylabel="RMSE of the next batch")
axes[0].legend()
axes[1].step(at, tracks["follows"][2], c="tab:orange")
axes[1].set(xlabel="row", ylabel="rate followed")

# %%
# How we know that it is right
# ----------------------------
# Errors of rows before they were learnt from, and the share of them inside 95 % intervals:

for name, (errors, inside, _) in tracks.items():
    for part, where in [("before", at < n // 2), ("after the jump", at >= n // 2)]:
        rmse, covered = errors[where].mean(), inside[where].mean()
        print(f"{name:17} {part:15} RMSE {rmse:.2f}, coverage {covered:.2f}")

# %%
# The model that keeps everything is right again where inputs are new, and wrong as soon as they
# come back to places that it knows from before the jump. The other one follows a fast rate of
# forgetting for a few hundred rows and then a slower one, so that it does not pay for
# forgetting for ever.
#
# What can go wrong
# -----------------
# ``model.stream_`` keeps the score, and a :class:`~collegium.StreamWarning` is raised when far
# more rows are outside of their intervals than expected. Do not ignore it: it is the only sign
# that a stream has changed in a way that forgetting cannot follow, such as an input that is
# missing.

print("warnings:", alarms)
found = model.stream_
print(f"{found.coverage:.2f} of {found.checked} checked rows were inside of their 95 % intervals")
