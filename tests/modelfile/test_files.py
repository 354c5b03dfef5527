"""Save, load in another process, predict and continue: the same bits."""

import json
import os
import pickle
import re
import subprocess
import sys
import warnings
import zipfile
from copy import deepcopy
from pathlib import Path

import modelfile_cases as cases
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor

import collegium
from collegium import CommitteeOf, CommitteeRegressor, ModelFileError, SparseGPRegressor, kernels
from collegium.messages.probe import probe
from collegium.modelfile.arrays import laid_out
from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records
from collegium.rows.rows import Rows
from estimator_cases import committee, leaves, queries, rows, state

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.fixture(scope="module")
def models():
    return cases.every()


@pytest.fixture(scope="module")
def saved(models, tmp_path_factory):
    """Paths by name."""
    folder = tmp_path_factory.mktemp("saved")
    paths = {name: folder / f"{i}.clg" for i, name in enumerate(models)}
    for name, path in paths.items():
        models[name].save(path)
    return paths


def assert_same_leaves(model, again):
    before, after = leaves(parts(model)), leaves(parts(again))
    assert [path for path, _ in before] == [path for path, _ in after]
    for (path, old), (_, new) in zip(before, after):
        assert type(old) is type(new), path
        if isinstance(old, np.ndarray):
            assert (old.dtype, old.shape) == (new.dtype, new.shape), path
            assert laid_out(old)[1] == laid_out(new)[1], path
            assert old.flags.writeable == new.flags.writeable, path
            assert_array_equal(old, new, err_msg=path)
        else:
            assert repr(old) == repr(new), path


def parts(model):
    """Fitted attributes; those of members as dicts."""
    own = {name: value for name, value in state(model).items() if name.endswith("_")}
    members = own.pop("estimators_", [])
    own.pop("named_estimators_", None)
    return {**own, "members": [parts(each) for each in members]}


@pytest.mark.parametrize("mapped", [True, False])
def test_state_is_the_same(models, saved, mapped):
    for name, model in models.items():
        again = collegium.load(saved[name], mmap=mapped, types=cases.OWN)
        assert type(again) is type(model)
        assert_same_leaves(model, again)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_answers_of_another_process_are_the_same_bits(models, saved, every):
    """Predictions, intervals, draws, then the same after more rows and after relearning."""
    saved = dict(list(saved.items())[::every])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    asked = "".join(
        json.dumps([str(path), i % 2 == 0]) + "\n" for i, path in enumerate(saved.values())
    )
    done = subprocess.run(
        [sys.executable, cases.__file__], input=asked, capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    found = dict(zip(saved, map(json.loads, done.stdout.splitlines()), strict=True))
    for name, answers in found.items():
        assert answers == cases.told(deepcopy(models[name])), name


@pytest.mark.slow
def test_each_estimator_loads_in_a_process_that_knows_no_other(models, saved):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seen = set()
    for name, model in models.items():
        if type(model) in seen or name in ("own basis", "own likelihood"):
            continue
        seen.add(type(model))
        code = f"import collegium; collegium.load({str(saved[name])!r})"
        subprocess.run([sys.executable, "-c", code], check=True, env=env)
    assert len(seen) == 10


def test_a_file_saved_again_is_the_same_file(models, saved, tmp_path):
    for name in ("committee, local", "filter", "members", "labels", "theirs"):
        again = collegium.load(saved[name], types=cases.OWN)
        again.save(tmp_path / "again.clg")
        assert (tmp_path / "again.clg").read_bytes() == saved[name].read_bytes(), name


def test_arguments_come_back(models, saved):
    for name, model in models.items():
        again = collegium.load(saved[name], types=cases.OWN)
        before, after = model.get_params(deep=False), again.get_params(deep=False)
        assert list(before) == list(after)
        assert _words(before) == _words(after), name
        clone(again)


def _words(params) -> str:
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(params))


def test_random_states_go_on_where_they_were():
    for one in (np.random.RandomState(3), np.random.default_rng(4),
                np.random.Generator(np.random.Philox(5))):  # fmt: skip
        one.normal(size=3)
        again = through(one)
        assert type(again) is type(one)
        assert_array_equal(one.normal(size=5), again.normal(size=5))


def through(value):
    writer = Writer()
    node = json.loads(json.dumps(writer.node(value, "value"), allow_nan=False))
    writer.finish()
    return Reader(writer.arrays, records.maker_of, str).value(node, "value")


@pytest.mark.parametrize("value", [
    0.1, -0.0, 1.0, 5e-324, np.inf, -np.inf, 1, True, None, "ä \ud800", 2**70, -(2**127), (), [],
    (1, [2.0, (3,)]), {"a": 1, 2: {"b": ()}, (1, "x"): 0.5}, np.float64(0.5), np.float32(0.1),
    np.int64(7), np.bool_(True), np.str_("word"), np.float64(np.inf), np.uint8(3),
], ids=repr)  # fmt: skip
def test_numbers_and_words_keep_their_value_and_type(value):
    assert repr(through(value)) == repr(value) and type(through(value)) is type(value)
    assert np.isnan(through(np.nan))


@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("make", [
    lambda n: np.array(0.5), lambda n: np.empty((0, 3)), lambda n: np.arange(n * n * 4.0),
    lambda n: np.asfortranarray(np.arange(n * n * 4.0).reshape(n, -1)),
    lambda n: np.arange(n**3 * 1.0).reshape(n, n, n).transpose(1, 2, 0),
    lambda n: np.arange(n * n * 1.0).reshape(n, n)[:, ::2],
    lambda n: np.arange(n * n * 4.0).reshape(n, -1)[::-1].T,
    lambda n: np.broadcast_to(np.arange(3.0), (n, 3)),
    lambda n: np.arange(n * n, dtype=">i4"), lambda n: np.array(["a", "bcd"] * n),
    lambda n: np.array(["a", None, 3, 0.5], dtype=object).reshape(2, 2),
    lambda n: np.arange(n) > 2, lambda n: np.arange(n * n, dtype=np.float32),
])  # fmt: skip
def test_arrays_keep_bits_and_the_order_of_axes_in_memory(make, n):
    array = make(n)
    again = through(array)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert_array_equal(again, array)
    flat, axes = laid_out(array)
    assert laid_out(again)[1] == axes and again.flags.writeable == array.flags.writeable
    if array.dtype != object and array.size:
        assert laid_out(again)[0].flags.f_contiguous == flat.flags.f_contiguous


def test_equal_arrays_are_stored_once():
    writer = Writer()
    big = np.arange(1000.0)
    nodes = writer.node((big, big.copy(), big[:5], big[:5].copy()), "")
    assert nodes[0] == nodes[1] and nodes[2] == nodes[3] and len(writer.arrays) == 2


def test_numpy_and_json_are_enough_to_read_a_file(saved, models):
    with zipfile.ZipFile(saved["committee, local"]) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == "manifest.json"
        said = json.loads(archive.read("manifest.json"))
        arrays = [np.load(archive.open(name), allow_pickle=False)
                  for name in archive.namelist()[1:]]  # fmt: skip
    assert said["format"] == "collegium model" and said["rows inside"] == 40
    assert said["versions"]["numpy"] == np.__version__ and len(said["probe"]) == 64
    Z = said["model"]["state"]["model_"]
    for name in ("sum", "committee", "basis", "Z"):
        Z = Z["fields"][name]
    start = Z["at"]
    found = arrays[Z["array"]][start : start + np.prod(Z["shape"])].reshape(Z["shape"])
    assert_array_equal(found, models["committee, local"].model_.anchors)


def test_arrays_lie_at_multiples_of_64_bytes(tmp_path):
    model = committee("local").fit(*rows(400))
    model.save(tmp_path / "m.clg")
    again = collegium.load(tmp_path / "m.clg")
    for _, leaf in leaves(state(again)):
        if isinstance(leaf, np.ndarray) and leaf.size and isinstance(leaf.base, np.ndarray):
            assert leaf.ctypes.data % 64 == 0


def test_own_classes_are_asked_for_by_name(saved):
    for name, own in (("own likelihood", "Bell"), ("own basis", "Ramp")):
        with pytest.raises(ModelFileError, match=rf"types=\[{own}\]"):
            collegium.load(saved[name])


class Mine(CommitteeRegressor):
    """An estimator of a user."""


def test_own_estimators_are_asked_for_by_name(tmp_path):
    Mine(kernel=kernels.RBF(), noise=0.1, learn=False).fit(*rows()).save(tmp_path / "m.clg")
    with pytest.raises(ModelFileError, match=r"types=\[Mine\]"):
        collegium.load(tmp_path / "m.clg")
    assert type(collegium.load(tmp_path / "m.clg", types=[Mine])) is Mine


@pytest.mark.parametrize("model, said", [
    (CommitteeOf([("gp", GaussianProcessRegressor(alpha=0.1, optimizer=None))]),
     r"estimators\[0\]\[1\] is a GaussianProcessRegressor.*pickle"),
    (collegium.RegressionFilter(basis=lambda X: X), "basis is the function <lambda>.*dataclass"),
])  # fmt: skip
def test_what_cannot_be_stored_is_named(model, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        model.fit(*rows()).save(tmp_path / "m.clg")
    assert not list(tmp_path.iterdir())


def test_an_engine_is_not_stored_and_that_is_said(tmp_path):
    model = committee(engine=collegium.engines.Serial()).fit(*rows())
    with pytest.warns(UserWarning, match="engine is not stored"):
        model.save(tmp_path / "m.clg")
    again = collegium.load(tmp_path / "m.clg")
    assert again.engine is None and model.engine is not None
    assert_array_equal(again.predict(queries()), model.predict(queries()))


def test_a_loaded_model_is_silent(tmp_path, capsys):
    X = np.linspace(0.0, 1.0, 30)[:, None]
    given = {"kernel": kernels.RBF(1.0, 0.5), "noise": 0.01, "learn": False, "verbose": 1}
    members = [CommitteeRegressor(**given), SparseGPRegressor(**given)]
    model = CommitteeOf([(f"m{k}", one) for k, one in enumerate(members)]).fit(X, X[:, 0])
    for k, one in enumerate([model, members[0].fit(X, X[:, 0])]):
        one.save(tmp_path / f"{k}.clg")
    capsys.readouterr()
    one = collegium.load(tmp_path / "1.clg")
    loud = [name for name, v in collegium.load(tmp_path / "0.clg").get_params().items() if v == 1]
    assert one.verbose == 0 and not [name for name in loud if name.endswith("verbose")]
    one.partial_fit(X + 0.01, X[:, 0])
    assert capsys.readouterr().out == ""


def test_a_model_must_be_fitted(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        CommitteeRegressor().save(tmp_path / "m.clg")


def test_without_rows_where_answers_need_none(models, tmp_path):
    """Predictions are the same, no row is inside, and a stream continues."""
    path, kept = tmp_path / "m.clg", []
    for name, model in models.items():
        try:
            model.save(path, rows=False)
        except ValueError as error:
            assert "rows=False" in str(error) and "n_local=0" in str(error)
            kept.append(name)
            continue
        again = collegium.load(path, types=cases.OWN)
        with zipfile.ZipFile(path) as archive:
            assert json.loads(archive.read("manifest.json"))["rows inside"] == 0
        assert cases.told(again, learns=False) == cases.told(model, learns=False), name
        cases.told(again)
    assert "committee, local" in kept and "nystrom" in kept
    assert not {"committee, anchors only", "sparse, fitc", "online", "filter", "rvc"} & set(kept)


def test_column_names_are_there(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    model = committee().fit(pandas.DataFrame(X, columns=["a", "b c"]), y)
    model.save(Path(tmp_path) / "m.clg")
    assert list(collegium.load(tmp_path / "m.clg").feature_names_in_) == ["a", "b c"]
    with zipfile.ZipFile(tmp_path / "m.clg") as archive:
        assert json.loads(archive.read("manifest.json"))["column names"] == ["a", "b c"]


def test_a_mapped_model_outlives_its_file(tmp_path):
    model = committee("local").fit(*rows(300))
    model.save(tmp_path / "m.clg")
    again = collegium.load(tmp_path / "m.clg")
    committee("exact").fit(*rows()).save(tmp_path / "m.clg")
    (tmp_path / "m.clg").unlink()
    assert_array_equal(again.predict(queries()), model.predict(queries()))


def test_pickles_carry_the_version_and_warn_of_another(monkeypatch):
    model = committee().fit(*rows())
    data = pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(data)
    assert_array_equal(again.predict(queries()), model.predict(queries()))
    monkeypatch.setattr("collegium.interface.estimator.__version__", "9.9")
    with pytest.warns(UserWarning, match=f"pickled by collegium {collegium.__version__}.*9.9"):
        pickle.loads(data)


def test_every_estimator_can_be_found():
    from collegium.interface.estimator import Estimator

    public = [getattr(collegium, name) for name in collegium.__all__]
    kinds = [one for one in public if isinstance(one, type) and issubclass(one, Estimator)]
    assert len(kinds) >= 10
    for one in kinds:
        tag = records.tag_of(one)
        assert records.estimator_of(tag) is one
    assert records.estimator_of("estimator.select/1") is None


def test_a_tag_is_given_once():
    with pytest.raises(ValueError, match="taken"):
        records.record("rows.rows/1")(type("Rows", (), {}))


def test_an_old_tag_may_be_read_by_a_function(monkeypatch):
    monkeypatch.setattr(records, "_makers", dict(records._makers))
    records.record("rows.rows/0")(lambda X: Rows(X, X[:, :1], np.ones(len(X))))
    node = {"record": "rows.rows/0", "fields": {"X": {"array": 0}}}
    found = Reader([np.eye(3)], records.maker_of, str).value(node, "value")
    assert type(found) is Rows and found.w.size == 3


def test_warming_up_changes_no_answer(models):
    for name in ("committee, local", "labels", "experts, gpoe", "rvc", "theirs"):
        before = cases.told(models[name], learns=False)
        collegium.warm_up(models[name])
        assert cases.told(models[name], learns=False) == before


@pytest.mark.slow
def test_warming_up_without_models():
    collegium.warm_up()


def test_the_probe_is_fixed_within_a_machine():
    code = "from collegium.messages.probe import probe; print(probe())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.strip() == probe()
