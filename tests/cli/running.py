"""Runs commands in this process, and makes a small model for them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from collegium import CommitteeRegressor
from collegium.cli.main import collegium
from collegium.kernels import Matern52


@dataclass(frozen=True)
class Ran:
    code: int
    out: bytes
    err: str

    @property
    def answer(self):
        return json.loads(self.out)

    @property
    def error(self):
        return self.answer["error"]


def run(*args, stdin=None) -> Ran:
    """What `collegium args` writes, and its exit code."""
    found = CliRunner().invoke(collegium, [str(one) for one in args], input=stdin)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return Ran(found.exit_code, found.stdout_bytes, found.stderr)


def rows(n=60, seed=3):
    """Columns a, b and y, which b moves little."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2, 2, n), rng.normal(size=n)
    return {"a": a, "b": b, "y": np.sin(2 * a) + 0.1 * b + 0.1 * rng.normal(size=n)}


def write_csv(path, columns, **options) -> Path:
    text = [",".join(columns)]
    text += [
        ",".join(map(repr, row)) for row in zip(*(list(map(float, c)) for c in columns.values()))
    ]
    Path(path).write_text("\n".join(text) + "\n", **options)
    return Path(path)


def small_model(**more):
    """A model of a and b that is fitted at once, with names of its columns."""
    import pandas as pd

    found = rows()
    given = {"noise": 0.02, "learn": False, "transforms": None, "members": None}
    model = CommitteeRegressor(Matern52(1.2, np.array([0.9, 3.0])), **{**given, **more})
    return model.fit(pd.DataFrame({name: found[name] for name in "ab"}), found["y"])
