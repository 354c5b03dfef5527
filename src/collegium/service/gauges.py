"""Counts and times of a service, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping

#: Upper bounds of the bins of times, in seconds.
BOUNDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Labels = Mapping[str, object]


class Histogram:
    """Numbers of times below some bounds."""

    def __init__(self) -> None:
        self.counts, self.total = [0] * (len(BOUNDS) + 1), 0.0

    def note(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        below = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self.counts):
            below += count
            yield metric_line(f"{name}_bucket", below, {**labels, "le": bound})
        yield metric_line(f"{name}_sum", self.total, labels)
        yield metric_line(f"{name}_count", below, labels)


class Requests:
    """Requests by route and code, and the time that answers took."""

    def __init__(self) -> None:
        self.codes: defaultdict[tuple[str, int], int] = defaultdict(int)
        self.seconds: defaultdict[str, Histogram] = defaultdict(Histogram)

    def note(self, route: str, code: int, seconds: float) -> None:
        self.codes[route, code] += 1
        self.seconds[route].note(seconds)

    def lines(self) -> Iterable[str]:
        yield from head("collegium_requests_total", "counter", "Requests by route and code.")
        for (route, code), count in sorted(self.codes.items()):
            yield metric_line("collegium_requests_total", count, {"route": route, "code": code})
        name = "collegium_request_seconds"
        yield from head(name, "histogram", "Seconds from the head of a request to its answer.")
        for route, own in sorted(self.seconds.items()):
            yield from own.lines(name, {"route": route})


def head(name: str, kind: str, words: str) -> tuple[str, str]:
    """Say what a number is."""
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def metric_line(name: str, value: float, labels: Labels | None = None) -> str:
    """Write one number."""
    said = ",".join(f'{key}="{escaped(str(own))}"' for key, own in (labels or {}).items())
    return f"{name}{{{said}}} {value:g}" if said and isinstance(value, float) else (
        f"{name}{{{said}}} {value}" if said else f"{name} {value}"
    )  # fmt: skip


def escaped(text: str) -> str:
    """Write a text as a value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def gauge(name: str, value: float | None, words: str, labels: Labels | None = None) -> list[str]:
    """Write one number that goes up and down; None: it is not known yet."""
    return [
        *head(name, "gauge", words),
        *([] if value is None else [metric_line(name, value, labels)]),
    ]


def counter(name: str, value: float, words: str) -> list[str]:
    """Write one number that goes up."""
    return [*head(name, "counter", words), metric_line(name, value)]


def resident_bytes(pid: int) -> int | None:
    """Memory of a process; None: this system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return None
