"""Kernels on a sphere in committees of chunks, anchors and nearest rows: no seam, no pole."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from collegium import CommitteeRegressor
from collegium.kernels import Matern12, Matern32, Sphere
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby

KERNEL = Sphere(Matern32, columns=(0, 1), length_scale=25.0) + Matern12(0.3, 2.0, columns=2)


def globe(n, seed=0):
    """Places spread evenly over a globe, a height, and a function that has no seam."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))
    X = np.column_stack([lon, lat, rng.uniform(0, 3, n)])
    east, north = np.radians(lon), np.radians(lat)
    f = np.sin(2 * east) * np.cos(north) ** 2 + np.sin(3 * north) + 0.2 * X[:, 2]
    return X, f + 0.05 * rng.normal(size=n)


@pytest.fixture(scope="module", params=["auto", 0], ids=["local", "anchors alone"])
def model(request):
    X, y = globe(600)
    arguments = {"chunks": 150, "n_local": request.param, "anchors": 60}
    return CommitteeRegressor(
        KERNEL, noise=0.0025, learn=False, random_state=0, **arguments
    ).fit(X, y)  # fmt: skip


def test_the_date_line_is_no_seam(model):
    lat = np.linspace(-85, 85, 15)
    west, east = (np.column_stack([0 * lat + lon, lat, 0 * lat + 1]) for lon in (-180.0, 180.0))
    for a, b in zip(model.predict(west, return_std=True), model.predict(east, return_std=True)):
        assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    assert_allclose(model.predict(west + [720, 0, 0]), model.predict(west), rtol=1e-7, atol=1e-9)
    near = [model.predict(one + [shift, 0, 0]) for one, shift in ((west, 1e-6), (east, -1e-6))]
    assert_allclose(*near, atol=1e-5)


@pytest.mark.parametrize("pole", [-90.0, 90.0])
def test_a_pole_is_one_place(model, pole):
    lon = np.linspace(-180, 180, 13)
    X = np.column_stack([lon, 0 * lon + pole, 0 * lon + 1])
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, mean[0], rtol=1e-9, atol=1e-10)
    assert_allclose(std, std[0], rtol=1e-7)


def test_answers_are_as_good_at_the_seam_as_elsewhere():
    X, y = globe(1200)
    model = CommitteeRegressor(KERNEL, noise=0.0025, learn=False, chunks=180, random_state=0)
    model.fit(X[:900], y[:900])
    error = np.abs(model.predict(X[900:]) - y[900:])
    seam = (np.abs(X[900:, 0]) > 160) | (np.abs(X[900:, 1]) > 70)
    assert seam.sum() > 40
    assert error[seam].mean() < 1.4 * error[~seam].mean() < 0.2


def test_nearest_rows_lie_on_both_sides_of_the_line():
    X, _ = globe(2000)
    metric = Metric.of(KERNEL, X)
    query = np.array([[179.9, 0.0, 1.0]])
    near = Nearby.of(metric, X).nearest(query, 30)[0]
    assert (X[near, 0] < -150).sum() >= 8 and (X[near, 0] > 150).sum() >= 8


def test_places_by_name_are_learnt():
    X, y = globe(250)
    frame = pd.DataFrame(X, columns=["lon", "lat", "height"])[["height", "lat", "lon"]]
    kernel = Sphere(Matern32, columns=("lon", "lat"), length_scale=10.0)
    model = CommitteeRegressor(
        kernel + Matern32(columns="height"), chunks=100, random_state=0
    ).fit(frame, y)  # fmt: skip
    assert 10.0 < model.kernel_.parts[0].kernel.kernel.length_scale < 500.0
    new, truth = globe(200, 1)
    queries = pd.DataFrame(new, columns=["lon", "lat", "height"])[["height", "lat", "lon"]]
    assert np.sqrt(np.mean((model.predict(queries) - truth) ** 2)) < 0.2
