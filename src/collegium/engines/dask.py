"""A cluster of Dask."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

from .cluster import WorkersLost, cluster_library
from .remote import Remote
from .tasks import Report, worker_report
from .tuning import TUNING

NOBODY = (
    f"the Dask cluster has had no worker for {TUNING.patience:.0f} s: start some, or restart it"
)


class DaskEngine(Remote):
    """Sums and maps on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, default=None
        None: the current client of the process when work starts.
    mixed : {"warn", "refuse"}, default="warn"
        What to do if workers have other versions, or processors that round differently.

    Copies (`clone`) share the client. A pickled copy has none: it takes the current client of
    its process; without one, and inside a task, it works on its own, with the same bits.
    """

    client: Any = None

    def __init__(self, client: Any = None, mixed: str = "warn") -> None:
        cluster_library("distributed", "dask")
        super().__init__(mixed)
        self.client = client

    def __repr__(self) -> str:
        return f"DaskEngine({'' if self.client is None else self.client!r})"

    def _client(self) -> Any:
        """Find the client to use; None where this process works on its own."""
        distributed = cluster_library("distributed", "dask")
        try:
            distributed.get_worker()
        except ValueError:
            pass
        else:
            return None  # a task that waits for other tasks may wait for ever
        if self.client is not None:
            return self.client
        try:
            return distributed.default_client()
        except ValueError:
            if self.alone:
                return None
            raise ValueError(
                "there is no Dask client: make one (distributed.Client(address)), or give it: "
                "DaskEngine(client)"
            ) from None

    def threads(self) -> int:
        client = self._client()
        if client is None:
            return 0
        start = time.monotonic()
        while not (found := sum(client.nthreads().values())):
            if time.monotonic() - start > TUNING.patience:
                raise WorkersLost(NOBODY)
            time.sleep(0.1)
        return found

    def submit(self, function: Callable, *args: Any) -> Any:
        key = f"collegium-{function.__name__}-{uuid4().hex}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client().submit(function, *args, key=key, pure=False)

    def done(self, future: Any) -> bool:
        return future.status == "finished"

    def wait(self, future: Any) -> None:
        seen = time.monotonic()
        while not future.done():
            try:
                cluster_library("distributed", "dask").wait(future, timeout=TUNING.look)
            except TimeoutError:
                if future.client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > TUNING.patience:
                    raise WorkersLost(NOBODY) from None
        if future.status != "finished":
            self._ask(future.result, timeout=TUNING.look)

    def results(self, futures: Sequence[Any]) -> list[Any]:
        for future in futures:
            self.wait(future)
        return self._ask(self._client().gather, list(futures))

    def _ask(self, ask: Callable, *args: Any, **options: Any) -> Any:
        try:
            return ask(*args, **options)
        except cluster_library("distributed", "dask").KilledWorker as error:
            raise WorkersLost(str(error)) from error

    def release(self, futures: Iterable[Any]) -> None:
        for future in futures:
            future.release()

    def cancel(self, futures: Iterable[Any]) -> None:
        self.release(futures)  # the cluster drops tasks without futures

    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        client = self._client()
        new = [address for address in client.nthreads() if address not in known]
        found = client.run(worker_report, probe, workers=new, on_error="return") if new else {}
        for one in found.values():
            if isinstance(one, Exception) and not isinstance(one, OSError):
                raise one
        return {address: one for address, one in found.items() if isinstance(one, Report)}
