"""A plant whose data are added, forgotten, replaced and audited.

python examples/ledger.py

Three stories: a customer is forgotten, with a certificate; three sites merge what they learnt; the
model is asked as it was last Monday. Files go to a temporary folder.
"""

import tempfile
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd

from collegium import CommitteeRegressor, Ledger

INPUTS = ["temperature", "pressure"]


def batches(seed: int, n: int) -> pd.DataFrame:
    """Some batches: what was set, what came out, and for whom."""
    rng = np.random.default_rng(seed)
    t, p = rng.uniform(20, 90, n), rng.uniform(1, 5, n)
    return pd.DataFrame({
        "temperature": t, "pressure": p,
        "customer": rng.integers(1, 50, n), "site": rng.choice(["A", "B"], n),
        "yield": 60 + 20 * np.sin(t / 15) + 4 * p + rng.normal(0, 2, n),
    })  # fmt: skip


def forgetting(folder: str) -> None:
    print("\n-- a customer is forgotten\n")
    table = batches(0, 3000)
    model = CommitteeRegressor(random_state=0).fit(table[INPUTS], table["yield"])
    days = [f"day {k:02d}" for k in range(1, 31) for _ in range(100)]
    told = {"path": f"{folder}/plant.clgdb", "ids": days, "target": "yield", "keep": ["customer"]}
    with Ledger.of(model, table.drop(columns="site"), **told) as ledger:
        query = pd.DataFrame({"temperature": [50.0], "pressure": [2.0]})
        print("before:", *ledger.model().predict(query, return_std=True))
        print(ledger.forget(where="customer = 7", reason="request 2231"))
        print("after: ", *ledger.model().predict(query, return_std=True))
        ledger.relearn()
        print("after relearn(), these remember:", ledger.certify().remembers or "none")


def merging(folder: str) -> None:
    print("\n-- three sites merge\n")
    first = batches(1, 3000)
    start = CommitteeRegressor(random_state=0).fit(first[INPUTS], first["yield"])
    sites = [
        Ledger(f"{folder}/{name}.clgdb", start, target="yield", keep=["customer"], site=name)
        for name in ("north", "south", "west")
    ]
    for k, site in enumerate(sites):
        for week in range(3):
            site.add(batches(10 * k + week + 2, 200).drop(columns="site"), source=f"week {week}")
    with Ledger(f"{folder}/all.clgdb", start, target="yield", keep=["customer"]) as everything:
        for site in sites:
            everything.merge(site)
            site.close()
        print(f"{everything.n_rows} rows of {len(everything.chunks())} chunks")
        query = first[INPUTS].iloc[:1]
        print(everything.explain(query, by="site"))


def last_monday(folder: str) -> None:
    print("\n-- the model as of last Monday\n")
    first = batches(5, 3000)
    start = CommitteeRegressor(random_state=0).fit(first[INPUTS], first["yield"])
    with Ledger(f"{folder}/dated.clgdb", start, target="yield", keep=["customer"]) as ledger:
        monday = date.today() + timedelta(days=7 - date.today().weekday())
        for k in range(5):  # Monday to Friday of next week
            at = datetime(monday.year, monday.month, monday.day, 18) + timedelta(days=k)
            ledger.add(batches(60 + k, 300).drop(columns="site"), id=f"{at:%A}", at=at)
        query = first[INPUTS].iloc[:1]
        print("as of Monday:", *ledger.as_of(monday).predict(query, return_std=True))
        print("now:         ", *ledger.model().predict(query, return_std=True))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        forgetting(folder)
        merging(folder)
        last_monday(folder)
