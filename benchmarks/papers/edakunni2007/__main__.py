"""The experiments of Edakunni, Schaal & Vijayakumar (2007), "Kernel carpentry for online regression
using randomly varying coefficient model": figures 3 to 6.

python -m benchmarks.papers.edakunni2007 ../shared/data [--out folder] [--quick] [--only fig3 fig4]

The motorcycle, ozone and Boston data are read from the data folder and skipped where they are
absent; the rest is generated.
"""

from benchmarks.papers.edakunni2007.bars import figure_3, figures_4_and_5
from benchmarks.papers.edakunni2007.errors import figure_6a, figure_6b
from benchmarks.papers.experiments import run

PARTS = {"fig3": figure_3, "fig4": figures_4_and_5, "fig6a": figure_6a, "fig6b": figure_6b}

if __name__ == "__main__":
    run(PARTS, __doc__)
