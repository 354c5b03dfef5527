"""Rows sorted into a store, before a model is fitted to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...interface.words.progress import Progress
from ...numerics.fingerprint import fingerprint
from ...rows.rows import Rows
from ...rows.scaling import merged
from ...rows.store.folder import MANIFEST
from ...rows.store.records import Block, pack_blocks
from ...rows.store.sample import HashSample
from ...rows.store.store import Store
from ...transforms.inputs import InputTransform
from ...transforms.targets import check_positive
from ...transforms.warping import Warping
from ..settings import Settings
from ..tuning import TUNING


def fill(
    settings: Settings, blocks: Iterable[Block], n: int, origin: str, say: Progress, choose: Any
) -> tuple[Store, Warping | None]:
    """Sort n rows in blocks into a store; transforms are chosen first, where they are wanted.

    Blocks are read again and again. `origin` tells them from others; "": nothing does. `choose`
    chooses the transforms (`job.Choose`).
    """
    warping = None
    if settings.transforms.wanted:
        warping = chosen_transforms(settings, blocks, say, choose)
    places = None if warping is None else warping.inputs
    if places is not None:
        origin = origin and fingerprint(origin, places)
        blocks = Placed(blocks, places)
    return filled_store(settings, blocks, n, origin, say), warping


def chosen_transforms(
    settings: Settings, blocks: Iterable[Block], say: Progress, choose: Any
) -> Warping | None:
    """Choose transforms by a sample of the rows; None: they stay as they are."""
    say.task = "choosing transforms"
    sample = HashSample(TUNING.disk.sample)
    for records in pack_blocks(blocks):
        if settings.transforms.y == "log":
            check_positive(records["y"])  # of all rows, before they are sorted
        sample.add(records)
    found = sample.records()
    rows = Rows(*(np.asarray(found[name], np.float64) for name in "Xyw"))
    rows, _ = merged(rows, None, in_order=False)
    warping = choose(rows, settings, say, settings.clock.out, more=True)
    return warping if warping.any else None


@dataclass(frozen=True, eq=False)
class Placed:
    """Blocks whose inputs are transformed."""

    blocks: Iterable[Block]
    inputs: InputTransform

    def __iter__(self) -> Iterator[Block]:
        for X, y, w, first in self.blocks:
            yield self.inputs.forward(np.asarray(X, np.float64)), y, w, first


def filled_store(
    settings: Settings, blocks: Iterable[Block], n: int, origin: str, say: Progress
) -> Store:
    """Make the store that settings name, with the rows of these blocks.

    Rows that an earlier call has sorted already are used as they are.
    """
    path = Path(settings.store or "")
    if (path / MANIFEST).exists():
        store = Store.open(path)
        changed = store.n_segments > 1 or store.n_forgotten
        if not origin or store.origin != origin or changed:
            raise ValueError(
                f"store={str(path)!r} holds other rows than these, or some were added or "
                "forgotten since: give another path, or delete that folder first"
            )
        say(f"{len(store)} rows are in {path} already")
        return store
    say.task = "sorting rows into cells"
    size = settings.chunk_rows(n, streaming=True)  # also where a stream has few
    return Store.build(path, blocks, cell_rows=size, origin=origin, merge=True)
