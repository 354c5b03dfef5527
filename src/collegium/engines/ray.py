"""A cluster of Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from .cluster import WorkersLost, cluster_library
from .remote import Remote
from .tasks import Report, worker_report

#: The result of a task, and a token by which it is awaited.
Future = tuple[Any, Any]


class RayEngine(Remote):
    """Sums and maps on the workers of the Ray cluster that this process is connected to.

    Parameters
    ----------
    mixed : {"warn", "refuse"}, default="warn"
        What to do if workers have other versions, or processors that round differently.

    Call `ray.init(…)` first. A pickled copy in a process without Ray, or inside a task, works on
    its own, with the same bits.
    """

    def __init__(self, mixed: str = "warn") -> None:
        cluster_library("ray", "ray")
        super().__init__(mixed)

    def __repr__(self) -> str:
        return "RayEngine()"

    def threads(self) -> int:
        ray = cluster_library("ray", "ray")
        if not ray.is_initialized():
            if self.alone:
                return 0
            raise ValueError("Ray is not connected to a cluster: call ray.init(…) first")
        if ray.get_runtime_context().get_task_id() is not None:
            return 0  # a task that waits for other tasks may wait for ever
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable, *args: Any) -> Future:
        given = [one[0] if isinstance(one, tuple) else one for one in args]
        result, token = _task().remote(function, *given)
        return result, token

    def done(self, future: Future) -> bool:
        if not cluster_library("ray", "ray").wait([future[1]], timeout=0)[0]:
            return False
        try:
            self.wait(future)
        except Exception:  # raised when its turn comes
            return False
        return True

    def wait(self, future: Future) -> None:
        _ask([future[1]])

    def results(self, futures: Sequence[Future]) -> list[Any]:
        return _ask([result for result, _ in futures])

    def release(self, futures: Iterable[Future]) -> None:
        pass  # Ray counts references

    def cancel(self, futures: Iterable[Future]) -> None:
        """Let runs go on: a `ray.cancel` at the moment a task ends crashes the process that
        asked for it (ray-project/ray#54798)."""

    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        ray, scheduling = (
            cluster_library("ray", "ray"),
            cluster_library("ray.util.scheduling_strategies", "ray"),
        )
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        asked = {
            node: ray.remote(worker_report)
            .options(
                scheduling_strategy=scheduling.NodeAffinitySchedulingStrategy(node, soft=False)
            )
            .remote(probe)
            for node in nodes
            if node not in known
        }
        return {node: _ask([future])[0] for node, future in asked.items()}


@cache
def _task() -> Any:
    """Make a task that calls any function of this package."""
    return cluster_library("ray", "ray").remote(num_returns=2)(_both)


def _both(function: Callable, *args: Any) -> tuple[Any, None]:
    return function(*args), None


def _ask(references: list[Any]) -> list[Any]:
    """Get the results of tasks; raise their own errors, or WorkersLost."""
    ray = cluster_library("ray", "ray")
    lost = (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.OutOfMemoryError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.ObjectLostError,
    )
    try:
        return ray.get(references)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        while isinstance(cause, ray.exceptions.RayTaskError):  # from a task that it depends on
            cause = cause.cause
        if isinstance(cause, lost):
            raise WorkersLost(str(cause)) from error
        if isinstance(cause, BaseException):
            raise cause from error
        raise
    except lost as error:
        raise WorkersLost(str(error)) from error
