"""What is Dask's alone: its client, its futures, workers that differ."""

import gc
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from cluster_cases import dask_cluster, numbers
from collegium.engines import Serial
from collegium.engines.tasks import report
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
    own = report(probe)
    other = replace(own, versions=(*own.versions[:2], ("numpy", "1.0"), *own.versions[3:]))
    with pytest.warns(MixedWorkersWarning, match=r"has numpy 1.0, not .*: install the same"):
        DaskEngine()._compare(own, [own, other])
    other = replace(own, versions=(own.versions[0], ("collegium", "0.0.1"), *own.versions[2:]))
    with pytest.raises(RuntimeError, match=r"has collegium 0.0.1, not .* everywhere"):
        DaskEngine()._compare(own, [other])


@pytest.mark.slow
def test_processors_that_round_otherwise_are_told_or_refused():
    import dask

    other = {"OPENBLAS_CORETYPE": "Prescott", "NUMBA_CPU_NAME": "core2"}
    name = "distributed.nanny.pre-spawn-environ"
    own = {**dask.config.get(name), **other}
    with dask.config.set({name: own}), dask_cluster(n_workers=1) as client:
        with pytest.warns(MixedWorkersWarning, match=r"OPENBLAS_CORETYPE=Prescott.*NUMBA_CPU_NAME"):
            DaskEngine(client).check(probe)
        with pytest.raises(RuntimeError, match="round otherwise"):
            DaskEngine(client, mixed="refuse").check(probe)
