"""Tuning numbers of the store: changing one changes files and their speed, not nearest rows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StoreTuning:
    """Sizes of the parts in which rows are read, sorted and written."""

    slice_bytes: int = 8_000_000  # bytes of records handled at a time
    bucket_bytes: int = 32_000_000  # bytes of rows sorted in memory at a time
    sample_rows: int = 65_536  # rows of the sample that places the planes, at most
    sample_bytes: int = 32_000_000  # bytes of this sample, at most
    rows_per_plane: int = 16  # sampled rows behind each plane, at least
    mark_rows: int = 100  # rows that identify a store
    cells_ahead: int = 16  # compared with their checksums at once, where cells are read in order
    lock_seconds: float = 10.0  # wait for another process that writes, at most


TUNING = StoreTuning()
