"""Check every request first: its host, token, size and time; and count what became of it."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .gauges import Requests
from .refusals import Refusal
from .settings import ServiceSettings, is_local

Scope = dict[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]
#: Paths that need no token: whether the service lives, and what it is.
FREE = ("/live", "/ready", "/v2/health/live", "/v2/health/ready", "/docs", "/openapi.json")
#: Bytes of the head of a request.
LONGEST_HEAD = 16_384
log = logging.getLogger("collegium.service")


class Guard:
    """Refuses requests before anything reads them, and answers errors in one form."""

    def __init__(self, app: App, settings: ServiceSettings, requests: Requests) -> None:
        self.app, self.settings, self.requests = app, settings, requests
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, sent = time.perf_counter(), [0]

        async def noting(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent[0] = message["status"]
            await send(message)

        try:
            self.check(scope)
            await self.app(scope, self.limited(scope, receive), noting)
        except Refusal as error:
            if not sent[0]:
                await refuse(noting, error)
        except Exception:
            log.exception("an internal error at %s", scope["path"][:200])
            if not sent[0]:
                await refuse(noting, Refusal(500, "an internal error"))
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.requests.note(route, sent[0] or 499, time.perf_counter() - start)

    def check(self, scope: Scope) -> None:
        """Refuse other hosts, wrong tokens, and heads and bodies that are too long."""
        headers = dict(scope["headers"])
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEAD:
            raise Refusal(431, f"the head of a request has at most {LONGEST_HEAD:,} bytes")
        if self._token is not None and scope["path"] not in FREE:
            given = headers.get(b"authorization", b"")
            kind, _, token = given.partition(b" ")
            right = hmac.compare_digest(token.strip(), self._token)
            if kind.lower() != b"bearer" or not right:
                words = "give the token: Authorization: Bearer …"
                raise Refusal(401, words, headers={"WWW-Authenticate": "Bearer"})
        if self._token is None and not is_local(host_of(headers.get(b"host", b""))):
            # a page elsewhere may have sent a browser here under a name of its own
            raise Refusal(421, "this service answers to 127.0.0.1 and localhost")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.settings.most_bytes:
            raise self.too_long()

    def too_long(self) -> Refusal:
        words = f"the body has more than {self.settings.most_bytes:,} bytes: send several requests"
        return Refusal(413, words, headers={"Connection": "close"})

    def limited(self, scope: Scope, receive: Any) -> Any:
        """Receive no more bytes than are allowed, and not for ever."""
        end = time.monotonic() + self.settings.patience
        bytes_left, complete = [self.settings.most_bytes], [False]

        async def limited_receive() -> Any:
            if complete[0]:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(end - time.monotonic(), 0.001))
            except TimeoutError:
                words = f"the body did not come within {self.settings.patience:g} seconds"
                raise Refusal(408, words, headers={"Connection": "close"}) from None
            bytes_left[0] -= len(message.get("body", b""))
            complete[0] = not message.get("more_body", False)
            if bytes_left[0] < 0:
                raise self.too_long()
            return message

        return limited_receive


def host_of(header: bytes) -> str:
    """The host of a Host header, without its port."""
    text = header.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if ":" in text else text


async def refuse(send: Any, error: Refusal) -> None:
    """Answer with a reason."""
    data = json.dumps(error.as_dict()).encode("ascii")
    own = {"Content-Type": "application/json", "Content-Length": str(len(data)), **error.headers}
    headers = [(name.lower().encode(), value.encode()) for name, value in own.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


class PatientProtocol(H11Protocol):
    """HTTP/1.1 for clients that may be slow or dead: heads have to come in time, and answers have
    to be taken in time."""

    patience, longest = 10.0, 120.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait(self.patience)

    def data_received(self, data: bytes) -> None:
        if self._timer is None:  # the first bytes of another request
            self._wait(self.patience)
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and self.cycle is not None:
            if not self.cycle.response_complete:
                self._wait(self.longest)

    def on_response_complete(self) -> None:
        self._rest()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # one that came with it
            self._wait(self.longest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._rest()
        self._timer = self.loop.call_later(seconds, self._end)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()
