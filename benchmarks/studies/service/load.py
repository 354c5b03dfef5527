"""Load on loopback: single predictions at a rate while rows are learnt at a rate."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from collegium import CommitteeRegressor, Ledger, load

from .running import Running

Array = np.ndarray
ROWS = 36_000
#: Rows of one request to learn, and connections for predictions.
EACH, CONNECTIONS = 50, 32
TICK = os.sysconf("SC_CLK_TCK")


def table_ledger(data: Path, folder: Path) -> tuple[Path, Array, Array]:
    """Make a ledger of 36,000 rows of kin40k, by a model that is fitted once and kept."""
    own = np.load(data / "kin40k.npz")
    X, y = own["X"], own["y"].ravel()
    saved, path = folder / "kin40k.clg", folder / "kin40k.clgdb"
    if saved.exists():
        model = load(saved)
    else:
        model = CommitteeRegressor(random_state=0).fit(X[:ROWS], y[:ROWS])
        model.save(saved)
    for old in folder.glob("kin40k.clgdb*"):
        old.unlink()
    Ledger.of(model, X[:ROWS], y[:ROWS], path=path).close()
    return path, X, y


class Connection:
    """One connection that asks again and again, as little Python as possible."""

    def __init__(self, port: int) -> None:
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return int(answer[9:12]), await self.reader.readexactly(size)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


async def at_rate(rate: float, seconds: float, connections: int, port: int, one: Any) -> Array:
    """Send requests at fixed times, whether earlier ones were answered or not; the seconds from
    the time at which each was due to its answer (nan: refused)."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(Connection(port))
    start, times = time.perf_counter(), np.full(int(rate * seconds), np.nan)

    async def send(k: int) -> None:
        connection = await free.get()
        try:
            path, body = one(k)
            code, _ = await connection.ask(path, body)
            if code < 300:
                times[k] = time.perf_counter() - start - k / rate
        finally:
            free.put_nowait(connection)

    tasks = []
    for k in range(times.size):
        await asyncio.sleep(max(start + k / rate - time.perf_counter(), 0.0))
        tasks.append(asyncio.create_task(send(k)))
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().close()
    return times


def cpu_seconds(pid: int) -> float:
    """CPU time of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICK


def machine() -> Array:
    """Busy and idle seconds of all cores."""
    words = [int(one) / TICK for one in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return np.array([sum(words[:3]) + sum(words[5:]), words[3] + words[4]])


async def watched(service: Running, seconds: float) -> list[dict[str, float]]:
    """Look at memory, lag and queue while the load lasts."""
    found, end = [], time.monotonic() + seconds
    names = {
        "front": 'collegium_resident_bytes{process="front"}',
        "learner": 'collegium_resident_bytes{process="learner"}', "lag": "collegium_lag_seconds ",
        "queue": "collegium_queue_rows ", "rows": "collegium_ledger_rows ",
        "coverage": "collegium_coverage{", "log density": "collegium_log_density ",
        "models": "collegium_models_total ",
    }  # fmt: skip
    while time.monotonic() < end:
        text = (await asyncio.to_thread(service.ask, "GET", "/metrics"))[1]
        lines = text.splitlines()
        one = {
            name: next((float(x.split()[-1]) for x in lines if x.startswith(start)), np.nan)
            for name, start in names.items()
        }
        found.append(one)
        await asyncio.sleep(2.0)
    return found


def under_load(
    path: Path,
    X: Array,
    y: Array,
    seconds: float,
    *,
    predictions: float = 200.0,
    learnt: float = 1000.0,
) -> dict[str, Any]:  # fmt: skip
    """Predict and learn at once; times, memory and CPU. Rows to learn are those of the table, moved
    a little, with noise."""
    rng = np.random.default_rng(1)
    low, high = X.min(axis=0), X.max(axis=0)
    queries = rng.uniform(low, high, (1000, X.shape[1]))
    asks = [json.dumps({"rows": [row]}).encode() for row in queries.tolist()]

    def predict(k: int) -> tuple[str, bytes]:
        return "/v1/predict", asks[k % len(asks)]

    def learn(k: int) -> tuple[str, bytes]:
        some = rng.integers(len(X), size=EACH)
        rows = (X[some] + rng.normal(0.0, 0.001, (EACH, X.shape[1]))).round(6)
        new = (y[some] + rng.normal(0.0, 0.01, EACH)).round(6)
        body = {"id": f"load {k}", "rows": rows.tolist(), "y": new.tolist()}
        return "/v1/learn", json.dumps(body).encode()

    async def both(service: Running) -> Any:
        return await asyncio.gather(
            at_rate(predictions, seconds, CONNECTIONS, service.port, predict),
            at_rate(learnt / EACH, seconds, CONNECTIONS, service.port, learn),
            watched(service, seconds),
        )

    with Running(path, wait=False) as service:
        start = service.wait()
        first = [first_answer(service, asks[k]) for k in range(20)]
        pids = {"front": service.process.pid, "learner": service.learner(), "client": os.getpid()}
        before, own = machine(), {name: cpu_seconds(pid) for name, pid in pids.items()}
        asked, heard, seen = asyncio.run(both(service))
        took = {name: cpu_seconds(pid) - own[name] for name, pid in pids.items()}
        busy, idle = machine() - before
        others = busy - sum(took.values())
    return {
        "seconds": seconds, "ready after": start, "first answer": first[0],
        "later answers": float(np.median(first[1:])),
        "predictions": in_words(asked), "learning": in_words(heard),
        "CPU seconds": {**took, "other processes": float(others), "idle": float(idle)},
        "seen": seen,
    }  # fmt: skip


def first_answer(service: Running, body: bytes) -> float:
    """Seconds of one prediction on a connection of its own."""
    start = time.perf_counter()
    service.ask("POST", "/v1/predict", json.loads(body))
    return time.perf_counter() - start


def in_words(times: Array) -> dict[str, float]:
    """Milliseconds at some quantiles, and how many were refused."""
    told = {f"p{q:g}": float(np.nanpercentile(times, q) * 1e3) for q in (50, 90, 99, 100)}
    return {"sent": times.size, "refused": int(np.isnan(times).sum()), **told}


def batches(path: Path, X: Array, n: int = 2000) -> dict[str, float]:
    """Rows per second of long requests, beside `predict` of the same model in this process."""
    rng = np.random.default_rng(2)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (n, X.shape[1])).round(5)
    with Running(path) as service:
        body = {"rows": rows.tolist()}
        service.ask("POST", "/v1/predict", {"rows": rows[:600].tolist()})
        before = cpu_seconds(service.process.pid)
        start = time.perf_counter()
        code, found = service.ask("POST", "/v1/predict", body)
        wall = time.perf_counter() - start
        cpu = cpu_seconds(service.process.pid) - before
    assert code == 200
    with Ledger(path) as ledger:
        model = ledger.model()
    model.predict(rows[:600], return_std=True)
    begun, start = time.process_time(), time.perf_counter()
    mean, _ = model.predict(rows, return_std=True)
    own, own_cpu = time.perf_counter() - start, time.process_time() - begun
    assert np.allclose(mean, found["mean"], rtol=1e-9)
    return {
        "rows per second": n / wall, "in process": n / own,
        "rows per CPU second": n / cpu, "in process, per CPU second": n / own_cpu,
    }  # fmt: skip


def large_start(folder: Path, rows: int, each: int = 500) -> dict[str, float]:
    """Seconds until a service of a large ledger is ready, and its CPU time."""
    path = folder / "large.clgdb"
    for old in folder.glob("large.clgdb*"):
        old.unlink()
    rng = np.random.default_rng(3)
    X = rng.uniform(-3.0, 3.0, (rows, 8))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=rows)
    given: dict[str, Any] = {"anchors": 200, "chunks": each, "random_state": 0, "members": None}
    model = CommitteeRegressor(**given, transforms=None, inference="inductive")
    model.fit(X[:4000], y[:4000])
    with Ledger(path, model) as ledger:
        for start in range(0, rows, 20 * each):
            some = [slice(k, k + each) for k in range(start, min(start + 20 * each, rows), each)]
            ledger.add_all([{"X": X[k], "y": y[k], "id": k.start} for k in some])
    with Running(path) as service:
        return {
            "rows": rows, "MB": path.stat().st_size / 1e6, "ready after": service.ready_after,
            "CPU, front": cpu_seconds(service.process.pid),
            "CPU, learner": cpu_seconds(service.learner() or 0),
        }  # fmt: skip
