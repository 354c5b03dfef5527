"""Model files for commands: reading, writing, and what their manifests say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from ..interface.checks.limits import limits_allowed
from ..interface.functions.loading import load
from ..interface.options import Limits
from ..modelfile.reading import file_bytes, read_manifest
from .data import Roles
from .failures import Failure, of_fit, of_model_file
from .terminal import Terminal, size_in_words

#: The attribute of a model that keeps the names of columns with a meaning.
ROLES = "roles_"


def opened_model(path: str, jobs: int | None = None) -> Any:
    """Load a model from its file."""
    with of_model_file(path):
        model = load(path)
    if jobs is not None and hasattr(model, "n_jobs"):
        model.n_jobs = jobs
    return model


def manifest_of(path: str) -> dict[str, Any]:
    """Read the manifest of a model file."""
    with of_model_file(path):
        return read_manifest(file_bytes(path, mapped=True))[1]


def roles_in(model: Any, target: str | None, weight: str | None, exposure: str | None) -> Roles:
    """Columns with a meaning: as named now, or else as the model was fitted."""
    known = getattr(model, ROLES, {})
    y = target or known.get("y")
    if y is None:
        raise click.UsageError("the model does not know the name of its target: give it with -y")
    check_exposed(model, exposure)
    return Roles(y, weight or known.get("weight"), exposure or known.get("exposure"))


def check_exposed(model: Any, exposure: str | None) -> None:
    """Refuse exposures where the likelihood of a model has none."""
    likelihoods = getattr(model.model_, "likelihoods", ())
    if exposure is not None and not any(one.takes_exposure for one in likelihoods):
        raise click.UsageError(
            f"--exposure {exposure}: the model is not one of counts: leave it out"
        )


def written(model: Any, path: str, roles: Roles) -> dict[str, Any]:
    """Save a model without what belongs to this run, and say what its file is."""
    for name, usual in (("engine", None), ("n_jobs", None), ("verbose", 0)):
        if hasattr(model, name):
            setattr(model, name, usual)
    setattr(model, ROLES, {"y": roles.y, "weight": roles.weight, "exposure": roles.exposure})
    model.save(path)
    said = manifest_of(path)
    return {
        "path": path, "bytes": os.path.getsize(path), "class": type(model).__name__,
        "basis": said["basis"], "rows_inside": said["rows inside"],
    }  # fmt: skip


def file_words(found: dict[str, Any]) -> str:
    """Say what a model file is, in one line."""
    inside = "rows inside" if found["rows_inside"] else "no rows inside"
    basis = "" if found["basis"] is None else f"basis {found['basis'][:8]}, "
    return f"{found['path']}  {size_in_words(found['bytes'])}, {basis}{inside}"


def check_output(path: str, data: Sequence[str] = ()) -> str:
    """Refuse a path that is no file of its own or has no folder, before any work is done."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise click.UsageError(f"-o {path}: there is no folder {folder}: make it first")
    if path == "-" or os.path.isdir(path):
        raise click.UsageError(f"-o {path}: give the path of a file")
    if os.path.exists(path) and any(os.path.exists(o) and os.path.samefile(o, path) for o in data):
        raise click.UsageError(f"-o {path}: this is one of the files that are read: give another")
    return path


def limits_of(time: float | None, memory: str | None) -> tuple[Limits | None, float]:
    """`limits` for an estimator, and the bytes that they allow."""
    asked = None if time is None and memory is None else Limits(time, memory)
    try:
        return asked, limits_allowed(asked)[1]
    except ValueError as error:
        raise click.UsageError(f"--memory {memory}: give a size such as 2GB") from error


def engine_of(address: str | None) -> Any:
    """The engine that an address names."""
    if address is None:
        return None
    kind, _, place = address.partition("://")
    if kind != "dask" or not place:
        raise click.UsageError(f"--engine {address}: give the scheduler of Dask: dask://host:port")
    from ..engines.cluster import cluster_library
    from ..engines.dask import DaskEngine

    distributed = cluster_library("distributed", "dask")
    try:
        client = distributed.Client(f"tcp://{place}", timeout=10)
    except OSError as error:
        raise click.UsageError(f"--engine {address}: nobody answers there ({error})") from error
    click.get_current_context().call_on_close(client.close)
    return DaskEngine(client)


def learn_by(terminal: Terminal, model: Any, learn: Any, hear: Any = None) -> None:
    """Call `learn`, with progress; errors name an option or the data."""
    if hasattr(model, "verbose"):
        model.verbose = 1
    with terminal.listening(hear):
        try:
            learn()
        except ValueError as error:
            found: Failure | None = of_fit(error, list(model.get_params(deep=False)))
            if found is None:
                raise
            raise found from error
