"""Fit a model to the rows of files, and let it learn from further ones."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from typing import Any

import click
import numpy as np

from ...committee.classifier import CommitteeClassifier
from ...committee.regressor import CommitteeRegressor
from ...numerics.memory import allowed
from ..data import Data, Roles, dropped_rows
from ..models import (
    check_output,
    engine_of,
    file_words,
    learn_by,
    limits_of,
    written,
)
from ..rows import Observed, learnt_rows
from ..terminal import Terminal
from .scoring import score_words, scores_of

#: Rows that are held out at most, by `--test`.
MOST_HELD_OUT = 1_000_000


def new_model(asked: dict[str, Any], limits: Any) -> Any:
    """The estimator that the options ask for."""
    kind = CommitteeClassifier if asked["classes"] else CommitteeRegressor
    settings = dict(asked["settings"])
    given = {
        "random_state": asked["seed"], "n_jobs": asked["jobs"], "limits": limits,
        "store": asked["store"], "engine": engine_of(asked["engine"]),
    }  # fmt: skip
    if asked["likelihood"] is not None:
        given["likelihood"] = asked["likelihood"]
    known = kind().get_params(deep=False)
    for name in settings:
        if name not in known:
            raise click.UsageError(
                f"--set {name}: {kind.__name__} has no such argument; it has {', '.join(known)}"
            )
        if name in given and given[name] is not None:
            raise click.UsageError(f"--set {name}: there is an option for it")
    return kind(**{**given, **settings})


def run_fit(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Read rows, fit, score held-out rows, write the model file."""
    start = time.perf_counter()
    output = check_output(asked["output"], asked["data"])
    share = asked["test"]
    if share is not None and not 0.0 < share < 1.0:
        raise click.UsageError(f"--test {share}: give a share of rows between 0 and 1")
    limits, memory = limits_of(asked["time"], asked["memory"])
    model = new_model(asked, limits)
    data = Data(asked["data"], asked["sql"], asked["db"])
    roles = Roles(asked["target"], asked["weight"], asked["exposure"])
    columns = data.others(roles, asked["columns"])
    chosen = {"where": asked["where"], "needed": roles.names, "missing": asked["missing"]}
    source = data.source((*columns, *roles.names), **chosen)
    terminal.line(data.name, data.words(source, len(columns)))
    plan = _Plan(terminal)
    held = None
    if asked["store"] is not None:
        if roles.exposure is not None or share is not None:
            raise click.UsageError("--store: rows on disk take neither --exposure nor --test")
        own = source.with_roles(columns, (asked["target"],), roles.weight)
        learn_by(terminal, model, lambda: model.fit(own), plan)
    else:
        labels = asked["classes"]
        rows = learnt_rows(model, data, source, columns, roles, labels=labels, limit=memory)
        if share is not None:
            rows, held = split_rows(rows, share, asked["seed"])
        learn_by(terminal, model, lambda: model.fit(rows.X, rows.y, **rows.arguments()), plan)
    scores = None
    if held is not None:
        scores = scores_of(model, [held], 0.95)
        terminal.line("held-out rows", score_words(scores))
    found = written(model, output, roles)
    terminal.line("wrote", file_words(found))
    if terminal.as_json:
        terminal.answer(
            {
                "data": {
                    "name": data.name, "rows": source.n_rows, "dropped": dropped_rows(source),
                    "columns": columns, **asdict(roles),
                },
                "held_out": scores, "model": found, "seconds": time.perf_counter() - start,
            }
        )  # fmt: skip


class _Plan:
    """Hears what a fit expects to take, and says it once."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal, self.said = terminal, False

    def __call__(self, words: str) -> bool:
        found = re.match(r"expecting about (\d+ s) on an idle machine, and ([0-9.]+ .B)", words)
        if self.said or found is None:
            return False
        self.said = True
        whole = f"{allowed() / 1e9:.1f} GB"
        self.terminal.line("plan", f"fit {found[1]} on an idle machine, {found[2]} of {whole}")
        return True


def split_rows(rows: Observed, share: float, seed: int) -> tuple[Observed, Observed]:
    """Rows to learn from, and rows that are held out, both in their order."""
    number = min(max(1, round(share * rows.n)), MOST_HELD_OUT)
    if number >= rows.n:
        raise click.UsageError(f"--test {share}: no rows would be left to learn from")
    order = np.random.default_rng(seed).permutation(rows.n)
    return rows.take(np.sort(order[number:])), rows.take(np.sort(order[:number]))
