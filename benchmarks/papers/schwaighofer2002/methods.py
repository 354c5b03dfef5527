"""Data, methods and tuning for the tables of Schwaighofer & Tresp (2002)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import data as files
from benchmarks.harness.data import Array, centre_and_scale
from benchmarks.papers.tresp2000.setting import INPUT_CUBE
from benchmarks.papers.tresp2000.setting import art as art_rows
from benchmarks.tasks.regression.sets import one_hot_sex
from collegium import (
    Chunks,
    CommitteeRegressor,
    NystromRegressor,
    OnlineGPRegressor,
    Select,
    SparseGPRegressor,
    Transductive,
)
from collegium.engines import Threads
from collegium.kernels import RBF

SETS = ("abalone", "kin8nm", "kin40k", "art")
FOLDS = 10
#: Rows on which hyperparameters are tuned, and rows that judge them.
TUNING_ROWS, JUDGING_ROWS = 4000, 1000


@dataclass(frozen=True)
class Data:
    name: str
    X: Array
    y: Array
    truth: Array  # what errors are measured against: f where it is known, otherwise y

    def thinned(self, n: int) -> Data:
        """The first n rows."""
        return Data(self.name, self.X[:n], self.y[:n], self.truth[:n])


@dataclass(frozen=True)
class Fold:
    """Rows standardised with the statistics of the training part."""

    X: Array
    y: Array
    X_test: Array
    truth: Array
    seed: int


@dataclass(frozen=True)
class Hyper:
    """A exp(−½ Σ (x − x')²/ℓ²) and noise σ², for standardised rows; means depend on σ²/A only."""

    scales: tuple[float, ...]  # ℓ; one: isotropic
    variance: float  # A
    noise: float  # σ²

    @property
    def given(self) -> dict:
        """Arguments of an estimator that takes them as they are."""
        scales = self.scales[0] if len(self.scales) == 1 else list(self.scales)
        return {"kernel": RBF(self.variance, scales), "noise": self.noise, "learn": False}

    def times(self, width: float, noise: float) -> Hyper:
        return Hyper(tuple(width * s for s in self.scales), self.variance, noise * self.noise)

    def __str__(self) -> str:
        scales = " ".join(f"{s:.3g}" for s in self.scales)
        return f"ℓ = {scales}, σ²/A = {self.noise / self.variance:.2g}"


@dataclass(frozen=True)
class Answer:
    mean: Array
    weight: float = np.nan  # the largest of the Nyström method


# -- data -------------------------------------------------------------------------------------


def load(folder: Path, name: str) -> Data | None:
    """A data set; None where its file is absent."""
    if name == "art":
        return art()
    rows = files.rows(folder, name)
    if rows is None:
        return None
    X, y = rows
    if name == "abalone":
        X = one_hot_sex(X)
    return Data(name, X, y, y)


def art(
    function: int = 0, n: int = 50_000, cube: tuple[float, float] = INPUT_CUBE
) -> Data:  # fmt: skip
    """ART with centres in the cube of the inputs, for which Tresp's Table 2 agrees best."""
    return Data("art", *art_rows(n, 0, function=function, cube=cube))


def parts(data: Data) -> list[Array]:
    """Ten random parts of the rows, the test rows of the ten folds."""
    return np.array_split(np.random.default_rng(2002).permutation(data.y.size), FOLDS)


def fold(data: Data, k: int) -> Fold:
    test = parts(data)[k]
    train = np.setdiff1d(np.arange(data.y.size), test)
    return _standardised(data, train, test, data.truth, k)


def for_tuning(data: Data, tested: list[int], n: int = TUNING_ROWS) -> Fold:
    """Rows that are in none of the tested parts, judged by noisy targets."""
    parts_left = [part for k, part in enumerate(parts(data)) if k not in tested]
    rows = np.random.default_rng(17).permutation(np.concatenate(parts_left))
    judging = min(JUDGING_ROWS, rows.size // 5)
    return _standardised(data, rows[judging : judging + n], rows[:judging], data.y, 100)


def _standardised(data: Data, train: Array, test: Array, truth: Array, seed: int) -> Fold:
    centre, scale = centre_and_scale(data.X[train])
    middle, unit = data.y[train].mean(), data.y[train].std()
    X, y, truth = (data.X - centre) / scale, (data.y - middle) / unit, (truth - middle) / unit
    return Fold(X[train], y[train], X[test], truth[test], seed)


def remaining(f: Fold, mean: Array) -> float:
    """100 MSE / MSE of the training mean, which is 0 here."""
    return 100.0 * float(np.mean((f.truth - mean) ** 2) / np.mean(f.truth**2))


def spread(f: Fold, mean: Array) -> float:
    """Standard error of `remaining` over the test rows of one fold."""
    excess = (f.truth - mean) ** 2 - 0.01 * remaining(f, mean) * f.truth**2
    return 100.0 * float(excess.std() / np.sqrt(excess.size) / np.mean(f.truth**2))


# -- methods ----------------------------------------------------------------------------------


def srm(f: Fold, hyper: Hyper, anchors) -> Answer:
    """Subset of representers: the means of DTC."""
    model = SparseGPRegressor(**hyper.given, method="dtc", anchors=anchors, random_state=f.seed)
    return Answer(model.fit(f.X, f.y).predict(f.X_test))


def selected(rule: str, **pool: int) -> Callable[[Fold, Hyper, int], Answer]:
    """SRM with B anchors by a rule."""
    return lambda f, hyper, B: srm(f, hyper, Select(rule, B, **pool))


def srm_trans(f: Fold, hyper: Hyper, B: int, clustered: bool = False) -> Answer:
    queries = Transductive(min(B, len(f.truth)))
    model = SparseGPRegressor(
        **hyper.given, method="dtc", inference=queries, random_state=f.seed
    ).fit(f.X, f.y)
    return Answer(model.predict(f.X_test) if clustered else in_batches(model, f.X_test, B))


def bcm(f: Fold, hyper: Hyper, B: int, rule: str = "kmeans") -> Answer:
    """Joint committee of k-means modules of B rows on average, for B query points at a time."""
    model = CommitteeRegressor(
        **hyper.given,
        inference=Transductive(min(B, len(f.truth)), screening=0.0),
        chunks=Chunks(B, rule),
        random_state=f.seed,
    )
    return Answer(in_batches(model.fit(f.X, f.y), f.X_test, B))


def in_batches(model, X: Array, B: int) -> Array:
    """Query sets of at most B rows as they come, at random: a call would cluster them."""
    n_batches = -(-len(X) // B)
    return np.concatenate([model.predict(batch) for batch in np.array_split(X, n_batches)])


def online(f: Fold, hyper: Hyper, B: int, n_sweeps: int = 1) -> Answer:
    model = OnlineGPRegressor(**hyper.given, budget=B, n_sweeps=n_sweeps, random_state=f.seed)
    return Answer(model.fit(f.X, f.y).predict(f.X_test))


def nystrom(f: Fold, hyper: Hyper, B: int) -> Answer:
    model = NystromRegressor(**hyper.given, anchors=B, random_state=f.seed).fit(f.X, f.y)
    return Answer(model.predict(f.X_test), hyper.variance * float(np.abs(model.weights_).max()))


#: Selection as published: 59 fresh candidates for each anchor.
PUBLISHED = {"candidates": 59, "picks": 1}
METHODS: dict[str, Callable[[Fold, Hyper, int], Answer]] = {
    "SRM PostApp": selected("postapp", **PUBLISHED),
    "SRM SGMA": selected("sgma", **PUBLISHED),
    "SRM Random": selected("random"),
    "RRA Nyström": nystrom,
    "Online GP": online,
    "BCM": bcm,
    "SRM Trans": srm_trans,
}
#: Methods with hyperparameters of their own; the others share those of SRM Random.
TUNED = {
    200: ("SRM Random", "SRM PostApp", "Online GP", "BCM", "SRM Trans"),
    1000: ("SRM Random", "BCM"),
}
Setup = dict[tuple[str, int], Hyper]


# -- hyperparameters --------------------------------------------------------------------------


def judged(f: Fold, method: str, B: int, hyper: Hyper) -> float:
    return remaining(f, METHODS[method](f, hyper, B).mean)


def descend(error: Callable[[Hyper], float], starts: list[Hyper], most: int) -> Hyper:
    """From the best start, by factors of width and noise, while that takes off 0.3 %."""
    values = [error(start) for start in starts]
    best, value = starts[int(np.argmin(values))], min(values)
    moves = [(0.8, 1.0), (1.25, 1.0), (1.0, 0.25), (1.0, 4.0)]
    for _ in range(2):
        before = value
        for move in moves:
            while most > 0:
                most -= 1
                trial = best.times(*move)
                found = error(trial)
                if found >= 0.997 * value:
                    break
                best, value = trial, found
        if value == before:
            break
    return best


def isotropic(data: Data, tested: list[int], names: list[str], sizes: list[int]) -> Setup:
    """One width and noise ratio per method and B: SRM Random on a grid, then from there."""
    f = for_tuning(data, tested)
    root = np.sqrt(f.X.shape[1])
    grid = [Hyper((w * root,), 1.0, r) for w in (0.4, 0.7, 1.2, 2.0) for r in (1e-3, 0.03, 0.5)]
    start = descend(partial(judged, f, "SRM Random", sizes[0]), grid, 8)
    starts = [replace(start, noise=noise) for noise in (1e-3, 0.03, 0.3)]
    return _setup(f, starts, names, sizes, 7)


def learnt(data: Data, tested: list[int], names: list[str], sizes: list[int]) -> Setup:
    """One length scale per column, learnt by evidence (whole committee, or FITC with 200 anchors);
    which of the two, times what width and noise, is judged as for isotropic kernels.
    """
    rows = for_tuning(data, tested, n=data.y.size)
    models = [
        CommitteeRegressor(RBF(), random_state=0),
        SparseGPRegressor(RBF(), method="fitc", anchors=200, random_state=0),
    ]
    starts = []
    for model in Threads(2).map(lambda model: model.fit(rows.X, rows.y), models):
        kernel = model.kernel_
        scales = tuple(np.broadcast_to(kernel.length_scale, rows.X.shape[1]).tolist())
        starts.append(Hyper(scales, float(kernel.variance), float(model.noise_)))
    starts += [replace(start, noise=0.1 * start.variance) for start in starts]
    return _setup(for_tuning(data, tested), starts, names, sizes, 6)


def _setup(f: Fold, starts: list[Hyper], names: list[str], sizes: list[int], most: int) -> Setup:
    """Hyperparameters of every method and B, each judged by held-out tuning rows."""
    jobs = [(m, B) for B in sizes for m in TUNED[B] if m in names or m == "SRM Random"]
    found = Threads(2).map(lambda job: descend(partial(judged, f, *job), starts, most), jobs)
    setup = dict(zip(jobs, found))
    return {(m, B): setup["SRM Random", B] for m in names for B in sizes} | setup
