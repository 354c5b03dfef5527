"""Tuning numbers of this room: none changes answers, only the time that they take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EnginesTuning:
    """Sizes of the tasks of a cluster, and its patience."""

    fan_in: int = 8  # sums that one adder takes; the tree of floating-point sums needs 2ᵏ
    most_chunks: int = 512  # chunks of a run, at most
    most_bytes: int = 1 << 22  # bytes of the chunks of a run, at most
    shares: int = 4  # runs per thread of a cluster in each call, at least
    short: int = 4  # a run is not made shorter than this to give a thread several
    ahead: int = 4  # runs per thread that are submitted ahead
    large: int = 1 << 16  # a function of more bytes is sent once, not with every run
    attempts: int = 5  # attempts at work whose workers were lost
    pauses: tuple[float, ...] = (0.1, 1.0)  # seconds before each retry of a chunk after an OSError
    look: float = 5.0  # seconds between two looks at the workers
    patience: float = 120.0  # seconds without any worker before work is given up


TUNING = EnginesTuning()
