"""trend=: a level and wide slopes beside the kernel, by which extrapolation goes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor, SparseGPRegressor
from collegium.kernels import Constant, Matern32, Trend
from collegium.kernels.trend import has_trend
from collegium.learning.trend import Lines
from collegium.pipeline.exact import free_scale

BASE, NOISE = Matern32(0.8, 0.6), 0.05


def years(n, seed=0, slope=1.5):
    """A line about which a function wiggles, by years."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(1990, 2010, n))[:, None]
    return X, slope * (X[:, 0] - 2000) + np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def least_squares(kernel, noise, X, y, Xs, centre):
    """Rasmussen & Williams (2006), eqs 2.41 and 2.42 in the limit of a wide prior."""
    H, Hs = (np.column_stack([np.ones(len(A)), A - centre]) for A in (X, Xs))
    Ky, K = kernel.value(X) + noise * np.eye(len(X)), kernel.value(X, Xs)
    A = H.T @ np.linalg.solve(Ky, H)
    beta = np.linalg.solve(A, H.T @ np.linalg.solve(Ky, y))
    R = Hs.T - H.T @ np.linalg.solve(Ky, K)
    mean = Hs @ beta + K.T @ np.linalg.solve(Ky, y - H @ beta)
    variance = kernel.diag(Xs) - (K * np.linalg.solve(Ky, K)).sum(axis=0)
    return mean, variance + (R * np.linalg.solve(A, R)).sum(axis=0)


@pytest.mark.parametrize("sizes", [{}, {"chunks": 30, "anchors": 25}], ids=["exact", "chunks"])
def test_line_is_that_of_generalised_least_squares(sizes):
    X, y = years(90)
    Xs = np.array([[1950.0], [1995.5], [2003.0], [2030.0], [2500.0]])
    model = CommitteeRegressor(BASE, noise=NOISE, learn=False, trend="linear", **sizes)
    mean, std = model.fit(X, y).predict(Xs, return_std=True, level="function")
    expected, variance = least_squares(BASE, NOISE, X, y, Xs, 2000.0)
    close = 3e-3 if not sizes else 0.2  # of a finite prior; of chunks
    assert_allclose((mean - expected) / np.sqrt(variance), 0.0, atol=close)
    assert_allclose(std, np.sqrt(variance), rtol=close / 2)


@pytest.mark.parametrize("n_local", [0, "auto"])
def test_chunks_follow_the_line_with_honest_bars(n_local):
    X, y = years(300, slope=-2.0)
    model = CommitteeRegressor(trend="linear", chunks=80, n_local=n_local, random_state=0)
    model.fit(X, y)
    Xs = np.array([[1900.0], [1980.0], [2020.0], [2100.0]])
    mean, std = model.predict(Xs, return_std=True)
    assert (np.abs(mean + 2.0 * (Xs[:, 0] - 2000)) < 3.0 * std).all()
    assert (std < [20.0, 5.0, 5.0, 20.0]).all()
    plain = CommitteeRegressor(chunks=80, n_local=n_local, random_state=0).fit(X, y)
    assert abs(plain.predict(Xs[-1:])[0] + 200) > 50
    assert not has_trend(plain.kernel_) and has_trend(model.kernel_)


def test_kernel_given_back_is_the_same_model(tmp_path):
    X, y = years(120)
    model = CommitteeRegressor(trend="linear", noise="constant", random_state=0).fit(X, y)
    Xs = np.linspace(1980, 2050, 9)[:, None]
    given = {"kernel": model.kernel_, "noise": model.noise_, "learn": False}
    for trend in (None, "linear"):
        again = CommitteeRegressor(**given, trend=trend).fit(X, y)
        found = again.predict(Xs, return_std=True)
        assert_allclose(found, model.predict(Xs, return_std=True), rtol=1e-8)
    model.save(tmp_path / "model.clg")
    loaded = collegium.load(tmp_path / "model.clg")
    assert_array_equal(loaded.predict(Xs), model.predict(Xs))
    assert repr(loaded.kernel_) == repr(model.kernel_)
    assert model.model_.averaged == ()


def test_columns_by_name_and_position():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": 1e9 + 1e6 * rng.normal(size=80)})
    y = np.sin(X["a"]) + 3e-6 * (X["b"] - 1e9) + 0.1 * rng.normal(size=80)
    far = pd.DataFrame({"a": [0.0], "b": [1e9 + 1e8]})
    named = CommitteeRegressor(trend="b", random_state=0).fit(X, y)
    assert abs(named.predict(far)[0] - 300.0) < 15.0
    placed = CommitteeRegressor(trend=[1], random_state=0).fit(X.to_numpy(), y)
    assert_array_equal(placed.predict(far.to_numpy()), named.predict(far))
    assert repr(named.kernel_.parts[-1]).endswith("columns='b')")


def test_wrong_trends_are_refused():
    X, y = years(30)
    for wrong, words in (
        ([], "trend=.*a column or some"),
        (-1, "trend: -1 is neither a position"),
        ([0, 0], "trend: .* twice"),
        (3, r"trend=\[3\], but X has 1 columns"),
        ("b", "trend=.*without names"),
        ("quadratic", "trend=.*for a curve, append a column such as the square"),
    ):
        with pytest.raises(ValueError, match=words):
            CommitteeRegressor(trend=wrong).fit(X, y)
    with pytest.raises(ValueError, match="trend: X has no column 'b'; .* for a curve, append"):
        CommitteeRegressor(trend="b").fit(pd.DataFrame({"a": X[:, 0]}), y)
    with pytest.raises(ValueError, match="learn='average'.*leave out trend"):
        CommitteeRegressor(trend="linear", learn="average").fit(X, y)


def test_words_have_no_trend():
    names = ["a", "b", "c"]
    assert Lines.asked("linear").on_columns(names, [1]).positions == (0, 2)
    assert Lines.asked("linear").on_columns(names).columns is None
    with pytest.raises(ValueError, match="trend: the column 'b' holds words"):
        Lines.asked(["a", "b"]).on_columns(names, [1])
    with pytest.raises(ValueError, match="trend: the column 1 holds words"):
        Lines.asked(1).on_columns(names, [1])
    with pytest.raises(ValueError, match="all columns hold words"):
        Lines.asked("linear").on_columns(["a"], [0])


def test_centre_and_scale_come_from_the_rows():
    X = np.array([[1.7e9, 5.0], [1.7e9 + 2.0, 5.0], [1.7e9 + 4.0, 5.0]])
    kernel = Lines().kernel(X, 2.0)
    assert isinstance(kernel, Trend) and kernel.variance == 200.0
    assert_array_equal(kernel.centre, [1.7e9 + 2.0, 5.0])
    assert_allclose(kernel.length_scale, [np.sqrt(8 / 3), 5.0], rtol=1e-12)


def test_error_bars_are_checked_beside_a_trend():
    assert free_scale(BASE + Trend()) and free_scale(BASE + Trend(columns=0))
    assert not free_scale(BASE + Constant(fixed=("variance",)) + Trend())


def test_a_stream_keeps_its_line():
    X, y = years(400)
    order = np.random.default_rng(2).permutation(400)
    model = CommitteeRegressor(trend="linear", chunks=100, n_local=0, random_state=0)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part])
    mean, std = model.predict([[2040.0]], return_std=True)
    assert abs(mean[0] - 60.0) < 4.0 * std[0] and std[0] < 6.0


@pytest.mark.slow
def test_other_systems_follow_it_too():
    X, y = years(240)
    sparse = SparseGPRegressor(trend="linear", anchors=40, random_state=0).fit(X, y)
    mean, std = sparse.predict([[2040.0]], return_std=True)
    assert abs(mean[0] - 60.0) < 4.0 * std[0] and std[0] < 6.0
    robust = CommitteeRegressor(trend="linear", likelihood="student-t", random_state=0).fit(X, y)
    assert abs(robust.predict([[2040.0]])[0] - 60.0) < 10.0
    rates = CommitteeClassifier(Matern32(1.0, 1.0), trend="linear", learn=False).fit(X, y > 0)
    low, high = rates.predict_proba([[1900.0], [2100.0]])[:, 1]
    assert low < 0.05 and high > 0.95


def test_rows_that_were_not_kept_are_forgotten_beside_a_trend():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(80, 1))
    y = 3.0 * X[:, 0] + np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=80)
    anchors = np.linspace(-2, 2, 7)[:, None]
    model = CommitteeRegressor(
        Matern32(), noise=0.01, learn=False, anchors=anchors, n_local=0, trend="linear"
    ).partial_fit(X[:40], y[:40], chunk_id="a")
    other = model.blank().partial_fit(X[40:], y[40:], chunk_id="b")
    model.partial_fit(X[40:], y[40:], chunk_id="b").forget("a", X[:40], y[:40])
    assert_array_equal(model.predict(X), other.predict(X))
