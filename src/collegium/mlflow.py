"""Models in MLflow: a flavour around the model file, which holds no code and no pickle.

collegium.mlflow.log_model(model, name="canopy", input_example=X[:5])
mlflow.pyfunc.load_model(uri).predict(X_new, params={"interval": 0.9})
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .interface.functions.loading import load
from .numerics.libraries import library
from .numerics.version import __version__

#: The name of the flavour, and of the model file in the folder of an MLflow model.
FLAVOUR, FILE = "collegium", "model.clg"
#: What `predict` of the loaded function takes in `params=`; an interval of 0 is none.
PARAMS = {"std": False, "interval": 0.0, "level": "observation"}


def _mlflow(part: str) -> Any:
    return library(f"mlflow.{part}", "mlflow", "collegium.mlflow")


def save_model(
    model: Any, path: str, *, input_example: Any = None, mlflow_model: Any = None, **more: Any
) -> None:
    """Write a fitted model as a folder that MLflow loads.

    Parameters
    ----------
    model : fitted estimator of collegium, as `model.save` takes it
    path : str
        A folder that does not exist yet.
    input_example : array or frame, default=None
        A few rows of X, from which MLflow takes names and types of columns.
    mlflow_model : mlflow.models.Model, default=None
        Metadata to extend; `log_model` passes them.
    **more
        `pip_requirements`, default this version of collegium.

    See Also
    --------
    log_model : the same for the run in progress.
    """
    folder = Path(path)
    if folder.exists():
        raise ValueError(f"path={path!r} exists: choose a folder that does not")
    needed = more.pop("pip_requirements", None) or [f"collegium=={__version__}"]
    if more:
        raise ValueError(f"save_model does not know {sorted(more)}: it takes pip_requirements")
    found = _mlflow("models").Model() if mlflow_model is None else mlflow_model
    found.signature = _signature(model, input_example)
    folder.mkdir(parents=True)
    model.save(folder / FILE)
    (folder / "requirements.txt").write_text("\n".join(needed) + "\n")
    found.add_flavor(FLAVOUR, model_file=FILE, version=__version__)
    _mlflow("pyfunc").add_to_model(
        found, loader_module=__name__, data=FILE, env={"virtualenv": "python_env.yaml"}
    )
    _mlflow("utils.environment")._PythonEnv.current().to_yaml(str(folder / "python_env.yaml"))
    found.save(str(folder / "MLmodel"))


def log_model(model: Any, name: str, **more: Any) -> Any:
    """Log a fitted model to the run in progress; arguments as in `save_model`.

    Further arguments are those of `mlflow.models.Model.log`, such as `registered_model_name`.
    """
    from . import mlflow as flavour

    return _mlflow("models").Model.log(
        artifact_path=None, name=name, flavor=flavour, model=model, **more
    )


def load_model(model_uri: str) -> Any:
    """Load the estimator itself, with all of its methods, from an address of MLflow."""
    folder = library("mlflow.artifacts", "mlflow", "collegium.mlflow").download_artifacts(model_uri)
    return load(Path(folder) / FILE)


def _load_pyfunc(path: str) -> _Function:
    """Load what `mlflow.pyfunc.load_model` wraps."""
    return _Function(load(path))


class _Function:
    """Rows to a frame of predictions, with the columns that `params` asks for."""

    def __init__(self, model: Any):
        self.model = model

    def predict(self, X: Any, params: dict[str, Any] | None = None) -> Any:
        """Means, with "std" and the ends of an "interval" on request; of labels, label and
        probabilities."""
        pandas = library("pandas", "mlflow", "collegium.mlflow")
        asked = PARAMS | (params or {})
        if is_classifier(self.model):
            found = {"label": self.model.predict(X)}
            each = self.model.predict_proba(X).T
            found |= {f"probability_{c}": p for c, p in zip(self.model.classes_, each)}
            return pandas.DataFrame(found)
        return pandas.DataFrame(self._columns(X, asked))

    def _columns(self, X: Any, asked: dict[str, Any]) -> dict[str, Any]:
        width = float(asked["interval"])
        names = ["mean", *(["std"] if asked["std"] else []), *(["lower", "upper"] if width else [])]
        found = self.model.predict(
            X, return_std=bool(asked["std"]), interval=width or None, level=asked["level"]
        )
        parts = found if isinstance(found, tuple) else (found,)
        columns = {}
        for name, part in zip(names, parts):
            if np.ndim(part) == 1:
                columns[name] = part
            else:
                columns |= {f"{name}_{j}": part[:, j] for j in range(part.shape[1])}
        return columns


def _signature(model: Any, example: Any) -> Any:
    """Types of inputs and predictions, and the params with their defaults."""
    params = None if is_classifier(model) else PARAMS
    if example is None:
        return None
    answers = _Function(model).predict(example)
    return _mlflow("models").infer_signature(example, answers, params)
