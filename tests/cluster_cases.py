"""Clusters of two workers on this machine, which listen on 127.0.0.1 alone."""

import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest

from collegium.engines import Serial, Threads
from collegium.kernels import Matern32
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Numbered:
    id: int
    value: float


def numbers(n):
    """Terms whose sum depends on the order: 40 binary orders of magnitude, both signs."""
    rng = np.random.default_rng(n)
    values = rng.normal(size=n) * 2.0 ** rng.integers(-20, 20, n)
    return [Numbered(i, float(v)) for i, v in enumerate(values)]


def parquet_files(folder, files=4, groups=5, rows=60):
    """Rows of a, b, c and y in `files` × `groups` row groups of `rows`; the paths."""
    pa = pytest.importorskip("pyarrow", reason="pip install 'collegium[files]'")
    from pyarrow import parquet

    rng, paths = np.random.default_rng(3), []
    for k in range(files):
        X = rng.normal(size=(groups * rows, 3))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
        columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}
        paths.append(str(folder / f"part{k}.parquet"))
        parquet.write_table(pa.table(columns), paths[-1], row_group_size=rows)
    return paths


def sender(m=12):
    """Messages about m anchors of the rows above, and their basis."""
    Z = np.random.default_rng(4).normal(size=(m, 3))
    basis = Anchors.at(Matern32(1.3, np.array([0.8, 1.1, 1.7])), Z)
    return partial(Block(0.02).send, basis), basis


@dataclass(frozen=True)
class Slowly:
    """f, after a pause: so that there is time to kill a worker."""

    f: object
    seconds: float

    def __call__(self, chunk):
        time.sleep(self.seconds)
        return self.f(chunk)


class Deadly:
    """send, but for one chunk, which ends its process."""

    def __init__(self, send, id):
        self.send, self.id = send, id

    def __call__(self, chunk):
        if chunk.id == self.id:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.send(chunk)


@contextmanager
def dask_cluster(**options):
    distributed = pytest.importorskip("distributed", reason="pip install 'collegium[dask]'")
    import dask

    options = {"n_workers": 2, "threads_per_worker": 1, "host": HOST, **options}
    with (
        patch.dict(os.environ),  # a nanny leaves variables of its workers in this process
        # A worker that is killed again at the end of this time is given up by its cluster.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            dashboard_address=f"{HOST}:0", silence_logs=logging.CRITICAL, **options
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def dask_engine():
    with dask_cluster() as client:
        from collegium.engines.dask import DaskEngine

        yield DaskEngine(client)


@contextmanager
def threads_engine():
    yield Threads(2)


@contextmanager
def environment(**more):
    """Workers find these tests, and variables of their own."""
    with pytest.MonkeyPatch.context() as here:
        here.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
        for name, value in more.items():
            here.setenv(name, value)
        yield


@contextmanager
def ray_engine():
    ray = pytest.importorskip("ray", reason="pip install 'collegium[ray]'")
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        pytest.skip("Ray listens on every address whatever it is told: `make test-engines` runs "
                    "it where there is 127.0.0.1 alone")  # fmt: skip
    from collegium.engines.ray import RayEngine

    options = {"include_dashboard": False, "_node_ip_address": HOST, "log_to_driver": False}
    with environment(RAY_USAGE_STATS_ENABLED="0"):
        ray.init(num_cpus=2, logging_level=logging.CRITICAL, **options)
        try:
            yield RayEngine()
        finally:
            ray.shutdown()


@contextmanager
def spark_engine():
    pytest.importorskip("pyspark", reason="pip install 'collegium[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs a JRE: apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    from collegium.engines.spark import SparkEngine

    options = {
        "spark.driver.host": HOST, "spark.driver.bindAddress": HOST, "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
    }  # fmt: skip
    with environment(SPARK_LOCAL_IP=HOST, PYSPARK_PYTHON=sys.executable):
        builder = SparkSession.builder.master("local[2,8]")  # two threads, each task eight times
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield SparkEngine(session)
        finally:
            session.stop()


MAKERS = {
    "threads": threads_engine, "dask": dask_engine, "ray": ray_engine, "spark": spark_engine,
}  # fmt: skip


def processes(engine) -> list[int]:
    """Ids of the processes that work for an engine."""
    if hasattr(engine, "client"):
        found = engine.client.run(os.getpid)
        return list(found.values())
    return sorted(set(engine.map(_pid, range(16))))


def _pid(_):
    time.sleep(0.05)
    return os.getpid()


def after(seconds, act):
    """A thread that does something a little later, started."""
    thread = threading.Timer(seconds, act)
    thread.start()
    return thread


def assert_same_total(found, expected):
    for name in ("precision", "shift", "log_scale"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        for word in ("lo", "hi", "top"):
            np.testing.assert_array_equal(getattr(ours, word), getattr(theirs, word))


serial = Serial()
