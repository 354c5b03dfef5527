"""
Forgetting a customer, with a certificate
=========================================

**The question.** A customer asks for their data to be deleted. Deleting rows from a table is
easy. How are they deleted from a *model*, and how can that be shown?
"""

# %%
# The data
# --------
# A plant records temperature, pressure and yield of runs for fifty customers. Customer 7 ran
# the plant where nobody else did.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from collegium import CommitteeRegressor, Ledger

rng = np.random.default_rng(0)
n = 2_400
temperature, pressure = rng.uniform(20, 80, n), rng.uniform(1, 4, n)
customer = rng.integers(0, 50, n)
temperature[customer == 7] = rng.uniform(80, 95, (customer == 7).sum())
made = 60 + 20 * np.sin(temperature / 15) + 4 * pressure + rng.normal(0, 2, n)
table = pd.DataFrame({"t": temperature, "p": pressure, "customer": customer, "yield": made})

figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
seven = customer == 7
axes.plot(temperature[~seven], made[~seven], ".", ms=2, c="gray")
axes.plot(temperature[seven], made[seven], "r.", ms=5, label="customer 7")
axes.set(xlabel="temperature", ylabel="yield")
axes.legend()

# %%
# The answer
# ----------
# A ledger is one file with the rows, the model, and a record of every change.

start = CommitteeRegressor(random_state=0).fit(table[["t", "p"]], table["yield"])
path = Path(tempfile.mkdtemp()) / "plant.clgdb"
days = [f"day {k:02d}" for k in range(24) for _ in range(100)]  # which rows came together
ledger = Ledger.of(start, table, path=path, ids=days, target="yield")
before = ledger.model()

certificate = ledger.forget(where="customer = 7", reason="request 2231")
print(certificate)
forgotten = ledger.model()

# %%
# The sum of messages is now, to the last bit, that of a ledger which never had these rows. But
# the certificate is honest: kernel, noise and anchors were *learnt* with them, and still
# remember. One more step removes that, too.

grid = pd.DataFrame({"t": np.linspace(20, 95, 200), "p": 2.5})
ledger.relearn()
print("still remember:", ledger.certify().remembers)
after = ledger.model()

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for model, name, colour in [(before, "before", "tab:red"), (after, "after", "tab:blue")]:
    mean, sd = model.predict(grid, return_std=True, level="function")
    axes.plot(grid["t"], mean, c=colour, label=name)
    axes.fill_between(grid["t"], mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.25)
axes.axvline(80, c="gray", lw=1)
axes.set(xlabel="temperature, at a pressure of 2.5", ylabel="yield")
axes.legend()

# %%
# Where only customer 7 had been, the model no longer knows: its error bars open.
#
# How we know that it is right
# ----------------------------
# A second ledger on the same basis, which never hears of customer 7, has the same model to the
# last bit as the first one after ``forget``.

never = Ledger(path.with_name("never.clgdb"), start, target="yield")
for day in sorted(set(days)):
    rows = (np.array(days) == day) & ~seven
    never.add(table[rows], id=day)
same = [
    np.array_equal(a, b)
    for a, b in zip(
        never.model().predict(grid, return_std=True, level="function"),
        forgotten.predict(grid, return_std=True, level="function"), strict=True,
    )
]  # fmt: skip
print("the same bits:", all(same))
never.close()

# %%
# And ``verify`` compares all rows, events and sums in the file with their hashes:

print(ledger.verify()["rows"], "rows are left, all as they were written")
ledger.close()

# %%
# What can go wrong
# -----------------
# Copies. A model that was saved before (``before`` above), a backup, a report with the worst
# ten rows: the ledger cannot reach them. Write down where models go. Before ``relearn()``, an
# expert may still learn something about the rows from the kernel and the anchors; whether that
# matters is a question for a lawyer, and the certificate says exactly what is left.
