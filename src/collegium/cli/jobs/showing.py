"""The demonstration: a robot arm, a committee beside simple models, a picture."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from ...committee.regressor import CommitteeRegressor
from ...datasets import make_robot_arm, robot_arm_distance
from ...metrics import coverage
from ...plots.demo import draw_demo, rms
from ..models import check_output
from ..terminal import Terminal

Array = np.ndarray


def run_demo(terminal: Terminal, rows: int, out: str, jobs: int) -> None:
    """Fit 90 % of the rows, test the others, print a table, draw a picture."""
    drawn = find_spec("matplotlib") is not None
    if drawn:
        check_output(out)
    X, y = make_robot_arm(rows, random_state=0)
    n = rows - rows // 10
    X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
    print(f"Robot arm: {n} rows to learn from, {len(y_test)} to test, {X.shape[1]} joint angles")
    with terminal.listening():
        found = {
            "predict the mean": _timed(_baseline, DummyRegressor(), X, y, X_test),
            "linear regression": _timed(_baseline, LinearRegression(), X, y, X_test),
            "committee": _timed(_committee, X, y, X_test, jobs),
        }
    mean, std, model, *_ = found["committee"]
    print_table(found, X_test, y_test)
    for name in ("kernel_", "noise_", "log_evidence_"):
        print(f"{name:15}{getattr(model, name)}")
    if drawn:
        draw_demo(out, model, robot_arm_distance, y_test, mean, std, X_test[0])
        print(f"\nThe picture is in {out}")
    else:
        terminal.note("no picture without matplotlib: pip install 'collegium[plot]'")


def _committee(X: Array, y: Array, X_test: Array, jobs: int) -> tuple[Any, ...]:
    model = CommitteeRegressor(random_state=0, verbose=1, n_jobs=jobs).fit(X, y)
    return *model.predict(X_test, return_std=True), model


def _baseline(model: Any, X: Array, y: Array, X_test: Array) -> tuple[Any, ...]:
    """Give a model without error bars one width for all rows: its residuals' deviation."""
    std = np.std(y - model.fit(X, y).predict(X))
    return model.predict(X_test), np.full(len(X_test), std), model


def _timed(run: Callable, *args: Any) -> tuple[Any, ...]:
    wall, cpu = time.perf_counter(), sum(os.times()[:4])  # CPU: this process and its children
    result = run(*args)
    return *result, time.perf_counter() - wall, sum(os.times()[:4]) - cpu


def _density_and_interval(
    model: Any, X: Array, y: Array, mean: Array, std: Array
) -> tuple[float, Array, Array]:
    """Log density and interval of the model, or of a normal where it has none."""
    if hasattr(model, "log_density"):
        return model.log_density(X, y).mean(), *model.predict_interval(X, coverage=0.95)
    return norm.logpdf(y, mean, std).mean(), *norm.interval(0.95, mean, std)


def print_table(rows: dict[str, Any], X: Array, y: Array) -> None:
    """Print scores and times of each model."""
    print(f"\n{'':22}{'RMSE':>9}{'NLPD':>9}{'95 % interval':>16}{'wall s':>9}{'CPU s':>9}")
    print("-" * 74)
    for name, (mean, std, model, wall, cpu) in rows.items():
        density, lower, upper = _density_and_interval(model, X, y, mean, std)
        inside = 100 * coverage(y, lower, upper)
        scores = f"{rms(y - mean):9.4f}{-density:9.3f}{f'holds {inside:.1f} %':>16}"
        print(f"{name:22}{scores}{wall:9.1f}{cpu:9.1f}")
    print("-" * 74, "RMSE, NLPD: smaller is better; the interval should hold 95 %.\n", sep="\n")
