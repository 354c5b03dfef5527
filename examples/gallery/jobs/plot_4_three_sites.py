"""
Three sites that merge
======================

**The question.** Three hospitals may not exchange rows. Can they learn one model together,
the same as if all rows were in one place?
"""

# %%
# The data
# --------
# The sites see different patients: young, middle-aged and old.

import matplotlib.pyplot as plt
import numpy as np

from collegium import CommitteeRegressor

rng = np.random.default_rng(0)
n = 800


def response(age, dose):
    return 2 * np.sin(age / 12) + dose * np.exp(-(((age - 50) / 20) ** 2))


sites = {}
for name, (low, high) in {"north": (18, 45), "middle": (35, 65), "south": (55, 90)}.items():
    X = np.column_stack([rng.uniform(low, high, n), rng.uniform(0, 2, n)])
    sites[name] = (X, response(*X.T) + 0.3 * rng.normal(size=n))

figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
for name, (X, y) in sites.items():
    axes.plot(X[:, 0], y, ".", ms=2, label=name)
axes.set(xlabel="age", ylabel="response")
axes.legend()

# %%
# The answer
# ----------
# They agree on a *basis*: a kernel, a noise and anchors, learnt from rows that may be shared (a
# pilot study, here simulated). ``blank()`` is a model with this basis that has seen nothing.
# Each site learns alone, and its sum of messages (a matrix and a vector, no rows) is all that
# travels: ``n_local=0`` means that answers need no rows.

X_pilot = np.column_stack([rng.uniform(18, 90, 2_200), rng.uniform(0, 2, 2_200)])
y_pilot = response(*X_pilot.T) + 0.3 * rng.normal(size=2_200)
arguments = {"n_local": 0, "noise": "constant", "transforms": None, "random_state": 0}
basis = CommitteeRegressor(**arguments).fit(X_pilot, y_pilot).blank()

models = {}
for name, (X, y) in sites.items():
    models[name] = basis.blank().partial_fit(X, y, chunk_id=name)

together = basis.blank()
for model in models.values():
    together.merge(model)
print(together.chunk_ids_)

# %%
ages = np.column_stack([np.linspace(18, 90, 150), np.ones(150)])
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, {**models, "together": together}.items(), strict=True):
    mean, sd = model.predict(ages, return_std=True, level="function")
    ax.plot(ages[:, 0], response(*ages.T), "k--", lw=1)
    ax.plot(ages[:, 0], mean)
    ax.fill_between(ages[:, 0], mean - 2 * sd, mean + 2 * sd, alpha=0.3)
    ax.set(title=name, xlabel="age, at a dose of 1")

# %%
# How we know that it is right
# ----------------------------
# One model that gets all rows, in another order, is the same to the last bit.

central = basis.blank()
for name in ["south", "north", "middle"]:
    central.partial_fit(*sites[name], chunk_id=name)
queries = np.column_stack([rng.uniform(18, 90, 500), rng.uniform(0, 2, 500)])
same = [
    np.array_equal(a, b)
    for a, b in zip(
        central.predict(queries, return_std=True),
        together.predict(queries, return_std=True),
        strict=True,
    )
]
print("means and standard deviations are the same bits:", all(same))
error = together.predict(queries) - response(*queries.T)
print(f"RMSE to the truth {np.sqrt(np.mean(error**2)):.3f}; noise of one patient 0.3")

# %%
# A site can take its contribution back: ``together.forget("south", X=X, y=y)`` subtracts it,
# exactly.
#
# What can go wrong
# -----------------
# **A sum is not anonymous.** From the message of few rows something about these rows can be
# computed. A message of many rows hides single ones, but this is no formal guarantee such as
# differential privacy.
#
# The basis has to suit everybody: if one site has patients where there are no anchors, it
# cannot say anything about them. And a site whose measurements are biased spoils the sum; look
# at the sites one by one, as above, before merging.
