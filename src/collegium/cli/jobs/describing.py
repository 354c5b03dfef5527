"""Say what model files hold, and what differs between two of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..models import ROLES, manifest_of, opened_model
from ..terminal import Terminal, size_in_words

#: Arguments that say how a model is computed, not which one it is.
HOW = ("n_jobs", "verbose", "engine")
#: Digits of the identity of a basis that people see.
BASIS = 16


def _read(value: Callable[[], Any]) -> Any:
    """A value of a model; None where it has none."""
    try:
        return value()
    except (AttributeError, ValueError, NotImplementedError):
        return None


def description_of(path: str) -> dict[str, Any]:
    """A model file as plain values."""
    said, model = manifest_of(path), opened_model(path)
    usual = type(model)().get_params(deep=False)
    given = {name: repr(value) for name, value in model.get_params(deep=False).items()}
    names, roles = getattr(model, "feature_names_in_", None), getattr(model, ROLES, {})
    anchors, own = _read(lambda: model.anchors_), model.model_
    noise = _read(lambda: np.asarray(model.noise_).tolist())
    classes = getattr(model, "classes_", None)
    return {
        "file": path, "bytes": os.path.getsize(path), "class": type(model).__name__,
        "columns": None if names is None else list(map(str, names)),
        "target": roles.get("y"), "weight": roles.get("weight"), "exposure": roles.get("exposure"),
        "classes": None if classes is None else classes.tolist(),
        "rows": _read(lambda: float(own.total_weight)), "rows inside": said["rows inside"],
        "chunks": _read(lambda: int(model.n_chunks_)),
        "anchors": None if anchors is None else len(anchors),
        "kernel": _read(lambda: repr(model.kernel_)), "noise": noise,
        "basis": said["basis"], "versions": said["versions"],
        "arguments": {
            name: value for name, value in given.items()
            if name not in HOW and value != repr(usual[name])
        },
    }  # fmt: skip


def run_info(terminal: Terminal, path: str, *, summary: bool) -> None:
    """Describe a model file."""
    found = description_of(path)
    if summary:
        model = opened_model(path)
        found["summary"] = model.summary() if hasattr(model, "summary") else ""
    if terminal.as_json:
        terminal.answer(found)
        return
    inside = found["rows inside"]
    terminal.tell(path, f"{size_in_words(found['bytes'])}, {found['class']}")
    if found["columns"] is not None:
        target = "" if found["target"] is None else f"{found['target']} from "
        terminal.tell("columns", target + ", ".join(found["columns"]))
    rows = "" if found["rows"] is None else f"{found['rows']:,.10g} learnt from, "
    terminal.tell("rows", f"{rows}{f'{inside:,} inside' if inside else 'none inside'}")
    for name in ("classes", "anchors", "kernel", "noise", "basis"):
        if found[name] is not None:
            terminal.tell(name, _in_words(found[name], name))
    arguments = ", ".join(f"{name}={value}" for name, value in found["arguments"].items())
    terminal.tell("arguments", arguments or "all as they are by default")
    versions = found["versions"]
    terminal.tell("written by", ", ".join(f"{name} {one}" for name, one in versions.items()))
    for one in found.get("summary", "").splitlines():
        terminal.tell("", one)


def _in_words(value: Any, name: str) -> str:
    if name == "basis" and isinstance(value, str):
        return value[:BASIS]
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def run_diff(terminal: Terminal, a: str, b: str) -> None:
    """Say what differs between two model files."""
    found = differences_of(description_of(a), description_of(b))
    first, second = opened_model(a), opened_model(b)
    ours, theirs = _read(lambda: first.anchors_), _read(lambda: second.anchors_)
    if "anchors" not in found and not _equal(ours, theirs):
        found["anchors"] = [len(ours), f"{len(theirs)} at other places"]
    if terminal.as_json:
        terminal.answer({"same": not found, "differences": found})
        return
    if not found:
        terminal.tell("same", f"{a} and {b} hold the same model, as far as this tells")
    for name, (one, other) in found.items():
        words = [_in_words(value, name) for value in (one, other)]
        words = words if words[0] != words[1] else [repr(one), repr(other)]
        terminal.tell(name, "  ->  ".join(words))


def differences_of(a: dict[str, Any], b: dict[str, Any]) -> dict[str, list[Any]]:
    """Values of two descriptions that differ, side by side; arguments and versions one by one."""
    found = {}
    for name in a:
        if name in ("arguments", "versions"):
            for key in sorted({*a[name], *b[name]}):
                one, other = (own[name].get(key, "default") for own in (a, b))
                if one != other:
                    found[key] = [one, other]
        elif name not in ("file", "bytes") and a[name] != b[name]:
            found[name] = [a[name], b[name]]
    return found


def _equal(one: Any, other: Any) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
