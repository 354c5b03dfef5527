"""The experiments of Zhu & Rohwer (1995), "Bayesian regression filters and the issue of priors":
figures 1 to 7, tables 1 to 4.

python benchmarks/papers/zhu1995.py [data folder] [--out folder] [--quick] [--only fig1 table1]

Boston housing and the sets of tables 3 and 4 are read from the data folder and skipped where they
are absent; the rest is generated.
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from zhu1995_boston import table_1, table_2
from zhu1995_pooling import tables_3_and_4
from zhu1995_synthetic import PRIORS, figure_5, figure_6, prior_figure

from collegium.engines import single_threaded

PARTS = {
    **{part: prior_figure(part) for part in PRIORS},
    "fig5": figure_5,
    "fig6": figure_6,
    "table1": table_1,
    "table2": table_2,
    "table3": tables_3_and_4,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="../shared/data", type=Path)
    parser.add_argument("--out", default=".", type=Path, help="where the pictures go")
    parser.add_argument("--quick", action="store_true", help="fewer splits and repeats")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part in options.only:
        clock = time.process_time(), time.perf_counter()
        with single_threaded():
            PARTS[part](options.folder, options.out, options.quick)
        cpu, wall = time.process_time() - clock[0], time.perf_counter() - clock[1]
        print(f"  [{part}: {cpu:.0f} CPU s, {wall:.0f} s]", flush=True)
