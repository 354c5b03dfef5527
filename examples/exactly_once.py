"""At-least-once delivery and ids make exactly-once learning.

A queue such as Kafka delivers each message at least once: some come twice, late or in another
order, and after a crash the last ones come again. Here a generator stands for the broker. Every
message has an id, its partition and offset; the service learns the rows of an id once. In the end
its ledger has the very state of one that got each message once, in order.

    pip install 'collegium[serve]' httpx
    python examples/exactly_once.py
"""

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import numpy as np

from collegium import CommitteeRegressor, Ledger
from collegium.kernels import Matern52


def messages(count=40, seed=1):
    """(id, rows) of each message, in the order in which they were sent."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        t, p = rng.uniform(20, 90, 5), rng.uniform(1, 5, 5)
        y = 60 + 20 * np.sin(t / 15) + 4 * p + rng.normal(0, 2, 5)
        rows = [
            dict(zip(("t", "p", "yield"), one)) for one in zip(*(c.tolist() for c in (t, p, y)))
        ]
        yield f"press/{k % 3}/{k // 3}", rows  # topic / partition / offset


def delivered(sent, seed=2):
    """At least once: some messages again, all of them in some disorder."""
    rng, waiting = random.Random(seed), []
    for one in sent:
        waiting += [one] * rng.choice([1, 1, 2, 3])
        rng.shuffle(waiting)
        while len(waiting) > 8:
            yield waiting.pop()
    yield from waiting


def start_of(folder):
    """A model of early rows, which both ledgers begin with."""
    rng = np.random.default_rng(0)
    X = [{"t": a, "p": b} for a, b in zip(rng.uniform(20, 90, 100), rng.uniform(1, 5, 100))]
    y = [60 + 20 * np.sin(one["t"] / 15) + 4 * one["p"] for one in X]
    kernel = Matern52(1.4, [20.0, 2.0])
    model = CommitteeRegressor(
        kernel, noise=0.07, learn=False, anchors=11, chunks=20, inference="inductive",
        members=None, transforms=None, random_state=0,
    ).fit(X, y)  # fmt: skip
    return [Ledger(folder / name, model, target="yield") for name in ("a.clgdb", "b.clgdb")]


def main():
    with tempfile.TemporaryDirectory() as name:
        once, served = start_of(Path(name))
        for id, rows in messages():
            once.add(rows, id=id)
        served.close()
        command = [sys.executable, "-m", "collegium", "serve", served.path, "--port", "0"]
        service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            url = next(m[0] for line in service.stderr if (m := re.search(r"http://\S+", line)))
            count = 0
            with httpx.Client(base_url=url, timeout=60) as client:
                for id, rows in delivered(messages()):
                    client.post("/v1/learn", json={"id": id, "rows": rows}).raise_for_status()
                    count += 1
        finally:
            service.terminate()
            service.wait()
        with Ledger(served.path) as ledger:
            print(f"{count} deliveries of {len(ledger.chunks())} messages")
            print("the same state:", ledger.state == once.state)
        once.close()


if __name__ == "__main__":
    main()
