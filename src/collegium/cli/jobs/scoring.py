"""Compare predictions with what was observed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import numpy as np

from ..data import Data, dropped_rows, known_columns_in, note_ignored
from ..failures import DATA, Failure, of_data
from ..models import opened_model, roles_in
from ..rows import Observed, known_rows
from ..terminal import Terminal

Array = np.ndarray
SMALLEST = np.finfo(float).tiny


def run_score(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Score a model on the rows of files, one chunk in memory at a time."""
    level = asked["interval"]
    if not 0.0 < level < 1.0:
        raise click.UsageError(f"--interval {level}: give a probability such as 0.9")
    model = opened_model(asked["model"], asked["jobs"])
    if getattr(model, "y_ndim_", 1) > 1:
        raise click.UsageError("the model has several targets: score them one by one in Python")
    roles = roles_in(model, asked["target"], asked["weight"], asked["exposure"])
    data = Data(asked["data"], asked["sql"], asked["db"])
    columns = known_columns_in(data, model, roles, asked["columns"])
    chosen = {"where": asked["where"], "needed": roles.names, "missing": asked["missing"]}
    source = data.source((*columns, *roles.names), **chosen)
    terminal.line(data.name, data.words(source, len(columns)))
    note_ignored(terminal, data, (*columns, *roles.names))
    with terminal.listening(), of_data(data):
        found = scores_of(model, known_rows(model, data, source, columns, roles), level)
    terminal.tell("scores", score_words(found))
    if terminal.as_json:
        told = {"name": data.name, "rows": source.n_rows, "dropped": dropped_rows(source)}
        terminal.answer({"data": told, "scores": found})


def scores_of(model: Any, parts: Iterable[Observed], level: float) -> dict[str, float]:
    """Scores over all rows, weighted where they have weights."""
    labels = hasattr(model, "classes_")
    sums: dict[str, float] = {}
    centre = None
    for rows in parts:
        centre = rows.y[0] if centre is None else centre  # variances do not depend on it
        each = label_terms(model, rows) if labels else number_terms(model, rows, level, centre)
        w = np.ones(rows.n) if rows.weight is None else rows.weight
        for name, values in (each | {"weight": np.ones(rows.n)}).items():
            sums[name] = sums.get(name, 0.0) + float(w @ values)
        sums["n"] = sums.get("n", 0) + rows.n
    if not sums.get("weight"):
        raise Failure(DATA, "all weights are zero: there is nothing to score")
    mean = {name: value / sums["weight"] for name, value in sums.items() if name != "n"}
    n = int(sums["n"])
    if labels:
        return {"n": n, **{name: mean[name] for name in ("log_loss", "brier", "accuracy")}}
    variance = mean["y2"] - mean["y"] ** 2
    return {
        "n": n, "rmse": float(np.sqrt(mean["squared"])), "mae": mean["absolute"],
        "r2": 1.0 - mean["squared"] / variance if variance > 0 else float("nan"),
        "nlpd": mean["nlpd"], "interval": level, "coverage": mean["inside"],
        "width": mean["width"],
    }  # fmt: skip


def number_terms(model: Any, rows: Observed, level: float, centre: float) -> dict[str, Array]:
    """Terms of scores, one per row; those of the variance of y are about a centre."""
    exposure = {} if rows.exposure is None else {"exposure": rows.exposure}
    mean, lower, upper = model.predict(rows.X, interval=level, **exposure)
    y = rows.y.astype(float)
    density = model.log_density(rows.X, y, **exposure)
    return {
        "squared": (y - mean) ** 2, "absolute": np.abs(y - mean), "nlpd": -density,
        "inside": ((lower <= y) & (y <= upper)).astype(float), "width": upper - lower,
        "y": y - centre, "y2": (y - centre) ** 2,
    }  # fmt: skip


def label_terms(model: Any, rows: Observed) -> dict[str, Array]:
    """Terms of scores of labels, one per row."""
    probability = model.predict_proba(rows.X)
    classes = {label: k for k, label in enumerate(model.classes_.tolist())}
    codes = np.array([classes.get(label, -1) for label in rows.y.tolist()])
    if (codes < 0).any():
        odd = rows.y[codes < 0][0]
        known = ", ".join(map(repr, list(classes)[:6]))
        raise Failure(DATA, f"the label {odd!r} is not one that the model knows: {known}")
    own = probability[np.arange(rows.n), codes]
    exact = np.eye(len(classes))[codes]
    return {
        "log_loss": -np.log(np.maximum(own, SMALLEST)),
        "brier": ((probability - exact) ** 2).sum(axis=1),
        "accuracy": (probability.argmax(axis=1) == codes).astype(float),
    }


def score_words(found: dict[str, float]) -> str:
    """Scores in one line."""
    if "log_loss" in found:
        return (
            f"log loss {found['log_loss']:.4g}, accuracy {found['accuracy']:.1%}, "
            f"Brier {found['brier']:.4g} (n = {found['n']:,})"
        )
    share = f"{100 * found['interval']:.4g}%"
    return (
        f"RMSE {found['rmse']:.4g}, NLPD {found['nlpd']:.4g}, {share} interval covers "
        f"{found['coverage']:.1%} (n = {found['n']:,})"
    )
