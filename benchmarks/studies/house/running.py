"""Numbers that take running the package: its classes, its records, and what calls pass through.

As a script: print those of the package that is on the path, in JSON.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import PACKAGE


def import_all() -> list:
    """Import every module of the package."""
    package = importlib.import_module(PACKAGE)
    found = pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")
    return [importlib.import_module(one.name) for one in found]


def estimators() -> list[type]:
    from sklearn.base import BaseEstimator

    package = importlib.import_module(PACKAGE)
    public = [getattr(package, name) for name in package.__all__]
    return [one for one in public if inspect.isclass(one) and issubclass(one, BaseEstimator)]


def own_classes(one: type) -> list[type]:
    """Classes of the package that a class is made of, itself included."""
    return [base for base in one.__mro__ if base.__module__.startswith(f"{PACKAGE}.")]


def records(modules: list) -> dict[str, int]:
    """Fields of each record (a frozen dataclass), the largest first; tables of tuning numbers are
    none."""
    found = {}
    for module in modules:
        for one in vars(module).values():
            own = inspect.isclass(one) and one.__module__ == module.__name__
            if own and is_record(one) and not module.__name__.endswith(".tuning"):
                found[f"{one.__module__}.{one.__qualname__}"] = len(dataclasses.fields(one))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def is_record(one: type) -> bool:
    return dataclasses.is_dataclass(one) and one.__dataclass_params__.frozen


def passed(call: Callable[[], object]) -> tuple[int, int]:
    """Count the modules and functions of the package that a call enters, compiled ones apart."""
    inside = str(Path(importlib.import_module(PACKAGE).__file__).parent)
    seen = set()

    def enter(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(inside) and code.co_name[0] != "<":
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({file for file, _ in seen}), len(seen)


def paths() -> dict[str, tuple[int, int]]:
    """Modules and functions that the calls of default models pass through."""
    import numpy as np

    collegium = importlib.import_module(PACKAGE)
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3_000, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=3_000)
    model, source_model = (collegium.CommitteeRegressor(random_state=0) for _ in range(2))
    classes = collegium.CommitteeClassifier(random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", np.column_stack([X, y]))
        rows = collegium.open(f"{folder}/rows.npy", target="x3")
        calls = {
            "fit": lambda: model.fit(X, y),
            "predict": lambda: model.predict(X[:200], return_std=True),
            "predict of one row": lambda: model.predict(X[:1], return_std=True),
            "partial_fit": lambda: model.partial_fit(X[:100] + 0.1, y[:100]),
            "fit(source)": lambda: source_model.fit(rows),
            "fit of classes": lambda: classes.fit(X, y > 0),
            "predict of classes": lambda: classes.predict_proba(X[:200]),
        }
        return {name: passed(call) for name, call in calls.items()}


def inside() -> dict[str, dict]:
    """Measure the package that this process imports."""
    found = records(import_all())
    sizes = {
        one.__name__: (len(inspect.signature(one).parameters), len(own_classes(one)))
        for one in estimators()
    }
    return {"records": found, "estimators": sizes, "paths": paths()}


if __name__ == "__main__":
    print(json.dumps(inside()))
