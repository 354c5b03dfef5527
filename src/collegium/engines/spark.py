"""A cluster of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from .cluster import Cluster, WorkersLost, cluster_library, run_length
from .tasks import Report, RunTask, add_sums, dumps, run, run_in_child, worker_report
from .tuning import TUNING

#: Whether a run has a result, and the result or the error.
Outcome = tuple[bool, Any]


class SparkEngine(Cluster):
    """Sums and maps on the executors of a Spark cluster.

    Parameters
    ----------
    session : pyspark.sql.SparkSession, default=None
        None: the active one when work starts. Spark Connect is not supported.
    mixed : {"warn", "refuse"}, default="warn"
        What to do if workers have other versions, or processors that round differently.

    Copies (`clone`) share the session. A pickled copy has none: it takes the active one of its
    process; without one, and inside a task, it works on its own, with the same bits.
    """

    session: Any = None

    def __init__(self, session: Any = None, mixed: str = "warn") -> None:
        cluster_library("pyspark", "spark")
        super().__init__(mixed)
        self.session = session

    def __repr__(self) -> str:
        return f"SparkEngine({'' if self.session is None else self.session!r})"

    def _context(self) -> Any:
        """Find the context to use; None where this process works on its own."""
        pyspark = cluster_library("pyspark", "spark")
        if pyspark.TaskContext.get() is not None:
            return None
        if self.session is not None:
            return self.session.sparkContext
        found = pyspark.SparkContext._active_spark_context
        if found is None and not self.alone:
            raise ValueError(
                "there is no Spark session: make one (SparkSession.builder…getOrCreate()), or "
                "give it: SparkEngine(session)"
            )
        return found

    def threads(self) -> int:
        context = self._context()
        return 0 if context is None else context.defaultParallelism

    def mapped(self, work: RunTask, items: Sequence[Any], threads: int) -> Iterator[Any]:
        length = run_length(items, threads)
        step = length * TUNING.ahead * threads  # results of so many items are held at a time
        for k in range(0, len(items), step):
            for outcome in self._tried(work, items[k : k + step], length, _collected):
                yield _value(outcome)

    def reduced(self, work: RunTask, chunks: Sequence[Any], threads: int) -> Any:
        return _value(self._tried(work, chunks, run_length(chunks, threads), _added))

    def _tried(self, work: RunTask, items: Sequence[Any], length: int, finish: Callable) -> Any:
        """Apply `finish` to the outcomes of runs.

        If an item killed its worker on every attempt of Spark, all runs are repeated in processes
        that identify the item.
        """
        runs = [dumps(items[k : k + length]) for k in range(0, len(items), length)]
        numbered, own = list(enumerate(runs)), dumps(work)
        failed = cluster_library("py4j.protocol", "spark").Py4JJavaError
        for function in (run, run_in_child):
            begun = self._context().parallelize(numbered, len(runs))
            try:
                return finish(begun.map(partial(_outcome, function, own)), len(runs))
            except failed as error:
                lost = WorkersLost(str(error))
        raise lost

    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        """Ask with several tasks per thread: Spark lets nobody choose where a task runs."""
        context = self._context()
        status = context._jsc.sc().getExecutorMemoryStatus()
        own = {str(one) for one in status.keys().mkString(",").split(",")} - known
        if not own:
            return {}
        count = 4 * context.defaultParallelism
        asked = context.parallelize(range(count), count).map(partial(_reported, dumps(probe)))
        found = set(asked.collect())
        return {**{one: one for one in found}, **dict.fromkeys(own, next(iter(found)))}


def _reported(probe: bytes, _: int) -> Report:
    return worker_report(cluster_library("cloudpickle", "spark").loads(probe))


def _outcome(function: Callable, work: bytes, numbered: tuple[int, bytes]) -> tuple[int, Outcome]:
    """Return errors as results: Spark would retry, and report them as text."""
    number, items = numbered
    try:
        return number, (True, function(work, items))
    except Exception as error:
        return number, (False, error)


def _collected(outcomes: Any, count: int) -> list[Outcome]:
    return [outcome for _, outcome in sorted(outcomes.collect(), key=lambda one: one[0])]


def _added(outcomes: Any, count: int) -> Outcome:
    """Σ runs, added by tasks that take eight at a time."""
    while count > 1:
        count = -(-count // TUNING.fan_in)
        outcomes = outcomes.map(_towards_group).groupByKey(count).mapValues(_sum_of_group)
    return outcomes.collect()[0][1]


def _towards_group(numbered: tuple[int, Outcome]) -> tuple[int, tuple[int, Outcome]]:
    return numbered[0] // TUNING.fan_in, numbered


def _sum_of_group(group: Iterable[tuple[int, Outcome]]) -> Outcome:
    """Add in the order of numbers; or return the first error."""
    outcomes = [outcome for _, outcome in sorted(group, key=lambda one: one[0])]
    for outcome in outcomes:
        if not outcome[0]:
            return outcome
    try:
        return True, add_sums(*(value for _, value in outcomes))
    except Exception as error:
        return False, error


def _value(outcome: Outcome) -> Any:
    good, value = outcome
    if good:
        return value
    raise value
