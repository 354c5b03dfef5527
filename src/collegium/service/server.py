"""Run a service: the learner, then the server, until it is told to end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..numerics.memory import few_arenas
from . import inference, routes
from .child import ServiceRefused
from .guard import LONGEST_HEAD, Guard, PatientProtocol
from .refusals import Refusal
from .routes import Handler, JsonAnswer
from .service import Service
from .settings import ServiceSettings, check_open

#: Seconds after which a thread that computes lets another one on; 0.005 by default.
SWITCH = 0.001
PATHS: tuple[tuple[str, Handler, str], ...] = (
    ("/v1/predict", routes.predict, "POST"),
    ("/v1/learn", routes.learn, "POST"),
    ("/v1/forget", routes.forget, "POST"),
    ("/v1/rollback", routes.roll_back, "POST"),
    ("/v1/model", routes.model, "GET"),
    ("/v1/report", routes.report, "GET"),
    ("/v1/as-of/{when}", routes.as_of, "GET POST"),
    ("/live", routes.live, "GET"),
    ("/ready", routes.ready, "GET"),
    ("/metrics", routes.metrics, "GET"),
    ("/openapi.json", routes.openapi, "GET"),
    ("/docs", routes.docs, "GET"),
    ("/v2", inference.server, "GET"),
    ("/v2/health/live", routes.live, "GET"),
    ("/v2/health/ready", routes.ready, "GET"),
    ("/v2/models/{model}", inference.model_metadata, "GET"),
    ("/v2/models/{model}/ready", inference.model_ready, "GET"),
    ("/v2/models/{model}/infer", inference.infer, "POST"),
)


def application(service: Service) -> Any:
    """Make the application of a service whose learner has begun."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        service.rehearse()
        service.link.begin(asyncio.get_running_loop())
        try:
            yield
        finally:
            await asyncio.to_thread(service.close)

    def refused(_: Request, error: Exception) -> Response:
        if isinstance(error, Refusal):
            return JsonAnswer(error.as_dict(), error.status, error.headers)
        if isinstance(error, HTTPException):
            own = Refusal(error.status_code, str(error.detail))
            return JsonAnswer(own.as_dict(), error.status_code, error.headers)
        return JsonAnswer(Refusal(500, "an internal error").as_dict(), 500)

    own = Starlette(
        routes=[Route(path, _bound(one, service), methods=how.split()) for path, one, how in PATHS],
        exception_handlers={Refusal: refused, HTTPException: refused, Exception: refused},
        lifespan=lifespan,
    )
    service.ask_itself = partial(rehearsed_requests, own, service)
    return Guard(own, service.settings, service.requests)


async def rehearsed_requests(app: Any, service: Service) -> None:
    """Send the application some requests of one row, as the first client will."""
    shape = service.batcher.present().shape
    row: Any = [0.0] * len(shape.kinds)
    if shape.names is not None:
        row = dict.fromkeys(shape.names)
    for more in ({}, {"interval": 0.9}) * 3:
        body = json.dumps({"rows": [row], **more}).encode()

        async def receive(body: bytes = body) -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            pass

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
            "path": "/v1/predict", "raw_path": b"/v1/predict", "root_path": "", "scheme": "http",
            "query_string": b"", "headers": [(b"content-type", b"application/json")],
        }  # fmt: skip
        await app(scope, receive, send)


def _bound(handler: Handler, service: Service) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return await handler(service, request)

    return answer


def run_service(settings: ServiceSettings, say: Callable[[str, str], None]) -> None:
    """Serve a ledger until the process is told to end; raise where that cannot begin."""
    check_open(settings)
    listener = bound_socket(settings)
    try:
        service = Service(settings)
        try:
            service.link.check()
        except ServiceRefused:
            service.batcher.close()
            raise
        warnings.simplefilter("ignore")  # of single requests
        sys.setswitchinterval(SWITCH)
        few_arenas()
        PatientProtocol.patience, PatientProtocol.longest = settings.patience, settings.longest
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say("ledger", f"{settings.path}, {service.ledger['rows']:,} rows")
        say("serving", f"http://{shown}:{port} (routes: /docs; ends with Ctrl-C)")
        server = uvicorn.Server(server_config(application(service), settings))
        server.run(sockets=[listener])
    finally:
        listener.close()


def server_config(app: Any, settings: ServiceSettings) -> uvicorn.Config:
    """Settings of the server: one process, plain HTTP/1.1, no log of requests."""
    return uvicorn.Config(
        app, http=PatientProtocol, ws="none", loop="asyncio", lifespan="on", log_config=None,
        log_level="error", access_log=False, proxy_headers=False, server_header=False,
        date_header=False,
        limit_concurrency=settings.connections, timeout_keep_alive=30, backlog=256,
        timeout_graceful_shutdown=10, h11_max_incomplete_event_size=LONGEST_HEAD,
    )  # fmt: skip


def bound_socket(settings: ServiceSettings) -> socket.socket:
    """Take the address before anything is begun."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(found[0], socket.SOCK_STREAM)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(found[4])
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)
        return listener
    except OSError as error:
        why = error.strerror or str(error)
        raise ServiceRefused(
            f"{settings.host}:{settings.port}: {why}: give another address"
        ) from error
