"""Describe the routes, for programs (OpenAPI 3.1) and for people (a page without scripts)."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from ..numerics.version import __version__

Schema = dict[str, Any]
ROWS: Schema = {
    "type": "array", "minItems": 1, "maxItems": 10_000,
    "description": "One object per row; for a model of columns without names one list of numbers. "
    "null is a missing value, a date is a text in ISO 8601.",
    "items": {"type": ["object", "array"]},
}  # fmt: skip
COLUMNS: Schema = {
    "type": "object", "description": "In place of rows: one list per column.",
    "additionalProperties": {"type": "array"},
}  # fmt: skip
TEXT: Schema = {"type": "string"}
NUMBERS_OR_ONE: Schema = {"type": ["number", "array"], "items": {"type": "number"}}


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


QUESTION: dict[str, Schema] = {
    "rows": ROWS, "columns": COLUMNS,
    "interval": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1,
                 "description": "Also answer with the ends of an interval of this probability."},
    "level": {"enum": ["observation", "function"], "default": "observation",
              "description": "function: without the noise of a single observation."},
    "exposure": {**NUMBERS_OR_ONE, "description": "For counts: one number per row, or one."},
}  # fmt: skip
EXPLAIN: Schema = {
    **TEXT, "description": "columns: what each column does; source, site, id or a kept column: "
    "what the rows of each of its values do. At most 100 rows.",
}  # fmt: skip
PREDICT = _object((), **QUESTION, explain=EXPLAIN)
PREDICT_EXAMPLE = {"rows": [{"t": 71.5, "p": 2.0}], "interval": 0.9}
LEARN = _object(
    ("id",),
    id={"type": ["string", "integer"], "description": "A name for these rows, by which they are "
        "learnt once, however often they are sent. Or the header Idempotency-Key."},
    rows=ROWS, columns=COLUMNS,
    y={"type": "array", "description": "Targets, where they are no column of the rows."},
    source={**TEXT, "description": "Where the rows come from."},
    kept={**COLUMNS, "description": "Columns to keep for conditions, where not in the rows."},
    sample_weight=NUMBERS_OR_ONE, exposure=NUMBERS_OR_ONE,
)  # fmt: skip
LEARN_EXAMPLE = {"id": "press 4, shift 17", "rows": [{"t": 71.5, "p": 2.0, "yield": 60.8}]}
FORGET = _object(
    ids={"type": "array", "description": "Ids that rows were learnt under."},
    where={**TEXT, "description": "A condition on kept columns, such as customer = 7."},
    rows={"type": "object", "description": "Positions of rows by id."},
    reason={**TEXT, "description": "Recorded with the event."},
)
ROLLBACK = _object(
    ("to",), to={"type": "integer", "description": "The last event that is to stay."},
    confirm={"type": "boolean", "default": False,
             "description": "false: answer what would be forgotten, and change nothing."},
    reason=TEXT,
)  # fmt: skip
TENSORS = _object(("inputs",), inputs={"type": "array", "items": {"type": "object"}},
                  parameters={"type": "object", "description": "interval, level"},
                  outputs={"type": "array"}, id=TEXT)  # fmt: skip
#: Path, method, words, schema of the body, an example of it, and codes of success.
ROUTES: tuple[tuple[str, str, str, Schema | None, Any, str], ...] = (
    ("/v1/predict", "post", "Predict rows: mean and standard deviation, or labels and "
     "probabilities. lsn is the last event that the model has learnt from.",
     PREDICT, PREDICT_EXAMPLE, "200"),
    ("/v1/learn", "post", "Learn rows. The answer comes when they are on the disk; lsn is their "
     "event. The same rows under the same id are learnt once and answered alike; other rows under "
     "it are refused (409). Models that answer follow within seconds.",
     LEARN, LEARN_EXAMPLE, "202"),
    ("/v1/forget", "post", "Forget rows: they leave the ledger and the model, to the last bit. The "
     "answer is the certificate.", FORGET,
     {"where": "customer = 7", "reason": "request 2231"}, "200"),
    ("/v1/rollback", "post", "Forget all rows that came after an event, as a new event. Nothing "
     "else is taken back, and the rows are erased. Without confirm nothing is changed.",
     ROLLBACK, {"to": 412, "confirm": True, "reason": "sensor 3 was broken"}, "200"),
    ("/v1/as-of/{when}", "get", "Describe the model as of an event (a number) or a time.", None,
     None, "200"),
    ("/v1/as-of/{when}", "post", "Predict by the model as of an event or a time.",
     _object((), **QUESTION), PREDICT_EXAMPLE, "200"),
    ("/v1/model", "get", "Describe the model, the ledger, and how far one is behind the other.",
     None, None, "200"),
    ("/v1/report", "get", "A page on how good predictions were of rows that came since the "
     "start, before they were learnt.", None, None, "200"),
    ("/live", "get", "Whether the service runs.", None, None, "200"),
    ("/ready", "get", "Whether a warm model answers: all is compiled, and predictions were made.",
     None, None, "200"),
    ("/metrics", "get", "Numbers for Prometheus.", None, None, "200"),
    ("/v2", "get", "The Open Inference Protocol: the server.", None, None, "200"),
    ("/v2/health/live", "get", "Whether the service runs.", None, None, "200"),
    ("/v2/health/ready", "get", "Whether a warm model answers.", None, None, "200"),
    ("/v2/models/{model}", "get", "Inputs and outputs of the model, which has the name of the "
     "ledger.", None, None, "200"),
    ("/v2/models/{model}/ready", "get", "Whether the model answers.", None, None, "200"),
    ("/v2/models/{model}/infer", "post", "Predict tensors: one (n, d) named x, or one per column.",
     TENSORS, {"inputs": [{"name": "t", "shape": [1], "datatype": "FP64", "data": [71.5]},
                          {"name": "p", "shape": [1], "datatype": "FP64", "data": [2.0]}],
               "parameters": {"interval": 0.9}}, "200"),
)  # fmt: skip
CODES = {
    "400": "not JSON, not UTF-8", "401": "no token, or a wrong one", "408": "too slow",
    "409": "an id of other rows, or of rows that were forgotten", "413": "too large",
    "415": "not application/json", "422": "row and column are named", "429": "try again later",
    "503": "not ready, or not acknowledged: send it again with the same id",
    "507": "the disk or the ledger is full: nothing was learnt",
}  # fmt: skip
ERROR = _object(error=_object(
    status={"type": "integer"}, message=TEXT, row={"type": "integer"}, column={"type": "string"},
))  # fmt: skip


def described_routes() -> Schema:
    """Describe the routes as OpenAPI does."""
    paths: Schema = {}
    for path, method, words, body, example, code in ROUTES:
        own: Schema = {"summary": words, "responses": {
            code: {"description": "done"}, "4XX": {"$ref": "#/components/responses/refused"},
        }}  # fmt: skip
        if "{" in path:
            name = path.partition("{")[2].partition("}")[0]
            own["parameters"] = [{"name": name, "in": "path", "required": True, "schema": TEXT}]
        if body is not None:
            content = {"schema": body, "example": example}
            own["requestBody"] = {"required": True, "content": {"application/json": content}}
        paths.setdefault(path, {})[method] = own
    return {
        "openapi": "3.1.0",
        "info": {"title": "collegium", "version": __version__,
                 "description": "A model that learns while it answers, from a ledger of rows."},
        "paths": paths,
        "components": {
            "responses": {"refused": {
                "description": "; ".join(f"{code}: {words}" for code, words in CODES.items()),
                "content": {"application/json": {"schema": ERROR}},
            }},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }  # fmt: skip


STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5c6675; --line: #d9dee6;
  --paper: #fff; --code: #f4f6f9; --mark: #20639b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa5b5; --line: #333c49;
  --paper: #14181e; --code: #1d232c; --mark: #7db7e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 52rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } a { color: var(--mark); } .soft { color: var(--soft); }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; }
summary { padding: .55rem .8rem; cursor: pointer; display: flex; gap: .8rem; flex-wrap: wrap; }
details > div { padding: 0 .8rem .8rem; }
.verb { font: 600 .78rem/1.7 ui-monospace, monospace; color: var(--paper);
  background: var(--mark); border-radius: 4px; padding: 0 .45rem; min-width: 3.4rem;
  text-align: center; }
code, pre { font: .86rem/1.5 ui-monospace, monospace; }
pre { background: var(--code); border-radius: 6px; padding: .7rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-top: 1px solid var(--line); } th { font-weight: 600; color: var(--soft); }
"""


def routes_page(described: Schema) -> str:
    """Write the page of a description: no scripts, nothing from elsewhere."""
    info, parts = described["info"], []
    for path, methods in described["paths"].items():
        for method, own in methods.items():
            parts.append(_route(path, method, own))
    codes = "".join(
        f"<tr><td><code>{code}</code></td><td>{escape(words)}</td></tr>"
        for code, words in CODES.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} <span class=soft>{escape(info['version'])}</span></h1>"
        f"<p class=soft>{escape(info['description'])} For programs: "
        '<a href="openapi.json">openapi.json</a>.</p>'
        f"<h2>Routes</h2>{''.join(parts)}"
        f"<h2>When a request is refused</h2><div class=wide><table>{codes}</table></div>"
        "</body></html>"
    )


def _route(path: str, method: str, own: Schema) -> str:
    body, opened = "", ""
    if "requestBody" in own:
        content = own["requestBody"]["content"]["application/json"]
        body = _fields(content["schema"]) + _example(path, method, content["example"])
        opened = " open" if path in ("/v1/predict", "/v1/learn") else ""
    return (
        f"<details{opened}><summary><span class=verb>{method.upper()}</span>"
        f"<code>{escape(path)}</code></summary><div><p>{escape(own['summary'])}</p>{body}</div>"
        "</details>"
    )


def _fields(schema: Schema) -> str:
    needed = schema.get("required", [])
    lines = [
        f"<tr><td><code>{escape(name)}</code>{' *' if name in needed else ''}</td>"
        f"<td>{escape(_kind(one))}</td><td>{escape(one.get('description', ''))}</td></tr>"
        for name, one in schema["properties"].items()
    ]
    return f"<div class=wide><table>{''.join(lines)}</table></div>"


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join(schema["enum"])
    kind = schema.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else kind


def _example(path: str, method: str, example: Any) -> str:
    text = json.dumps(example, indent=1)
    return f"<pre>{method.upper()} {escape(path)}\n{escape(text)}</pre>"
