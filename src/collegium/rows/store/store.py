"""The row store: rows on disk in cells; nearest rows, rows added and forgotten."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.compiling import interrupts
from ...numerics.durable import sync_folder
from ...numerics.fingerprint import fingerprint, splitmix64
from . import folder
from .build import Incoming, Routed, route_rows, sample_for, write_segment
from .distance import Distance
from .masks import among
from .records import LARGEST, Block, Schema
from .search import search_segment, sort_found
from .segment import Segment, StoredCell
from .tuning import TUNING

Array = np.ndarray


class Store:
    """Rows in a folder, searched by distance: `Store.build` once, then `Store.open`.

    Positions number the rows in their order on disk; `add` may change them. Row numbers (`ids`)
    stay. One process may write at a time (others wait some seconds, then are refused), any number
    may read. Rows are compared with checksums when they are first read: damaged ones are refused.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        self._read()

    def _read(self) -> None:
        """Open all that the manifest lists; again, if another process has just replaced it."""
        before: bytes | None = None
        while True:
            try:
                self._manifest = folder.read_store_manifest(self.path)
                self._open_segments()
                return
            except (FileNotFoundError, ValueError):
                now = folder.manifest_bytes(self.path)
                if now is None or now == before:
                    raise
                before = now

    def _open_segments(self) -> None:
        self._tombstones = folder.read_tombstones(self.path, self._manifest)
        self._segments = [
            Segment.open(self.path / one["name"], self.schema, one).hiding(self._tombstones)
            for one in self._manifest["segments"]
        ]
        self._offsets = np.cumsum([0, *(len(one) for one in self._segments)])

    def _check_current(self) -> None:
        """Refuse to change a store that another process has changed since it was opened."""
        if folder.read_store_manifest(self.path) != self._manifest:
            raise ValueError(
                f"{self.path} was changed by another process or model since it was opened: open "
                "it again"
            )

    @classmethod
    def open(cls, path: str | os.PathLike) -> Store:
        """Open the store in a folder; rows are mapped into memory, not read.

        Files that a process left there when it was killed are removed.
        """
        found = cls(path)
        folder.sweep(found.path)
        return found

    @classmethod
    def build(
        cls, path: str | os.PathLike, blocks: Iterable[Block], *, cell_rows: int = 500,
        origin: str = "", merge: bool = False,
    ) -> Store:  # fmt: skip
        """Sort the rows of blocks (X, y, w, number of the first row) into a new folder.

        Memory does not grow with the rows. Blocks are read twice; those of a generator once, and
        kept on disk in between. X, y and w keep the types of the first block. The files are the
        same to the last byte however rows are cut into blocks. A build that was killed is
        restarted by the next one at the same path; with the same `origin` of the rows it goes on
        from what it had read. With `merge` equal rows become one, with their total weight.
        """
        if cell_rows < 1:
            raise ValueError(f"cell_rows={cell_rows}: give a whole number above 0")
        path = Path(path)
        folder.check_free(path)
        token = origin and f"{origin} {cell_rows} {merge}"
        go_on = lambda work: Routed.found(work, token) is not None  # noqa: E731
        with folder.working(path, go_on=go_on) as work:
            folder.check_free(path)  # another process may have built it in between
            routed = Routed.found(work, token)
            if routed is None or not routed.intact(work):
                folder.empty(work)
                new = Incoming(blocks, work)
                if new.sample is None or new.schema is None:
                    raise ValueError("there are no rows: give at least one block that has some")
                routed = route_rows(
                    work, new.schema, new.sample, new.records, new.next, merge=merge
                )
                routed.save(work, token)
            listed = write_segment(work, routed, cell_rows)
            manifest = {"schema": vars(routed.schema), "cell_rows": cell_rows, "origin": origin}
            manifest |= {"next_row": routed.next_row, "tombstones": None}
            _finish(path, work, {**manifest, "segments": []}, listed)
        return cls(path)

    @property
    def schema(self) -> Schema:
        return Schema(**self._manifest["schema"])

    @property
    def next_row(self) -> int:
        """Smallest row number that `add` accepts."""
        return self._manifest["next_row"]

    @property
    def origin(self) -> str:
        """Origin of its first rows, as given to `build`."""
        return self._manifest.get("origin", "")

    @property
    def n_forgotten(self) -> int:
        """Number of forgotten rows that are still on disk."""
        return int(self._tombstones.size)

    @property
    def mark(self) -> str:
        """Hash of some rows of the first segment, which identifies the store."""
        first = self._segments[0]
        n = min(len(first), TUNING.mark_rows)
        return fingerprint(*(first.between(name, 0, n) for name in ("X", "y", "id")))

    @property
    def cell_rows(self) -> int:
        """Maximum number of rows of a cell."""
        return self._manifest["cell_rows"]

    def without(self, ids: Any = (), *, from_row: int | None = None) -> Store:
        """Hide the rows with some numbers, and from one number on; nothing is written."""
        view, ids = copy(self), np.asarray(ids, np.int64)
        view._tombstones = np.union1d(self._tombstones, ids)
        later = from_row if from_row is not None and from_row < self.next_row else None
        view._segments = [one.hiding(np.unique(ids), later) for one in self._segments]
        return view

    def sample(self, k: int) -> Array:
        """Positions of the k rows with the smallest hashes of their numbers, by number  (k,)."""
        keys, found, ids = (np.empty(0, t) for t in (np.uint64, np.int64, np.int64))
        for one, offset in zip(self._segments, self._offsets):
            for a, b in one.slices(8):
                at = one.alive_between(a, b)
                own = one.between("id", a, b)[at - a]
                keys = np.concatenate([keys, splitmix64(own)])
                found = np.concatenate([found, offset + at])
                ids = np.concatenate([ids, own])
                if keys.size > k:
                    least = np.argpartition(keys, k - 1)[:k]
                    keys, found, ids = keys[least], found[least], ids[least]
        return found[np.argsort(ids)]

    def total_weight(self) -> float:
        """Sum the weights of all rows that are not forgotten."""
        total = 0.0
        for one in self._segments:
            for a, b in one.slices(8):
                w = np.asarray(one.between("w", a, b), np.float64)
                total += float(w[one.alive_between(a, b) - a].sum() if one.dead.size else w.sum())
        return total

    def records(self) -> Iterator[Array]:
        """Yield all rows that are not forgotten, in slices."""
        return chain.from_iterable(one.records() for one in self._segments)

    def __len__(self) -> int:
        """Count the rows that are not forgotten."""
        return sum(one.alive for one in self._segments)

    @property
    def n_segments(self) -> int:
        return len(self._segments)

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Names of all segments; no name is ever reused."""
        return tuple(one.path.name for one in self._segments)

    def offsets(self) -> dict[int, int]:
        """Position of the first row of each segment, by segment number."""
        return {one.number: int(a) for one, a in zip(self._segments, self._offsets)}

    @property
    def n_positions(self) -> int:
        """Number of rows of all segments, including forgotten ones."""
        return int(self._offsets[-1])

    @property
    def tentative_from(self) -> int | None:
        """Number of the first row that was added tentatively; None: there is none."""
        return self._manifest.get("tentative")

    @property
    def token(self) -> str:
        """Token of the last addition; "": it had none, or there was none since the build."""
        return self._manifest.get("token", "")

    @property
    def before_tentative(self) -> tuple[int, str] | None:
        """Next row and token to which `undo` leads back; None: no row is tentative."""
        first = self.tentative_from
        return None if first is None else (first, self._manifest.get("before", ""))

    def add(
        self, blocks: Iterable[Block], *, keep: int = 0, tentative: str = "", anywhere: bool = False
    ) -> None:
        """Add rows, with numbers above all others, as a segment.

        `anywhere`: their numbers are among those of others, and no row has had them before.

        The last segments that are less than twice as large are sorted into it, so there are at
        most log₂ n segments and a row is rewritten log n times. Their forgotten rows are dropped.
        The first `keep` segments and their cells stay as they are. With `tentative`, a new token,
        the rows can be undone until they are confirmed, with tentative ones that came before.
        """
        segments = self._manifest["segments"]
        with folder.working(self.path) as work:
            self._check_current()
            new = Incoming(blocks, work, self.schema)
            if new.sample is None or new.first is None:
                return
            if new.first < self.next_row and not anywhere:
                raise ValueError(
                    f"row number {new.first} is taken: number new rows from {self.next_row} on"
                )
            kept = len(segments)
            while kept > keep and self._segments[kept - 1].alive < 2 * new.sample.seen:
                kept -= 1
                for records in self._segments[kept].records():
                    new.sample.add(records)
            merged = self._segments[kept:]
            next_row = max(new.next, self.next_row)
            routed = route_rows(
                work, self.schema, new.sample,
                lambda: chain(*(one.records() for one in merged), new.records()), next_row,
            )  # fmt: skip
            listed = write_segment(work, routed, self._manifest["cell_rows"])
            manifest = {**self._manifest, "next_row": next_row, "segments": segments[:kept]}
            manifest["tombstones"] = self._left_after(merged)
            manifest["token"] = tentative
            start = (self.before_tentative or (self.next_row, self.token)) if tentative else None
            manifest["tentative"], manifest["before"] = start or (None, "")
            _finish(self.path, work, manifest, listed, 1 + self._segments[-1].number)
        self._read()

    def _left_after(self, merged: list[Segment]) -> Any:
        """Write the tombstones of rows that are still there when some segments are sorted again."""
        dropped = [_where(one, self._tombstones) for one in merged if one.dead.size]
        before = self._manifest["tombstones"]
        if not any(one.size for one in dropped):
            return before
        left = np.setdiff1d(self._tombstones, np.concatenate(dropped))
        return folder.write_tombstones(self.path, left, before)

    def confirm(self) -> None:
        """Keep rows that were added tentatively."""
        if self.tentative_from is not None:
            with folder.remedies(self.path), folder.alone(self.path):
                self._check_current()
                self._note({"tentative": None})
            self._read()

    def _note(self, changes: dict[str, Any]) -> None:
        """Change entries of the manifest, or leave it as it was."""
        try:
            folder.write_manifest(self.path, {**self._manifest, **changes})
        except BaseException:  # it may have been replaced already
            with suppress(OSError):
                folder.write_manifest(self.path, self._manifest)
            raise

    def undo(self) -> None:
        """Remove the rows that were added tentatively: the store is as it was before them."""
        if self.before_tentative is None:
            return
        first, token = self.before_tentative
        with folder.working(self.path) as work:
            self._check_current()
            hidden = [one.hiding(np.empty(0, np.int64), first) for one in self._segments]
            kept = sum(one is own for one, own in zip(hidden, self._segments))
            changed = hidden[kept:]  # rows are added to the last segments
            manifest = {**self._manifest, "next_row": first, "tentative": None, "token": token}
            manifest["segments"] = self._manifest["segments"][:kept]
            manifest["tombstones"] = self._left_after(changed)
            if any(one.alive for one in changed):
                sample = sample_for(self.schema)
                read = lambda: chain(*(one.records() for one in changed))  # noqa: E731
                for records in read():
                    sample.add(records)
                routed = route_rows(work, self.schema, sample, read, first)
                listed = write_segment(work, routed, self.cell_rows)
                _finish(self.path, work, manifest, listed, 1 + self._segments[-1].number)
            else:
                folder.write_manifest(self.path, manifest)
        self._read()

    def forget(self, ids: Any) -> None:
        """Forget the rows with these numbers: they are never returned again."""
        ids = np.unique(np.asarray(ids, np.int64))
        found = [_where(one, ids, alive=True) for one in self._segments]
        unknown = np.setdiff1d(ids, np.concatenate(found))
        if unknown.size:
            raise ValueError(f"row {unknown[0]} is not in the store, or forgotten already")
        with folder.remedies(self.path), folder.alone(self.path):
            self._check_current()
            before = self._manifest["tombstones"]
            listed = folder.write_tombstones(self.path, np.union1d(self._tombstones, ids), before)
            self._note({"tombstones": listed})
        self._read()

    def nearest(
        self, queries: Any, k: int, weights: Any = None, *, most_cells: int | None = None
    ) -> tuple[Array, Array]:
        """Positions and squared distances Σ (x − z)² weight of the k nearest rows  (q, k) each.

        Nearest first, ties by row number; computed in double precision, exact for any weights ≥ 0
        (one per column; None: ones). There are fewer than k columns if the store has fewer rows. A
        `Distance` instead of weights also handles levels, which are equal or not, and places on a
        globe.

        `most_cells` ends the search of each segment after so many cells, the most promising
        first: rows are then near, not always the nearest. Beyond some ten columns an exact
        search visits most cells; any set of rows is valid to condition on. If fewer than k rows
        were met, positions are −1 and distances ∞.
        """
        z, distance = self._check_queries(queries, weights)
        if k < 1 or (most_cells is not None and most_cells < 1):
            raise ValueError(f"k={k}, most_cells={most_cells}: give whole numbers above 0")
        shape = len(z), min(k, len(self))
        found = (
            np.empty(shape),
            np.empty(shape, np.int64),
            np.empty(shape, np.int64),
            np.zeros(len(z), np.int64),
        )
        most = np.iinfo(np.int64).max if most_cells is None else most_cells
        if shape[1]:
            with interrupts():
                metric = distance.parts()
                for one, offset in zip(self._segments, self._offsets):
                    one.refuse_found(
                        search_segment(z, metric, most, one.tree, one.searched, offset, found)
                    )
                sort_found(found)
        return found[2], found[0]

    def _check_queries(self, queries: Any, weights: Any) -> tuple[Array, Distance]:
        z = np.ascontiguousarray(queries, np.float64)
        d = self.schema.d
        if isinstance(weights, Distance):
            distance = weights
        else:
            own = np.ones(d) if weights is None else np.ascontiguousarray(weights, np.float64)
            distance = Distance(own)
        w = distance.weights
        if z.ndim != 2 or z.shape[1] != d:
            raise ValueError(f"queries have shape {z.shape}: give (q, {d})")
        if w.shape != (d,) or not (np.isfinite(w) & (w >= 0)).all():
            raise ValueError(f"weights: give {d} finite numbers ≥ 0")
        if not (np.abs(z) <= LARGEST).all():
            raise ValueError(f"queries are not all finite and below {LARGEST:g}")
        return z, distance

    def take(self, positions: Any) -> tuple[Array, Array, Array]:
        """Read X, y and w of rows at positions, an array of any shape."""
        X, y, w = self._gather(("X", "y", "w"), positions)
        return X, y, w

    def inputs(self, positions: Any) -> Array:
        """Read X alone of rows at positions."""
        return self._gather(("X",), positions)[0]

    def positions(self, first: int, last: int) -> Array:
        """Positions of the rows with numbers in [first, last) that are not forgotten, by number."""
        found, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for one, offset in zip(self._segments, self._offsets):
            own = one.between("id", 0, len(one))
            at = one.alive_at(np.flatnonzero((own >= first) & (own < last)))
            found.append(offset + at)
            ids.append(own[at])
        return np.concatenate(found)[np.argsort(np.concatenate(ids))]

    def numbers(self) -> Array:
        """Read the row numbers at all positions."""
        return np.concatenate([one.between("id", 0, len(one)) for one in self._segments])

    def ids(self, positions: Any) -> Array:
        """Read the row numbers at positions."""
        return self._gather(("id",), positions)[0]

    def _gather(self, names: tuple[str, ...], positions: Any) -> list[Array]:
        positions = np.asarray(positions, np.int64)
        if positions.size and not 0 <= positions.min() <= positions.max() < self._offsets[-1]:
            raise IndexError(f"positions are from 0 to {self._offsets[-1] - 1}")
        kinds = [self.schema.dtype[name] for name in names]
        found = [np.empty((*positions.shape, *kind.shape), kind.base) for kind in kinds]
        owner = np.searchsorted(self._offsets, positions, side="right") - 1
        for k, one in enumerate(self._segments):
            own = owner == k
            at = positions[own] - self._offsets[k]
            parts = one.whole_rows(at) if len(names) > 1 else (one.rows(names[0], at),)
            for values, part in zip(found, parts):
                values[own] = part
        return found

    def chunks(self) -> list[StoredCell]:
        """List the cells, each with `id`, `n` and `load() -> X, y, w`; small when pickled."""
        found, before = [], 0
        for one in self._segments:
            cells = one.start.size - 1
            for c in range(cells):
                own = one.cell(c)
                n = own.stop - own.start if isinstance(own, slice) else own.size
                if n:
                    found.append(StoredCell((one.number, c), n, one, before + c))
            before += cells
        return found

    @property
    def n_cells(self) -> int:
        """Number of cells of all segments, including those whose rows are all forgotten."""
        return self.cells_of(self.n_segments)

    def cells_of(self, segments: int) -> int:
        """Count the cells of the first so many segments."""
        return sum(one.start.size - 1 for one in self._segments[:segments])


def _where(segment: Segment, ids: Array, *, alive: bool = False) -> Array:
    """Select the row numbers (ascending) that a segment has; `alive`: and has not forgotten."""
    found = []
    for a, b in segment.slices(8):
        own = segment.between("id", a, b)
        at = np.flatnonzero(among(own, ids))
        found.append(own[segment.alive_at(a + at) - a if alive else at])
    return np.concatenate(found)


def _finish(
    path: Path, work: Path, manifest: dict[str, Any], listed: dict[str, Any], number: int = 0
) -> None:
    """Make a sorted segment part of the store, the manifest last."""
    name = f"segment-{number:03d}"
    os.rename(work / "segment", path / name)
    sync_folder(path)
    segments = [*manifest["segments"], {"name": name, **listed}]
    folder.write_manifest(path, {**manifest, "segments": segments})
