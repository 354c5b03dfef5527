"""Write a golden ledger: a small one of this release, which every later one must open.

python tests/golden/ledgers.py NAME

makes `tests/golden/NAME/plant.clgdb` and `plant.json`: its state, and answers of its model. What
is there is never written again.
"""

import json
import sys
from pathlib import Path

import numpy as np

from collegium import CommitteeRegressor, Ledger, kernels

HERE = Path(__file__).parent
LEDGER, ANSWERS = "plant.clgdb", "plant.json"
QUERIES = np.array([[0.0, 0.5], [-1.5, 1.0], [3.0, -2.0]])


def rows(seed: int):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (24, 2))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=24)


def begin(path: Path) -> Ledger:
    """Add, replace and forget a few chunks on a small basis."""
    kernel = kernels.Matern32(1.5, [1.2, 0.9])
    model = CommitteeRegressor(
        kernel, noise=0.02, learn=False, anchors=6, chunks=12, n_local=8, transforms=None,
        members=None, inference="inductive", random_state=0,
    ).fit(*rows(0))  # fmt: skip
    ledger = Ledger.of(model, *rows(0), path=path, ids=["first"] * 24, kept={"who": [1, 2, 3] * 8})
    for k in (1, 2, 3):
        ledger.add(*rows(k), id=k, source=f"line {k}", kept={"who": [k] * 23 + [9]})
    ledger.replace(2, *rows(4), kept={"who": [4] * 24})
    ledger.forget(where="who = 9", reason="asked")
    ledger.forget(3)
    ledger.forget(rows={"first": [0, 5]})
    return ledger


def told(ledger: Ledger) -> dict:
    """What a later release must find."""
    mean, std = ledger.model().predict(QUERIES, return_std=True)
    then = ledger.as_of(5).predict(QUERIES)
    return {
        "state": ledger.state, "head": ledger.head, "basis": ledger.basis_id,
        "ids": [one.id for one in ledger.chunks()], "kinds": [one.kind for one in ledger.events()],
        "remembers": list(ledger.certify(9).remembers),
        "mean": mean.tolist(), "std": std.tolist(), "then": then.tolist(),
    }  # fmt: skip


def main() -> None:
    folder = HERE / sys.argv[1]
    if (folder / LEDGER).exists():
        sys.exit(f"{folder / LEDGER} exists: a release keeps its files")
    folder.mkdir(exist_ok=True)
    with begin(folder / LEDGER) as ledger:
        found = told(ledger)
    (folder / f"{LEDGER}-lock").unlink()
    (folder / ANSWERS).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
