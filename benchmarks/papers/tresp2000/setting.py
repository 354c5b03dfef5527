"""Data, full GP, committee and tuning for the experiments of Tresp (2000)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.optimize import minimize

from benchmarks.harness.data import Array, centre_and_scale
from collegium.answers.local import Shared
from collegium.datasets import ART_WIDTH, make_art
from collegium.engines import Serial, single_threaded
from collegium.kernels import RBF
from collegium.learning import dof
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk, cut
from collegium.rows.rows import Rows

#: Rows on which the width and the noise-to-prior ratio are tuned.
VALIDATION = 100
#: Seeds of the figures' rows for tuning, validation, testing and training.
TUNING, VALIDATING, TESTING, TRAINING = 1_000, 2_000, 3_000, 4_000


@dataclass(frozen=True)
class Model:
    """A exp(−‖x − x'‖² / (2γ²)) and noise σ²; the mean depends on γ and σ²/A only, so A = 1."""

    width: float  # γ
    ratio: float  # σ²/A

    @property
    def kernel(self) -> RBF:
        return RBF(variance=1.0, length_scale=self.width)

    def effective_dof(self, X: Array) -> float:
        return dof.exact_dof(self.kernel, self.ratio, X)

    def rank(self, X: Array) -> int:
        return dof.kernel_rank(self.kernel, X)


@dataclass(frozen=True)
class Experiment:
    """One random split, standardised with the statistics of its training rows.

    `X_tune, y_tune` and `X_valid, y_valid` serve to choose γ and σ²/A; no test row is in them.
    `truth` is what errors are measured against: f where it is known, otherwise the target.
    """

    X: Array
    y: Array
    X_tune: Array
    y_tune: Array
    X_valid: Array
    y_valid: Array
    X_test: Array
    y_test: Array
    truth: Array
    unit: float  # standard deviation of the raw training targets


def modules(X: Array, y: Array, size: int) -> list[Chunk]:
    """Consecutive rows: the splits are random already."""
    n = y.size
    return cut(X, y[:, None], np.ones(n), np.array_split(np.arange(n), max(1, round(n / size))))


def gpr(model: Model, X: Array, y: Array, Xs: Array) -> Array:
    """Full Gaussian process regression, Tresp (2000) eq. 6."""
    basis = Anchors.at(model.kernel, np.empty((0, X.shape[1])))
    rows = Rows(X, y[:, None], np.ones(y.size))
    shared = Shared.of(basis, model.ratio, rows)
    return shared.predict(basis, normalise(basis.prior()), Xs).mean[:, 0]


def bcm(model: Model, chunks: list[Chunk], Q: Array) -> Array:
    """The committee's prediction at Q: one message per module, Tresp (2000) eqs 20–21."""
    basis = Anchors.at(model.kernel, Q)
    send = partial(Block(model.ratio).send, basis)
    belief = normalise(Serial().sum(send, chunks, basis.prior()))
    return basis.factor @ belief.mean[:, 0]


def bcm_in_batches(model: Model, chunks: list[Chunk], Xs: Array, n_query: int) -> Array:
    """Every row is answered once, in a query set of `n_query` rows that has its own committee."""
    starts = range(0, len(Xs), n_query)
    return np.concatenate([bcm(model, chunks, Xs[s : s + n_query]) for s in starts])


def mse(truth: Array, mean: Array) -> float:
    return float(np.mean((truth - mean) ** 2))


def tune(error, d: int, *, steps: int = 40, start: Model | None = None) -> Model:
    """The γ and σ²/A of least `error(model)`: Nelder–Mead from `start`, or the best of a grid."""
    root = np.sqrt(d)
    low, high = np.log([0.03 * root, 1e-7]), np.log([30.0 * root, 30.0])

    def at(z):
        return Model(*np.exp(np.clip(z, low, high)).tolist())

    if start is None:
        grid = [
            Model(w * root, r) for w in (0.2, 0.4, 0.8, 1.6, 5.0) for r in (1e-5, 1e-3, 0.03, 0.5)
        ]
        start = min(grid, key=error)
    first = np.log([start.width, start.ratio])
    simplex = first + np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.8]])
    options = {"initial_simplex": simplex, "maxfev": steps, "xatol": 0.01, "fatol": 1e-7}
    return at(minimize(lambda z: error(at(z)), first, method="Nelder-Mead", options=options).x)


def validation_error(model: Model, e: Experiment) -> float:
    """Error of the full GP on validation rows."""
    return mse(e.y_valid, gpr(model, e.X_tune, e.y_tune, e.X_valid))


def tune_gpr(e: Experiment) -> Model:
    return tune(lambda model: validation_error(model, e), e.X.shape[1])


#: Cubes in which the centres of ART may be drawn: App. 10.4 says "the unit hypercube".
UNIT_CUBE, INPUT_CUBE = (0.0, 1.0), (-1.0, 1.0)


def art(
    n: int, seed: int, *, d: int = 5, noise: float = 0.1, function: int = 0,
    cube: tuple[float, float] = UNIT_CUBE, width: float = ART_WIDTH,
):  # fmt: skip
    """Inputs, noisy targets and true values of `n` ART rows."""
    given = {
        "n_features": d, "centres": cube, "width": width, "centers_state": function,
        "random_state": seed,
    }  # fmt: skip
    X, y = make_art(n, noise=noise, **given)
    _, f = make_art(n, noise=0.0, **given)
    return X, y, f


def art_experiment(
    seed: int, *, K: int, n_test: int, d: int, noise: float, function: int,
    cube: tuple[float, float], width: float,
) -> Experiment:  # fmt: skip
    """Fresh rows of one function (centres) for every seed."""
    given = {"d": d, "noise": noise, "function": function, "cube": cube, "width": width}
    return _fresh(*art(K + VALIDATION + n_test, seed, **given), K)


def waveform(n: int, seed: int):
    """Breiman's waveforms: 21 points of a random mixture of two of three triangles, plus noise.

    x_j = u h_a(j) + (1 − u) h_b(j) + ε_j, u uniform, ε standard normal, j = 1 … 21, with
    h_1(j) = max(6 − |j − 11|, 0), h_2(j) = h_1(j − 4), h_3(j) = h_1(j + 4); the classes 1, 2, 3
    mix (h_1, h_2), (h_1, h_3), (h_2, h_3) (Breiman et al. 1984, sec. 2.6.2).
    """
    rng = np.random.default_rng(seed)
    j = np.arange(1, 22)
    h = np.maximum(6.0 - np.abs(j - np.array([[11], [15], [7]])), 0.0)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    label = rng.integers(3, size=n)
    u = rng.uniform(size=(n, 1))
    X = u * h[first[label]] + (1.0 - u) * h[second[label]] + rng.standard_normal((n, 21))
    return X, label + 1.0


def waveform_experiment(seed: int, *, K: int, n_test: int) -> Experiment:
    X, y = waveform(K + VALIDATION + n_test, seed)
    return _fresh(X, y, y, K)


def _fresh(X: Array, y: Array, truth: Array, K: int) -> Experiment:
    """Rows in the order training, validation, test."""
    X, y, truth, unit = _standardised(X, y, truth, np.arange(K))
    valid, test = slice(K, K + VALIDATION), slice(K + VALIDATION, None)
    train = X[:K], y[:K]
    return Experiment(*train, *train, X[valid], y[valid], X[test], y[test], truth[test], unit)


def stored_experiment(X: Array, y: Array, seed: int, *, K: int, n_test: int) -> Experiment:
    """A random split of a small data set: the validation rows are 100 of the K training rows.

    345, 768 and 506 rows are too few for 200, 600 or 400 training rows, 100 others for
    validation and 100 others as queries. The full GP and the committee use all K rows.
    """
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:K], order[K : K + n_test]
    X, y, truth, unit = _standardised(X, y, y, train)
    valid, rest = train[:VALIDATION], train[VALIDATION:]
    train = np.random.default_rng([seed, 1]).permutation(train)  # modules mix both parts
    return Experiment(
        X[train],
        y[train],
        X[rest],
        y[rest],
        X[valid],
        y[valid],
        X[test],
        y[test],
        truth[test],
        unit,
    )


def _standardised(X: Array, y: Array, truth: Array, train: Array):
    centre, scale = centre_and_scale(X[train])
    middle, unit = y[train].mean(), y[train].std()
    return (X - centre) / scale, (y - middle) / unit, (truth - middle) / unit, float(unit)


@cache
def tuned_art(K: int = 1000, n_valid: int = 100) -> Model:
    """γ and σ²/A for ART, d = 5, noise sd 0.1: tuned once on validation rows, then left fixed."""
    X, y, _ = art(K, TUNING)
    X_valid, y_valid, _ = art(n_valid, VALIDATING)
    model = tune(lambda m: mse(y_valid, gpr(m, X, y, X_valid)), 5)
    print(
        f"  tuned on {K} rows and {n_valid} validation rows: γ = {model.width:.3g},"
        f" σ²/A = {model.ratio:.3g}, P_eff = {model.effective_dof(X):.0f}"
    )
    return model


def stream(model: Model, Q: Array, n_query: int, blocks: int, seed: int, every: int = 1):
    """Means at Q after each thousand rows. One message per query set is kept."""
    bases = [Anchors.at(model.kernel, Q[s : s + n_query]) for s in range(0, len(Q), n_query)]
    states = [basis.prior() for basis in bases]
    expert = Block(model.ratio)
    with single_threaded():
        for block in range(1, blocks + 1):
            X, y, _ = art(1000, 100_000 + 1_000 * seed + block)
            for chunk in modules(X, y, n_query):
                states = [s + expert.send(b, chunk) for s, b in zip(states, bases)]
            if block % every == 0:
                yield np.concatenate(
                    [b.factor @ normalise(s).mean[:, 0] for s, b in zip(states, bases)]
                )


def exponent(sizes, seconds) -> float:
    """The slope of log seconds against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
