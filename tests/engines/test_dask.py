"""What is Dask's alone: its client, its futures, workers that differ."""

import gc
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

import collegium
from cluster_cases import dask_cluster, numbers
from collegium import AnswerTime, CommitteeRegressor
from collegium.answers.cells.cells import Cells
from collegium.engines import Serial
from collegium.engines.tasks import worker_report
from collegium.kernels import Matern32
from collegium.messages.probe import probe

pytest.importorskip("distributed", reason="pip install 'collegium[dask]'")
from collegium.engines.cluster import MixedWorkersWarning
from collegium.engines.dask import DaskEngine


@pytest.fixture(scope="module")
def client():
    with dask_cluster(n_workers=1) as found:
        yield found


def tasks_left(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def fails_late(chunk):
    if chunk.id == 30:
        raise ArithmeticError("late")
    return chunk.value


def test_no_future_outlives_a_call(client):
    engine, chunks = DaskEngine(client), numbers(50)
    engine.sum(lambda c: c.value, chunks, 0.0)
    with pytest.raises(ArithmeticError) as caught:
        engine.sum(fails_late, chunks, 0.0)
    half = engine.imap(lambda c: c.value, chunks)
    next(half)
    half.close()
    deadline = time.monotonic() + 20
    while (client.futures or tasks_left(client)) and time.monotonic() < deadline:
        time.sleep(0.05)
        gc.collect()
    assert not client.futures and not tasks_left(client)
    assert caught.value.args == ("late",)  # its traceback holds frames, and they hold no future


def test_the_current_client_is_used(client):
    with client.as_current():
        assert DaskEngine().map(abs, [-3, 2]) == [3, 2]


def test_inside_a_task_an_engine_works_on_its_own(client):
    chunks = numbers(9)

    def nested(_):
        return DaskEngine().sum(lambda c: c.value, chunks, 0.0)

    assert DaskEngine(client).map(nested, [0]) == [Serial().sum(lambda c: c.value, chunks, 0.0)]


def test_without_a_client_there_is_a_clear_word():
    code = "from collegium.engines.dask import DaskEngine; DaskEngine().map(abs, [1])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ValueError: there is no Dask client: make one" in out.stderr
    with pytest.raises(ValueError, match="mixed='perhaps'"):
        DaskEngine(mixed="perhaps")


def test_each_worker_is_probed_once(client):
    asked = []

    class Counting(DaskEngine):
        def reports(self, known, probe):
            found = super().reports(known, probe)
            asked.append(len(found))
            return found

    engine = Counting(client)
    engine.check(probe)
    engine.check(probe)
    assert asked == [1, 0]


def test_other_versions_are_told():
    own = worker_report(probe)
    other = replace(own, versions=(*own.versions[:2], ("numpy", "1.0"), *own.versions[3:]))
    with pytest.warns(MixedWorkersWarning, match=r"has numpy 1.0, not .*: install the same"):
        DaskEngine()._compare(own, [own, other])
    other = replace(own, versions=(own.versions[0], ("collegium", "0.0.1"), *own.versions[2:]))
    with pytest.raises(RuntimeError, match=r"has collegium 0.0.1, not .* everywhere"):
        DaskEngine()._compare(own, [other])


OTHER = {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "core2"}
TOLD = """
from collegium.engines.tasks import worker_report
from collegium.messages.probe import probe
found = worker_report(probe)
print(found.probe, ", ".join(f"{name}={value}" for name, value in found.processor))
"""


def told(**variables):
    """The probe and the processor of a process that has these variables."""
    env = {**os.environ, **variables}
    out = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, env=env)
    return out.stdout.strip().split(" ", 1)


@pytest.mark.slow
def test_processors_that_round_differently_are_told_or_refused():
    import dask

    hash, processor = told(**OTHER)  # OpenBLAS may name its loops otherwise than it was asked
    if hash == probe():
        pytest.skip("this process rounds as the other one does")
    name = "distributed.nanny.pre-spawn-environ"
    with patch.dict(os.environ), dask.config.set({name: {**dask.config.get(name), **OTHER}}):
        for variable in OTHER:  # those of this process would be taken before those of `config`
            os.environ.pop(variable, None)
        with dask_cluster(n_workers=1) as client:
            with pytest.warns(MixedWorkersWarning, match=re.escape(f"({processor}) round diff")):
                DaskEngine(client).check(probe)
            with pytest.raises(RuntimeError, match="round differently"):
                DaskEngine(client, mixed="refuse").check(probe)


def inputs_of(chunk):
    return chunk.load()[0]


def test_a_frame_with_words_dates_and_gaps_is_that_of_pandas(client, tmp_path):
    """Bitwise the same encoding and model, in memory and on disk; chunks take it to workers."""
    from table_cases import frame

    sys.modules["sparse"] = None  # Dask would take tests/sparse for a library of that name
    dd = pytest.importorskip("dask.dataframe")
    del sys.modules["sparse"]
    own, later = frame(600), frame(60, 3)
    own["city"] = own["city"].astype("category")
    columns, lengths = ["city", "height", "day", "new"], [0.8, 0.7, 2e8, 1.2, 1.3, 1.4]
    fixed = {
        "kernel": Matern32(1.0, lengths), "noise": 0.05, "learn": False, "anchors": 20,
        "chunks": 100, "n_local": 30, "random_state": 0,
    }  # fmt: skip
    engine, lazy = DaskEngine(client), dd.from_pandas(own, npartitions=4)
    source = collegium.open(lazy, target="fare", columns=columns, weight="w", chunk_rows=70)
    for store in (None, "rows"):
        ours, theirs = (store and tmp_path / f"{k}.{store}" for k in "ab")
        first = CommitteeRegressor(**fixed, store=theirs)
        first.fit(own[columns], own["fare"], own["w"])
        model = CommitteeRegressor(**fixed, store=ours, engine=engine).fit(source)
        assert model.encoding_ == first.encoding_
        np.testing.assert_array_equal(
            model.predict(later[columns], return_std=True),
            first.predict(later[columns], return_std=True),
        )
    X = engine.map(inputs_of, source.encoded(model.encoding_).chunks)
    np.testing.assert_array_equal(np.concatenate(X), model.encoding_.forward(own[columns]))


def test_cells_answer_here_where_sums_run_on_a_cluster(client):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (700, 4))
    given = {"kernel": Matern32(1.0, 1.2), "noise": 0.01, "learn": False, "random_state": 0}
    sizes = {"chunks": 60, "anchors": 12, "n_local": AnswerTime(1e9, n_local=30)}
    model = CommitteeRegressor(**given, **sizes).fit(X, np.sin(X[:, 0]))
    boxes = Cells.of(model.model_.kernel, X, 100, 50, 1e8)
    layer = replace(model.model_.answering, cells=boxes)
    cells = replace(model.model_, answering=layer)
    own = cells.predictor()
    expected = own.predict(X[:9], Serial())
    fresh = cells.predictor()
    assert fresh.prepare(DaskEngine(client)) > 5
    found = fresh.predict(X[:9], DaskEngine(client))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.variance, expected.variance)
    before = model.predict(X[:9], return_std=True)
    model.set_params(engine=DaskEngine(client))
    np.testing.assert_array_equal(model.predict(X[:9], return_std=True), before)
