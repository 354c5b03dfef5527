"""Sizes of a ledger: changing one changes time, memory and rounding, not what is promised."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LedgerTuning:
    """How many rows are where."""

    rows_in_memory: int = 1_000_000  # of a model, beyond which its rows are in a store
    batch: int = 100_000  # rows whose messages are added at a time
    rebuilt: float = 0.5  # share of new rows from which a store is built anew
    wait: float = 60.0  # seconds to wait for another process that changes the store


TUNING = LedgerTuning()
