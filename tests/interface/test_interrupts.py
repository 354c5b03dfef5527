"""Ctrl-C comes out as KeyboardInterrupt at any moment, and leaves an estimator as it was."""

import subprocess
import sys

import pytest

from collegium.numerics.compiling import interrupts

#: Calls methods many times, each interrupted by a real signal somewhat later than the last.
SCRIPT = """
import pickle, signal, time
import numpy as np
from collegium import (
    CommitteeRegressor, OnlineGPRegressor, RegressionFilter, RVCRegressor, kernels
)

TRIES = 20
signal.signal(signal.SIGALRM, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(100, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
given = dict(kernel=kernels.Matern32(1.0, [0.7, 1.9]), noise=0.1, learn=False, random_state=0)
parts = dict(chunks=50, anchors=12, n_local=15)
cases = [
    (CommitteeRegressor(**given, **parts), lambda model: model.fit(X, y)),
    (CommitteeRegressor(**given, **parts), lambda model: model.predict(X, return_std=True)),
    (OnlineGPRegressor(**given), lambda model: model.partial_fit(X, y)),
    (RegressionFilter(**given, n_basis=30), lambda model: model.partial_fit(X, y)),
    (RVCRegressor(width=0.5, max_experts=20), lambda model: model.progressive(X, y)),
]
for model, call in cases:
    start = pickle.dumps(model.fit(X, y))
    before, interrupted = pickle.dumps(pickle.loads(start).model_), 0
    call(model)  # compiles
    began = time.perf_counter()
    call(model := pickle.loads(start))
    seconds, after = time.perf_counter() - began, pickle.dumps(model.model_)
    for i in range(TRIES):
        model = pickle.loads(start)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-5, seconds * (i + 0.5) / TRIES))
            call(model)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
            assert pickle.dumps(model.model_) in (before, after), model
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert interrupted, model
"""


def test_an_interrupt_is_an_interrupt_and_leaves_no_trace():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_cause_of_another_exception_comes_out():
    with pytest.raises(KeyboardInterrupt), interrupts():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise SystemError("returned a result with an exception set") from cause
    with pytest.raises(SystemError, match="of another kind"), interrupts():
        raise SystemError("of another kind")
