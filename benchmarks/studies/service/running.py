"""Services of this machine, started for a study and ended by their process ids."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

#: A service with limits of its own.
PROGRAM = """
import json, sys
from collegium.service.server import run_service
from collegium.service.settings import ServiceSettings
def say(word, text):
    print(word, text, file=sys.stderr, flush=True)
run_service(ServiceSettings(**json.loads(sys.argv[1])), say)
"""


class Running:
    """A service in a process of its own, on a free port of 127.0.0.1."""

    def __init__(self, path: Any, *, wait: bool = True, env: Any = None, **settings: Any) -> None:
        given = json.dumps({"path": str(path), "port": 0, **settings})
        self.begun = time.perf_counter()
        self.said = tempfile.TemporaryFile("w+")
        own = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ, **(env or {})}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, given], stderr=self.said, env=own
        )
        self.port, self.ready_after = 0, 0.0
        if wait:
            self.wait()

    def words(self) -> str:
        """What it has written to the standard error."""
        return os.pread(self.said.fileno(), 1 << 20, 0).decode()

    def wait(self, seconds: float = 240.0) -> float:
        """Wait until it is ready; the seconds since it was begun."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the service ended: {self.words()}")
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.words())
            self.port = int(found[1]) if found else 0
            with suppress(OSError):
                if self.port and self.ask("GET", "/ready")[0] == 200:
                    self.ready_after = time.perf_counter() - self.begun
                    return self.ready_after
            time.sleep(0.05)
        raise RuntimeError(f"the service was not ready in time: {self.words()}")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request on a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.headers.get("content-type") or "")
        return answer.status, json.loads(text) if is_json else text.decode()

    def metric(self, name: str) -> float:
        """One number of /metrics."""
        text = self.ask("GET", "/metrics")[1]
        return float(next(one for one in text.splitlines() if one.startswith(name)).split()[-1])

    def learner(self) -> int | None:
        """The process id of the learner: the child of the front."""
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
                found = [int(one) for one in file.read().split()]
        except OSError:
            return None
        return found[0] if found else None

    def end(self) -> int:
        """End it as a service manager does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
        self.said_at_the_end = self.words()
        self.said.close()
