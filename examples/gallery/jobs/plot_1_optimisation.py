"""
Bayesian optimisation in six dimensions
=======================================

**The question.** Each evaluation is expensive: an hour of computing, a day in the laboratory.
There are six knobs and a budget of 60 evaluations. Where is the minimum?
"""

# %%
# The data
# --------
# None yet: the function is asked as we go. Hartmann's function is a common test with six local
# minima and a known least value, −3.322.

import matplotlib.pyplot as plt
import numpy as np

from collegium.optimise import minimise

A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
              [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
P = 1e-4 * np.array([
    [1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381],
])  # fmt: skip
LEAST, EVALUATIONS = -3.32237, 60


def hartmann(x):
    return -float(
        np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(A * (np.asarray(x) - P) ** 2).sum(axis=1))
    )


rng = np.random.default_rng(0)
chance = rng.uniform(size=(2_000, 6))
values = np.array([hartmann(x) for x in chance])
figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
axes.hist(values, bins=50)
axes.axvline(LEAST, c="r", label="the minimum")
axes.set(xlabel="value at a random point", ylabel="of 2,000 points")
axes.legend()

# %%
# Almost everywhere the function is flat, and 2,000 random points do not come near the minimum.
#
# The answer
# ----------
# ``minimise`` fits a regressor to what is known, asks where the expected improvement is
# largest, evaluates there, and repeats.

found = minimise(hartmann, [(0.0, 1.0)] * 6, evaluations=EVALUATIONS, random_state=0)
print(f"best value {found.value:.3f} at {found.x.round(3)}")

# %%
# How we know that it is right
# ----------------------------
# By the known minimum, and beside random search with the same budget, forty times:

searches = np.array([
    np.minimum.accumulate([hartmann(x) for x in rng.uniform(size=(EVALUATIONS, 6))])
    for _ in range(40)
])  # fmt: skip
best = np.minimum.accumulate(found.y)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.fill_between(np.arange(EVALUATIONS) + 1, *np.quantile(searches, [0.1, 0.9], axis=0), alpha=0.3,
                  color="gray", label="random search, 10 % to 90 %")  # fmt: skip
axes.plot(np.arange(EVALUATIONS) + 1, best, label="minimise")
axes.axhline(LEAST, c="r", lw=1, ls=":")
axes.set(xlabel="evaluations", ylabel="best value so far")
axes.legend()
print(f"left to the minimum: {best[-1] - LEAST:.3f}")
print(f"random search: {np.median(searches[:, -1]) - LEAST:.3f}")

# %%
# What the model has learnt can be read: which knobs matter.

print(found.model.feature_importances_.round(2))

# %%
# What can go wrong
# -----------------
# One run says little: the ends of runs with other seeds differ, and sometimes a run ends in the
# second-best minimum. With noise, the least of many noisy values is mostly luck; ``value`` is
# then the posterior mean at ``x``. In more than about twenty dimensions the space is too large
# for any method of this kind: fix the knobs that hardly matter.
