"""Error bars of all regressors on draws from known priors, beside an oracle.

python -m benchmarks.studies.coverage [--quick] [--cases "base" ...] [--methods "committee" ...]

Functions have variance one. The oracle is the exact Gaussian process with the true
hyperparameters up to MOST_EXACT rows under normal noise, otherwise the true noise about the true
function. Results go to benchmarks/results/coverage.json (--quick: benchmarks/results/quick), which
holds the latest of every case, from which docs/coverage.md is written.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm, t

from benchmarks.harness.machine import machine
from benchmarks.harness.markdown import decimals, lines
from benchmarks.harness.meter import Meter
from collegium import (
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.metrics import nlpd
from collegium.numerics.threads import single_threaded

Array = np.ndarray

LEVELS = (0.5, 0.9, 0.95, 0.99)
#: Rows up to which functions are drawn, and the oracle computed, by factors of K.
MOST_EXACT = 3_000
FEATURES = 4_000
QUERIES = 1_000
DOF = 3.0
#: Noise below which a draw must have none of its own.
TINY = 1e-3
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Case:
    """Prior, rows and noise; `noise` is a standard deviation, where that of the function is one."""

    family: str = "Matern32"
    d: int = 2
    n: int = 1_000
    noise: float = 0.3
    kind: str = "even"  # "uneven": from .2 to 1.8 times along the first column; "heavy": t₃
    layout: str = "even"  # "clustered": four clusters, queries everywhere

    def kernel(self):
        """Length scales that leave something to learn in any number of columns."""
        if self.family == "Periodic":
            return kernels.Periodic(1.0, 1.0, 0.7)
        length = 0.4 * np.sqrt(self.d)
        return getattr(kernels, self.family)(1.0, np.full(self.d, length))


CASES = {
    "base: Matérn 3/2, d = 2, n = 1,000, noise .3": Case(),
    "n = 200": Case(n=200),
    "n = 5,000": Case(n=5_000),
    "n = 20,000": Case(n=20_000),
    "d = 1": Case(d=1),
    "d = 5": Case(d=5),
    "d = 20": Case(d=20),
    "squared exponential": Case("RBF"),
    "periodic, d = 1": Case("Periodic", d=1),
    "noise 1e-6": Case(noise=1e-6),
    "squared exponential, noise 1e-6": Case("RBF", noise=1e-6),
    "noise 1": Case(noise=1.0),
    "noise 10": Case(noise=10.0),
    "uneven noise": Case(kind="uneven"),
    "heavy tails (t₃)": Case(kind="heavy"),
    "clusters with gaps": Case(layout="clustered"),
    "clusters, d = 5, uneven": Case(d=5, kind="uneven", layout="clustered"),
}
SEEDED = {"random_state": 0}
METHODS = {
    "committee": lambda: CommitteeRegressor(**SEEDED),
    "committee, anchors only": lambda: CommitteeRegressor(n_local=0, chunks=500, **SEEDED),
    "student-t": lambda: CommitteeRegressor(likelihood="student-t", **SEEDED),
    "DTC": lambda: SparseGPRegressor(method="dtc", **SEEDED),
    "FITC": lambda: SparseGPRegressor(method="fitc", **SEEDED),
    "VFE": lambda: SparseGPRegressor(method="vfe", **SEEDED),
    "PIC": lambda: SparseGPRegressor(method="pic", chunks=250, **SEEDED),
    "Nyström": lambda: NystromRegressor(**SEEDED),
    "GRBCM": lambda: ExpertsRegressor(chunks=250, **SEEDED),
    "rBCM": lambda: ExpertsRegressor(combination="rbcm", chunks=250, **SEEDED),
    "online GP": lambda: OnlineGPRegressor(**SEEDED),
    "filter": lambda: RegressionFilter(**SEEDED),
    "RVC": lambda: RVCRegressor(**SEEDED),
}
#: Methods for the quick form, and those that take 20,000 rows without many minutes.
QUICK = ("committee", "FITC", "RVC")
LARGE = ("committee", "committee, anchors only", "DTC", "FITC", "filter", "RVC", "online GP")


# -- draws and the oracle ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows, queries, the function at both and the noise deviation there."""

    X: Array
    y: Array
    Xs: Array
    ys: Array
    fs: Array
    sd: Array
    sds: Array


def draw(case: Case, seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    X, Xs = inputs(case, case.n, rng), rng.uniform(-1.0, 1.0, (QUERIES, case.d))
    f = function(case, np.concatenate([X, Xs]), rng)
    sd = noise_sd(case, np.concatenate([X, Xs]))
    e = rng.normal(size=f.size)
    if case.kind == "heavy":
        e = rng.standard_t(DOF, f.size) / np.sqrt(DOF / (DOF - 2.0))
    y, n = f + sd * e, case.n
    return Draw(X, y[:n], Xs, y[n:], f[n:], sd[:n], sd[n:])


def inputs(case: Case, n: int, rng) -> Array:
    """Draw inputs in the cube [−1, 1]^d; clusters have a standard deviation of .15."""
    if case.layout == "even":
        return rng.uniform(-1.0, 1.0, (n, case.d))
    centres = rng.uniform(-0.8, 0.8, (4, case.d))
    return np.clip(centres[rng.integers(0, 4, n)] + 0.15 * rng.normal(size=(n, case.d)), -1, 1)


def noise_sd(case: Case, X: Array) -> Array:
    if case.kind == "uneven":
        return case.noise * (1.0 + 0.8 * X[:, 0])
    return np.full(X.shape[0], case.noise)


def function(case: Case, X: Array, rng) -> Array:
    """f ~ GP(0, K): Lz, or for many rows √(2/F) Σ cos(ωᵀx + b) with F features.

    ω of a Matérn 3/2 is t-distributed with 3 degrees of freedom. The jitter of a factor L would be
    noise beside a tiny one: then QΛ^½z, K = QΛQᵀ."""
    if X.shape[0] <= MOST_EXACT + QUERIES:
        kernel = case.kernel().for_width(case.d)
        with single_threaded():
            if case.noise > TINY:
                return kernel.sample(X, 1, rng)[:, 0]
            values, vectors = np.linalg.eigh(kernel.value(X, X))
            return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=values.size))
    omega = rng.normal(size=(case.d, FEATURES)) / case.kernel().length_scale[:, None]
    if case.family == "Matern32":
        omega *= np.sqrt(3.0 / rng.chisquare(3.0, FEATURES))
    b = rng.uniform(0.0, 2.0 * np.pi, FEATURES)
    weights = np.sqrt(2.0 / FEATURES) * rng.normal(size=FEATURES)
    parts = np.array_split(X, max(1, X.shape[0] // 2_000))
    return np.concatenate([np.cos(part @ omega + b) @ weights for part in parts])


def oracle(case: Case, found: Draw) -> dict:
    """Coverage and NLPD when the prior, or the function, and the noise are known."""
    if case.kind == "heavy":
        unit = found.sds * np.sqrt((DOF - 2.0) / DOF)
        z = (found.ys - found.fs) / unit
        held = [float(np.mean(np.abs(z) <= t.ppf(0.5 + 0.5 * c, DOF))) for c in LEVELS]
        return {"held": held, "nlpd": float(-np.mean(t.logpdf(z, DOF) - np.log(unit)))}
    mean, std = found.fs, found.sds
    if case.n <= MOST_EXACT:
        kernel = case.kernel().for_width(case.d)
        K, k = kernel.value(found.X, found.X), kernel.value(found.X, found.Xs)
        L = np.linalg.cholesky(K + np.diag(found.sd**2 + 1e-12))
        V = np.linalg.solve(L, np.column_stack([k, found.y]))
        mean = V[:, :-1].T @ V[:, -1]
        left = np.maximum(1.0 - (V[:, :-1] ** 2).sum(axis=0), 0.0)
        std = np.sqrt(left + found.sds**2)
    z = np.abs(found.ys - mean) / std
    held = [float(np.mean(z <= norm.ppf(0.5 + 0.5 * c))) for c in LEVELS]
    return {"held": held, "nlpd": float(nlpd(found.ys, mean, std))}


# -- runs -------------------------------------------------------------------------------------


def run(name: str, found: Draw) -> dict:
    """Coverage of the intervals, the NLPD of the model's own density, CPU seconds."""
    tails = [0.5 + 0.5 * side * c for c in LEVELS for side in (-1.0, 1.0)]
    with Meter() as meter:
        model = METHODS[name]().fit(found.X, found.y)
        mean = model.predict(found.Xs)
        ends = model.quantile(found.Xs, tails).T
        density = model.log_density(found.Xs, found.ys)
    bounds = zip(ends[::2], ends[1::2])
    held = [float(np.mean((low <= found.ys) & (found.ys <= high))) for low, high in bounds]
    return {
        "held": held,
        "nlpd": float(-density.mean()),
        "rmse": float(np.sqrt(np.mean((mean - found.fs) ** 2))),
        "cpu_s": round(meter.cpu, 2),
    }


def wanted(name: str, case: Case) -> bool:
    """Run filters on up to three columns, and only some methods on many rows."""
    return not (name == "filter" and case.d > 3) and (case.n <= 5_000 or name in LARGE)


def study(case: Case, names: list[str], seed: int) -> dict:
    """Results of a case by method, the oracle among them."""
    found = draw(case, seed)
    results = {"oracle": oracle(case, found)}
    for name in names:
        if wanted(name, case):
            results[name] = run(name, found)
            held = " ".join(f"{h:.3f}" for h in results[name]["held"])
            above = results[name]["nlpd"] - results["oracle"]["nlpd"]
            print(f"    {name:26}{held}  {above:+.3f}  {results[name]['cpu_s']:.1f} s", flush=True)
    return results


# -- the page ---------------------------------------------------------------------------------


WORDS = (
    "Written by `make bench-coverage`; not edited by hand. Functions are drawn from known priors "
    "(variance one, length scale .4·√d on the cube [−1, 1]^d); 1,000 queries are spread over the "
    "whole cube, also where rows are clustered. One draw per case; default arguments except chunks "
    "of 250 (PIC, GRBCM, rBCM) and 500 rows (anchors only). Unless stated otherwise d = 2, with "
    "1,000 rows and noise of .3 standard deviations of the function."
)
ORACLE = (
    "The *oracle* is the exact Gaussian process with the true hyperparameters and noise up to "
    "3,000 rows; with more rows, and under heavy tails, it is the true noise about the true "
    "function, which no method can reach. A share of 1,000 queries has a standard error of .007 at "
    "95 %, and more where one error of the function affects many of them. Empty: not run (filters "
    "are for up to three columns; with 20,000 rows only some methods were run)."
)


def page(stored: dict) -> str:
    cases = [name for name in CASES if name in stored["cases"]]
    methods = [m for m in METHODS if any(m in stored["cases"][c] for c in cases)]
    m = stored["machine"]
    missing = [name for name in CASES if name not in cases]
    left = f" Not in these tables: {'; '.join(missing)}." if missing else ""
    return "\n\n".join([
        "# Do error bars cover?",
        WORDS + left,
        ORACLE,
        "## Share of observations in the 95 % interval",
        by_case(stored, cases, ["oracle", *methods], lambda row, _: decimals(row["held"][2], 2)),
        "## Negative log predictive density minus that of the oracle, nats per query",
        "For each model's own predictive density; under heavy tails the oracle's is a t.",
        by_case(stored, cases, methods, lambda row, o: decimals(row["nlpd"] - o["nlpd"], 2)),
        "## All levels",
        "Mean coverage over the cases of each method; for 95 % intervals also the range.",
        by_level(stored, cases, ["oracle", *methods]),
        f"{m['cpu']}, {m['cores']} cores, Python {m['python']}, {m['date']}.\n",
    ])  # fmt: skip


def by_case(stored: dict, cases: list[str], methods: list[str], cell) -> str:
    rows = []
    for case in cases:
        found = stored["cases"][case]
        cells = [cell(found[m], found["oracle"]) if m in found else "" for m in methods]
        rows.append([case, *cells])
    return lines(["case", *methods], rows)


def by_level(stored: dict, cases: list[str], methods: list[str]) -> str:
    rows = []
    for method in methods:
        held = [stored["cases"][c][method]["held"] for c in cases if method in stored["cases"][c]]
        mean, ends = np.mean(held, axis=0), (min(h[2] for h in held), max(h[2] for h in held))
        shown = [decimals(float(one), 3) for one in mean]
        rows.append([method, str(len(held)), *shown, f"{ends[0]:.2f} … {ends[1]:.2f}"])
    heads = [f"{100 * level:.0f} %" for level in LEVELS]
    return lines(["method", "cases", *heads, "range at 95 %"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few cases and methods; no page")
    parser.add_argument("--cases", nargs="+", choices=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.methods or list(QUICK if options.quick else METHODS)
    chosen = options.cases or [c for c in CASES if not options.quick or CASES[c].n < 1_000]
    folder = ROOT / "benchmarks" / "results"
    path = (folder / "quick" if options.quick else folder) / "coverage.json"
    path.parent.mkdir(exist_ok=True)
    stored = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    for case in chosen:
        print(f"{case}\n    {'':26}coverage of {LEVELS}, NLPD above the oracle's, CPU", flush=True)
        new = study(CASES[case], names, options.seed)
        stored["cases"][case] = {**stored["cases"].get(case, {}), **new}
        stored["machine"] = machine()
        path.write_text(json.dumps(stored, indent=1) + "\n")
        if not options.quick:
            (ROOT / "docs" / "coverage.md").write_text(page(stored))


if __name__ == "__main__":
    main()
