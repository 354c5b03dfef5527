"""Describe this machine, and test whether it computes right."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_info

from ...committee.regressor import CommitteeRegressor
from ...interface.functions.loading import load
from ...interface.functions.warming import warm_up
from ...kernels.stationary.matern import RBF
from ...modelfile.files import versions
from ...numerics.memory import allowed
from ..failures import OTHER, Failure
from ..terminal import Terminal, size_in_words

#: Libraries for files, pictures and clusters, and the extra that installs each.
OPTIONAL = {
    "pyarrow": "files", "pandas": None, "polars": None, "duckdb": "duckdb", "matplotlib": "plot",
    "distributed": "dask", "ray": "ray", "pyspark": "spark",
}  # fmt: skip


def run_doctor(terminal: Terminal, *, compiles: bool) -> None:
    """Describe the installation, compile where asked, and test it."""
    found: dict[str, Any] = {
        "versions": versions(), "machine": machine(), "threads": threads(), "cache": cache(),
        "sqlite": sqlite3.sqlite_version, "libraries": libraries(),
    }  # fmt: skip
    _tell(terminal, found)
    if compiles:
        start = time.perf_counter()
        with terminal.listening():
            warm_up()
        found["compiled"] = time.perf_counter() - start
        terminal.tell("compiled", f"everything, in {found['compiled']:.0f} s")
    with terminal.listening():
        found["self-test"] = self_test()
    wrong = [name for name, good in found["self-test"]["good"].items() if not good]
    seconds = found["self-test"]["seconds"]
    if not wrong:
        terminal.tell("self-test", f"good, in {seconds:.1f} s")
    if terminal.as_json:
        terminal.answer(found)
        terminal.as_json = False
    if wrong:
        raise Failure(OTHER, f"the self-test fails: {', '.join(wrong)}")


def _tell(terminal: Terminal, found: dict[str, Any]) -> None:
    terminal.tell("versions", ", ".join(f"{k} {v}" for k, v in found["versions"].items()))
    own = found["machine"]
    terminal.tell(
        "machine",
        f"{own['system']}, {own['cores']} cores, {size_in_words(own['memory'])} of memory",
    )
    for one in found["threads"]:
        terminal.tell(one["kind"], f"{one['library']} {one['version']}, {one['threads']} threads")
    place = found["cache"]
    state = "can be written" if place["writable"] else "cannot be written: set NUMBA_CACHE_DIR"
    terminal.tell("compiled code", f"{place['folder']}, {state}; {place['files']:,} files in it")
    terminal.tell("SQLite", found["sqlite"])
    for name, one in found["libraries"].items():
        extra = OPTIONAL[name]
        remedy = f"pip install 'collegium[{extra}]'" if extra else f"pip install {name}"
        terminal.tell(name, one or f"not installed ({remedy})")


def machine() -> dict[str, Any]:
    """The system, cores that may be used, and memory that may be used."""
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    return {"system": platform.platform(), "cores": len(usable(0)), "memory": allowed()}


def threads() -> list[dict[str, Any]]:
    """Libraries that have threads of their own: BLAS and OpenMP."""
    return [
        {
            "kind": {"blas": "BLAS", "openmp": "OpenMP"}.get(one["user_api"], one["user_api"]),
            "library": one["internal_api"], "version": one.get("version") or "",
            "threads": one["num_threads"], "path": one["filepath"],
        }
        for one in threadpool_info()
    ]  # fmt: skip


def cache() -> dict[str, Any]:
    """The folder of compiled functions."""
    own = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    folder = own or os.path.join(os.path.dirname(os.path.abspath(__file__)), *2 * [os.pardir])
    folder = os.path.abspath(folder)
    files = sum(name.endswith(".nbi") for _, _, names in os.walk(folder) for name in names)
    return {"folder": folder, "writable": os.access(folder, os.W_OK), "files": files}


def libraries() -> dict[str, str | None]:
    """Versions of optional libraries; None: not installed."""
    return {name: _version(name) for name in OPTIONAL}


def _version(name: str) -> str | None:
    if find_spec(name) is None:
        return None
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown version"


def self_test() -> dict[str, Any]:
    """Compare a small model with the formula of a Gaussian process, and with its own file."""
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    X, Xs = rng.uniform(-2, 2, (200, 2)), rng.uniform(-2, 2, (20, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    kernel, noise = RBF(1.3, np.array([0.7, 1.9])), 0.02
    given: dict[str, Any] = {"noise": noise, "learn": False, "transforms": None, "members": None}
    model = CommitteeRegressor(kernel, **given).fit(X, y)
    mean, std = model.predict(Xs, return_std=True)
    K, Ks = kernel.value(X, X), kernel.value(Xs, X)
    solved = np.linalg.solve(K + noise * np.eye(200), np.column_stack([y - y.mean(), Ks.T]))
    exact = y.mean() + Ks @ solved[:, 0]
    variance = 1.3 + noise - np.einsum("ij,ji->i", Ks, solved[:, 1:])
    many = CommitteeRegressor(kernel, **given, chunks=40, anchors=30, random_state=0).fit(X, y)
    two = CommitteeRegressor(kernel, **given, chunks=40, anchors=30, random_state=0, n_jobs=2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test.clg")
        many.save(path)
        again = load(path).predict(Xs)
    good = {
        "means of an exact Gaussian process": np.allclose(mean, exact, atol=1e-8),
        "its standard deviations": np.allclose(std, np.sqrt(variance), atol=1e-8),
        "a committee near it": np.abs(many.predict(Xs) - exact).max() < 0.2,
        "two threads, the same bits": np.array_equal(two.fit(X, y).predict(Xs), many.predict(Xs)),
        "a model file, the same bits": np.array_equal(again, many.predict(Xs)),
    }
    return {
        "good": {name: bool(one) for name, one in good.items()},
        "seconds": time.perf_counter() - start,
    }
