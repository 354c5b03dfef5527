"""Rows that come in groups, as users name them: an array of labels, or a column of a frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...rows.groups import codes
from ...rows.rows import Rows
from ...sources.frames import taken_out
from ...sources.source import Source
from .rows import refuse_collections


def apart_from_groups(X: Any, groups: Any) -> tuple[Any, Any]:
    """Take the column of groups out of a frame, where `groups` names one."""
    if not isinstance(groups, str):
        return X, groups
    if isinstance(X, Source) or not (hasattr(X, "columns") or hasattr(X, "column_names")):
        raise ValueError(
            f"groups={groups!r} names a column of a frame in memory, and X is a "
            f"{type(X).__name__}: give an array with one label per row"
        )
    return taken_out(X, groups, "groups")


def check_groups(groups: Any, rows: Rows) -> Rows:
    """Rows with the codes of their groups, one label per row; as they are without."""
    if groups is None:
        return rows
    found = group_codes(groups, rows.w.size)
    if (found == found[0]).all():
        raise ValueError(
            "groups has one label, so that no group can be held out: leave it out, or give rows of "
            "several groups"
        )
    return replace(rows, group=found)


def group_codes(groups: Any, n: int) -> np.ndarray:
    """Codes of the groups of n rows, one label per row  (n,)."""
    refuse_collections(groups)
    if np.ndim(groups) == 0 or len(groups) != n or (np.ndim(groups) > 1 and not _tuples(groups)):
        shape = np.shape(groups) if np.ndim(groups) == 0 else (len(groups), *np.shape(groups)[1:])
        raise ValueError(f"groups has shape {shape}: give one label per row, ({n},)")
    labels = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if any(one is None or one != one for one in labels):
        raise ValueError("groups has missing values: give every row a label, or drop those rows")
    try:
        return codes(labels)
    except TypeError as error:
        raise ValueError(
            f"groups must be labels that can be compared, such as numbers or words: {error}"
        ) from error


def _tuples(groups: Any) -> bool:
    """Whether labels are tuples, which numpy takes for a second dimension."""
    return isinstance(groups, list | tuple) and all(isinstance(one, tuple) for one in groups)
