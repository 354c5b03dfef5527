"""Kernels on a sphere: no seam at the date line, none at the poles."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree

import collegium
import reference
from collegium import CommitteeRegressor
from collegium.kernels import RBF, Group, Linear, Matern32, RationalQuadratic, Sphere
from collegium.rows.metric import Metric


def places(n, seed=0):
    """Places all over the globe: longitude and latitude in degrees."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))]
    )


def chord(a, b):
    """By the haversine formula, on a globe where a degree of arc is 1."""
    (lon, lat), (lon_b, lat_b) = np.radians(a), np.radians(b)
    h = (
        np.sin((lat - lat_b) / 2) ** 2
        + np.cos(lat) * np.cos(lat_b) * np.sin((lon - lon_b) / 2) ** 2
    )
    return 360.0 / np.pi * np.sqrt(h)


@pytest.fixture
def kernel():
    return Sphere(Matern32, variance=1.3, length_scale=25.0)


def test_value_is_that_of_the_chord(kernel):
    X, Z = places(8), places(6, 1)
    r = np.sqrt(3.0) * np.array([[chord(x, z) for z in Z] for x in X]) / 25.0
    assert_allclose(kernel.value(X, Z), 1.3 * (1 + r) * np.exp(-r), rtol=1e-11)
    assert_allclose(chord([20.0, 50.0], [20.0, 50.01]), 0.01, rtol=1e-7)


def test_there_is_no_seam(kernel):
    X, e = places(30), 1e-6
    line = np.array(
        [[180.0, 15.0], [-180.0, 15.0], [180.0 - e, 15.0], [-180.0 + e, 15.0], [540.0, 15.0]]
    )
    pole = np.array([[0.0, 90.0], [77.0, 90.0], [-180.0, 90.0], [123.0, 90.0 - e]])
    for same in (line, pole, pole * [1.0, -1.0]):
        K = kernel.value(same, X)
        assert_allclose(K, np.broadcast_to(K[0], K.shape), rtol=1e-6)
        assert_allclose(kernel.value(same), 1.3, rtol=1e-9)
    turned = X + [137.0, 0.0]
    assert_allclose(kernel.value(turned), kernel.value(X), rtol=1e-11)


@pytest.mark.parametrize("family", [Matern32, RBF, RationalQuadratic])
def test_covariance_is_positive_semidefinite_and_adjoints_are_derivatives(family):
    kernel = Sphere(family(1.3, 70.0), columns=[2, 0]) + Linear(3.0, columns=1)
    X = np.column_stack([places(40)[:, 1], np.arange(40.0) / 9, places(40)[:, 0]])
    X[5] = X[3]
    K = kernel.value(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-11
    rng = np.random.default_rng(2)
    K_bar, S_bar, d_bar = rng.normal(size=(40, 7)), rng.normal(size=(40, 40)), rng.normal(size=40)
    S_bar += S_bar.T
    for found, f in (
        (kernel.vjp(X, X[:7], K_bar), lambda k: (K_bar * k.value(X, X[:7])).sum()),
        (kernel.vjp(X, None, S_bar), lambda k: (S_bar * k.value(X)).sum()),
        (kernel.diag_vjp(X, d_bar), lambda k: d_bar @ k.diag(X)),
    ):
        numeric = reference.gradient(lambda theta, f=f: f(kernel.with_theta(theta)), kernel.theta)
        assert_allclose(found, numeric, rtol=1e-6, atol=1e-7)


def test_reach_is_a_bound(kernel):
    X, Z = places(200), places(200, 1)
    bound = kernel.reach(np.abs(X - Z))
    values = kernel.value(X, Z).diagonal()
    assert (bound >= values - 1e-13).all() and (bound < 1.0).any()


def test_nearest_rows_are_those_of_the_kernel_everywhere(kernel):
    X = places(4000)
    Xs = np.vstack([places(20, 1), [[180.0, 0.0], [-180.0, 60.0], [10.0, 90.0], [-60.0, -90.0]]])
    metric = Metric.of(kernel, X)
    _, near = cKDTree(metric.forward(X)).query(metric.forward(Xs), 30)
    K = kernel.value(Xs, X)
    assert_allclose(np.take_along_axis(K, near, axis=1), -np.sort(-K, axis=1)[:, :30], rtol=1e-8)


def test_places_come_back_from_the_metric(kernel):
    X = np.column_stack([places(50), np.arange(50.0)])
    metric = Metric.of(Sphere(Matern32, columns=(0, 1), length_scale=20.0) + RBF(columns=2), X)
    assert_allclose(metric.backward(metric.forward(X)), X, rtol=1e-9, atol=1e-9)
    across = np.array([[179.0, 10.0, 0.0], [-179.0, 10.0, 2.0]])
    centre = metric.backward(metric.forward(across).mean(axis=0))
    assert_allclose(centre, [180.0 * np.sign(centre[0]), 10.0, 1.0], rtol=1e-3)


def test_a_model_of_the_globe(tmp_path):
    table = pd.DataFrame(places(700), columns=["lon", "lat"])
    table["store"] = np.arange(700) % 9
    lon, lat = np.radians(table["lon"]), np.radians(table["lat"])
    f = (np.sin(3 * lat) + np.cos(lat) * np.cos(lon - 3.0)).to_numpy()
    y = f + 0.05 * np.random.default_rng(3).normal(size=700)
    kernel = Sphere(Matern32, columns=("lon", "lat"), length_scale=30.0) + Group("store")
    model = CommitteeRegressor(kernel, learn=True, chunks=150, random_state=0).fit(table, y)
    assert np.sqrt(np.mean((model.predict(table) - f) ** 2)) < 0.06
    seam = pd.DataFrame({"lon": [180.0, -180.0], "lat": [20.0, 20.0], "store": [1, 1]})
    pole = pd.DataFrame({"lon": [100.0, -20.0], "lat": [90.0, 90.0], "store": [1, 1]})
    for rows in (seam, pole):
        mean, sd = model.predict(rows, return_std=True)
        assert_allclose(mean[0], mean[1], rtol=1e-5)
        assert_allclose(sd[0], sd[1], rtol=1e-4)
    model.save(tmp_path / "model.clg")
    assert_array_equal(collegium.load(tmp_path / "model.clg").predict(seam), model.predict(seam))


def test_parameters_of_the_sphere_are_those_of_its_kernel(kernel):
    assert kernel.labels == (("variance", 1), ("length", 1))
    assert Sphere(Matern32, columns=[4, 2]).labels == (("variance", 2), ("length", 2))
    moved = kernel.with_theta(np.log([2.0, 9.0])).kernel
    assert_allclose([moved.variance, moved.length_scale], [2.0, 9.0])
    both = Sphere(Matern32, columns=("lon", "lat"), length_scale=3.0) * RBF(2.0, columns="t")
    assert [kind for kind, _ in both.labels].count("variance") == 1
    assert repr(eval(repr(both))) == repr(both)
    X = places(5)
    assert_array_equal(pickle.loads(pickle.dumps(kernel)).value(X), kernel.value(X))


def test_what_is_no_sphere_is_refused(kernel):
    for wrong in (Linear, Matern32(length_scale=[1.0, 2.0]), "matern", RBF(columns=0), None):
        with pytest.raises(ValueError, match="of Sphere"):
            Sphere(wrong)
    with pytest.raises(ValueError, match="Sphere its class"):
        Sphere(Matern32(), length_scale=2.0)
    with pytest.raises(ValueError, match="longitude and latitude"):
        Sphere(Matern32, columns="lon")
    for width in (1, 3):
        with pytest.raises(ValueError, match="longitude and latitude"):
            kernel.value(np.zeros((2, width)))


# -- geographic=True --------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("lon", "lat"), ("Longitude", "LATITUDE"), ("lng", "Lat")])
def test_geographic_finds_longitude_and_latitude_by_name(names):
    lon, lat = names
    found = Sphere(RBF, geographic=True, length_scale=9.0).on_columns([lat, "height", lon])
    assert repr(found) == repr(Sphere(RBF(length_scale=9.0), columns=[lon, lat]))
    X = np.column_stack([places(7)[:, 1], np.arange(7.0), places(7)[:, 0]])
    assert_array_equal(found.value(X), Sphere(RBF(length_scale=9.0)).value(places(7)))


def test_names_of_columns_mean_nothing_unless_asked():
    frame = pd.DataFrame(places(80), columns=["lon", "lat"])
    model = CommitteeRegressor(random_state=0).fit(frame, np.sin(np.radians(frame["lat"])))
    assert "Sphere" not in repr(model.kernel_)


@pytest.mark.parametrize("names, words", [
    (["x", "lat"], "X has no column 'lon|longitude"),
    (["lon", "lng", "lat"], "'lon' and 'lng' may both be meant"),
])  # fmt: skip
def test_geographic_refuses_columns_that_are_not_there_or_not_clear(names, words):
    frame = pd.DataFrame(np.ones((9, len(names))), columns=names)
    with pytest.raises(ValueError, match=words.replace("|", r"\|")):
        CommitteeRegressor(Sphere(Matern32, geographic=True)).fit(frame, np.arange(9.0))


def test_geographic_refuses_columns_beside_it_and_arrays_without_names():
    for bad in ({"geographic": 1}, {"geographic": True, "columns": [0, 1]}):
        with pytest.raises(ValueError, match="geographic="):
            Sphere(Matern32, **bad)
    with pytest.raises(ValueError, match="X came without names"):
        CommitteeRegressor(Sphere(Matern32, geographic=True)).fit(places(9), np.arange(9.0))


def over_the_date_line(n, rng):
    """Rows on both sides of the line, whose longitudes jump from 180 to −180."""
    east = rng.uniform(165.0, 195.0, n)
    lat = rng.uniform(-12.0, 12.0, n)
    y = np.sin(east / 3.0) + np.cos(lat / 4.0)
    return pd.DataFrame({"lon": np.where(east > 180, east - 360, east), "lat": lat}), y


def test_a_fit_over_the_date_line_beats_the_flat_one_and_knows_no_turns(tmp_path):
    rng = np.random.default_rng(7)
    rows, y = over_the_date_line(60, rng)
    y = y + 0.02 * rng.normal(size=y.size)
    queries, truth = over_the_date_line(300, rng)
    near = np.abs(queries["lon"]) > 177.0
    globe = CommitteeRegressor(Sphere(Matern32, geographic=True), random_state=0).fit(rows, y)
    flat = CommitteeRegressor(Matern32(), random_state=0).fit(rows, y)
    error = [np.sqrt(np.mean((m.predict(queries) - truth)[near] ** 2)) for m in (globe, flat)]
    assert error[0] < 0.7 * error[1]
    assert globe.kernel_.kernel.kernel.length_scale != 1.0, "hyperparameters are learnt"
    mean, sd = globe.predict(queries, return_std=True)
    turned = globe.predict(queries + [360.0, 0.0], return_std=True)
    assert_allclose(turned, (mean, sd), rtol=1e-8)
    ends = pd.DataFrame({"lon": [180.0, -180.0], "lat": [3.0, 3.0]})
    assert_allclose(*globe.predict(ends), rtol=1e-10)
    globe.save(tmp_path / "globe")
    assert_array_equal(collegium.load(tmp_path / "globe").predict(queries), mean)
