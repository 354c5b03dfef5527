"""Run the studies of the service: `python -m benchmarks.studies.service DATA`."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from . import load
from .bad import refused_all
from .kills import is_whole, killed
from .plant import make_plant
from .running import Running

PARTS = ("load", "batch", "start", "bad", "kills")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with kin40k.npz")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of load")
    parser.add_argument("--predictions", type=float, default=200.0, help="single rows a second")
    parser.add_argument("--learnt", type=float, default=1000.0, help="rows learnt a second")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the ledger that is started")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--fronts", type=float, default=0.2, help="share of kills of the front")
    parser.add_argument("--requests", type=int, default=300, help="bad ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keeps models and ledgers there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = asked.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        for part in asked.parts:
            tell(part, run(part, asked, folder))


def run(part: str, asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one part."""
    if part == "start":
        return load.large_start(folder, asked.rows)
    if part == "kills":
        with tempfile.TemporaryDirectory() as own:
            found = killed(Path(own), asked.kills, asked.seed, fronts=asked.fronts)
        return {"whole": is_whole(found), **found}
    if part == "bad":
        with tempfile.TemporaryDirectory() as own:
            path = Path(own) / "plant.clgdb"
            make_plant(path)
            with Running(path) as service:
                before = service.ask("GET", "/v1/model")[1]["ledger"]["state"]
                wrong = refused_all(service, asked.requests, asked.seed)
                after = service.ask("GET", "/v1/model")[1]["ledger"]["state"]
            said = service.said_at_the_end
        return {
            "sent": asked.requests, "not refused with a reason": wrong,
            "nothing learnt": before == after, "tracebacks": said.count("Traceback"),
        }  # fmt: skip
    path, X, y = load.table_ledger(asked.data, folder)
    if part == "batch":
        return load.batches(path, X)
    rates = {"predictions": asked.predictions, "learnt": asked.learnt}
    return load.under_load(path, X, y, asked.seconds, **rates)


def tell(part: str, found: dict[str, Any]) -> None:
    """Print what was found."""
    print(f"== {part}")
    seen = found.pop("seen", [])
    print(json.dumps(found, indent=1, default=float))
    for one in seen[:: max(len(seen) // 12, 1)]:
        print("  ".join(f"{name} {value:.5g}" for name, value in one.items()))


if __name__ == "__main__":
    main()
