"""`collegium predict --grid` writes what `predict` answers, bit for bit, or nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from running import rows, run, small_model

from collegium import CommitteeClassifier, load


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "model.clg"
    small_model().save(path)
    return path


def points(a, b):
    """Points of a map, b from the first line on."""
    import pandas as pd

    B, A = np.meshgrid(b, a, indexing="ij")
    return pd.DataFrame({"a": A.ravel(), "b": B.ravel()})


def test_arrays_are_predictions(model, tmp_path):
    path = tmp_path / "map.npz"
    found = run("predict", model, "--grid", "0.5,0.25", "--region", "-1,-0.5,1,1", "-o", path,
                "--interval", "0.8", "--level", "function", "--outside", "--json")  # fmt: skip
    assert found.code == 0, found.err
    assert found.answer["shape"] == [7, 5] and found.answer["columns"] == ["a", "b"]
    a, b = np.arange(-1.0, 1.1, 0.5), np.arange(-0.5, 1.1, 0.25)
    own = load(model)
    expected = own.predict(points(a, b), return_std=True, interval=0.8, level="function")
    with np.load(path) as read:
        assert_array_equal(read["x"], a)
        assert_array_equal(read["y"], b)
        for name, values in zip(("mean", "sd", "lower", "upper"), expected):
            assert_array_equal(read[name].ravel(), values)
        assert_array_equal(read["outside"].ravel(), own.outside(points(a, b)))
        assert read["coverage"] == 0.8 and str(read["level"]) == "function"


def test_columns_are_named_and_steps_cover_the_rows(model, tmp_path):
    found = run("predict", model, "--grid", "0.5", "-x", "b,a", "-o", tmp_path / "map.nc")
    assert found.code == 0 and "points of mean, sd" in found.err
    from scipy.io import netcdf_file

    with netcdf_file(tmp_path / "map.nc", mmap=False) as read:
        assert read.variables["mean"].dimensions == ("a", "b")
        own = rows()
        for name in "ab":
            axis = read.variables[name][:]
            assert axis[0] <= own[name].min() < axis[1] and axis[-2] < own[name].max() <= axis[-1]
    assert "lower" not in read.variables


def test_geotiff_and_picture(model, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    path = tmp_path / "map.tif"
    region = ("--region", "-1,-0.5,1,1")
    assert (
        run("predict", model, "--grid", "0.5", *region, "-o", path, "--crs", "EPSG:32618").code == 0
    )
    mean = load(model).predict(points(np.arange(-1.0, 1.1, 0.5), np.arange(-0.5, 1.1, 0.5)))
    with rasterio.open(path) as read:
        assert read.crs.to_epsg() == 32618 and read.descriptions == ("mean", "sd")
        assert_array_equal(read.read(1)[::-1].ravel(), mean)
    assert run("predict", model, "--grid", "0.5", "-o", tmp_path / "map.png").code == 0
    assert (tmp_path / "map.png").read_bytes()[1:4] == b"PNG"


def test_probabilities_of_classes(tmp_path):
    import pandas as pd

    own = rows()
    frame = pd.DataFrame({"a": own["a"], "b": own["b"]})
    labels = np.where(own["y"] > 0, "wet", "dry")
    CommitteeClassifier(random_state=0).fit(frame, labels).save(tmp_path / "model.clg")
    args = ("predict", tmp_path / "model.clg", "--grid", "1", "-o", tmp_path / "map.npz")
    assert run(*args).code == 0
    with np.load(tmp_path / "map.npz") as read:
        expected = load(tmp_path / "model.clg").predict_proba(points(read["x"], read["y"]))
        assert_array_equal(read["probability dry"].ravel(), expected[:, 0])
        assert_array_equal(read["probability wet"].ravel(), expected[:, 1])
    refused = run(*args, "--outside")
    assert refused.code == 2 and "--outside: the model predicts labels" in refused.err


BAD = [
    (["--grid", "x"], 2, "give numbers"),
    (["--grid", "0"], 2, "--grid, y=0.0: give a step above 0"),
    (["--grid", "1,2,3"], 2, "give one step, or those of both columns"),
    (["--grid", "1e-5"], 5, "larger step or a smaller region"),
    (["--grid", "1", "--region", "1,2,3"], 2, "give west,south,east,north"),
    (["--grid", "1", "--region", "2,0,1,1"], 2, "no step of 1 leads to 1"),
    (["--grid", "1", "-x", "a"], 2, "give two columns"),
    (["--grid", "1", "-x", "a,bb"], 3, "did you mean 'b'"),
    (["--grid", "1", "-o", "-"], 2, "a map goes to a file"),
    (["--grid", "1", "-o", "map.txt"], 2, "give a path that ends with .npz"),
    (["--grid", "1", "-o", "nowhere/map.nc"], 2, "there is no folder"),
    (["--grid", "1", "--interval", "2"], 2, "--interval 2.0"),
    (["--grid", "1", "--at", "c=1"], 2, "there is no column 'c'"),
    (["--grid", "1", "--at", "a=1"], 2, "'a' is mapped"),
    (["--grid", "1", "--exposure", "3"], 2, "not one of counts"),
    (["--grid", "1", "--where", "a > 1"], 2, "--where: with --grid there are no rows"),
    (["data.csv", "--grid", "1"], 2, "DATA: with --grid there are no rows"),
    (["--crs", "EPSG:4326"], 2, "--crs: this is of maps"),
    (["--region", "0,0,1,1"], 2, "--region: this is of maps"),
]  # fmt: skip


@pytest.mark.parametrize("args, code, words", BAD, ids=[" ".join(args) for args, _, _ in BAD])
def test_bad_options_have_a_code_and_leave_no_file(model, tmp_path, monkeypatch, args, code, words):
    monkeypatch.chdir(tmp_path)
    output = [] if "-o" in args else ["-o", "map.nc"]
    found = run("predict", model, *args, *output)
    assert found.code == code and words in found.err
    assert not list(tmp_path.iterdir())


def test_a_model_file_that_is_none_has_its_code(tmp_path):
    (tmp_path / "model.clg").write_bytes(b"nothing")
    found = run("predict", tmp_path / "model.clg", "--grid", "1", "-o", tmp_path / "map.nc")
    assert found.code == 4
