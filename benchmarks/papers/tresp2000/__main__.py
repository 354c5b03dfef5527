"""The experiments of Tresp (2000), "A Bayesian committee machine": figures 1, 3, 4, 5, tables 1, 2.

python -m benchmarks.papers.tresp2000 ../shared/data [--out folder] [--quick] [--only fig1 table1]

BUPA, Pima and housing are read from the data folder and skipped where they are absent; the rest
is generated. Errors on artificial data are against the noise-free function: the paper's 0.0529 at
a noise variance of 0.25 can be nothing else.
"""

from benchmarks.papers.experiments import run
from benchmarks.papers.tresp2000.figures import figure_1, figure_3, figure_4, figure_5, scaling
from benchmarks.papers.tresp2000.functions import table_2
from benchmarks.papers.tresp2000.tables import table_1

PARTS = {
    "fig1": figure_1,
    "fig3": figure_3,
    "fig4": figure_4,
    "fig5": figure_5,
    "table1": table_1,
    "table2": table_2,
    "scaling": scaling,
}

if __name__ == "__main__":
    run(PARTS, __doc__)
