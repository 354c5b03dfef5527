"""Do members hurt where there is nothing for them to find? Draws from Gaussian process priors.

python -m benchmarks.studies.nulls [--draws 200] [--out nulls.json]

Each draw has a random family, columns, length scales, noise and number of rows, and 1,000 test rows
from the same draw. It is fitted by default, and where members or trees for the size of errors are
taken, once more with `members=None` and the same seed; what the default loses is paired row by row.
Where nothing is taken, both are the same to the last bit; one draw in twenty is fitted twice all
the same, to see that.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.studies.never_behind.synthetic import FAMILIES, Prior, Table
from collegium import CommitteeRegressor

Array = np.ndarray
TEST_ROWS = 1_000
SIZES = (700, 1_500, 2_500)
NOISES = (0.01, 0.1, 0.3, 1.0)
#: What may be lost: nats per row, share of the RMSE; and more than so many standard errors.
NATS, SHARE, ERRORS = 0.005, 0.005, 2.0
#: Where nothing is taken, one draw in so many is fitted twice.
SEEN = 20


def random_prior(seed: int) -> Prior:
    """Choose a prior at random; sizes, families and noises take turns."""
    rng = np.random.default_rng([seed, 1])
    d = int(rng.integers(1, 7))
    lengths = tuple(np.exp(rng.normal(np.log(0.4 * d), 0.6, d)))
    family = list(FAMILIES)[seed % len(FAMILIES)]
    rows = SIZES[seed % len(SIZES)] + TEST_ROWS
    return Prior(family, lengths, NOISES[(seed // 4) % len(NOISES)], rows)


def fitted(table: Table, **arguments) -> CommitteeRegressor:
    """Fit to the rows that are not for testing."""
    X, y = table
    return CommitteeRegressor(random_state=0, **arguments).fit(X[TEST_ROWS:], y[TEST_ROWS:])


def scores(model: CommitteeRegressor, table: Table) -> tuple[Array, Array]:
    """Negative log density and squared error of each test row."""
    X, y = (part[:TEST_ROWS] for part in table)
    return -model.log_density(X, y), (model.predict(X) - y) ** 2


def taken(model: CommitteeRegressor) -> bool:
    """Whether a member, or trees for the size of errors, are in use."""
    errors = model.model_.errors
    return model.model_.members is not None or (errors is not None and errors.trees is not None)


def compare(seed: int) -> dict:
    """Measure what the default loses to `members=None` on one draw."""
    table = random_prior(seed).draw(seed)
    model = fitted(table)
    if not taken(model) and seed % SEEN:
        return {"seed": seed, "taken": False, "same": True}
    alone, asked = scores(fitted(table, members=None), table), scores(model, table)
    nats, squares = asked[0] - alone[0], asked[1] - alone[1]
    root = np.sqrt(TEST_ROWS)
    usual = 2.0 * alone[1].mean()  # dRMSE / RMSE = dMSE / (2 MSE)
    return {
        "seed": seed, "taken": taken(model),
        "same": bool((nats == 0.0).all() and (squares == 0.0).all()),
        "nats": nats.mean(), "nats error": nats.std() / root,
        "RMSE": squares.mean() / usual, "RMSE error": squares.std() / root / usual,
    }  # fmt: skip


def hurts(one: dict) -> bool:
    """Whether a draw loses more than is allowed, beyond chance."""
    parts = (("nats", NATS), ("RMSE", SHARE))
    return any(one[name] > max(most, ERRORS * one[f"{name} error"]) for name, most in parts)


def summary(found: list[dict]) -> str:
    """Count draws that differ and that lose, and average over those that differ."""
    other = [one for one in found if not one["same"]]
    took = sum(one["taken"] for one in found)
    words = [f"{len(found)} draws, {took} with members, {len(other)} with other answers"]
    if other:
        means = ", ".join(
            f"{name} {np.mean([o[name] for o in other]):+.4f}" for name in ("nats", "RMSE")
        )
        words += [f"mean loss of these: {means}", f"{sum(map(hurts, other))} lose beyond chance"]
    return "; ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: list[dict] = []
    with threadpool_limits(1):
        for seed in range(options.draws):
            found.append(compare(seed))
            if not found[-1]["same"]:
                print({name: round(value, 4) for name, value in found[-1].items()}, flush=True)
            if options.out is not None:
                options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(summary(found))


if __name__ == "__main__":
    main()
