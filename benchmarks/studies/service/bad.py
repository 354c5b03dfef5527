"""Requests that a service has to refuse, generated from a seed."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .running import Running

GOOD = {"t": 51.0, "p": 2.5}
#: Values that no column takes, as JSON.
VALUES = ("[1]", "{}", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", '"warm"', "1" * 400,
          "1" * 5_000, '"\\ud800"', "[[]]", '"' + "x" * 20_000 + '"')  # fmt: skip


@dataclass(frozen=True)
class Bad:
    """One request, as bytes on the wire."""

    name: str
    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    codes: tuple[int, ...] = (400, 401, 404, 405, 409, 411, 413, 415, 421, 422, 431, 501)


def with_value(text: str, path: str, rng: random.Random) -> Bad:
    """One value of a row that is none."""
    row = {**GOOD, **({"yield": 1.0, "customer": 1} if path == "/v1/learn" else {})}
    column = rng.choice(["t", "p"] if text.startswith('"w') else sorted(row))
    if text.startswith('"w') and column == "customer":
        column = "t"
    good = [json.dumps(row)] * rng.randrange(4)
    own = json.dumps({**row, column: "@"}).replace('"@"', text)
    rows = [*good, own]
    rng.shuffle(rows)
    start = '{"id": "bad", ' if path == "/v1/learn" else "{"
    body = f'{start}"rows": [{", ".join(rows)}]}}'.encode()
    return Bad(f"value {text[:20]} in {column} to {path}", path, body)


def bodies(rng: random.Random) -> Iterator[Bad]:
    """Bodies that are not what a route takes."""
    path = rng.choice(["/v1/predict", "/v1/learn", "/v1/forget", "/v1/rollback",
                       "/v2/models/plant/infer"])  # fmt: skip
    depth = rng.choice([50, 2_000, 100_000])
    yield Bad(f"{depth} deep", path, b"[" * depth + b"]" * depth)
    yield Bad(f"object {depth} deep", path, b'{"a":' * depth + b"1" + b"}" * depth)
    yield Bad("not UTF-8", path, b'{"rows": "' + rng.randbytes(20) + b"\xff" + b'"}')
    yield Bad("UTF-16", path, json.dumps({"rows": [GOOD]}).encode("utf-16"))
    yield Bad("cut", path, json.dumps({"rows": [GOOD]}).encode()[: rng.randrange(1, 20)])
    yield Bad("empty", path, b"")
    yield Bad("no object", path, rng.choice([b"1", b"null", b"[]", b'"rows"', b"true"]))
    yield Bad("random bytes", path, rng.randbytes(rng.randrange(1, 300)))
    yield Bad("zeros", path, b"\x00" * rng.randrange(1, 300))
    yield Bad("two names", path, b'{"rows": [], "rows": []}')
    yield Bad("too long", path, b" " * 1_000_001, codes=(413,))
    yield Bad("a form", path, b"rows=1", (("Content-Type", "application/x-www-form-urlencoded"),))
    packed = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
    yield Bad("packed", path, b"\x1f\x8b" + rng.randbytes(30), packed)


def questions(rng: random.Random) -> Iterator[Bad]:
    """Objects with wrong parts."""
    n = rng.randrange(1, 5)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("/v1/predict", {"rows": []}), ("/v1/predict", {"rows": GOOD}),
        ("/v1/predict", {"rows": [GOOD] * n, "columns": {}}), ("/v1/predict", {}),
        ("/v1/predict", {"rows": [GOOD, [1.0, 2.0]]}), ("/v1/predict", {"rows": [[1.0] * n]}),
        ("/v1/predict", {"rows": [{"t": 1.0}] * n}), ("/v1/predict", {"columns": {"t": [1.0]}}),
        ("/v1/predict", {"columns": {"t": [1.0] * n, "p": [1.0] * (n + 1)}}),
        ("/v1/predict", {"rows": [GOOD], "interval": rng.choice([0, 1, -0.5, "wide", [0.9]])}),
        ("/v1/predict", {"rows": [GOOD], "level": rng.choice(["f", 1, None])}),
        ("/v1/predict", {"rows": [GOOD], "exposure": 2.0}),
        ("/v1/predict", {"rows": [GOOD], "explain": rng.choice(["nothing", 7, "; DROP TABLE"])}),
        ("/v1/predict", {"rows": [GOOD], "model": "../../etc/passwd"}),
        ("/v1/predict", {"rows": [{"t": 1, "p": 1}] * 10_001}),
        ("/v1/learn", {"rows": [{**GOOD, "yield": 1.0, "customer": 1}]}),
        ("/v1/learn", {"id": rng.choice([-1, 1.5, True, [], {}, "", "x" * 999, "a\x00b", None]),
                       "rows": [{**GOOD, "yield": 1.0, "customer": 1}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "customer": 1}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": None, "customer": 1}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": "much", "customer": 1}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": 1.0}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": 1.0, "customer": 1, "else": 2}]}),
        ("/v1/learn", {"id": "bad", "y": [1.0] * (n + 1), "rows": [{**GOOD, "customer": 1}] * n}),
        ("/v1/learn", {"id": "day 1", "rows": [{**GOOD, "yield": float(n), "customer": 1}]}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": 1.0, "customer": 1}],
                       "sample_weight": rng.choice([-1, [1.0] * 7, "heavy"])}),
        ("/v1/learn", {"id": "bad", "rows": [{**GOOD, "yield": 1.0, "customer": 1}],
                       "kept": rng.choice([{"customer": [1, 2]}, [1], {"id": [1]}])}),
        ("/v1/learn", {"id": "bad", "source": ["a"],
                       "rows": [{**GOOD, "yield": 1.0, "customer": 1}]}),
        ("/v1/forget", {}), ("/v1/forget", {"ids": "day 1"}), ("/v1/forget", {"ids": []}),
        ("/v1/forget", {"ids": ["never"]}), ("/v1/forget", {"ids": [{}]}),
        ("/v1/forget", {"where": "1); DROP TABLE chunk; --"}), ("/v1/forget", {"where": ""}),
        ("/v1/forget", {"where": "load_extension('x')"}),
        ("/v1/forget", {"rows": {"day 1": [999]}}),
        ("/v1/forget", {"where": "customer = 7", "ids": ["day 1"]}),
        ("/v1/rollback", {}), ("/v1/rollback", {"to": -1, "confirm": True}),
        ("/v1/rollback", {"to": 10**9, "confirm": True}), ("/v1/rollback", {"to": "1"}),
        ("/v1/rollback", {"to": 1, "confirm": "yes"}), ("/v1/rollback", {"to": 2**70}),
        ("/v1/as-of/yesterday", {"rows": [GOOD]}), ("/v1/as-of/99999999", {"rows": [GOOD]}),
        ("/v1/as-of/..%2f..%2fetc%2fpasswd", {"rows": [GOOD]}),
        ("/v2/models/other/infer", {"inputs": []}), ("/v2/models/plant/infer", {"inputs": []}),
        ("/v2/models/plant/infer", tensors(shape=[-1])),
        ("/v2/models/plant/infer", tensors(shape=[9])),
        ("/v2/models/plant/infer", tensors(shape=[2**62, 2**62])),
        ("/v2/models/plant/infer", tensors(datatype="COMPLEX")),
        ("/v2/models/plant/infer", tensors(data=["a"])),
        ("/v2/models/plant/infer", tensors(data=[[]])),
        ("/v1/../../etc/passwd", {}), ("/metrics", {"rows": [GOOD]}), ("/nothing", {}),
    ]  # fmt: skip
    for path, own in wrong:
        yield Bad(json.dumps(own)[:60], path, json.dumps(own).encode())


def tensors(**changed: Any) -> dict[str, Any]:
    one = {"name": "t", "shape": [1], "datatype": "FP64", "data": [51.0], **changed}
    return {"inputs": [one, {"name": "p", "shape": [1], "datatype": "FP64", "data": [2.5]}]}


def heads(rng: random.Random) -> Iterator[Bad]:
    """Heads that are wrong; the body follows as it is."""
    body, kind = json.dumps({"rows": [GOOD]}).encode(), ("Content-Type", "application/json")
    for length in ("-1", "99999999999999999999", "abc", "1e3", "0x10"):
        yield Bad(f"length {length}", "/v1/predict", body, (kind, ("Content-Length", length)))
    yield Bad("host", "/v1/predict", body, (kind, ("Host", f"evil{rng.randrange(99)}.example")))
    yield Bad("long head", "/v1/predict", body, (kind, ("X", "y" * 40_000)))
    chunked = (kind, ("Transfer-Encoding", "chunked"))
    yield Bad("bad chunks", "/v1/predict", b"zz\r\nhello\r\n", chunked)
    yield Bad("negative chunk", "/v1/predict", b"-5\r\nhello\r\n", chunked)
    both = (*chunked, ("Content-Length", "5"), ("Content-Length", "7"))
    yield Bad("two lengths", "/v1/predict", body, both)


def generated(count: int, seed: int) -> list[Bad]:
    """Some hundred bad requests."""
    rng, found = random.Random(seed), list[Bad]()
    while len(found) < count:
        found += [with_value(text, path, rng) for text in VALUES
                  for path in ("/v1/predict", "/v1/learn")]  # fmt: skip
        found += [*bodies(rng), *questions(rng), *heads(rng)]
    rng.shuffle(found)
    return found[:count]


def sent(port: int, bad: Bad, timeout: float = 30.0) -> tuple[int, bytes]:
    """Send a request byte by byte as it is; the code and body of the answer."""
    names = {name.lower() for name, _ in bad.headers}
    lines = [f"POST {bad.path} HTTP/1.1"]
    if "host" not in names:
        lines.append("Host: 127.0.0.1")
    if not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(bad.body)}")
    lines += [f"{name}: {value}" for name, value in bad.headers] + ["Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout) as own:
        own.settimeout(timeout)
        try:
            own.sendall("\r\n".join(lines).encode("latin-1") + bad.body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent
        data = b""
        try:
            while part := own.recv(65_536):
                data += part
        except ConnectionResetError:
            pass
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


def slow_loris(port: int, head: bool, most: float = 30.0) -> float:
    """Send a head, or a body, a byte now and then; the seconds until the service hangs up."""
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), most) as own:
        own.settimeout(0.05)
        if not head:
            lines = "POST /v1/predict HTTP/1.1", "Host: localhost", "Content-Type: application/json"
            own.sendall("\r\n".join([*lines, "Content-Length: 900", "", "{"]).encode())
        while time.monotonic() - start < most:
            try:
                own.sendall(b"G")
                if not own.recv(10_000) or not head:
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    return time.monotonic() - start


def refused_all(service: Running, count: int, seed: int) -> list[str]:
    """Send bad requests; a line for each that was not refused with a reason."""
    wrong = []
    for bad in generated(count, seed):
        code, body = sent(service.port, bad)
        reason = b"error" in body or b"Invalid HTTP" in body
        if code not in bad.codes or not reason or b"Traceback" in body:
            wrong.append(f"{code} {body[:200]!r} for {bad.name} to {bad.path}")
    return wrong
