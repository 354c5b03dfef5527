"""Latent functions of rows on disk by slow code: all chunks in memory, neighbours by sorting."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.laplace.committee import LaplaceCommittee, settle_together
from collegium.rows.chunk import Chunk
from collegium.rows.store.store import Store

KERNEL = Matern32(variance=1.3, length_scale=[0.7, 1.4])
Z = np.random.default_rng(9).uniform(-3, 3, size=(25, 2))
#: Nothing is left to learn.
GIVEN = {"kernel": KERNEL, "learn": False, "anchors": Z, "n_local": 30, "chunks": 100}


def site_files(path):
    return sorted(one.name for one in Path(path).glob("sites-*.f64"))


def in_memory(model, targets, gone=()):
    """Committees of the same chunks, all of them in memory; `targets(y, w)` -> y of each, w."""
    own = model.model_
    cells = [cell for cell in Store.open(model.store).chunks() if cell.number not in gone]
    found = []
    for k, committee in enumerate(own.committees):
        chunks = []
        for cell in cells:
            X, y, w = cell.load()
            each, w = targets(y, w)
            chunks.append(Chunk(cell.number, X, each[k], w))
        found.append(LaplaceCommittee.of(committee.basis, committee.likelihood).join(chunks))
    s = own.sum.sweeping
    return settle_together(
        found, Serial(), sequential=s.sequential, tolerance=s.tolerance, max_sweeps=s.most
    )


def slow_latents(model, committees, Xs):
    """Means and variances of each latent function: for each query, its nearest rows' sites."""
    own, found = model.model_, []
    for one in committees:
        for k in range(one.likelihood.latents):
            latent = one.latent(k)
            rows, basis, belief = latent.rows(), one.basis, latent.belief
            kernel = basis.kernel
            scales = np.asarray(kernel.length_scale)
            means, variances = [], []
            for x in Xs:
                far = (((rows.X - x) / scales) ** 2).sum(axis=1)
                near = rows.take(np.argsort(far, kind="stable")[: own.sizes.n_local])
                V, v = basis.design(near.X), basis.design(x[None])[:, 0]
                Q = kernel.value(near.X) - V.T @ V
                c = kernel.value(x[None], near.X)[0] - V.T @ v
                # a = (Q + 1/W)⁻¹c for targets f + g/W of noise 1/W, where W may be zero
                a = near.W * np.linalg.solve(np.eye(near.W.size) + Q * near.W, c)
                t = v - V @ a
                T = belief.spread(t[:, None])
                local = a @ near.f[:, 0] + (c - Q @ a) @ near.g[:, 0]
                means.append(t @ belief.mean[:, 0] + local)
                left = kernel.diag(x[None])[0] - v @ v - a @ c
                variances.append(left + float((T**2).sum()))
            found.append((np.array(means), np.array(variances)))
    return found


def latents(model, Xs):
    """Those of the model, not scaled."""
    before = model.model_.sum
    own = replace(model.model_, sum=replace(before, scale=type(before.scale)()))
    return [(one.mean[:, 0], one.variance) for one in own.latents().predict(Xs, Serial())]
