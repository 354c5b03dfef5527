"""
A Dask cluster
==============

**The question.** There is a cluster. Does it help, and does the answer change with the number
of workers?
"""

# %%
# The data
# --------
# 5,000 rows in two columns; a real cluster is for a thousand times as many.

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from collegium import CommitteeRegressor
from collegium.engines.dask import DaskEngine
from collegium.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(5_000, 2))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=5_000)

figure, axes = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
dots = axes.scatter(*X.T, c=y, s=3, cmap="viridis")
axes.set(xlabel="first column", ylabel="second column")
figure.colorbar(dots, label="y")

# %%
# The answer
# ----------
# An engine says where sums over chunks run. Here two workers are started on this machine, in
# its own process; on a cluster, ``Client("tcp://scheduler:8786")`` is the only line that
# changes.

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)
kernel = RBF(
    length_scale=[0.7, 3.0]
)  # given, which saves time here; it can be learnt on workers too
arguments = {"noise": 0.01, "learn": False, "random_state": 0}
model = CommitteeRegressor(kernel, engine=DaskEngine(client), **arguments).fit(X, y)
mean, std = model.predict(X[:1_000], return_std=True)
print(model.n_chunks_, "chunks, added on", len(client.nthreads()), "workers")

# %%
# How we know that it is right
# ----------------------------
# The same model without a cluster gives the same numbers, to the last bit. Messages are added
# in fixed point, so neither the number of workers nor the order in which they finish matters.

alone = CommitteeRegressor(kernel, **arguments).fit(X, y)
mean_alone, std_alone = alone.predict(X[:1_000], return_std=True)
print("same bits:", np.array_equal(mean, mean_alone) and np.array_equal(std, std_alone))

# %%
# A fitted model does not need the cluster any more, once its engine is this machine:

model.set_params(engine=None)
client.close()
cluster.close()
print(model.predict([[0.5, 0.5]], return_std=True))

# %%
# What can go wrong
# -----------------
# For small tables a cluster is slower than ``n_jobs=-1``: every call to the workers costs tens
# of milliseconds. Rows in files (:func:`collegium.open`) are read by the workers, so the files
# must have the same paths there; arrays are sent. collegium must be installed on the workers in
# the same version, and a warning names workers whose processors round differently.
