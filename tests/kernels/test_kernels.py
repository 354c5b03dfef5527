"""What every kernel promises, checked for each one in the registry and for sums and products.

A new kernel needs no new code here; a formula in `reference.KERNELS` makes its values checked
as well.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as sk

import reference
from collegium import kernels
from collegium.kernels import Kernel, Leaf, Product, Sum, as_kernel, split_white
from collegium.kernels.stationary import Stationary
from collegium.kernels.stationary.leaves import exp_negative, log_above_one
from processors import assert_same_bits

D = 3
KINDS = {"variance", "length", "slope", "shape", "mismatch"}


def per_column(cls):
    """Parameters that may be one number a column, as their annotations say."""
    types = {f.name: str(f.type) for f in fields(cls)}
    return [name for name in cls.kinds if "rray" in types[name]]


def at_random(cls, d=D, *, ard, seed=0):
    """A kernel of this class with nothing at its default, all of it free."""
    rng = np.random.default_rng([seed, d, ard, *cls.__name__.encode()])
    wide = per_column(cls) if ard else []
    own = {n: rng.uniform(0.6, 2.4, d if n in wide else None) for n in cls.kinds}
    return cls(**own, fixed=())


def composites():
    """Every leaf in one sum and one product; one number a column beside one in all."""
    leaves = {cls.__name__: at_random(cls, ard=True) for cls in Leaf.registry}
    others = {cls.__name__: at_random(cls, ard=False, seed=1) for cls in Leaf.registry}
    names = sorted(leaves)
    for a, b in zip(names[::2], names[1::2] + names[:1]):
        yield f"{a}+{b}", leaves[a] + others[b]
    for a, b in zip(names[1::2] + names[:1], names[2::2] + names[:1]):
        yield f"{a}*{b}", leaves[a] * others[b]
    # a factor without variance, and one that is zero almost everywhere
    yield "Linear*Matern52", others["Linear"] * leaves["Matern52"]
    yield "Periodic*White", leaves["Periodic"] * others["White"]
    k = kernels
    rough, smooth, white = k.Matern12(0.4, 0.9), k.RBF(1.3, [0.7, 1.1, 2.0]), k.White(0.3)
    yield "nested", (smooth + rough) * k.Linear([2.0, 1.5, 0.8]) + 0.7 * white
    yield "nested again", k.Hat(0.8, 2.5) * (smooth + white) * (rough + k.Constant(1.1)) * 3.0


def filtered():
    """Kernels that need more than numbers: by a filter of three columns, and as parts of others."""
    rough = kernels.Filtered(kernels.LaplaceFilter(1.3), [-4, -3, -3], [3, 4, 3], 8, variance=0.7)
    smooth = kernels.Filtered(kernels.GaussianFilter(1.1), [-3] * 3, [3] * 3, 10, variance=2.1)
    yield "Filtered", rough
    yield "Filtered*Linear", smooth * kernels.Linear([2.0, 1.5, 0.8])
    yield "Filtered+Filtered*RBF", rough + smooth * kernels.RBF(1.3, [0.7, 1.1, 2.0])
    yield "Filtered*White", smooth * kernels.White(0.3) + kernels.Constant(0.2)
    own = kernels.FeatureMap(np.cos, [0.4, 1.3, 0.8], variance=1.6)
    yield "FeatureMap", own
    yield "FeatureMap*RBF", own * kernels.RBF(1.3, [0.7, 1.1, 2.0])


def on_columns():
    """Each leaf that sees columns on some of them, and sums and products of such."""
    k = kernels
    for cls in Leaf.registry:
        if cls.sees_columns:
            yield f"{cls.__name__} on columns", k.On(at_random(cls, 2, ard=True), (2, 0))
    space, time = k.Matern32(0.8, [0.7, 1.4], columns=[2, 0]), k.Matern12(1.3, 0.9, columns=1)
    yield "space * time + trend", space * time + k.Linear(1.7, columns=2) + k.Group(0, variance=0.6)
    yield "sum on columns", k.On(k.RBF(1.2, [0.8, 1.1]) + k.Linear([2.0, 1.5]), [1, 2]) * space
    yield "categories", k.Matern52(1.2, [0.8, 1.1, 0.6], categories=[2, 0])
    yield "categories on columns", k.RBF(1.2, [0.8, 1.1], columns=[1, 2], categories=2) * time
    yield "sphere", k.Sphere(k.Matern32, columns=[2, 0], length_scale=1.4) + k.Group(1)
    yield "columns of columns", k.On(k.On(k.RBF(1.2, 0.8), 1), [0, 2])


ALL = {
    **{f"{c.__name__}": at_random(c, ard=False) for c in Leaf.registry},
    **{f"{c.__name__} ARD": at_random(c, ard=True) for c in Leaf.registry if per_column(c)},
    **dict(composites()),
    **dict(filtered()),
    **dict(on_columns()),
}
every_kernel = pytest.mark.parametrize("kernel", ALL.values(), ids=ALL.keys())
every_leaf = pytest.mark.parametrize("cls", Leaf.registry, ids=lambda cls: cls.__name__)


@pytest.fixture
def X():
    return np.random.default_rng(2).uniform(-1.5, 1.5, (8, D))


@pytest.fixture
def Z():
    return np.random.default_rng(3).uniform(-1.5, 1.5, (6, D))


def leaves_of(kernel):
    parts = getattr(kernel, "parts", None) or [getattr(kernel, "kernel", None)]
    return [kernel] if parts == [None] else [one for part in parts for one in leaves_of(part)]


def largest(kernel, X):
    return np.abs(reference_or_value(kernel, X)).max()


def reference_or_value(kernel, X):
    return reference.covariance(kernel, X) if reference.knows(kernel) else kernel.value(X)


# --- values ---------------------------------------------------------------------------------------


def test_the_registry_holds_the_kernels_we_know():
    names = {cls.__name__ for cls in Leaf.registry}
    assert names >= set(reference.KERNELS)
    assert all(getattr(kernels, name) in Leaf.registry for name in names)


@every_kernel
def test_value_is_the_formula(kernel, X, Z):
    if not reference.knows(kernel):
        pytest.skip("no formula in reference.py")
    size = 1e-14 * largest(kernel, X)
    assert_allclose(kernel.value(X, Z), reference.covariance(kernel, X, Z), rtol=2e-14, atol=size)
    assert_allclose(kernel.value(X), reference.covariance(kernel, X), rtol=2e-14, atol=size)


@every_kernel
def test_covariance_is_symmetric_and_positive_semidefinite(kernel):
    X = np.random.default_rng(4).uniform(-1.5, 1.5, (30, D))
    X[7] = X[3]
    K = kernel.value(X)
    assert_array_equal(K, K.T)
    values = np.linalg.eigvalsh(K)
    assert values.min() >= -1e-13 * values.max()


@every_kernel
def test_covariance_of_two_sets_is_transposed_when_they_change_places(kernel, X, Z):
    assert_allclose(kernel.value(X, Z), kernel.value(Z, X).T, rtol=1e-14, atol=1e-15)


@every_kernel
def test_diag_is_the_diagonal(kernel, X):
    assert_allclose(kernel.diag(X), kernel.value(X).diagonal(), rtol=1e-14)


@every_kernel
def test_a_set_with_itself_differs_from_two_equal_sets_by_white_noise_alone(kernel, X):
    one, two = kernel.value(X), kernel.value(X, X.copy())
    off = ~np.eye(X.shape[0], dtype=bool)
    assert_allclose(one[off], two[off], rtol=1e-14, atol=1e-15)
    if not any(isinstance(leaf, kernels.White) for leaf in leaves_of(kernel)):
        assert_allclose(one, two, rtol=1e-14, atol=1e-15)


@every_kernel
def test_value_has_a_row_a_query_and_a_column_an_anchor_even_where_there_are_none(kernel, X):
    none = np.empty((0, D))
    assert kernel.value(X, none).shape == (8, 0)
    assert kernel.value(none, X).shape == (0, 8)
    assert kernel.value(none).shape == (0, 0)
    assert kernel.diag(none).shape == (0,)
    assert_array_equal(kernel.vjp(none, None, np.empty((0, 0))), np.zeros(kernel.theta.size))
    assert_array_equal(kernel.vjp(X, none, np.empty((8, 0))), np.zeros(kernel.theta.size))


@every_kernel
def test_value_does_not_depend_on_memory_order_and_its_inputs_stay(kernel, X, Z):
    expected, own = kernel.value(X, Z), kernel.value(X)
    for layout in (np.asfortranarray, lambda A: np.repeat(A, 2, axis=1)[:, ::2]):
        A, B = layout(X), layout(Z)
        A.flags.writeable = B.flags.writeable = False
        assert_allclose(kernel.value(A, B), expected, rtol=1e-15)
        assert_allclose(kernel.value(A), own, rtol=1e-15)
        assert_array_equal(A, X)


@every_kernel
def test_values_are_new_arrays_that_may_be_overwritten(kernel, X, Z):
    for f in (lambda: kernel.value(X), lambda: kernel.value(X, Z), lambda: kernel.diag(X)):
        first = f()
        assert first.flags.c_contiguous and first.flags.writeable and first.dtype == float
        expected = first.copy()
        first[:] = np.nan
        assert_array_equal(f(), expected)


# --- adjoints -------------------------------------------------------------------------------------


def assert_is_the_gradient(found, f, kernel, size):
    numeric = reference.gradient(lambda theta: f(kernel.with_theta(theta)), kernel.theta)
    assert found.shape == kernel.theta.shape
    assert_allclose(found, numeric, rtol=1e-6, atol=1e-9 * size)


@every_kernel
def test_vjp_of_two_sets_is_the_derivative(kernel, X, Z):
    K_bar = np.random.default_rng(5).normal(size=(8, 6))
    size = np.abs(K_bar * kernel.value(X, Z)).sum()
    for given in (K_bar, np.asfortranarray(K_bar)):
        found = kernel.vjp(X, Z, given)
        assert_is_the_gradient(found, lambda k: (K_bar * k.value(X, Z)).sum(), kernel, size)


@every_kernel
def test_vjp_of_one_set_is_the_derivative_and_reads_the_lower_triangle(kernel, X):
    K_bar = np.random.default_rng(6).normal(size=(8, 8))
    K_bar += K_bar.T
    size = np.abs(K_bar * kernel.value(X)).sum()
    found = kernel.vjp(X, None, K_bar)
    assert_is_the_gradient(found, lambda k: (K_bar * k.value(X)).sum(), kernel, size)
    garbled = np.tril(K_bar) + np.triu(np.full((8, 8), 1e6), 1)
    assert_allclose(kernel.vjp(X, None, garbled), found, rtol=1e-12, atol=1e-13 * size)


@every_kernel
def test_diag_vjp_is_the_derivative(kernel, X):
    d_bar = np.random.default_rng(7).normal(size=8)
    size = np.abs(d_bar * kernel.diag(X)).sum()
    found = kernel.diag_vjp(X, d_bar)
    assert_is_the_gradient(found, lambda k: (d_bar * k.diag(X)).sum(), kernel, size)


@every_leaf
def test_adjoints_of_coinciding_rows_are_finite_and_right(cls, X):
    kernel = at_random(cls, ard=True)
    Z = X[[0, 0, 3]] + np.array([[0.0], [0.0], [1e-170]])
    K_bar = np.random.default_rng(8).normal(size=(8, 3))
    size = np.abs(K_bar * kernel.value(X, Z)).sum()
    found = kernel.vjp(X, Z, K_bar)
    assert np.isfinite(found).all()
    assert_is_the_gradient(found, lambda k: (K_bar * k.value(X, Z)).sum(), kernel, size)


# --- parameters -----------------------------------------------------------------------------------


@every_kernel
def test_theta_goes_in_and_out(kernel, X, Z):
    same = kernel.with_theta(kernel.theta)
    assert type(same) is type(kernel)
    assert_allclose(same.value(X, Z), kernel.value(X, Z), rtol=1e-13, atol=1e-300)
    moved = kernel.theta + np.random.default_rng(9).normal(size=kernel.theta.size)
    assert_allclose(kernel.with_theta(moved).theta, moved, rtol=1e-13, atol=1e-14)


@every_kernel
def test_every_theta_has_a_label_that_learning_understands(kernel):
    assert len(kernel.labels) == kernel.theta.size
    assert all(kind in KINDS and 0 <= column < D for kind, column in kernel.labels)


@every_kernel
def test_scaled_multiplies(kernel, X, Z):
    factor = 2.7
    size = 1e-14 * largest(kernel, X)
    assert_allclose(kernel.scaled(factor).value(X, Z), factor * kernel.value(X, Z), atol=size)
    assert_allclose(kernel.scaled(factor).value(X), factor * kernel.value(X), atol=size)
    assert_allclose(kernel.scaled(factor).diag(X), factor * kernel.diag(X), rtol=1e-13)


@every_kernel
def test_a_width_changes_no_value(kernel, X, Z):
    wide = kernel.for_width(D)
    assert_allclose(wide.value(X, Z), kernel.value(X, Z), rtol=1e-14)
    assert wide.theta.size >= kernel.theta.size
    assert_allclose(wide.for_width(D).theta, wide.theta, rtol=0)


@every_kernel
def test_inverse_squares_are_one_nonnegative_number_a_column(kernel):
    found = kernel.inverse_squares(D)
    assert found.shape == (D,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


@every_leaf
def test_length_scales_become_one_a_column(cls):
    scalar = at_random(cls, ard=False)
    lengths = [name for name, kind in cls.kinds.items() if kind in ("length", "slope")]
    wide = replace(scalar, **{name: np.full(1, 0.8) for name in lengths}).for_width(D)
    assert all(np.shape(getattr(wide, name)) == (D,) for name in lengths)
    for name in lengths:
        with pytest.raises(ValueError, match=f"{name} of {cls.__name__}"):
            replace(scalar, **{name: np.ones(D + 1)}).for_width(D)


@every_leaf
def test_one_number_has_the_gradient_of_all_columns_together(cls, X, Z):
    scalar = at_random(cls, ard=False)
    wide = replace(scalar, **{name: np.full(D, getattr(scalar, name)) for name in per_column(cls)})
    K_bar = np.random.default_rng(10).normal(size=(8, 6))
    parts = iter(wide.vjp(X, Z, K_bar))
    summed = [
        sum(next(parts) for _ in range(D if name in per_column(cls) else 1)) for name in cls.kinds
    ]
    assert_allclose(scalar.vjp(X, Z, K_bar), summed, rtol=1e-12, atol=1e-14)


@every_leaf
def test_fixed_parameters_are_left_out_and_kept(cls, X, Z):
    kernel = at_random(cls, ard=True)
    K_bar = np.random.default_rng(11).normal(size=(8, 6))
    S_bar = np.random.default_rng(12).normal(size=(8, 8))
    d_bar = S_bar.diagonal()
    for name in cls.kinds:
        held = replace(kernel, fixed=(name,))
        free = np.concatenate(
            [np.full(np.size(getattr(kernel, other)), other != name) for other in cls.kinds]
        )
        assert_array_equal(held.theta, kernel.theta[free])
        assert len(held.labels) == held.theta.size
        assert_array_equal(held.vjp(X, Z, K_bar), kernel.vjp(X, Z, K_bar)[free])
        assert_array_equal(held.vjp(X, None, S_bar), kernel.vjp(X, None, S_bar)[free])
        assert_array_equal(held.diag_vjp(X, d_bar), kernel.diag_vjp(X, d_bar)[free])
        moved = held.with_theta(held.theta + 0.3)
        assert_array_equal(getattr(moved, name), getattr(kernel, name))
        assert moved.fixed == (name,)
    all_held = replace(kernel, fixed=tuple(cls.kinds))
    assert all_held.theta.size == all_held.vjp(X, Z, K_bar).size == 0
    assert_array_equal(all_held.with_theta(np.empty(0)).value(X, Z), kernel.value(X, Z))


@every_leaf
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "long", None, [[1.0, 2.0, 3.0]]])
def test_a_parameter_that_is_not_positive_and_finite_is_named(cls, bad):
    for name in cls.kinds:
        with pytest.raises(ValueError, match=f"{name} of {cls.__name__}"):
            cls(**{name: bad})


@every_leaf
def test_one_bad_column_is_enough(cls):
    for name in per_column(cls):
        for bad in (0.0, -2.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=f"{name} of {cls.__name__}"):
                cls(**{name: [1.0, bad, 1.0]})


@every_leaf
def test_a_list_where_one_number_is_meant_is_named(cls):
    for name in cls.kinds:
        with pytest.raises(ValueError, match=f"{name} of {cls.__name__}"):
            cls(**{name: []})
        if name not in per_column(cls):
            with pytest.raises(ValueError, match=f"{name} of {cls.__name__}"):
                cls(**{name: [1.0, 2.0]})


@every_leaf
def test_fixing_an_unknown_parameter_is_refused(cls):
    with pytest.raises(ValueError, match=f"fixed of {cls.__name__}"):
        cls(fixed=("wavelength",))


@every_leaf
def test_parameters_cannot_be_changed_behind_the_kernels_back(cls):
    given = {name: np.full(D, 1.3) for name in per_column(cls)}
    kernel = cls(**given)
    for name, array in given.items():
        array[:] = -1.0
        assert_array_equal(getattr(kernel, name), np.full(D, 1.3))
        with pytest.raises(ValueError):
            getattr(kernel, name)[0] = 2.0
    with pytest.raises(AttributeError):
        kernel.fixed = ("variance",)


# --- extreme inputs -------------------------------------------------------------------------------


@every_leaf
def test_extreme_inputs_give_finite_values_and_adjoints(cls):
    X = np.array(
        [
            [0.0, 0.0, 0.0],
            [1e150, -1e150, 1e150],
            [1e150, -1e150, 1e150],
            [-1e150, 1e150, 1e-150],
            [1e-150, -1e-150, 0.0],
            [1e-150, 1e-150, 1e-300],
            [1e75, 1.0, -1e-75],
        ]
    )
    Z = X[::-1].copy()
    for kernel in (at_random(cls, ard=False), at_random(cls, ard=True)):
        for K in (kernel.value(X), kernel.value(X, Z), kernel.diag(X)):
            assert np.isfinite(K).all()
        assert_array_equal(kernel.value(X), kernel.value(X).T)
        K_bar = np.random.default_rng(13).normal(size=(7, 7))
        assert np.isfinite(kernel.vjp(X, Z, K_bar)).all()
        assert np.isfinite(kernel.vjp(X, None, K_bar)).all()
        assert np.isfinite(kernel.diag_vjp(X, K_bar[0])).all()


@every_leaf
def test_units_of_the_inputs_do_not_matter(cls, X, Z):
    kernel = at_random(cls, ard=True)
    with_units = [name for name, kind in cls.kinds.items() if kind in ("length", "slope")]
    for unit in (2.0**-480, 2.0**480):
        other = replace(kernel, **{name: getattr(kernel, name) * unit for name in with_units})
        assert_allclose(other.value(X * unit, Z * unit), kernel.value(X, Z), rtol=1e-13)
        K_bar = np.random.default_rng(14).normal(size=(8, 6))
        assert_allclose(
            other.vjp(X * unit, Z * unit, K_bar), kernel.vjp(X, Z, K_bar), rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize("shift", [2.0**10, -(2.0**20), 2.0**30])
@pytest.mark.parametrize(
    "cls",
    [cls for cls in Leaf.registry if issubclass(cls, Stationary)] + [kernels.Periodic],
    ids=lambda cls: cls.__name__,
)
def test_stationary_kernels_see_differences_alone(cls, shift, X, Z):
    kernel = at_random(cls, ard=True)
    X, Z = np.round(X * 2**20) / 2**20, np.round(Z * 2**20) / 2**20  # so that shifts are exact
    K_bar = np.random.default_rng(17).normal(size=(8, 6))
    tolerance = 2e-15 * abs(shift) if cls is kernels.Periodic else 1e-13  # sines of large angles
    moved, expected = kernel.value(X + shift, Z + shift), kernel.value(X, Z)
    assert_allclose(moved, expected, rtol=tolerance, atol=tolerance)
    moved, expected = kernel.vjp(X + shift, Z + shift, K_bar), kernel.vjp(X, Z, K_bar)
    assert_allclose(moved, expected, rtol=50 * tolerance, atol=50 * tolerance)


@pytest.mark.parametrize(
    "cls",
    [cls for cls in Leaf.registry if issubclass(cls, Stationary)],
    ids=lambda cls: cls.__name__,
)
def test_length_scales_far_too_short_for_the_inputs_give_finite_results(cls):
    X = np.array([[1e150, 0.0], [-1e150, 3.0], [1.0, 1e300], [1.0, 1e300]])
    kernel = replace(at_random(cls, ard=False), length_scale=[1e-140, 1e-300])
    K_bar = np.random.default_rng(18).normal(size=(4, 4))
    assert np.isfinite(kernel.value(X)).all()
    assert np.isfinite(kernel.value(X, X[::-1])).all()
    assert np.isfinite(kernel.vjp(X, X[::-1], K_bar)).all()
    assert kernel.value(X)[2, 3] == kernel.variance


@pytest.mark.parametrize("alpha", [1e2, 1e4, 1e6])
def test_the_rational_quadratic_goes_to_the_squared_exponential(alpha, X, Z):
    rational = kernels.RationalQuadratic(1.3, [0.7, 1.1, 2.0], alpha)
    rounding = 1e-15 * alpha  # of 1 + D/2α
    expected = reference.covariance(rational, X, Z)
    assert_allclose(rational.value(X, Z), expected, rtol=max(rounding, 1e-14))
    limit = kernels.RBF(1.3, [0.7, 1.1, 2.0]).value(X, Z)
    assert np.abs(rational.value(X, Z) - limit).max() < 1.0 / alpha


@pytest.mark.parametrize("distance", [1e3, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0])
@pytest.mark.filterwarnings("error")
def test_the_heavy_tail_of_the_rational_quadratic_reaches_as_far_as_it_should(
    distance, alpha, request
):
    kernel = kernels.RationalQuadratic(1.3, 0.5, alpha)
    X, Z = np.zeros((1, 1)), np.full((1, 1), distance)
    found, expected = kernel.value(X, Z), reference.covariance(kernel, X, Z)
    assert_allclose(found, expected, rtol=1e-11)
    numeric = reference.gradient(
        lambda theta: reference.covariance(kernel.with_theta(theta), X, Z).sum(), kernel.theta
    )
    assert_allclose(kernel.vjp(X, Z, np.ones((1, 1))), numeric, rtol=1e-6)


@njit
def _exponentials(x, out):
    for i in range(x.size):
        out[i] = exp_negative(x[i])


def test_exponential_is_accurate_to_two_units_and_safe_below():
    rng = np.random.default_rng(15)
    x = np.concatenate(
        [-rng.uniform(0, 700, 50_000), -np.geomspace(1e-300, 700, 20_000), [0.0, -0.0, -700.0]]
    )
    out = np.empty_like(x)
    _exponentials(x, out)
    assert_allclose(out, np.exp(x.astype(np.longdouble)), rtol=5e-16)  # numpy's own rounds anew
    assert exp_negative(0.0) == 1.0
    below = np.array([-701.0, -707.0, -707.5, -745.0, -1e4, -1e12, -1e300, -np.inf])
    out = np.empty_like(below)
    _exponentials(below, out)
    assert (out > 0).all()
    assert (out <= np.exp(-700.0)).all()
    assert (np.diff(out) <= 0).all()


def test_exponential_in_single_precision():
    x = -np.geomspace(1e-30, 87.0, 50_000).astype(np.float32)
    out = np.empty_like(x)
    _exponentials(x, out)
    assert_allclose(out, np.exp(x.astype(float)), rtol=3e-7)
    below = np.array([-88.0, -1e4, -np.inf], dtype=np.float32)
    out = np.empty_like(below)
    _exponentials(below, out)
    assert (out > 0).all() and (out < 1e-37).all()


@njit
def _logarithms(y, out):
    for i in range(y.size):
        out[i] = log_above_one(y[i])


def test_logarithm_above_one_is_accurate_to_rounding():
    rng = np.random.default_rng(16)
    y = np.concatenate(
        [1.0 + np.geomspace(1e-16, 1.0, 20_000), 10.0 ** rng.uniform(0, 300, 20_000), [1.0, 2.0]]
    )
    out = np.empty_like(y)
    _logarithms(y, out)
    assert_allclose(out, np.log(y.astype(np.longdouble)), rtol=5e-16, atol=5e-16)
    assert log_above_one(1.0) == 0.0


def test_exponential_never_rises_where_its_argument_falls():
    x = -np.linspace(0, 706, 200_001)
    out = np.empty_like(x)
    _exponentials(x, out)
    assert (np.diff(out) < 0).all()


# --- sums and products ----------------------------------------------------------------------------


def test_operators_add_and_multiply_values(X, Z):
    a, b, c = kernels.RBF(1.4, 0.6), kernels.Matern12(0.3, [1.0, 2.0, 0.4]), kernels.White(0.2)
    Ka, Kb = a.value(X, Z), b.value(X, Z)
    assert_allclose((a + b).value(X, Z), Ka + Kb, rtol=1e-14)
    assert_allclose((a * b).value(X, Z), Ka * Kb, rtol=1e-14)
    assert_allclose((2.5 * a).value(X, Z), 2.5 * Ka, rtol=1e-14)
    assert_allclose((a * 2.5).value(X, Z), 2.5 * Ka, rtol=1e-14)
    assert_allclose((a + 2.5).value(X, Z), Ka + 2.5, rtol=1e-14)
    assert_allclose((2.5 + a).value(X, Z), Ka + 2.5, rtol=1e-14)
    assert_allclose((a * (b + c)).value(X), a.value(X) * (b.value(X) + c.value(X)), rtol=1e-14)
    assert_allclose(((b + c) * a).value(X), a.value(X) * (b.value(X) + c.value(X)), rtol=1e-14)
    assert isinstance(a + b + c, Sum) and len((a + b + c).parts) == 3
    assert isinstance(a * b * a, Product) and len((a * b * a).parts) == 3


@pytest.mark.parametrize("other", ["rbf", None, [1.0]])
def test_a_kernel_is_combined_with_kernels_and_numbers_only(other):
    for combine in (lambda k: k + other, lambda k: other + k, lambda k: k * other):
        with pytest.raises(TypeError):
            combine(kernels.RBF())


def test_a_product_has_one_free_variance():
    product = kernels.RBF(2.0, 0.5) * kernels.Matern32(3.0, 0.7) * kernels.Hat(5.0, 2.0)
    assert [kind for kind, _ in product.labels].count("variance") == 1
    assert_allclose(product.diag(np.zeros((1, 2))), 30.0)


def test_splitting_off_white_noise_loses_nothing(X):
    rbf, linear = kernels.RBF(1.2, 0.8), kernels.Linear(0.5)
    rest, white = split_white(rbf + kernels.White(0.3) + linear + kernels.White(0.4))
    assert_allclose(white.variance, 0.7)
    assert_allclose(rest.value(X), (rbf + linear).value(X))
    assert split_white(rbf) == (rbf, None)
    alone, white = split_white(rbf + kernels.White(0.3, fixed=("variance",)))
    assert alone is rbf and white.fixed == ("variance",)


# --- scikit-learn's kernels -----------------------------------------------------------------------

SKLEARN = {
    "RBF": sk.RBF(0.7),
    "RBF ARD": sk.RBF([0.7, 1.1, 0.4]),
    "Matern 1/2": sk.Matern(0.7, nu=0.5),
    "Matern 3/2": sk.Matern([0.7, 1.1, 0.4], nu=1.5),
    "Matern 5/2": sk.Matern(1.2, nu=2.5),
    "Matern inf": sk.Matern(1.2, nu=np.inf),
    "rational quadratic": sk.RationalQuadratic(0.8, 1.7),
    "dot product": sk.DotProduct(0.6),
    "dot product through the origin": sk.DotProduct(0.0),
    "constant": sk.ConstantKernel(2.2),
    "white": sk.WhiteKernel(0.3),
    "sum": sk.RBF(0.9) + sk.WhiteKernel(0.2) + sk.ConstantKernel(0.4),
    "product": sk.ConstantKernel(2.0) * sk.Matern(0.6, nu=1.5) * sk.DotProduct(1.3),
    "number": 3.0 * sk.RBF(0.5) + 1.0,
    "nested": sk.ConstantKernel(2.0) * (sk.RBF(0.6) + sk.ConstantKernel(0.5) * sk.Matern(1.1))
    + sk.WhiteKernel(0.1) * sk.ConstantKernel(3.0),
}


@pytest.mark.parametrize("theirs", SKLEARN.values(), ids=SKLEARN.keys())
def test_translation_has_the_values_of_the_scikit_learn_kernel(theirs, X, Z):
    ours = as_kernel(theirs)
    assert isinstance(ours, Kernel)
    assert_allclose(ours.value(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-14)
    assert_allclose(ours.value(X), theirs(X), rtol=1e-12, atol=1e-14)
    assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-12)


def test_translation_of_the_periodic_kernel_has_its_values_in_one_dimension(X, Z):
    theirs = sk.ExpSineSquared(0.8, 1.9) * sk.RBF(2.0)
    x, z = X[:, :1], Z[:, :1]
    assert_allclose(as_kernel(theirs).value(x, z), theirs(x, z), rtol=1e-12)
    assert_allclose(as_kernel(theirs).value(x), theirs(x), rtol=1e-12)


FIXED = {
    "RBF": (sk.RBF(0.7, "fixed"), {"length_scale"}),
    "Matern": (sk.Matern([0.7, 0.4], "fixed", nu=2.5), {"length_scale"}),
    "alpha": (sk.RationalQuadratic(0.8, 1.7, alpha_bounds="fixed"), {"alpha"}),
    "length": (sk.RationalQuadratic(0.8, 1.7, length_scale_bounds="fixed"), {"length_scale"}),
    "period": (sk.ExpSineSquared(0.8, 1.9, periodicity_bounds="fixed"), {"period"}),
    "constant": (sk.ConstantKernel(2.0, "fixed"), {"variance"}),
    "white": (sk.WhiteKernel(2.0, "fixed"), {"variance"}),
    "nothing": (sk.RBF(0.7), set()),
}


@pytest.mark.parametrize(("theirs", "names"), FIXED.values(), ids=FIXED.keys())
def test_what_scikit_learn_fixes_stays_fixed(theirs, names):
    assert set(as_kernel(theirs).fixed) == names


def test_the_offset_of_a_dot_product_stays_fixed():
    ours = as_kernel(sk.DotProduct(0.6, "fixed"))
    assert [kind for kind, _ in ours.labels] == ["slope"]


def test_a_fixed_factor_fixes_the_variance_of_the_product():
    ours = as_kernel(sk.ConstantKernel(2.0, "fixed") * sk.RBF(0.7))
    assert "variance" not in [kind for kind, _ in ours.labels]


@pytest.mark.parametrize(
    "unknown",
    [
        sk.Matern(nu=0.7),
        sk.Matern(nu=3.5),
        sk.RBF() ** 2,
        sk.CompoundKernel([sk.RBF(), sk.RBF()]),
        sk.PairwiseKernel(),
        sk.RBF() + sk.PairwiseKernel(),
        "rbf",
        3.0,
        sk.RBF,
    ],
    ids=str,
)
def test_what_cannot_be_translated_is_refused(unknown):
    with pytest.raises(ValueError, match="kernel="):
        as_kernel(unknown)


TWINS = [(cls, twin) for cls in Leaf.registry for twin in cls.sklearn_twins]


def test_the_refusal_lists_every_kernel_and_every_twin():
    with pytest.raises(ValueError, match="not a kernel known here") as refusal:
        as_kernel("rbf")
    listed = str(refusal.value)
    assert all(f"{cls.__name__}" in listed for cls in Leaf.registry)
    assert all(twin in listed for _, twin in TWINS)
    assert "Filtered" in listed and "Sphere" in listed and "Stationary" not in listed


def test_the_refusal_guesses_what_is_meant():
    for given, words in (("matern", "is kernels.Matern"), (kernels.RBF, r"a class: write RBF\(\)")):
        with pytest.raises(ValueError, match=words):
            as_kernel(given)
    with pytest.raises(ValueError, match="not a kernel known here: give"):
        as_kernel("something else")


@pytest.mark.parametrize(("cls", "twin"), TWINS, ids=[twin for _, twin in TWINS])
def test_twins_are_translated_by_their_class(cls, twin):
    theirs = eval(twin if "(" in twin else f"{twin}()", {**vars(sk), "inf": np.inf})
    assert cls.from_sklearn(theirs) is not None
    assert [one for one in Leaf.registry if one.from_sklearn(theirs) is not None] == [cls]


def test_every_translation_has_a_twin():
    assert all(cls.sklearn_twins for cls in Leaf.registry if "from_sklearn" in vars(cls))


def test_our_own_kernels_pass_through():
    ours = kernels.RBF(1.3, 0.4) + kernels.White(0.1)
    assert as_kernel(ours) is ours


@every_kernel
def test_sets_of_rows_are_filled_as_values_are(kernel):
    """To the last bit, whatever the other sets are; and in single precision, to that."""
    sets = np.random.default_rng(5).uniform(-1.5, 1.5, (3, 7, D))
    out, room = np.full((2, 3, 7, 7), np.nan)
    kernel.fill(sets, out, room)
    expected = np.stack([np.tril(kernel.value(own)) for own in sets])
    assert_array_equal(np.tril(out), expected)
    single, room = np.full((2, 3, 7, 7), np.nan, dtype=np.float32)
    kernel.fill(sets, single, room)
    assert_allclose(np.tril(single), expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


@every_kernel
def test_values_to_points_are_values_whatever_other_rows_are(kernel, X, Z):
    to, more = kernel.to(Z), np.concatenate([X] * 9)
    expected = kernel.value(X, Z)
    assert_allclose(to(X), expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())
    for n in (1, 2, 3, 72):
        assert_same_bits(to(more[-n:])[-1], to(X)[-1])
    assert to.nbytes > 0
