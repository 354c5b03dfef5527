"""Kernels of levels that are similar to each other: each level also has a number, its score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...numerics.records import record
from ..base import Kernel, To
from ..columns import SeenTo, Wrapped
from ..composite import Composite
from ..embedding import Embedding, points
from ..stationary import Stationary
from ..tuning import TUNING

Array = np.ndarray
#: Stands for every level that has a score: no level has this code.
SCORED = 0.5


@record("kernels.level_scores/1")
@dataclass(frozen=True, eq=False)
class LevelScores:
    """A number for each level of one column; levels without one get 0 and stay apart."""

    column: int
    codes: Array  # ascending  (L,)
    values: Array  # (L,)

    def __call__(self, X: Array) -> Array:
        """Scores of the levels of rows  (n,)."""
        at, known = self._places(X)
        return np.where(known, self.values[at], 0.0)

    def strangers(self, X: Array) -> Array:
        """Codes of levels without a score; SCORED in place of all others  (n,)."""
        _, known = self._places(X)
        return np.where(known, SCORED, X[:, self.column])

    def _places(self, X: Array) -> tuple[Array, Array]:
        own = X[:, self.column]
        at = np.minimum(np.searchsorted(self.codes, own), self.codes.size - 1)
        return at, self.codes[at] == own


@record("kernels.scores/1")
@dataclass(frozen=True, eq=False)
class Scores(Embedding):
    """Levels of one column at their scores; levels without one in random directions."""

    width = 1 + TUNING.level_coordinates

    scores: LevelScores | None = None

    def forward(self, X: Array) -> Array:
        assert self.scores is not None
        own = replace(self.scores, column=self.columns[0])
        codes = own.strangers(X)
        return np.column_stack([own(X), points(codes) * (codes != SCORED)[:, None]])

    def backward(self, P: Array) -> Array:
        assert self.scores is not None
        nearest = np.abs(P[:, :1] - self.scores.values[None, :]).argmin(axis=1)
        return self.scores.codes[nearest][:, None]


@dataclass(frozen=True, eq=False, repr=False)
class Scored(Wrapped):
    """k(x, s(x)): a kernel of x with the scores of some of its columns appended.

    Levels are equal or not; scores say in addition which of them are similar. Learning finds them
    (`learning.scores`) where they improve held-out predictions. A level without a score is at
    distance 1 from all others in the column of scores, which has a variance of about 1.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel, or a sum or product of such, of the columns of X and one further
        column per score.
    scores : sequence of LevelScores
        Scores, with the positions of their columns in X.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Matern32, Scored
    >>> from collegium.kernels.wrapped.scored import LevelScores
    >>> grades = LevelScores(0, codes=np.array([0.0, 1.0, 2.0]), values=np.array([-1.0, -0.9, 2.0]))
    >>> kernel = Scored(Matern32(length_scale=[5.0, 1.0], categories=0), [grades])
    >>> kernel.value(np.array([[0.0], [1.0], [2.0]])).round(2)
    array([[1.  , 0.94, 0.03],
           [0.94, 1.  , 0.04],
           [0.03, 0.04, 1.  ]])
    """

    scores: Any  # becomes a tuple

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel={self.kernel!r} of Scored: give one of collegium.kernels")
        if not _takes_codes(self.kernel):
            raise ValueError(
                f"kernel={self.kernel!r} of Scored: give a stationary kernel, or a sum or product "
                "of such"
            )
        object.__setattr__(self, "scores", tuple(self.scores))

    def seen(self, X: Array) -> Array:
        """Append scores to x, and codes of levels that have none."""
        numbers = [one(X) for one in self.scores]
        return np.column_stack([X, *numbers, *(one.strangers(X) for one in self.scores)])

    def _whole(self, X: Array) -> Kernel:
        """Extend the kernel by columns of codes that share the length scales of the scores."""
        return _widened(self.kernel, X.shape[1], len(self.scores))

    def value(self, X: Array, Z: Array | None = None) -> Array:
        return self._whole(X).value(self.seen(X), None if Z is None else self.seen(Z))

    def fill(self, X: Array, out: Array, room: Array) -> None:
        seen = self.seen(X.reshape(-1, X.shape[2]))
        self._whole(X[0]).fill(seen.reshape(*X.shape[:2], -1), out, room)

    def to(self, Z: Array) -> To:
        return SeenTo(self, Z[:0], self._whole(Z).to(self.seen(Z)))

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        return self._whole(X).coarse_parts(self.seen(X), [self.seen(Z) for Z in parts])

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        return self._whole(X).sample(self.seen(X), n_samples, rng)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        bar = self._whole(X).vjp(self.seen(X), None if Z is None else self.seen(Z), K_bar)
        return np.concatenate(_folded(self.kernel, bar, len(self.scores)))

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        bar = self._whole(X).diag_vjp(self.seen(X), d_bar)
        return np.concatenate(_folded(self.kernel, bar, len(self.scores)))

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        """Label lengths of scores as lengths between levels: both have the unit 1."""
        inner = self.kernel.labels
        d = 1 + max((column for _, column in inner), default=0) - len(self.scores)
        return tuple(
            ("mismatch", self.scores[column - d].column)
            if kind == "length" and 0 < d <= column
            else (kind, column)
            for kind, column in inner
        )

    def for_width(self, d: int) -> Self:
        wrong = [one.column for one in self.scores if one.column >= d]
        if wrong:
            raise ValueError(f"scores of Scored are of column {wrong[0]}, but X has {d} columns")
        return replace(self, kernel=self.kernel.for_width(d + len(self.scores)))

    def on_columns(self, names: Sequence[str]) -> Self:
        more = [f"{names[one.column]} as a number" for one in self.scores]
        return replace(self, kernel=self.kernel.on_columns([*names, *more]))

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        return replace(self, kernel=self.kernel.on_levels(levels))

    def inverse_squares(self, d: int) -> Array:
        return self.kernel.inverse_squares(d + len(self.scores))[:d]

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        """List scores before levels, so that `backward` takes the level with the nearest score."""
        own = self.kernel.inverse_squares(d + len(self.scores))[d:]
        scores = tuple(
            Scores((one.column,), float(square), appended=i, scores=one)
            for i, (one, square) in enumerate(zip(self.scores, own))
        )
        return scores + self.kernel.embeddings(d + len(self.scores))

    def reach(self, gaps: Array) -> Array:
        """Bound k with all scores taken as equal."""
        return self.kernel.reach(np.pad(gaps, [(0, 0), (0, len(self.scores))]))

    def shown(self, names: Sequence[str] = ()) -> str:
        columns = [names[one.column] if names else one.column for one in self.scores]
        own = (*names, *(f"{name} as a number" for name in columns)) if names else ()
        return f"Scored({self.kernel.shown(own)}, scores of columns {columns})"


def _takes_codes(kernel: Kernel) -> bool:
    """Whether all parts of a kernel are functions of the scaled distance."""
    if isinstance(kernel, Composite):
        return all(map(_takes_codes, kernel.parts))
    return isinstance(kernel, Stationary) and kernel.of_distance


def _widened(kernel: Any, d: int, s: int) -> Any:
    """Extend a kernel of d + s columns by s columns of codes, with the lengths of the last s."""
    if isinstance(kernel, Composite):
        return kernel._map(lambda part, _: _widened(part, d, s), kernel.parts)
    length, more = kernel.length_scale, tuple(range(d + s, d + 2 * s))
    if np.ndim(length):
        length = np.concatenate([length, length[d:]])
    return replace(kernel, length_scale=length, categories=(*kernel.categories, *more))


def _folded(kernel: Any, bar: Array, s: int) -> list[Array]:
    """Adjoints of θ from those of the widened kernel: shared lengths add up."""
    if isinstance(kernel, Composite):
        extra = [sum(_extra(leaf, s) for leaf in _leaves(part)) for part in kernel.parts]
        sizes = [part.theta.size + more for part, more in zip(kernel.parts, extra)]
        each = zip(kernel.parts, np.split(bar, np.cumsum(sizes)[:-1]))
        return [one for part, own in each for one in _folded(part, own, s)]
    if not _extra(kernel, s):
        return [bar]
    found, at = [], 0
    for name in kernel._free():
        size = np.size(getattr(kernel, name))
        part = bar[at : at + size].copy()
        at += size
        if name == "length_scale":
            part[size - s :] += bar[at : at + s]
            at += s
        found.append(part)
    return found


def _leaves(kernel: Any) -> list[Any]:
    if not isinstance(kernel, Composite):
        return [kernel]
    return [leaf for part in kernel.parts for leaf in _leaves(part)]


def _extra(leaf: Any, s: int) -> int:
    """Count the further parameters of a widened leaf: none if its length is shared or fixed."""
    return s if np.ndim(leaf.length_scale) and "length_scale" not in leaf.fixed else 0
