"""One cell: bytes that it keeps, and rounding."""

import numpy as np
from cell_cases import cells_of, committee_of
from numpy.testing import assert_allclose

from collegium.answers.cells.cell import Cell, FewRows
from collegium.kernels import Matern32, Trend


def test_rounding_gives_no_negative_variance():
    few = FewRows(None, np.array([0.7]), 1, 0)
    found = few.at(np.zeros((2, 1)), np.array([0.49, 0.5]), np.array([[0.4900001], [0.49]]))
    assert_allclose(found, [0.0, 0.01])


def test_a_cell_counts_all_that_it_keeps():
    committee, _ = committee_of()
    cell: Cell = cells_of(committee, 25, 10).cell((0,))
    assert cell.nbytes == 8 * (55 + (9 + 25) * (4 + 2))
    committee, _ = committee_of(kernel=Matern32(1.3, 0.9) + Trend(30.0, 1.7))
    cell = cells_of(committee, 25, 10).cell((0,))
    assert cell.nbytes == 8 * ((9 + 5) * 10 + 100 + 10 * 4 + (9 + 25) * (4 + 2))
