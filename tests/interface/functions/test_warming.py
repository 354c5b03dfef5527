"""After `warm_up` nothing is left to compile for default models."""

import os
import subprocess
import sys

import pytest

import collegium

WORK = """
import warnings
import numpy as np
from numba.core import event
import collegium
from collegium import CommitteeClassifier, CommitteeRegressor

class Compiled(event.Listener):
    names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

warnings.simplefilter("ignore")
event.register("numba:compile", Compiled())
collegium.warm_up(kinds="default")
assert "_fill" in Compiled.names
Compiled.names.clear()
rng = np.random.default_rng(1)
for n in (90, 800, 2300):
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=n)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    model.predict(X[:40], return_std=True)
    model.predict_interval(X[:1])
    rows = [{"a": a, "b": b, "c": "uvw"[i % 3]} for i, (a, b, _) in enumerate(X)]
    CommitteeRegressor(random_state=0).fit(rows, y).predict(rows[:3], return_std=True)
    CommitteeClassifier(random_state=0).fit(X, y > 0.5).predict_proba(X[:40])
assert not Compiled.names, Compiled.names
"""


@pytest.mark.slow
def test_default_models_find_everything_compiled(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", WORK], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_kinds_are_checked():
    with pytest.raises(ValueError, match="kinds='all': give one of"):
        collegium.warm_up(kinds="all")
