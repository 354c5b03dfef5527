"""Check a kernel across gaps and beyond edges, on regions that are held out with all their rows.

Rows held out one by one lie among others, where the posterior variance of f is small beside the
noise: they hardly show the size of the kernel. A region does. Its rows are predicted from those
around it; e, their errors, have the covariance C + Ψ, and along the eigenvectors of C with the
largest eigenvalues λ independent variances λ + ψ, of which the kernel has the larger part.

Any rows may be given: an error that is right given some of them is right. So regions are cut out
of a sample, and those around a large region are a ring. Where rows come in groups, those around a
region are of other groups than those inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..answers.local import Shared
from ..kernels import Kernel
from ..messages.basis import Anchors
from ..messages.message import normalise
from ..rows.metric import Metric
from ..rows.nearest import nearest
from ..rows.order import columns_by_content
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from .calibration import Misses
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Region:
    """Held-out rows and those around them."""

    inner: Rows
    around: Rows

    def errors(self, kernel: Kernel, noise: float) -> tuple[Array, Array]:
        """y − m of the inner rows  (k, p), and the covariance of f  (k, k)."""
        basis = Anchors.at(kernel, np.empty((0, self.inner.X.shape[1])))
        belief = normalise(basis.prior(self.inner.y.shape[1]))
        shared = Shared.of(basis, noise, self.around)
        found = shared.predict(basis, belief, self.inner.X)
        return self.inner.y - found.mean, shared.covariance(basis, belief, self.inner.X)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Orthonormal directions in the rows of a region, those of which the kernel knows least."""

    region: Region
    directions: Array  # (k, j)

    @classmethod
    def of(cls, region: Region, kernel: Kernel, noise: float) -> Contrasts:
        """Take the largest eigenvalues of var[f], not far below the noise."""
        t = TUNING.regions
        values, vectors = np.linalg.eigh(region.errors(kernel, noise)[1])
        some = values >= t.least * region.inner.psi(noise).mean()
        return cls(region, vectors[:, some][:, -t.directions :])

    def seen(self, kernel: Kernel, noise: float) -> Misses:
        """Errors along directions that are independent with this kernel and noise."""
        e, C = self.region.errors(kernel, noise)
        values, vectors = np.linalg.eigh(self.directions.T @ C @ self.directions)
        U = self.directions @ vectors
        psi = (U**2).T @ self.region.inner.psi(noise)
        return Misses(U.T @ e, np.maximum(values, 0.0), psi)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions inside and at edges, and the kernel and noise to be checked."""

    inside: tuple[Contrasts, ...]
    edge: tuple[Contrasts, ...]
    kernel: Kernel
    noise: float
    outputs: int
    engine: Any
    grouped: bool = False  # rows came in groups: errors of a region may be alike

    @classmethod
    def of(cls, kernel: Kernel, noise: float, rows: Rows, engine: Any) -> Regions:
        """Cut regions of several sizes out of rows; the same in every call."""
        found = engine.map(
            partial(Contrasts.of, kernel=kernel, noise=noise), cut_regions(kernel, rows)
        )
        kinds, grouped = (tuple(found[::2]), tuple(found[1::2])), rows.group is not None
        return cls(*kinds, kernel, noise, rows.y.shape[1], engine, grouped)

    def __len__(self) -> int:
        return len(self.inside) + len(self.edge)

    def look(self, ratio: float) -> tuple[Misses, Misses]:
        """Errors inside and at edges, with `ratio` times the noise."""
        each = self.engine.map(
            partial(Contrasts.seen, kernel=self.kernel, noise=self.noise * ratio),
            [*self.inside, *self.edge],
        )
        k = len(self.inside)
        return self._joined(each[:k]), self._joined(each[k:])

    def _joined(self, each: Sequence[Misses]) -> Misses:
        sizes = [len(one.errors) for one in each]
        return Misses(
            np.concatenate([np.empty((0, self.outputs)), *(one.errors for one in each)]),
            np.concatenate([np.empty(0), *(one.function for one in each)]),
            np.concatenate([np.empty(0), *(one.noise for one in each)]),
            group=np.repeat(np.arange(len(each)), sizes) if self.grouped else None,
        )


def cut_regions(kernel: Kernel, rows: Rows) -> list[Region]:
    """Cut regions out of rows, smallest first; every second one at an edge.

    A region is the rows nearest to one of them, in the metric of the kernel: to any row, or to
    the farthest in a random direction. Distance is measured in ranks of each column, so
    that a few rows far away from all others are merely the last ones.
    """
    t, rng = TUNING.regions, np.random.default_rng(0)
    rows = rows.take(evenly_spaced(rows.w.size, t.sample))
    n, S = rows.w.size, Metric.of(kernel, rows.X).forward(rows.X)
    if n < t.fewest:
        return []
    tree, places = cKDTree(S), ranks(S[:, columns_by_content(S)])
    least, most = (max(t.fewest_in, share * n) for share in (t.smallest, t.largest))
    sizes = np.geomspace(least, most, t.number // 2).astype(int)
    found = []
    for size in sizes:
        way = rng.normal(size=S.shape[1])
        for centre in (rng.integers(n), np.argmax(places @ way)):
            near = nearest(tree, S[[centre]], min(n, size + t.around))[0]
            inner, around = near[:size], near[size:]
            if rows.group is not None:
                inner, around = of_other_groups(rows.group, inner, around, rng)
            inner = inner[evenly_spaced(inner.size, t.inner)]
            found.append(Region(rows.take(inner), rows.take(around)))
    return found


def of_other_groups(
    group: Array, inner: Array, around: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Keep half of the rows inside, by whole groups, and around them those of other groups."""
    own, rows = np.unique(group[inner], return_counts=True)
    order = rng.permutation(own.size)
    some = own[order[: 1 + np.searchsorted(np.cumsum(rows[order]), inner.size / 2)]]
    return inner[np.isin(group[inner], some)], around[~np.isin(group[around], some)]


def ranks(S: Array) -> Array:
    """Count values below each, and half of those equal to it, column by column  (n, d)."""
    each = zip(np.sort(S, axis=0).T, S.T)
    sides = [(np.searchsorted(a, s), np.searchsorted(a, s, side="right")) for a, s in each]
    return np.column_stack([0.5 * (low + high) for low, high in sides])
