"""
Classes with probabilities
==========================

**The question.** Which class is it, and when the model says 70 %, is it right seven times out
of ten?
"""

# %%
# The data
# --------
# Two classes in the shape of half moons that overlap, so that even the best classifier is often
# unsure.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from collegium import CommitteeClassifier

X, which = make_moons(3_500, noise=0.35, random_state=0)
y = np.array(["upper", "lower"])[which]
train, test = slice(0, 1_000), slice(1_000, None)

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, colour in [("upper", "tab:blue"), ("lower", "tab:orange")]:
    axes.scatter(*X[train][y[train] == name].T, s=6, c=colour, label=name)
axes.set(xlabel="first column", ylabel="second column")
axes.legend()

# %%
# The answer
# ----------
# Labels are words here; they could be numbers, and more than two.

model = CommitteeClassifier(random_state=0).fit(X[train], y[train])
print(model.classes_, f"{np.mean(model.predict(X[test]) == y[test]):.1%} right")

# %%
across, up = np.linspace(-2, 3, 120), np.linspace(-1.6, 2.1, 90)
grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
share = model.predict_proba(grid)[:, list(model.classes_).index("upper")].reshape(90, 120)

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
filled = axes.contourf(across, up, share, levels=np.linspace(0, 1, 11), cmap="RdBu")
axes.contour(across, up, share, levels=[0.5], colors="k", linewidths=1)
axes.set(title='probability of "upper"', xlabel="first column", ylabel="second column")
figure.colorbar(filled)

# %%
# How we know that it is right
# ----------------------------
# Sort the 2,500 rows that were put aside by their probability and count. On the diagonal
# probabilities are right. A classifier by nearest neighbours for comparison:

neighbours = KNeighborsClassifier(5).fit(X[train], y[train])
figure, axes = plt.subplots(figsize=(4.2, 3.8), layout="constrained")
axes.plot([0, 1], [0, 1], c="gray", lw=1)
for name, classifier in [("committee", model), ("5 nearest neighbours", neighbours)]:
    said = classifier.predict_proba(X[test])
    upper = said[:, list(classifier.classes_).index("upper")]
    bins = np.clip((upper * 10).astype(int), 0, 9)
    full = [b for b in range(10) if (bins == b).sum() > 20]
    axes.plot(
        [upper[bins == b].mean() for b in full],
        [(y[test][bins == b] == "upper").mean() for b in full], "o-", ms=4, label=name,
    )  # fmt: skip
    print(f"{name:21} log loss {log_loss(y[test], said, labels=classifier.classes_):.3f}")
axes.set(xlabel='predicted probability of "upper"', ylabel="how often it was")
axes.legend()

# %%
# Both are near the diagonal. But one in five neighbours is a coarse measure: it says "never"
# and "always" too often, and log loss charges dearly for that.
#
# Where a decision must be safe, ask for the *set* of classes that contains the true one with a
# given probability. It has two members where the model cannot tell:

own, rest = slice(1_000, 1_500), slice(1_500, None)
model.calibrate(X[own], y[own])
sets = model.predict_set(X[rest], 0.95)
column = np.searchsorted(model.classes_, y[rest])
print(
    f"{sets[np.arange(len(column)), column].mean():.1%} of the sets contain the class; "
    f"{(sets.sum(axis=1) == 2).mean():.0%} have both"
)

# %%
# What can go wrong
# -----------------
# Probabilities are those of the mix of classes in the training rows. If one class is rarer
# where the model is used, they are off. With rare classes, accuracy says little;
# ``class_weight="balanced"`` gives them weight, at the price of probabilities that are no
# longer frequencies.
