"""Bases and densities of filters: values, sizes, refusals."""

import numpy as np
import pytest
from filter_cases import (
    column,
    data,
)
from numpy.testing import assert_allclose

from collegium.filter.bases import (
    BASES,
    Cosines,
    Functions,
    GaussianBumps,
    LinearSplines,
    Place,
    RandomFourier,
)
from collegium.filter.densities import Empirical, NormalInputs, UniformBox, typical
from collegium.filter.rules import Nodes
from collegium.kernels import (
    RBF,
    Matern32,
    Matern52,
)


def test_hats_are_one_at_their_knot_and_add_up_to_one():
    knots = np.array([-1.0, 0.5, 0.7, 4.0])
    basis = LinearSplines((knots,))
    assert_allclose(basis(knots[:, None]), np.eye(4), atol=1e-15)
    x = np.linspace(-3, 6, 50)[:, None]
    assert_allclose(basis(x).sum(axis=1), 1.0)
    assert_allclose(basis(x) @ (2.0 - 3.0 * knots), 2.0 - 3.0 * x[:, 0])  # lines, outside too


def test_tensor_splines_are_products_over_columns():
    one, two = np.linspace(0, 1, 3), np.linspace(-1, 1, 4)
    X = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    slow = [
        [a * b for a in LinearSplines((one,))(x[:1, None])[0]
         for b in LinearSplines((two,))(x[1:, None])[0]]
        for x in X
    ]  # fmt: skip
    assert_allclose(LinearSplines((one, two))(X), slow, atol=1e-14)


def test_cosines_are_orthogonal_on_their_box():
    basis = Cosines(np.array([-2.0, 0.0]), np.array([3.0, 1.0]), np.array([[0, 0], [1, 2], [3, 1]]))
    rule = Nodes.of(basis, UniformBox(basis.low, basis.high), 2_000)
    H = rule.values.T @ (rule.weights[:, None] * rule.values)
    assert_allclose(H, np.diag([1.0, 0.25, 0.25]), atol=1e-12)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("d", [1, 2])
def test_every_basis_is_made_finite_and_of_about_the_size_asked(name, d):
    X, _ = data(80, d)
    place = Place(Matern52(1.0, np.full(d, 0.8)), X, X.min(0), X.max(0), np.random.default_rng(0))
    basis = BASES[name](place, 36)
    assert basis.m == 36
    far = np.vstack([X, 1e6 * X, np.full((1, d), 1e150)])
    assert basis(far).shape == (161, 36) and np.isfinite(basis(far)).all()


def test_what_bases_are_made_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2)) * [1.0, 10.0]
    for kernel, tail in ((RBF(1.0, [0.5, 4.0]), 0.0455), (Matern32(1.0, [0.5, 4.0]), 0.1394)):
        place = Place(kernel, X, X.min(0), X.max(0), np.random.default_rng(1))
        z = BASES["fourier"](place, 6_000).frequencies * [0.5, 4.0]
        assert_allclose(np.mean(np.abs(z) > 2.0), tail, atol=0.01)  # normal, or t with 3
    place = Place(RBF(1.0, [0.5, 20.0]), X, X.min(0), X.max(0), np.random.default_rng(1))
    orders = BASES["harmonics"](place, 60).orders
    assert orders[:, 0].max() > 2 * orders[:, 1].max()  # finer where the kernel is shorter
    narrow, wide = (BASES["bumps"](place, m).widths for m in (3_000, 20))
    assert (narrow <= [0.5, 20.0]).all() and wide[0] == 0.5
    assert narrow[0] < wide[0]
    flat = Place(RBF(1.0, [0.5, 1e4]), X, X.min(0), X.max(0), np.random.default_rng(1))
    assert BASES["bumps"](flat, 50).widths[1] > 5e3  # a column without influence


def test_bases_and_densities_take_lists_and_refuse_nonsense():
    assert LinearSplines([0, 1, 2]).m == 3 and LinearSplines([[0, 1], [0, 1, 2]]).m == 6
    assert GaussianBumps([[0.0], [1.0]], 0.5)(column(0.0)).shape == (1, 2)
    assert UniformBox(0.0, 5.0).covers(column(1.0, 6.0)).tolist() == [True, False]
    assert Cosines(0.0, 1.0, [0, 1, 2]).m == 3
    for wrong in (
        lambda: UniformBox([4.0], [-4.0]), lambda: UniformBox([0.0], [1.0, 2.0]),
        lambda: NormalInputs([0.0], [0.0]), lambda: Empirical([1.0]), lambda: Empirical([[np.nan]]),
        lambda: LinearSplines([1.0, 0.0]), lambda: LinearSplines([[1.0]]),
        lambda: GaussianBumps([[0.0]], [-1.0]), lambda: GaussianBumps([0.0], [1.0]),
        lambda: Cosines([1.0], [0.0], [[1]]), lambda: RandomFourier([1.0]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="of (Unif|Norm|Emp|Lin|Gauss|Cos|Ran)"):
            wrong()


def test_glitches_are_distinguished_from_rows():
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert typical(X).all()
    X[7, 1] = 1e4
    assert typical(X).sum() == 299 and not typical(X)[7]
    assert typical(np.ones((5, 1))).all() and typical(column(0.0, 0.0, 0.0, 5.0)).all()


def test_a_basis_of_the_users_own_is_counted_and_checked():
    X, _ = data(5)
    assert Functions.tried(lambda X: np.hstack([X, X**2]), X).m == 2
    for wrong in (lambda X: X[:, 0], lambda X: np.ones((2, 3)), lambda X: np.ones((len(X), 0))):
        with pytest.raises(ValueError, match="basis gives"):
            Functions.tried(wrong, X)
    with pytest.raises(ValueError, match="finite"):
        Functions(lambda X: np.full((len(X), 2), np.nan), 2)(X)
