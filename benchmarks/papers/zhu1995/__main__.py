"""The experiments of Zhu & Rohwer (1995), "Bayesian regression filters and the issue of priors":
figures 1 to 7, tables 1 to 4.

python -m benchmarks.papers.zhu1995 ../shared/data [--out folder] [--quick] [--only fig1 table1]

Boston housing and the sets of tables 3 and 4 are read from the data folder and skipped where they
are absent; the rest is generated.
"""

from benchmarks.papers.experiments import run
from benchmarks.papers.zhu1995.boston import table_1, table_2
from benchmarks.papers.zhu1995.pooling import tables_3_and_4
from benchmarks.papers.zhu1995.synthetic import PRIORS, figure_5, figure_6, prior_figure

PARTS = {
    **{part: prior_figure(part) for part in PRIORS},
    "fig5": figure_5,
    "fig6": figure_6,
    "table1": table_1,
    "table2": table_2,
    "table3": tables_3_and_4,
}

if __name__ == "__main__":
    run(PARTS, __doc__)
