"""MLflow: what is loaded answers as the model does, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium.mlflow
from collegium import CommitteeClassifier, CommitteeRegressor, kernels

pyfunc = pytest.importorskip("mlflow.pyfunc")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 80), "b": rng.uniform(0, 5, 80)})
    return X, np.sin(X["a"] * 2).to_numpy() + 0.1 * rng.normal(size=80)


@pytest.fixture(scope="module")
def model(table):
    given = CommitteeRegressor(kernels.Matern32(1.5, [0.8, 3.0]), noise=0.02, learn=False)
    return given.fit(*table)


def test_a_loaded_function_answers_bit_for_bit(table, model, tmp_path):
    X, _ = table
    collegium.mlflow.save_model(model, str(tmp_path / "m"), input_example=X[:3])
    loaded = pyfunc.load_model(str(tmp_path / "m"))
    assert_array_equal(loaded.predict(X)["mean"], model.predict(X))
    found = loaded.predict(X, params={"interval": 0.9, "std": True, "level": "function"})
    assert list(found.columns) == ["mean", "std", "lower", "upper"]
    mean, std, lower, upper = model.predict(X, return_std=True, interval=0.9, level="function")
    for name, part in zip(found, (mean, std, lower, upper)):
        assert_array_equal(found[name], part)
    assert_array_equal(collegium.mlflow.load_model(str(tmp_path / "m")).predict(X), mean)


def test_params_are_refused_as_mlflow_does(table, model, tmp_path):
    X, _ = table
    collegium.mlflow.save_model(model, str(tmp_path / "m"), input_example=X[:3])
    with pytest.raises(Exception, match="interval"):
        pyfunc.load_model(str(tmp_path / "m")).predict(X, params={"interval": "wide"})


def test_labels_come_with_probabilities(table, tmp_path):
    X, y = table
    model = CommitteeClassifier(random_state=0).fit(X, np.where(y > 0, "up", "down"))
    collegium.mlflow.save_model(model, str(tmp_path / "c"))
    found = pyfunc.load_model(str(tmp_path / "c")).predict(X)
    assert list(found.columns) == ["label", "probability_down", "probability_up"]
    assert_array_equal(found["label"], model.predict(X))
    assert_array_equal(found["probability_up"], model.predict_proba(X)[:, 1])


def test_runs_keep_models(table, model, tmp_path):
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.set_experiment(
        experiment_id=mlflow.create_experiment("e", artifact_location=str(tmp_path / "files"))
    )
    X, _ = table
    with mlflow.start_run():
        logged = collegium.mlflow.log_model(model, "canopy", input_example=X[:3])
    found = pyfunc.load_model(logged.model_uri).predict(X)
    assert_array_equal(found["mean"], model.predict(X))


def test_a_folder_that_exists_is_left_alone(model, tmp_path):
    with pytest.raises(ValueError, match="path=.* exists: choose a folder"):
        collegium.mlflow.save_model(model, str(tmp_path))
    assert not list(tmp_path.iterdir())
