"""Merging: whether two ledgers can be put together, and the chunks that one adds to the other."""

from __future__ import annotations

from typing import Any

from .state import State
from .storage.chunks import ChunkEntry
from .table import TableRoles
from .template import Template

#: Parts of `TableRoles` that must agree once rows have come.
ROLES = {"names": "set of input columns", "keep": "set of kept columns", "shape": "kind of X or y"}


def check_alike(mine: Template, theirs: Template, roles: tuple[TableRoles, TableRoles]) -> None:
    """Refuse a ledger on another basis, and name what differs."""
    differs = _basis_differences(mine, theirs)
    for name, words in ROLES.items():
        if len({getattr(one, name) for one in roles} - {None}) > 1:
            differs.append(words)
    if differs:
        raise ValueError(
            f"other has another {', '.join(differs)}: messages add up on one basis only. Begin "
            "both ledgers from one fitted model"
        )


def _basis_differences(mine: Template, theirs: Template) -> list[str]:
    a, b = mine.estimator, theirs.estimator
    if type(a) is not type(b):
        return ["kind of model"]
    if mine.fitted != theirs.fitted:
        return ["basis (one of them has none)"]
    if not mine.fitted:
        same = str(a.get_params()) == str(b.get_params())
        return [] if same else ["set of arguments of the model"]
    found = a.model_.differences(b.model_) or a._differs_from(b)
    return found or ["basis"] * (mine.id != theirs.id)


def new_chunks(mine: State, theirs: State) -> list[ChunkEntry]:
    """List the chunks that the first has not; refuse those that it has with other rows."""
    both = [id for id in theirs.entries if id in mine.entries]
    wrong: list[Any] = [id for id in both if mine.entries[id].sha256 != theirs.entries[id].sha256]
    if wrong:
        raise ValueError(
            f"both ledgers have chunks {wrong[:5]}, with different rows: give each site names of "
            "its own (site=), or forget one of them"
        )
    return [one for one in theirs.ordered() if one.id not in mine.entries]
