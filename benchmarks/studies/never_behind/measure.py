"""Fit one method to one split and score it: one JSON line."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.harness.data import thinned
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.meter import Meter
from benchmarks.harness.task import OURS, Method
from benchmarks.studies.never_behind.sets import Part
from benchmarks.tasks.regression import scores, student

Array = np.ndarray
#: Blocks of the test rows whose mean scores are kept, for standard errors of differences.
BLOCKS = 50
#: Rows that are asked before the clock runs, so that nothing is prepared while it does.
FIRST = 5


def measure(method: Method, part: Part, seed: int) -> dict:
    """Scores, coverage and costs."""
    module = importlib.import_module(f"benchmarks.peers.{method.module}")
    given, X, X_test, y = inputs(method, module, part)
    model = module.Model(seed=seed, threads=1, **method.arguments, **given)
    with Meter() as fit:
        model.fit(X, y)
    model.predict(X_test[:FIRST])
    with Meter() as asked:
        answer = model.predict(X_test)
    target, (mean, std) = part.rows.y_test, answer[:2]
    if hasattr(model, "forecast"):
        forecast = model.forecast(X_test, target, answer)
    else:
        forecast = Forecast.normal(target, mean, std)
    losses = {"squared": (target - forecast.mean) ** 2, "pinball": forecast.pinball}
    losses |= {"NLPD": -forecast.log_density, "CRPS": forecast.crps}
    held = getattr(model, "held", None)
    found = scores.scores(target, forecast)
    if method.group not in OURS and held is not None:
        s, nu = student.fitted((held[0] - held[1]) / held[2])
        losses["NLPD_t"] = -student.log_density(target, mean, std, s, nu)
        found["NLPD_t"] = float(losses["NLPD_t"].mean())
    inside = (forecast.lower <= target) & (target <= forecast.upper)
    constant = np.ptp(std) <= scores.SAME * np.max(std)
    return {
        **found,
        "coverage_by_sd": None if constant else scores.by_parts(inside, std, 3),
        "fit_cpu_s": fit.cpu,
        "ms_per_answer": 1e3 * asked.cpu / target.size,
        "n_train": int(y.size), "n_test": int(target.size), "d": int(part.rows.X.shape[1]),
        "found": getattr(model, "found", ""),
        "blocks": {name: blocks(of) for name, of in losses.items() if np.isfinite(of).all()},
    }  # fmt: skip


def inputs(method: Method, module: Any, part: Part) -> tuple[dict, Any, Any, Array]:
    """Arguments of a Model and its rows: ours as users give them, for others numbers."""
    if method.group in OURS:
        return {}, part.X, part.X_test, part.rows.y
    rows = thinned(part.rows, method.max_rows)
    takes = bool(part.categories) and getattr(module, "TAKES_CATEGORIES", False)
    return {"categories": part.categories} if takes else {}, rows.X, rows.X_test, rows.y


def blocks(values: Array) -> list[float]:
    """Mean of equal parts of the test rows, in their (random) order."""
    parts = np.array_split(values, min(BLOCKS, values.size))
    return [float(f"{part.mean():.8g}") for part in parts]
