"""
Explaining one prediction
=========================

**The question.** The model says that this patient's diabetes will progress fast. Why does it
say so, and how sure is each part of the answer?
"""

# %%
# The data
# --------
# 442 patients, shipped with scikit-learn: age, sex, body mass index, blood pressure and six
# serum measurements (s1 to s6), and a measure of how far the disease has progressed after a
# year.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from collegium import CommitteeRegressor
from collegium.plots import waterfall

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "sex", "bmi", "bp", "s3", "s5"]]
train = np.arange(len(X)) % 4 != 0

figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
dots = axes.scatter(X["bmi"], y, c=X["s5"], s=8, cmap="viridis")
axes.set(xlabel="body mass index", ylabel="progression after a year")
figure.colorbar(dots, label="s5")

# %%
# The answer
# ----------
# A prediction is a base, which is the mean prediction of other patients, plus one contribution
# per column.

model = CommitteeRegressor(learn=True, random_state=0).fit(X[train], y[train])
new = X[~train].reset_index(drop=True)
mean = model.predict(new)
row = int(np.argmax(mean))
found = model.explain(new.iloc[[row]])
print(found.text(0))

# %%
# The same as a picture. Whiskers are one standard deviation: how well the model itself knows
# each contribution.

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
waterfall(found, row=0, ax=axes)

# %%
# How we know that it is right
# ----------------------------
# **It adds up.** Base and contributions give the prediction, to rounding.

print(np.isclose(found.base + found.values.sum(), mean[row]))

# %%
# **A column that does nothing gets nothing.** We add a column of random numbers and ask again.
# Its contribution should be small, and within its own error bars of zero.

noisy = X.assign(chance=np.random.default_rng(0).normal(size=len(X)))
other = CommitteeRegressor(learn=True, random_state=0).fit(noisy[train], y[train])
asked = other.explain(noisy[~train].reset_index(drop=True).iloc[[row]])
for name, value, error in zip(noisy.columns, asked.values[0], asked.error[0], strict=True):
    print(f"{name:7} {value:+6.1f} ± {error:.1f}")

# %%
# **And the prediction itself?** An explanation explains the model, not the patient. So look at
# errors on patients put aside before explaining anything:

lower, upper = model.predict_interval(new, coverage=0.9)
held = y[~train].to_numpy()
print(
    f"RMSE {np.sqrt(np.mean((mean - held) ** 2)):.0f}, a constant {held.std():.0f}; "
    f"90 % intervals cover {np.mean((lower <= held) & (held <= upper)):.0%}"
)

# %%
# Most of the spread is noise, as the shares of this prediction's error bar say too:

print(
    dict(
        zip(
            ["noise", "lack of rows", "extrapolation"],
            found.shares[0].round(2).tolist(),
            strict=True,
        )
    )
)

# %%
# What can go wrong
# -----------------
# **Contributions are not causes.** That body mass adds much does not mean that losing weight
# takes it away again.
#
# **Columns that go together** share what they have in common as the model happens to use them.
# Their sum is well determined, each alone may not be; the error bars show it.
#
# **Compared with whom?** The base is the mean over background rows. ``background=`` takes rows
# of your own, patients of the same age for instance.
