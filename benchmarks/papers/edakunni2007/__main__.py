"""The experiments of Edakunni, Schaal & Vijayakumar (2007), "Kernel carpentry for online regression
using randomly varying coefficient model": figures 3 to 6.

python benchmarks/papers/edakunni2007.py [data folder] [--out folder] [--quick] [--only fig3 fig4]

The motorcycle, ozone and Boston data are read from the data folder and skipped where they are
absent; the rest is generated.
"""

import argparse
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from edakunni2007_bars import figure_3, figures_4_and_5
from edakunni2007_errors import figure_6a, figure_6b

from collegium.engines import single_threaded

PARTS = {"fig3": figure_3, "fig4": figures_4_and_5, "fig6a": figure_6a, "fig6b": figure_6b}

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
