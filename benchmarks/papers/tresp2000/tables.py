"""Table 1 of Tresp (2000): full GP against committees on four problems, 20 splits each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from benchmarks.harness import data
from benchmarks.harness.data import Array
from benchmarks.papers.experiments import Cell, mean_and_error
from benchmarks.papers.tresp2000.setting import (
    Experiment,
    Model,
    bcm_in_batches,
    gpr,
    modules,
    mse,
    stored_experiment,
    tune_gpr,
    validation_error,
    waveform_experiment,
)
from collegium.engines import Threads

#: (module size, query points)
COMMITTEES = [(10, 50), (100, 50), (10, 100), (100, 100)]
#: Standard errors printed as 0.0000 are taken as half a unit of that digit.
ROUNDING = 0.00005


READINGS = ("tuned", "at its P_eff (a)", "at its P_eff (b)")


@dataclass(frozen=True)
class Published:
    """A column of the paper's tables: (mean, standard error), rank and P_eff."""

    gpr: tuple[float, float]
    bcm: list[tuple[float, float]]  # in the order of COMMITTEES
    rank: int
    dof: float


PUBLISHED = {
    "BUPA": Published(
        (0.828, 0.028), [(-2.6e-4, 1.8e-4), (1.6e-4, 1.8e-4), (1e-5, 2e-5), (0.0, 1e-5)], 159, 16
    ),
    "DIABETES": Published(
        (0.681, 0.032),
        [(0.0095, 0.0030), (-0.0027, 0.0023), (-0.0001, 0.0015), (-0.0011, 0.0010)],
        600,
        43,
    ),
    "WAVEFORM": Published(
        (0.379, 0.019),
        [(0.0566, 0.0243), (0.0295, 0.0213), (0.0037, 0.0095), (0.0163, 0.0086)],
        600,
        223,
    ),
    "HOUSING": Published(
        (0.1075, 0.0065),
        [(0.338, 0.132), (0.117, 0.038), (0.196, 0.053), (0.1138, 0.0568)],
        400,
        138,
    ),
    "no noise": Published(
        (0.0185, 0.0009),
        [(0.3848, 0.0442), (0.3066, 0.0282), (0.1574, 0.0135), (0.0595, 0.0114)],
        600,
        121,
    ),
    "noise sd 0.5": Published(
        (0.0529, 0.0026),
        [(0.0021, 0.0013), (0.0011, 0.0012), (0.0001, ROUNDING), (0.0, ROUNDING)],
        600,
        22,
    ),
    "many inputs": Published(
        (0.0360, 0.0017),
        [(0.4135, 0.0860), (0.0994, 0.0541), (-0.0923, 0.0181), (-0.0527, 0.0166)],
        600,
        600,
    ),
    "two inputs": Published(
        (0.0022, 0.00012),
        [(0.0809, 0.0221), (0.0928, 0.0157), (-0.0007, 0.0008), (0.0002, 0.0011)],
        242,
        49,
    ),
}


@dataclass(frozen=True)
class Problem:
    name: str
    column: str  # of PUBLISHED
    make: Callable[[int], Experiment]


@dataclass(frozen=True)
class Outcome:
    """Results of one split."""

    model: Model
    gpr: float
    raw: float  # in units of the raw targets
    bcm: list[float]  # relative to gpr
    rank: int
    dof: float


def table_1(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Three stored sets and waveforms, 20 random splits each."""
    splits = 2 if quick else 20
    _explain(splits)
    found, fixed, cells = [], [], []
    for problem in stored_problems(folder)[: 1 if quick else None]:
        results = Threads(2).map(partial(outcome, problem.make), range(splits))
        matched = _matching(problem.make, PUBLISHED[problem.column], results)
        again = [
            Threads(2).map(partial(outcome, problem.make, model=model), range(splits))
            for model in matched
        ]
        found.append((problem.name, results))
        fixed.append((problem.name, again[0]))
        cells += _print_problem(problem, results, again, matched)
    print(
        "\nStatement: 'if the number of query points is larger than P_eff, the performance of the"
        "\nBCM solution is hardly distinguishable from the performance of' the full GP"
    )
    _print_statement("γ and σ²/A tuned for every split", found)
    _print_statement("one γ and σ²/A, the paper's P_eff (a)", fixed)
    return cells


def stored_problems(folder: Path) -> list[Problem]:
    problems = []
    for column, name, K in (("BUPA", "bupa", 200), ("DIABETES", "pima", 600)):
        if (rows := data.rows(folder, name)) is not None:
            problems.append(_stored(column, rows, K))
    make = partial(waveform_experiment, K=600, n_test=200)
    problems.append(Problem("WAVEFORM", "WAVEFORM", make))
    if (rows := data.rows(folder, "boston")) is not None:
        problems.append(_stored("HOUSING", rows, 400))
    return problems


def _stored(column: str, rows, K: int) -> Problem:
    make = partial(stored_experiment, *rows, K=K, n_test=100)
    return Problem(column, column, make)


def outcome(make: Callable[[int], Experiment], seed: int, model: Model | None = None) -> Outcome:
    e = make(seed)
    model = model or tune_gpr(e)
    mean = gpr(model, e.X, e.y, e.X_test)
    full = mse(e.truth, mean)
    relative = []
    for size, n_query in COMMITTEES:
        answer = bcm_in_batches(model, modules(e.X, e.y, size), e.X_test, n_query)
        relative.append(mse(e.truth, answer) / full - 1.0)
    rank, dof = model.rank(e.X), model.effective_dof(e.X)
    return Outcome(model, full, full * e.unit**2, relative, rank, dof)


def _matching(make, paper: Published, results: list[Outcome]) -> list[Model]:
    """γ and σ²/A that have the paper's P_eff and its rank on the training inputs of split 0.

    A full rank leaves a range of widths: one is chosen by the least validation error of the first
    five splits, another is the median of the tuned ones.
    """
    X = make(0).X
    models = candidates(X, paper)
    best = least_error(models, [make(seed) for seed in range(min(5, len(results)))])
    if len(models) == 1:
        return [best]
    median = float(np.median([r.model.width for r in results]))
    return [best, _with_dof(median, paper.dof, X)]


def candidates(X: Array, paper: Published) -> list[Model]:
    """Models with the paper's P_eff and rank on inputs X; a rank below K leaves one of them."""
    n, d = X.shape
    if paper.rank < n:
        low, high = np.log([0.01 * d, 100.0 * d])
        z = brentq(lambda z: Model(np.exp(z), 1.0).rank(X) - paper.rank - 0.5, low, high, xtol=1e-3)
        return [_with_dof(float(np.exp(z)), paper.dof, X)]
    widths = np.geomspace(0.15, 6.0, 12) * np.sqrt(d)
    return [_with_dof(w, paper.dof, X) for w in widths if Model(w, 1.0).rank(X) == n]


def least_error(models: list[Model], trials: list[Experiment]) -> Model:
    """The model of least validation error."""
    return min(models, key=lambda model: np.mean([validation_error(model, e) for e in trials]))


def _with_dof(width: float, dof: float, X) -> Model:
    """The σ²/A that gives this P_eff."""
    dof = min(dof, X.shape[0] - 0.5)
    low, high = np.log([1e-14, 1e4])
    z = brentq(lambda z: Model(width, np.exp(z)).effective_dof(X) - dof, low, high, xtol=0.01)
    return Model(float(width), float(np.exp(z)))


def _explain(splits: int) -> None:
    print(
        f"""
Table 1: mean ± standard error of {splits} random splits
  Inputs and targets are standardised with the training rows; classes are targets (waveform: 1,
  2, 3). γ and σ²/A are tuned for every split on 100 validation rows by the squared error of the
  full GP. Waveform: these are 100 other rows, and all K rows train. BUPA, DIABETES and
  HOUSING have too few rows for that (345 - 200 - 100, 768 - 600 - 100 and 506 - 400 - 100 leave
  45, 68 and 6): there the validation rows are 100 of the K training rows, and once tuned the
  model is trained on all K. No test row is seen before testing. The test rows (100 of the small
  sets, 200 of waveform) are answered in query sets of 50 or 100, each by its own
  committee; GPR and BCM are compared on the same rows. BCM(i, j): relative error
  (mse - mse of GPR) / mse of GPR, module size i, N_Q = j.
  z is the difference from the paper in standard errors of both. 'at the paper's P_eff' repeats
  everything with one γ and σ²/A for all splits, solved so that P_eff and rank are the paper's.
  A rank of K leaves γ open: (a) the least validation error of five splits decides, (b) the
  median of our tuned widths. Where (a) and (b) disagree, its P_eff alone explains nothing."""
    )


def _print_problem(problem, results, again, matched) -> list[Cell]:
    paper = PUBLISHED[problem.column]
    widths, ratios = ([getattr(r.model, a) for r in results] for a in ("width", "ratio"))
    print(f"\nTable 1: {problem.name}")
    print(
        f"  tuned: width γ median {np.median(widths):.3g} ({min(widths):.3g} to {max(widths):.3g}),"
        f" σ²/A median {np.median(ratios):.2g} ({min(ratios):.1g} to {max(ratios):.1g})"
    )
    for mark, m in zip("ab", matched):
        print(f"  for the paper's P_eff ({mark}): γ = {m.width:.3g}, σ²/A = {m.ratio:.2g}")
    heads = "".join(f"   {f'at its P_eff ({mark})':>20} {'z':>6}" for mark, _ in zip("ab", matched))
    print(f"  {'':24}{'ours':>20} | {'paper':>20} {'z':>6}{heads}")
    rows = [("GPR mse", lambda r: r.gpr, paper.gpr)]
    for i, (size, n_query) in enumerate(COMMITTEES):
        rows.append((f"BCM({size}, {n_query})", lambda r, i=i: r.bcm[i], paper.bcm[i]))
    notes, wide, cells = [], 0.0, []
    for name, take, published in rows:
        ours, *others = (mean_and_error([take(r) for r in rs]) for rs in (results, *again))
        wide = max(wide, ours[1] / published[1] if name.startswith("BCM") else 0.0)
        z, *zs = (_distance(pair, published) for pair in (ours, *others))
        print(
            f"  {name:24}{_pair(ours):>20} | {_pair(published):>20} {z:6.1f}"
            + "".join(f"   {_pair(pair):>20} {other:6.1f}" for pair, other in zip(others, zs))
        )
        why = _note(name, zs) if abs(z) > 2 else ""
        notes += [why] if why else []
        for reading, pair in zip(
            ("tuned", "at its P_eff (a)", "at its P_eff (b)"), (ours, *others)
        ):
            cells.append(
                _compared(f"table 1, {problem.name}, {name}, {reading}", pair, published, why)
            )
    for name, attribute, value in (("rank", "rank", paper.rank), ("P_eff", "dof", paper.dof)):
        values = [getattr(r, attribute) for r in results]
        others = [np.mean([getattr(r, attribute) for r in rs]) for rs in again]
        spread = f"{min(values):.0f} to {max(values):.0f}"
        inside = "inside our range" if min(values) <= value <= max(values) else "outside our range"
        print(
            f"  {name:24}{np.mean(values):20.0f} | {value:20.0f}       "
            + "".join(f"   {other:20.0f}       " for other in others)
            + f"   splits {spread}: the paper's is {inside}"
        )
    print("\n".join(notes) if notes else "  all within 2 standard errors of the paper")
    if wide > 3.0:
        print(
            f"  (weak where our standard error is larger than the paper's: up to {wide:.0f} times)"
        )
    return cells


def _compared(where: str, ours: tuple[float, float], paper: tuple[float, float], why: str) -> Cell:
    cell = Cell(where, ours[0], paper[0], float(np.hypot(ours[1], paper[1])))
    return cell if cell.agrees else replace(cell, why=why.strip())


def _note(name: str, zs: list[float]) -> str:
    """Explain a difference by the runs at the paper's P_eff."""
    near = [abs(z) <= 2 for z in zs]
    if all(near):
        return f"  {name}: differs, but not at the paper's P_eff: tuning can account for it"
    if any(near):
        return f"  {name}: differs; at the paper's P_eff it depends on γ, so the cause is not known"
    return f"  {name}: differs, also at the paper's P_eff; the cause is not known"


def _pair(value: tuple[float, float]) -> str:
    mean, error = value
    digits = int(np.clip(1 - np.floor(np.log10(max(error, 1e-7))), 2, 6))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _distance(ours: tuple[float, float], paper: tuple[float, float]) -> float:
    return (ours[0] - paper[0]) / np.hypot(ours[1], paper[1])


def _print_statement(title: str, found: list[tuple[str, list[Outcome]]]) -> None:
    """Is the committee's error that of the full GP once N_Q ≥ P_eff?"""
    print(
        f"\n  {title:44}{'P_eff':>6} {'N_Q':>5} {'module':>7}  {'relative error':>20}"
        "  N_Q >= P_eff  within 2 se of 0"
    )
    counts = {True: [], False: []}
    for name, results in found:
        dof = np.mean([r.dof for r in results])
        for i, (size, n_query) in enumerate(COMMITTEES):
            mean, error = mean_and_error([r.bcm[i] for r in results])
            enough, within = n_query >= dof, abs(mean) <= 2.0 * error
            counts[bool(enough)].append((within, mean, error))
            print(
                f"  {name:44}{dof:6.0f} {n_query:5d} {size:7d}  {_pair((mean, error)):>20}"
                f"  {'yes' if enough else 'no':>12}  {'yes' if within else 'no':>16}"
            )
    for enough, cases in counts.items():
        if cases:
            within, means, errors = zip(*cases)
            sign = ">=" if enough else "< "
            print(
                f"  N_Q {sign} P_eff: {sum(within)} of {len(cases)} within 2 standard errors of 0;"
                f" relative errors {min(means):.4f} to {max(means):.4f},"
                f" median {np.median(means):.4f}; median standard error {np.median(errors):.4f}"
            )
