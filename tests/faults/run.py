"""Put in all faults, and say how many were tried and which were silent.

python -m faults.run [--flips 40] [--kills 500] [--seed 0]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from . import cases
from .disk import quick


def all_faults(folder: Path, flips: int, seed: int, kills: int = 40) -> cases.Tried:
    tried = cases.Tried()
    cases.small_parts()
    for name in cases.STORES:
        cases.crash_store(name, folder / "crash", tried)
    for name in ("build", "add", "add to forgotten", "forget"):
        cases.kill_store(name, folder / "kill", tried)
    cases.flip_store(folder / "flip", tried, flips, seed)
    cases.flip_unfinished(folder / "left", tried, max(1, flips // 4), seed)
    cases.crash_file(folder / "file", tried)
    cases.kill_file(folder / "killed", tried)
    cases.flip_file(folder / "model", tried, 5 * flips, seed)
    cases.kill_ledger(folder / "ledger", tried, kills, seed)
    cases.cut_ledger(folder / "cut", tried, kills, seed)
    cases.cut_ledger(folder / "new", tried, kills, seed, changes=0, sessions=1)
    cases.swap_source(folder / "swap", tried)
    cases.flip_parquet(folder / "pages", tried, 2 * flips, seed)
    return tried


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=40)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, quick():
        tried = all_faults(Path(folder), asked.flips, asked.seed, asked.kills)
    for kind, count in tried.counts.items():
        print(f"{count:6d}  {kind}")
    print(f"{sum(tried.counts.values()):6d}  faults, {len(tried.wrong)} of them wrong")
    for line in tried.wrong:
        print(line)
    return bool(tried.wrong)


if __name__ == "__main__":
    sys.exit(main())
