"""The Open Inference Protocol, version 2: predictions as tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from ..numerics.version import __version__
from .given import Row, check_value, given_text, is_text, too_many
from .refusals import Refusal
from .routes import JsonAnswer, body_of, options_of
from .service import Service
from .serving import ServedModel

Array = np.ndarray
#: Types of tensors that are numbers; BYTES are texts.
NUMBERS = ("FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16",
           "UINT8", "BOOL")  # fmt: skip
#: The one tensor of a model without names of columns.
INPUT = "x"


async def server(service: Service, request: Request) -> Response:
    return JsonAnswer({"name": "collegium", "version": __version__, "extensions": []})


def model_asked_for(service: Service, request: Request) -> ServedModel:
    """Return the model of a path."""
    if request.path_params["model"] != service.settings.name:
        raise Refusal(404, f"there is one model, {service.settings.name!r}")
    return service.batcher.present()


async def model_metadata(service: Service, request: Request) -> Response:
    served = model_asked_for(service, request)
    names, kinds = served.shape.names, served.shape.kinds
    if names is None:
        inputs = [{"name": INPUT, "datatype": "FP64", "shape": [-1, len(kinds)]}]
    else:
        types = ["FP64" if kind == "number" else "BYTES" for kind in kinds]
        inputs = [
            {"name": name, "datatype": kind, "shape": [-1]} for name, kind in zip(names, types)
        ]
    outputs = ["probability"] if served.labels else ["mean", "std", "lower", "upper"]
    return JsonAnswer({
        "name": service.settings.name, "versions": [str(served.lsn)], "platform": "collegium",
        "inputs": inputs,
        "outputs": [{"name": name, "datatype": "FP64", "shape": [-1]} for name in outputs],
    })  # fmt: skip


async def model_ready(service: Service, request: Request) -> Response:
    model_asked_for(service, request)
    return JsonAnswer({"name": service.settings.name, "ready": True})


async def infer(service: Service, request: Request) -> Response:
    """Predict tensors: one (n, d), or one for each column."""
    served, body = model_asked_for(service, request), await body_of(request)
    rows = rows_of_tensors(body.get("inputs"), service.settings.most_rows)
    parameters = body.get("parameters", {})
    if not isinstance(parameters, dict):
        raise Refusal(422, "give an object", column="parameters")
    known = {name: parameters[name] for name in ("interval", "level") if name in parameters}
    options, exposure = options_of(known, served, len(rows))
    found, served = await service.batcher.ask(rows, options, exposure)
    wanted = wanted_outputs(body, list(found))
    said = {"id": given_text(body, "id")} if "id" in body else {}
    return JsonAnswer({
        "model_name": service.settings.name, "model_version": str(served.lsn), **said,
        "outputs": [as_tensor(name, found[name]) for name in wanted],
    })  # fmt: skip


def wanted_outputs(body: Mapping[str, Any], have: list[str]) -> list[str]:
    """Names of the outputs that are asked for; all where none is."""
    asked = body.get("outputs")
    if asked is None:
        return have
    if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked):
        raise Refusal(422, "give a list of objects with names", column="outputs")
    names = [one.get("name") for one in asked]
    if wrong := [str(name)[:50] for name in names if name not in have]:
        raise Refusal(422, f"there is no output {wrong[0]!r}: there are {have}", column="outputs")
    return names


def as_tensor(name: str, values: Array) -> dict[str, Any]:
    return {
        "name": name, "shape": list(values.shape), "datatype": "FP64",
        "data": values.ravel().tolist(),
    }  # fmt: skip


def rows_of_tensors(inputs: Any, most: int) -> list[Row]:
    """Read tensors as rows."""
    if not isinstance(inputs, list) or not inputs:
        raise Refusal(422, 'give "inputs", a list of tensors', column="inputs")
    own = [tensor_values(one, most) for one in inputs]
    names = [name for name, _, _ in own]
    if len(set(names)) < len(names):
        raise Refusal(422, "two tensors have one name", column="inputs")
    name, shape, values = own[0]
    if len(own) == 1 and len(shape) == 2 and shape[1] != 1:
        d = shape[1]
        return [values[i * d : (i + 1) * d] for i in range(shape[0])]
    columns = {}
    for name, shape, values in own:
        if len(shape) == 2 and shape[1] != 1:
            raise Refusal(422, "give one tensor (n, d), or one (n) or (n, 1) a column", column=name)
        if len(values) != len(own[0][2]):
            raise Refusal(422, "tensors differ in their length", column=name)
        columns[name] = values
    if names == [INPUT]:
        return [[value] for value in columns[INPUT]]
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def tensor_values(one: Any, most: int) -> tuple[str, list[int], list[Any]]:
    """Check a tensor: its name, shape and values in a flat list."""
    if not isinstance(one, dict) or not is_text(one.get("name")):
        raise Refusal(422, "a tensor is an object with a name", column="inputs")
    name, shape, kind, data = one["name"], one.get("shape"), one.get("datatype"), one.get("data")
    if (
        not isinstance(shape, list) or len(shape) not in (1, 2)
        or not all(type(size) is int and 0 < size < 2**31 for size in shape)
    ):  # fmt: skip
        raise Refusal(422, "shape is [n] or [n, d], of numbers above zero", column=name)
    if shape[0] > most:
        raise too_many(shape[0], most)
    if kind not in (*NUMBERS, "BYTES"):
        words = f"datatype is one of {[*NUMBERS, 'BYTES']}"
        raise Refusal(422, words, column=name)
    flat = flattened(data)
    if flat is None or len(flat) != math.prod(shape):
        raise Refusal(422, f"data does not have the shape {shape}", column=name)
    columns = shape[1] if len(shape) == 2 else 1
    for i, value in enumerate(flat):
        check_value(value, i // columns, name)
        if isinstance(value, str) != (kind == "BYTES") and value is not None:
            words = f"{str(value)[:50]!r} is not of the datatype {kind}"
            raise Refusal(422, words, row=i // columns, column=name)
    return name, shape, flat


def flattened(data: Any) -> list[Any] | None:
    """A list of values, or of lists of these, as one; None: it is neither."""
    if not isinstance(data, list):
        return None
    if data and all(isinstance(one, list) for one in data):
        return [value for one in data for value in one]
    return data
