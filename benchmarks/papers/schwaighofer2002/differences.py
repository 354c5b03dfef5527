"""Possible reasons for differences from the table of the paper: other readings of a method."""

from dataclasses import replace

import numpy as np

from benchmarks.papers.schwaighofer2002.methods import (
    METHODS,
    Data,
    Hyper,
    Setup,
    art,
    bcm,
    fold,
    judged,
    online,
    remaining,
    srm,
    srm_trans,
)
from benchmarks.papers.schwaighofer2002.table_1 import Cells
from benchmarks.papers.tresp2000.setting import UNIT_CUBE
from collegium import Select
from collegium.engines import Threads


def checks(data: Data, setup: Setup, cells: Cells) -> dict[tuple[str, int], str]:
    """One line for every cell that differs by more than its spread, with what was checked."""
    differing = {
        key: cell for key, cell in cells.items()
        if np.isfinite(cell.paper) and not cell.exploded and abs(cell.distance) > 2.0
    }  # fmt: skip
    if not differing:
        print("  every cell is within 2 standard errors of the paper")
        return {}
    others = {B: variants(data, setup, B) for B in sorted({B for _, B in differing})}
    functions: dict[int, dict] = {}
    if data.name == "art":
        cheap = {200: set(METHODS), 1000: {"SRM Random", "BCM"}}
        for B in others:
            names = [m for m, b in differing if b == B and m in cheap[B]]
            functions[B] = other_functions(setup, names, B)
    why = {}
    for (method, B), cell in differing.items():
        tried, explained = [], False
        for what, value in others[B].get(method, []):
            tried.append(f"{what}: {value:.2f}")
            moved = abs(cell.mean + value - cell.first - cell.paper)
            explained |= moved <= min(2.0 * cell.error, 0.5 * abs(cell.mean - cell.paper))
        if values := functions.get(B, {}).get(method, []):
            tried.append("centres elsewhere in [-1, 1]^5, [0, 1]^5: {:.2f}, {:.2f}".format(*values))
            if min(*values, cell.mean) <= cell.paper <= max(*values, cell.mean):
                tried.append("the paper's lies between, and it does not give its centres")
        if method == "SRM Random" and cell.mean > cell.paper:
            tried.append(anchors_wanted(data, setup[method, B], B, cell.paper))
        why[method, B] = (
            f"Checked on fold 0 ({cell.first:.2f}): "
            + ("; ".join(tried) or "nothing")
            + (": that accounts for it" if explained else ". Cause not known")
        )
        print(
            f"  {method} B = {B}: {'worse' if cell.mean > cell.paper else 'better'},"
            f" {cell.mean:.2f} against {cell.paper:.2f}. {why[method, B]}",
            flush=True,
        )
    return why


def variants(data: Data, setup: Setup, B: int) -> dict[str, list[tuple[str, float]]]:
    """Remaining variance of fold 0 under other readings of a method, by method."""
    f = fold(data, 0)
    random = setup["SRM Random", B]
    found = {
        "SRM Random": [
            ("other anchors", judged(replace(f, seed=seed), "SRM Random", B, random))
            for seed in (11, 12)
        ]
    }
    if B != 200:
        return found
    for method in ("SRM PostApp", "SRM SGMA"):
        if (method, B) in setup:
            quick = Select(method.split()[1].lower(), B)
            value = remaining(f, srm(f, setup[method, B], quick).mean)
            found[method] = [("four anchors from each of our larger pools", value)]
    if ("SRM Trans", B) in setup:
        value = remaining(f, srm_trans(f, setup["SRM Trans", B], B, clustered=True).mean)
        found["SRM Trans"] = [("query sets clustered", value)]
    if ("Online GP", B) in setup:
        value = remaining(f, online(f, setup["Online GP", B], B, n_sweeps=3).mean)
        found["Online GP"] = [("three sweeps through the rows", value)]
    if ("BCM", B) in setup:
        value = remaining(f, bcm(f, setup["BCM", B], B, "balanced").mean)
        found["BCM"] = [("balanced modules", value)]
    for method, values in found.items():
        if setup[method, B] != random:
            other = judged(f, method, B, random)
            values.append((f"hyperparameters of SRM Random ({random})", other))
    return found


def anchors_wanted(data: Data, hyper: Hyper, B: int, paper: float) -> str:
    """Number of random anchors that reach the paper's value, on fold 0."""
    f = fold(data, 0)
    for factor in (1.0, 1.25, 1.5, 1.75, 2.0):
        m = round(factor * B)
        value = remaining(f, srm(f, hyper, Select("random", m)).mean)
        if value <= paper:
            return f"{m} random anchors reach it ({value:.2f})"
    return f"{m} random anchors do not reach it ({value:.2f})"


def other_functions(setup: Setup, names: list[str], B: int) -> dict[str, list[float]]:
    """Fold 0 of ART with other centres in [−1, 1]^5, then with centres in [0, 1]^5."""
    folds = [fold(art(1), 0), fold(art(cube=UNIT_CUBE), 0)]
    tasks = [(f, name) for name in names for f in folds]
    values = Threads(2).map(lambda task: judged(task[0], task[1], B, setup[task[1], B]), tasks)
    found: dict[str, list[float]] = {name: [] for name in names}
    for (_, name), value in zip(tasks, values):
        found[name].append(value)
    return found
