"""Columns of few values with numbers in their place."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
import reference
from collegium import CommitteeClassifier
from collegium.kernels import RBF, Linear, Matern12, Matern32, Stepped
from collegium.kernels.wrapped.stepped import StepValues
from collegium.rows.metric import Metric

VALUES, NUMBERS = np.array([0.0, 1.0, 2.0, 5.0]), np.array([1.4, -0.7, -0.6, 1.3])
RATING = StepValues(1, VALUES, NUMBERS)
OTHER = StepValues(0, np.array([-1.0, 1.0]), np.array([0.3, -0.3]))
LENGTHS = np.array([0.8, 1.1, 2.0])


def table(n, seed=0):
    """A column of two values, one of ratings, one of three levels."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.choice([-1.0, 1.0], n), rng.choice(VALUES, n), rng.integers(0, 3, n)]
    )


def stepped(inner=Matern32, steps=(RATING, OTHER)):
    return Stepped(inner(1.4, LENGTHS, categories=2), steps)


def placed(X):
    """Value by value; between known values on a line, beyond them constant."""
    found = X.copy()
    for i, x in enumerate(X):
        found[i, 0] = -0.3 * np.clip(x[0], -1.0, 1.0)
        for a, b, s, t in zip(VALUES, VALUES[1:], NUMBERS, NUMBERS[1:]):
            if a <= x[1] <= b:
                found[i, 1] = s + (t - s) * (x[1] - a) / (b - a)
        found[i, 1] = NUMBERS[0] if x[1] < 0.0 else NUMBERS[-1] if x[1] > 5.0 else found[i, 1]
    return found


def test_values_are_those_of_the_numbers():
    X, Z = table(9), table(7, 1)
    Z[:3, 1] = 3.5, -2.0, 80.0  # values that have no number
    kernel = stepped()
    inner = kernel.kernel
    assert_allclose(kernel.value(X, Z), inner.value(placed(X), placed(Z)), rtol=1e-13)
    assert_allclose(kernel.value(Z), inner.value(placed(Z)), rtol=1e-13)
    assert_array_equal(kernel.diag(X), np.full(9, 1.4))
    for part, K in zip((Z, X), kernel.coarse_parts(X, [Z, X])):
        assert_allclose(K, kernel.value(X, part), rtol=1e-5)
    out, room = np.empty((2, 3, 3)), np.empty((2, 3, 3))
    kernel.fill(X[:6].reshape(2, 3, 3), out, room)
    for own, K in zip(X[:6].reshape(2, 3, 3), out):
        assert_allclose(np.tril(K), np.tril(kernel.value(own)), rtol=1e-12)


@pytest.mark.parametrize("nested", [False, True], ids=["alone", "sum"])
def test_adjoints_are_derivatives(nested):
    X, Z, rng = table(9), table(7, 1), np.random.default_rng(2)
    kernel = stepped(Matern12)
    if nested:
        kernel = Stepped(
            kernel.kernel + RBF(0.6, 2.0 * LENGTHS) * Linear([2.0, 1.5, 0.8]), [RATING]
        )
    K_bar, S_bar, d_bar = rng.normal(size=(9, 7)), rng.normal(size=(9, 9)), rng.normal(size=9)
    S_bar += S_bar.T
    for found, f in (
        (kernel.vjp(X, Z, K_bar), lambda k: (K_bar * k.value(X, Z)).sum()),
        (kernel.vjp(X, None, S_bar), lambda k: (S_bar * k.value(X)).sum()),
        (kernel.diag_vjp(X, d_bar), lambda k: (d_bar * k.diag(X)).sum()),
    ):
        slow = reference.gradient(lambda theta, f=f: f(kernel.with_theta(theta)), kernel.theta)
        assert_allclose(found, slow, rtol=1e-6, atol=1e-8)


def test_distances_of_the_metric_are_those_of_the_kernel():
    X = table(40)
    kernel = stepped(RBF)
    metric = Metric.of(kernel, X)
    S = metric.forward(X)
    D = ((S[:, None] - S[None]) ** 2).sum(axis=2)
    own = -2.0 * np.log(kernel.value(X) / 1.4)
    far = own > 1e-9
    assert np.ptp(D[far] / own[far]) < 1e-9 * (D[far] / own[far]).max()
    assert_array_equal(metric.backward(S), X)


def test_a_bound_holds_whatever_the_numbers_are():
    X, Z = table(30), table(30, 1)
    kernel = stepped()
    assert (kernel.value(X, Z).diagonal() <= kernel.reach(np.abs(X - Z)) * (1.0 + 1e-12)).all()


def test_labels_widths_and_levels():
    kernel = Stepped(Matern32(), [RATING]).for_width(3)
    assert kernel.labels == (("variance", 0), ("length", 0), ("mismatch", 1), ("length", 2))
    assert kernel.on_levels({1: "rating", 2: "word"}).kernel.categories == (2,)
    assert_array_equal(kernel.inverse_squares(3) > 0.0, [True, False, True])
    with pytest.raises(ValueError, match="steps of Stepped are of column 1, but X has 1 columns"):
        kernel.for_width(1)
    with pytest.raises(ValueError, match="kernel='a' of Stepped"):
        Stepped("a", [RATING])
    assert repr(kernel).endswith("steps of columns [1])")


@pytest.mark.parametrize("way", [{}, {"chunks": 25, "anchors": 20, "n_local": 15}])
def test_a_classifier_by_steps_is_that_of_the_numbers(way, tmp_path):
    X, rng = table(120), np.random.default_rng(3)
    X[:, 2] += rng.normal(size=120)
    y = (placed(X)[:, 1] + X[:, 2] + 0.5 * rng.normal(size=120) > 1.0).astype(int)
    inner = RBF(3.0, [1.0, 0.9, 1.5])
    given = {"learn": False, "random_state": 0, **way}
    model = CommitteeClassifier(Stepped(inner, [RATING, OTHER]), **given).fit(X, y)
    Xs = table(15, 4)
    if not way:
        plain = CommitteeClassifier(inner, **given).fit(placed(X), y)
        assert_allclose(model.predict_proba(Xs), plain.predict_proba(placed(Xs)), rtol=1e-9)
    model.save(tmp_path / "steps.clg")
    for other in (collegium.load(tmp_path / "steps.clg"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict_proba(Xs), model.predict_proba(Xs))
