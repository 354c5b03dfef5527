"""How a model answers by cells: the prior variance that fades, and the scale of variances."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from collegium.answers.cells.cells import Cells, local_variance, scaled_variance
from collegium.kernels import RBF, Constant, Linear, Matern32, Periodic, Trend


def test_the_prior_that_fades_is_that_of_stationary_terms():
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel = Matern32(1.3, 0.9) + Trend(30.0, 1.7) + RBF(0.4, [2.0, 0.5]) + Linear(1.1)
    kernel = kernel + Constant(5.0) + Periodic(2.0) + Matern32(0.7, 1.0) * Linear(0.8)
    assert_allclose(local_variance(kernel.for_width(2), X), 1.7)
    assert local_variance(Linear(1.1), X) == 0.0


def test_cells_of_other_rows_are_as_large():
    rng = np.random.default_rng(3)
    X, kernel = rng.normal(size=(900, 5)), Matern32(1.2, [0.7, 1.1, 1.4, 0.9, 2.0])
    large = Cells.of(kernel, X[:600], 120, 50, 1e8, shared=9, single=True, size=150)
    assert large.centres.shape == (4, 5)
    found = replace(large, power=1.3, own=7).rebuilt(kernel, X)
    assert found.centres.shape == (6, 5) and found.size == 150
    assert (found.power, found.own, found.shared, found.single) == (1.3, 7, 9, True)


def test_a_power_leaves_the_prior_and_what_exceeds_it():
    given = np.array([0.0, 0.02, 1.7, 9.0])
    assert_allclose(scaled_variance(given, 1.7, 1.5)[[0, 2, 3]], [0.0, 1.7, 9.0])
    assert scaled_variance(given, 1.7, 1.5)[1] < 0.02 < scaled_variance(given, 1.7, 0.7)[1]
    assert_array_equal(scaled_variance(given, 0.0, 1.5), given)
