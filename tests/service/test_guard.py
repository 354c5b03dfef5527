"""Tokens, hosts, sizes and slow bodies, before any route is reached."""

import asyncio
import io

import pytest

from collegium.service.gauges import Requests
from collegium.service.guard import Guard, host_of
from collegium.service.refusals import Refusal
from collegium.service.settings import ServiceSettings, check_open, token_of
from collegium.service.wire import Frames

TOKEN = "0123456789abcdef-Z"


def answered(settings, path="/v1/model", headers=(), parts=(b"",)):
    """The code of an answer of an application that reads its body, behind a guard."""
    sent, left = [], list(parts)

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        if not left:
            await asyncio.sleep(60)
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left) or part == b"more"}

    async def send(message):
        sent.append(message)

    headers = {"host": "localhost:1", **dict(headers)}
    own = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": "POST", "headers": own}
    guard = Guard(app, settings, Requests())
    asyncio.run(guard(scope, receive, send))
    assert TOKEN.encode() not in b"".join(one.get("body", b"") for one in sent)
    return sent[0]["status"]


@pytest.mark.parametrize(
    "given, code",
    [
        (f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401), ("Bearer ", 401), (TOKEN, 401), (f"Basic {TOKEN}", 401),
        ("Bearer \xff\xfe", 401), (None, 401),
    ],
)  # fmt: skip
def test_routes_need_the_token(given, code):
    settings = ServiceSettings("a.clgdb", "0.0.0.0", 1, TOKEN)
    headers = {"host": "plant.example"} | ({} if given is None else {"authorization": given})
    assert answered(settings, headers=headers) == code
    assert answered(settings, "/ready", headers) == 200
    assert answered(settings, "/ready/../v1/learn", headers) == code
    assert TOKEN not in repr(settings)


@pytest.mark.parametrize(
    "host, code",
    [("localhost", 200), ("127.0.0.1:8080", 200), ("[::1]:80", 200), ("evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("", 421)],
)  # fmt: skip
def test_without_a_token_it_answers_to_names_of_this_machine_alone(host, code):
    assert answered(ServiceSettings("a.clgdb"), headers={"host": host}) == code


def test_bodies_that_are_long_or_slow_are_refused():
    settings = ServiceSettings("a.clgdb", most_bytes=100, patience=0.05)
    assert answered(settings, headers={"content-length": "101"}) == 413
    assert answered(settings, parts=[b"x" * 60, b"x" * 41]) == 413
    assert answered(settings, parts=[b"x" * 60, b"x" * 40]) == 200
    assert answered(settings, parts=[b"more"]) == 408
    assert answered(settings, headers={"x": "y" * 20_000}) == 431


def test_other_addresses_need_a_token_and_tokens_are_long(tmp_path):
    check_open(ServiceSettings("a", "127.0.0.7"))
    check_open(ServiceSettings("a", "::1"))
    check_open(ServiceSettings("a", "0.0.0.0", token=TOKEN))
    for host in ("0.0.0.0", "::", "192.0.2.1", "plant.example"):
        with pytest.raises(ValueError, match="reached from other machines"):
            check_open(ServiceSettings("a", host))
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert token_of(str(tmp_path / "token"), {}) == TOKEN
    assert token_of(None, {"COLLEGIUM_TOKEN": TOKEN}) == TOKEN and token_of(None, {}) is None
    for bad in ("short", "with spaces in it is no token", "ungültig" * 5, ""):
        (tmp_path / "token").write_text(bad)
        with pytest.raises(ValueError, match="a token has at least 16") as error:
            token_of(str(tmp_path / "token"), {})
        assert not bad or bad not in str(error.value)
    assert host_of(b"LocalHost:80") == "localhost" and host_of(b"[::1]") == "::1"


def test_frames_are_what_was_told_and_end_with_the_pipe():
    out = io.BytesIO()
    Frames(io.BytesIO(), out).tell({"do": "model", "lsn": 3, "why": "ü\ud800"}, b"\x00" * 70_000)
    data = out.getvalue()
    heard = Frames(io.BytesIO(data), io.BytesIO())
    assert heard.hear() == {"do": "model", "lsn": 3, "why": "ü\ud800"}
    assert heard.hear() == b"\x00" * 70_000 and heard.hear() is None
    assert Frames(io.BytesIO(data[:-1]), io.BytesIO()).hear() is not None
    cut = Frames(io.BytesIO(data[:20]), io.BytesIO())
    assert cut.hear() is None
    with pytest.raises(ValueError, match="damaged"):
        Frames(io.BytesIO(b"X" + data[1:]), io.BytesIO()).hear()
    assert Refusal(422, "no", row=3).as_dict() == {
        "error": {"status": 422, "message": "no", "row": 3}
    }
