"""g as a weighted sum: whitened bases of c₀, f₁(log sd), f₂(m), f₃(x), f₄(q) and f₅(trees)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from ..kernels.stationary.matern import RBF, Matern32
from ..messages.basis import Anchors
from ..messages.expansion import Expansion
from ..numerics.records import record
from ..rows.partition import evenly_spaced, first_of_equals
from .features import ScaleInputs, Standard
from .tuning import TUNING

Array = np.ndarray
#: Which of log sd, m, q and the answer of trees have a linear term.
STRAIGHT = (True, False, True, True)
LINE = RBF(1.0, 1.0)


def clusters(S: Array, most: int) -> Array:
    """Find at most `most` centres by k-means, the same in any order of the rows  (m, d)."""
    first, where = first_of_equals(S)
    points, count = S[first], np.bincount(where).astype(float)
    if points.shape[0] <= most:
        return points
    rng = np.random.default_rng(0)
    centres = points[np.sort(rng.choice(points.shape[0], most, replace=False))]
    for _ in range(TUNING.basis.rounds):
        _, own = cKDTree(centres).query(points)
        size = np.bincount(own, count, most)
        sums = [np.bincount(own, count * column, most) for column in points.T]
        means = np.stack(sums, axis=1) / np.maximum(size, 1e-300)[:, None]
        new = np.where(size[:, None] > 0.0, means, centres)
        if (new == centres).all():
            break
        centres = new
    return centres


def median_distance(S: Array) -> float:
    """Median distance of pairs of rows; the mean where most are zero, one where all are."""
    found = pdist(S[evenly_spaced(S.shape[0], TUNING.basis.pairs)])
    for value in (np.median(found), found.mean()) if found.size else ():
        if value > 0.0:
            return float(value)
    return 1.0


@record("scale.function/1")
@dataclass(frozen=True, eq=False)
class ScaleFunction:
    """g(x) = c₀ + Σⱼ (slopeⱼ tⱼ + Σᵢ k(tⱼ, gridⱼᵢ) bendⱼᵢ) + Σᵢ k₃(x, Zᵢ) weightᵢ."""

    standard: Standard
    constant: float
    slopes: Array  # of log sd, m and the other lines that are known  (k,)
    grids: Array  # (k, grid)
    bends: Array  # (k, grid)
    Z: Array  # (m, d)
    length: float
    weights: Array  # (m,)

    def __call__(self, inputs: ScaleInputs, output: int) -> Array:
        """g of one output  (n,); lines that are not known, q without rows nearby, are set to their
        means."""
        own = self.standard
        T = own.forward(inputs.lines(output, own.kinds, own.centre))
        g = np.full(T.shape[0], self.constant)
        for t, slope, grid, bend in zip(T.T, self.slopes, self.grids, self.bends):
            g += slope * t + Expansion(LINE, grid[:, None], bend[:, None]).at(t[:, None])[:, 0]
        places = Expansion(Matern32(1.0, self.length), self.Z, self.weights[:, None])
        return g + places.at(inputs.place)[:, 0]


@dataclass(frozen=True, eq=False)
class ScaleBasis:
    """B(θ) (n, m) at held-out rows, g = Bw with w ~ N(0, I).

    θ = log variances of f₁, f₂ and, if q is known, f₄; log variance of f₃; log of its length in
    median distances.
    """

    standard: Standard
    lines: tuple[Array, ...]  # B of each line at variance one
    grids: tuple[Anchors, ...]
    S: Array  # places  (n, d)
    Z: Array  # (m, d)
    unit: float  # median distance of places

    @classmethod
    def of(cls, inputs: ScaleInputs, output: int, weight: Array) -> ScaleBasis:
        kinds = inputs.kinds
        raw = inputs.lines(output, kinds)
        standard = Standard.of(raw, weight, kinds)
        grids, lines = [], []
        straights = [STRAIGHT[kind] for kind in kinds]
        for t, low, high, straight in zip(
            standard.forward(raw).T, standard.low, standard.high, straights
        ):
            grid = Anchors.at(LINE, np.linspace(low, high, TUNING.basis.grid)[:, None])
            V = grid.design(t[:, None])
            grids.append(grid)
            lines.append(np.vstack([V, t]).T if straight else V.T)
        Z, unit = clusters(inputs.place, TUNING.basis.places), median_distance(inputs.place)
        return cls(standard, tuple(lines), tuple(grids), inputs.place, Z, unit)

    @property
    def prior(self) -> Array:
        """Means and standard deviations of θ  (q, 2)."""
        t, kinds = TUNING.priors, self.standard.kinds
        own = [(t.centres[kind], t.spreads[kind]) for kind in kinds]
        return np.array([*own, t.place, t.stretch])

    def _places(self, theta: Array) -> Anchors:
        kernel = Matern32(float(np.exp(theta[-2])), float(np.exp(theta[-1])) * self.unit)
        return Anchors.at(kernel, self.Z)

    def design(self, theta: Array) -> Array:
        """B  (n, m)."""
        parts = [np.exp(0.5 * v) * line for v, line in zip(theta, self.lines)]
        places = self._places(theta).design(self.S).T
        return np.hstack([np.full((self.S.shape[0], 1), TUNING.basis.level), *parts, places])

    def design_vjp(self, theta: Array, B: Array, B_bar: Array) -> Array:
        """Σ B̄ ∂B/∂θ  (q,)."""
        theta_bar, start = np.empty(theta.size), 1
        for j, line in enumerate(self.lines):
            here = slice(start, start + line.shape[1])
            theta_bar[j] = 0.5 * np.vdot(B_bar[:, here], B[:, here])
            start = here.stop
        places, V_bar = self._places(theta), np.ascontiguousarray(B_bar[:, start:].T)
        theta_bar[-2:] = places.finish(places.design_vjp(self.S, B[:, start:].T, V_bar))
        return theta_bar

    def function(self, theta: Array, w: Array) -> ScaleFunction:
        """Make g for any row from the weights."""
        slopes, bends, start, size = [], [], 1, TUNING.basis.grid
        for v, line, grid in zip(theta, self.lines, self.grids):
            own = np.exp(0.5 * v) * w[start : start + line.shape[1]]
            bends.append(grid.expansion(own[:size, None]).weights[:, 0])
            slopes.append(own[size] if own.size > size else 0.0)
            start += line.shape[1]
        weights = np.exp(theta[-2]) * self._places(theta).expansion(w[start:, None]).weights[:, 0]
        return ScaleFunction(
            self.standard, float(TUNING.basis.level * w[0]), np.array(slopes),
            np.array([grid.Z[:, 0] for grid in self.grids]), np.array(bends),
            self.Z, float(np.exp(theta[-1])) * self.unit, weights,
        )  # fmt: skip
