"""Maps come back from files as they were written, by the libraries that others use."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.maps import files
from collegium.maps.files import Map, write_map
from collegium.maps.grid import Grid, Side
from collegium.maps.picture import panel, picture_of

LON, LAT = np.arange(10.0, 14.1, 0.5), np.array([44.0, 46.0, 48.0, 50.0])
RNG = np.random.default_rng(8)


def a_map(lat=LAT, lon=LON, **attrs):
    shape = (lat.size, lon.size)
    grid = Grid((Side("lat", 1, lat), Side("lon", 0, lon)), np.zeros(2))
    bands = {"mean": RNG.normal(size=shape), "sd": RNG.uniform(1, 2, shape),
             "outside": RNG.random(shape) > 0.5}  # fmt: skip
    return Map(grid, bands, {"level": "observation", **attrs})


def test_arrays_of_numpy(tmp_path):
    found = a_map(units="m")
    write_map(found, tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as read:
        assert_array_equal(read["x"], LON)
        assert_array_equal(read["y"], LAT)
        assert list(read["names"]) == ["lon", "lat"] and str(read["units"]) == "m"
        for name, values in found.bands.items():
            assert_array_equal(read[name], values)


def test_netcdf_by_scipy(tmp_path):
    from scipy.io import netcdf_file

    found = a_map(units="m", crs="EPSG:4326", coverage=0.9)
    write_map(found, tmp_path / "map.nc")
    with netcdf_file(tmp_path / "map.nc", mmap=False) as read:
        assert read.crs == b"EPSG:4326" and read.coverage == 0.9
        assert read.variables["lon"].units == b"degrees_east"
        assert_array_equal(read.variables["lat"][:], LAT)
        assert read.variables["sd"].units == b"m"
        for name, values in found.bands.items():
            assert read.variables[name].dimensions == ("lat", "lon")
            assert_array_equal(read.variables[name][:], values)


def test_netcdf_by_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    days = np.array(["2020-01-01", "2020-01-05"], dtype="M8[ns]")
    grid = Grid((Side("when", 1, np.array([0.0, 345600.0]), days), Side("x", 0, LON)), np.zeros(2))
    found = Map(grid, {"mean": RNG.normal(size=(2, LON.size))}, {})
    write_map(found, tmp_path / "map.nc")
    with xarray.open_dataset(tmp_path / "map.nc", engine="scipy") as read:
        assert read["mean"].dims == ("when", "x")
        assert_array_equal(read["mean"], found.bands["mean"])
        assert_array_equal(read["when"].values.astype("M8[s]"), days.astype("M8[s]"))


@pytest.mark.parametrize("lat", [LAT, LAT[::-1]])
@pytest.mark.parametrize("lon", [LON, LON[::-1]])
def test_geotiff_by_rasterio(tmp_path, lat, lon):
    rasterio = pytest.importorskip("rasterio")
    found = a_map(lat, lon, crs="EPSG:4326")
    write_map(found, tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as read:
        assert read.crs.to_epsg() == 4326 and read.descriptions == ("mean", "sd", "outside")
        assert_allclose(tuple(read.bounds), (9.75, 43.0, 14.25, 51.0))
        assert read.transform.e < 0.0, "north is not up"
        assert read.tags()["level"] == "observation"
        for k, values in enumerate(found.bands.values(), start=1):
            band = read.read(k)
            for i in range(lat.size):
                for j in range(lon.size):
                    assert band[read.index(lon[j], lat[i])] == values[i, j]


def test_geotiff_without_crs_has_none(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    write_map(a_map(), tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as read:
        assert read.crs is None


@pytest.mark.parametrize("found, words", [
    (a_map(crs="EPSG:nothing"), "crs='EPSG:nothing': give a name such as"),
    (a_map(lat=np.array([1.0, 2.0, 4.0])), "needs even steps, and those of 'lat'"),
    (a_map(lon=np.array([1.0])), "needs two coordinates of 'lon'"),
])  # fmt: skip
def test_what_a_geotiff_cannot_hold_is_refused_and_the_file_stays(tmp_path, found, words):
    pytest.importorskip("rasterio")
    (tmp_path / "map.tif").write_bytes(b"before")
    with pytest.raises(ValueError, match=words):
        write_map(found, tmp_path / "map.tif")
    assert (tmp_path / "map.tif").read_bytes() == b"before"


@pytest.mark.parametrize("ending", [".npz", ".nc", ".png"])
def test_a_failure_leaves_the_file_as_it_was(tmp_path, ending, monkeypatch):
    path = tmp_path / f"map{ending}"
    path.write_bytes(b"before")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_map(a_map(), path)
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == [path.name]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match="give a path that ends with .npz, .nc, .tif"):
        write_map(a_map(), tmp_path / "map.jpg")


def test_equal_maps_are_equal_files(tmp_path):
    found = a_map()
    for ending in (".npz", ".nc", ".png"):
        for k in range(2):
            write_map(found, tmp_path / f"{k}{ending}")
        assert (tmp_path / f"0{ending}").read_bytes() == (tmp_path / f"1{ending}").read_bytes()


# -- pictures ---------------------------------------------------------------------------------


def test_a_panel_shows_values_by_colour_and_gaps_in_grey():
    values = np.arange(12.0).reshape(3, 4)
    values[1, 2] = np.nan
    seen = panel("mean", values)
    times = 80
    inner = seen[38 : 38 + 3 * times, 12 : 12 + 4 * times][times // 2 :: times, times // 2 :: times]
    assert inner[1, 2] == 255
    known = np.delete(inner.ravel().astype(int), 6)
    assert (np.diff(known) > 0).all() and known[0] == 0 and known[-1] == 252


def test_pictures_have_north_above(tmp_path):
    image = pytest.importorskip("PIL.Image")
    found = a_map()
    found.bands["mean"][...] = LAT[:, None]
    write_map(Map(found.grid, {"mean": found.bands["mean"]}, {}), tmp_path / "map.png")
    seen = np.asarray(image.open(tmp_path / "map.png").convert("L")).astype(int)
    column = seen[50:-60:4, 60]
    assert column[0] > column[-1] + 100, "the largest values are lightest, and those of the north"
    assert len(picture_of({"one": np.full((2, 2), np.nan)})) > 100


def test_words_of_formats_say_what_they_need(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(ImportError, match=r"needs rasterio: pip install 'collegium\[geo\]'"):
        files.check_map_path(tmp_path / "map.tif")
