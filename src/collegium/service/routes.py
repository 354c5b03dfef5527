"""The routes of a service: requests in, answers out."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ..ledger.errors import LedgerError
from ..pages.making import report as report_on
from .given import (
    as_numbers,
    check_value,
    dated,
    given_id,
    given_rows,
    given_text,
    only,
    parsed_body,
)
from .openapi import described_routes, routes_page
from .refusals import Refusal
from .scores import ScoredRow
from .service import Service
from .serving import AnswerOptions, ServedModel

Array = np.ndarray
#: Bodies that are larger are read by a thread.
LARGE = 50_000
#: Rows that one request may have explained.
MOST_EXPLAINED = 100
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
#: What a page may do: nothing but show itself.
CLOSED = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
}
OPTIONS = ("interval", "level", "exposure", "explain")


class JsonAnswer(JSONResponse):
    """JSON in ASCII; numbers that are not finite are null."""

    def render(self, content: Any) -> bytes:
        try:
            text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        except ValueError:
            text = json.dumps(without_infinite(content), separators=(",", ":"))
        return text.encode("ascii")


def without_infinite(value: Any) -> Any:
    """Replace numbers that JSON does not have by null."""
    if isinstance(value, dict):
        return {name: without_infinite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_infinite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


Handler = Callable[[Service, Request], Awaitable[Response]]


async def body_of(request: Request) -> dict[str, Any]:
    """Read a body of JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "send JSON, with Content-Type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "send the body as it is, not compressed")
    try:
        data = await request.body()
    except ClientDisconnect as error:
        raise Refusal(400, "the body ended too early, or was not as its head said") from error
    return await asyncio.to_thread(parsed_body, data) if len(data) > LARGE else parsed_body(data)


# -- predictions ---------------------------------------------------------------------------------


async def predict(service: Service, request: Request) -> Response:
    body = await body_of(request)
    only(body, ("rows", "columns", *OPTIONS))
    served = service.batcher.present()
    rows = given_rows(body, service.settings.most_rows)
    options, exposure = options_of(body, served, len(rows))
    explained = await explanation(service, body, rows)
    found, served = await service.batcher.ask(rows, options, exposure)
    return JsonAnswer({"lsn": served.lsn, **answer_of(served, found), **explained})


def options_of(
    body: Mapping[str, Any], served: ServedModel, n: int
) -> tuple[AnswerOptions, Array | None]:
    """Read what a prediction is to have."""
    interval, level = body.get("interval"), body.get("level", "observation")
    exposure = body.get("exposure")
    if served.labels and (interval, level, exposure) != (None, "observation", None):
        raise Refusal(422, "the model predicts labels: leave out interval, level and exposure")
    if interval is not None and not (is_number(interval) and 0.0 < interval < 1.0):
        raise Refusal(422, "give a probability such as 0.9", column="interval")
    if level not in ("observation", "function"):
        raise Refusal(422, 'give "observation" or "function"', column="level")
    if exposure is not None and not served.exposed:
        raise Refusal(422, "exposure is for counts: leave it out", column="exposure")
    if served.exposed:
        exposure = positive_numbers(exposure, "exposure", n, 1.0)
    found = AnswerOptions(None if interval is None else float(interval), level, served.exposed)
    return found, exposure


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def positive_numbers(values: Any, name: str, n: int, usual: float) -> Array:
    """Read one positive number per row, or one for all."""
    if values is None or is_number(values):
        values = [usual if values is None else values] * n
    if not isinstance(values, list) or len(values) != n:
        raise Refusal(422, f"give {n} numbers, one per row", column=name)
    for i, one in enumerate(values):
        check_value(one, i, name)
        if not is_number(one) or not one > 0:
            raise Refusal(422, "give a positive number", row=i, column=name)
    return np.array(values, dtype=float)


def answer_of(served: ServedModel, found: Mapping[str, Array]) -> dict[str, Any]:
    """Write predictions as lists."""
    if not served.labels:
        return {name: own.tolist() for name, own in found.items()}
    p, classes = found["probability"], served.model.classes_
    return {
        "label": classes[p.argmax(axis=1)].tolist(),
        "probability": {str(one): p[:, k].tolist() for k, one in enumerate(classes.tolist())},
    }


async def explanation(service: Service, body: Mapping[str, Any], rows: list) -> dict[str, Any]:
    """Explain predictions: by columns, or by leaving out sources."""
    by = body.get("explain")
    if by in (None, False):
        return {}
    if not isinstance(by, str):
        raise Refusal(422, 'give "columns", "source", "site", "id" or a kept column',
                      column="explain")  # fmt: skip
    if len(rows) > MOST_EXPLAINED:
        raise Refusal(413, f"at most {MOST_EXPLAINED} rows of a request are explained")
    served = service.batcher.present()
    as_numbers(served.model, rows)  # refuses what is wrong with them
    X = as_table(served, rows)
    if by == "columns":
        own = await service.slowly(lambda: served.model.explain(X))
        told = {"values": np.asarray(own.values).tolist(), "base": np.asarray(own.base).tolist()}
        return {"explanation": {"by": by, "columns": served.shape.names, **told}}
    try:
        one = await service.slowly(lambda: service.reading(lambda led: led.explain(X, by=by)))
    except (ValueError, LedgerError) as error:
        raise Refusal(422, str(error), column="explain") from error
    return {"explanation": {
        "by": by, "values": list(one.values), "rows": list(one.rows),
        "changes": one.changes.tolist(),
    }}  # fmt: skip


# -- learning ------------------------------------------------------------------------------------


async def learn(service: Service, request: Request) -> Response:
    body = await body_of(request)
    only(body, ("id", "rows", "columns", "y", "source", "kept", "sample_weight", "exposure"))
    id = given_id(body, request.headers.get("idempotency-key"))
    rows, settings = given_rows(body, service.settings.most_rows), service.settings
    y = targets_of(service, body, rows)
    check_inputs(service, rows)
    if service.link.rows + len(rows) > settings.most_waiting:
        words = f"{service.link.rows:,} rows wait to be learnt: send these later"
        raise Refusal(429, words, headers={"Retry-After": "5"})
    batch: dict[str, Any] = {"id": id, "X": rows, "source": given_text(body, "source")}
    batch |= {name: one_per_row(body, name, len(rows)) for name in ("sample_weight", "exposure")
              if body.get(name) is not None}  # fmt: skip
    if "kept" in body:
        batch["kept"] = kept_of(body["kept"], len(rows))
    if "y" in body:
        batch["y"] = y
    served = service.batcher.served
    dates = [] if served is None else served.shape.dates
    command = {"do": "learn", "batch": batch, "n": len(rows), "dates": dates}
    some = service.scores.sample(len(rows)) if served is not None else 0
    scoring = asyncio.gather(service.scores.score(rows[:some], y[:some]), return_exceptions=True)
    said = await service.link.ask(command, len(rows))
    answer = answer_or_refusal(said)
    service.learnt_rows += len(rows)
    asyncio.get_running_loop().create_task(note_scores(service, scoring, answer["lsn"]))
    return JsonAnswer(answer, status_code=202)


async def note_scores(service: Service, scoring: Awaitable[Any], lsn: int) -> None:
    """Count predictions of rows that no model had learnt when they were made."""
    (found,) = await scoring
    if not isinstance(found, BaseException) and found[1] < lsn:
        own: Sequence[ScoredRow] = found[0]
        service.scores.note(own)


def answer_or_refusal(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of the learner, or raise what it refused."""
    if said["code"] < 400:
        return said["answer"]
    headers = {"Retry-After": "10"} if said["code"] in (503, 507) else {}
    raise Refusal(said["code"], said["error"], headers=headers)


def targets_of(service: Service, body: Mapping[str, Any], rows: Sequence[Any]) -> list[Any]:
    """Find the targets: in "y", or in the target column of rows."""
    target, served = service.ledger.get("target"), service.batcher.served
    name = "y" if "y" in body else target
    if name is None:
        raise Refusal(422, '"y" is missing: one value per row', column="y")
    if "y" in body:
        own = body["y"]
        if not isinstance(own, list) or len(own) != len(rows):
            raise Refusal(422, f"give {len(rows)} values, one per row", column="y")
    else:
        lost = next((i for i, row in enumerate(rows) if target not in row), None)
        if lost is not None or isinstance(rows[0], list):
            words = f"a row has no {target!r}, the target"
            raise Refusal(422, words, row=lost or 0, column=target)
        own = [row[target] for row in rows]
    labels = served is None or served.labels
    for i, value in enumerate(own):
        for one in value if isinstance(value, list) else [value]:
            check_value(one, i, name)
            if one is None or not (labels or is_number(one)):
                words = "a target is missing" if one is None else "a target is no number"
                raise Refusal(422, words, row=i, column=name)
    return own


def check_inputs(service: Service, rows: Sequence[Any]) -> None:
    """Refuse rows that the present model could not be asked about."""
    if service.batcher.served is not None:
        as_numbers(service.batcher.served.model, rows)


def one_per_row(body: Mapping[str, Any], name: str, n: int) -> list[float]:
    values = body[name] if isinstance(body[name], list) else [body[name]] * n
    if len(values) != n:
        raise Refusal(422, f"give {n} numbers, one per row", column=name)
    for i, one in enumerate(values):
        check_value(one, i, name)
        if not is_number(one) or one < 0:
            raise Refusal(422, "give a number that is not negative", row=i, column=name)
    return values


def kept_of(columns: Any, n: int) -> dict[str, list[Any]]:
    """Read columns that are kept beside the inputs."""
    if not isinstance(columns, dict):
        raise Refusal(422, '"kept" is an object of lists, one value per row', column="kept")
    for name, values in columns.items():
        if not isinstance(values, list) or len(values) != n:
            raise Refusal(422, f"give {n} values, one per row", column=name)
        for i, one in enumerate(values):
            check_value(one, i, name)
    return columns


async def forget(service: Service, request: Request) -> Response:
    body = await body_of(request)
    only(body, ("ids", "where", "rows", "reason"))
    what: dict[str, Any] = {name: body[name] for name in ("ids", "where", "rows") if name in body}
    if len(what) != 1:
        raise Refusal(422, 'give one of "ids", "where" and "rows"')
    (name, value), kinds = next(iter(what.items())), {"ids": list, "where": str, "rows": dict}
    if not isinstance(value, kinds[name]) or not value:
        raise Refusal(422, "give ids in a list, a condition as a text, or rows as an object",
                      column=name)  # fmt: skip
    what["reason"] = given_text(body, "reason")
    return await changed(service, {"do": "forget", "what": what})


def as_table(served: ServedModel, rows: Sequence[Any]) -> Any:
    """Return rows as the library takes them: dicts of the model's columns, or an array."""
    shape = served.shape
    if shape.names is None:
        return np.array(rows, dtype=float)
    own: Any = dated(rows, shape.dates)
    return [{name: row[name] for name in shape.names} for row in own]


async def roll_back(service: Service, request: Request) -> Response:
    body = await body_of(request)
    only(body, ("to", "reason", "confirm"))
    to, confirm = body.get("to"), body.get("confirm", False)
    if isinstance(to, bool) or not isinstance(to, int):
        raise Refusal(422, "give the number of the last event that is to stay", column="to")
    if not isinstance(confirm, bool):
        raise Refusal(422, "give true or false", column="confirm")
    what = {"to": to, "confirm": confirm, "reason": given_text(body, "reason")}
    return await changed(service, {"do": "rollback", "what": what})


async def changed(service: Service, command: dict[str, Any]) -> Response:
    """Let the learner forget, and wait for the model without these rows."""
    found = answer_or_refusal(await service.link.ask(command))
    service.forget_rows()
    lsn = found.get("lsn", found.get("certificate", {}).get("lsn"))
    if lsn is None:
        return JsonAnswer(found)
    return JsonAnswer({**found, "answered without them": await service.model_has(lsn)})


# -- what is known -------------------------------------------------------------------------------


async def model(service: Service, request: Request) -> Response:
    return JsonAnswer(service.described())


async def as_of(service: Service, request: Request) -> Response:
    """Describe the model as of some time (GET), or predict by it (POST)."""
    text = request.path_params["when"]
    when: int | str = int(text) if text.isdecimal() and len(text) < 19 else text
    try:
        if request.method != "POST":
            own = await service.slowly(lambda: service.past(when))
            basis = "the present one; rows forgotten since are not in it"
            return JsonAnswer({"as of": when, "rows": int(own.model_.total_weight), "basis": basis})
        body = await body_of(request)
        only(body, ("rows", "columns", "interval", "level", "exposure"))
        rows = given_rows(body, service.settings.most_rows)

        def ask() -> dict[str, Any]:
            served = ServedModel.of_model(service.past(when), -1)
            options, exposure = options_of(body, served, len(rows))
            X = as_numbers(served.model, rows)
            return answer_of(served, served.answers(X, options, exposure))

        return JsonAnswer({"as of": when, **await service.slowly(ask)})
    except (ValueError, LedgerError) as error:
        raise Refusal(422, str(error), column="when") from error


async def report(service: Service, request: Request) -> Response:
    """Write a report on rows that were predicted before they were learnt."""
    served, last = service.batcher.present(), list(service.scores.last)
    if len(last) < 30:
        words = f"a report needs 30 rows that came after the start, and {len(last)} were scored"
        raise Refusal(409, words, headers={"Retry-After": "10"})
    rows: list[Any] = [one.row for one in last]
    y = np.array([one.y for one in last])
    X = as_table(served, rows)
    found = await service.slowly(lambda: report_on(served.model, X, y))
    return HTMLResponse(found.html, headers=CLOSED)


async def live(service: Service, request: Request) -> Response:
    return JsonAnswer({"live": True})


async def ready(service: Service, request: Request) -> Response:
    if service.ready:
        return JsonAnswer({"ready": True})
    raise Refusal(503, service.why or "the model is being made ready", headers={"Retry-After": "1"})


async def metrics(service: Service, request: Request) -> Response:
    return PlainTextResponse(service.metrics(), media_type=PROMETHEUS)


async def openapi(service: Service, request: Request) -> Response:
    return JsonAnswer(described_routes())


async def docs(service: Service, request: Request) -> Response:
    return HTMLResponse(routes_page(described_routes()), headers=CLOSED)
