"""Which transforms are worth a try, and which of those tried is worth its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..rows.rows import Rows
from .held_out import Tried, attempt
from .inputs import InputTransform, skewed, skewness
from .targets import TargetTransform
from .warping import Warping

Array = np.ndarray
#: Rows that candidates are tried on, at most and at least.
SAMPLE, FEWEST = 800, 100
#: |skewness| of y from which transforms are tried.
SKEWED = 0.75
#: The largest share of rows that may have one value of y: its density is not known.
ATOM = 0.05
#: Gains of a row count up to this, either way; the mean gain has to exceed LEAST and ERRORS of its
#: standard errors, and the mean squared error has to be below this share of that without: with all
#: rows it can be a tenth more than some show.
MOST, LEAST, ERRORS, SMALLER = 2.0, 0.02, 2.0, 0.95
#: A gain from which on means need not be that much better, but no worse.
CLEAR = 0.12


def gain(new: Tried, old: Tried, w: Array) -> tuple[float, float]:
    """Mean gain of a row in log density, each within ±MOST, and its standard error."""
    each, share = np.clip(new.log_density - old.log_density, -MOST, MOST), w / w.sum()
    mean = float(share @ each)
    return mean, float(np.sqrt(share**2 @ (each - mean) ** 2))


def better(new: Tried, old: Tried, w: Array) -> bool:
    """Whether log densities gain enough, and means are better."""
    mean, error = gain(new, old, w)
    if not mean > max(LEAST, ERRORS * error):
        return False
    share = 1.0 if mean > CLEAR else SMALLER
    return bool(w @ new.squared_error <= share * (w @ old.squared_error))


def best(old: Tried, others: Sequence[Tried], w: Array) -> Tried:
    """Of those that are better than the old one the first, unless a later one is clearly denser;
    else the old one. Give the plainest first."""
    found = None
    for one in (one for one in others if better(one, old, w)):
        mean, error = (np.inf, 0.0) if found is None else gain(one, found, w)
        found = one if mean > ERRORS * error else found
    return found or old


def kinds_worth_trying(y: Array, w: Array, *, more: bool = False) -> tuple[str, ...]:
    """Kinds of transforms for targets (n,): none unless they are skewed and nearly continuous.

    Where more targets are to come, these may not be positive.
    """
    _, where = np.unique(y, return_inverse=True)
    atom = np.bincount(where, w).max() / w.sum()
    if y.size < FEWEST or atom > ATOM or abs(skewness(y[:, None], w)[0]) < SKEWED:
        return ()
    return (
        ("log", "yeo-johnson", "rank") if (y > 0.0).all() and not more else ("yeo-johnson", "rank")
    )


def choose(
    rows: Rows, target: str | None, inputs: str | None, engine: Any,
    say: Callable[[str], None] = lambda text: None, *, more: bool = False,
    levels: tuple[int, ...] = (),
) -> Warping:  # fmt: skip
    """Transforms for rows in the units of the user: of given kinds, or "auto" by rows left out.

    `more`: whether other rows will come. `levels`: columns of codes, which stay as they are.

    Rows are in an order that their values give, and equal ones are merged (`rows.scaling.merged`).
    """
    some = sample(rows)
    outputs = [(_of_output(rows, j), _of_output(some, j)) for j in range(rows.y.shape[1])]
    seen, plain = choose_inputs(rows, [part for _, part in outputs], inputs, engine, say, levels)
    each = [
        choose_target(own, part, target, seen, start, engine, say, more=more, levels=levels)
        for (own, part), start in zip(outputs, plain)
    ]
    return Warping(seen, tuple(each))


def choose_inputs(
    rows: Rows, some: Sequence[Rows], kind: str | None, engine: Any, say: Callable[[str], None],
    levels: tuple[int, ...] = (),
) -> tuple[InputTransform | None, list[Tried | None]]:  # fmt: skip
    """Scores of skewed columns, if rows left out gain by them in every output.

    Also what was tried with the inputs as they will be, for each output; None: nothing was.
    """
    nothing: list[Tried | None] = [None] * len(some)
    numbers = np.isin(np.arange(rows.X.shape[1]), levels, invert=True)
    if kind != "auto":
        given = None if kind is None else InputTransform.of(rows.X, rows.w, numbers)
        return (given if given is not None and given.any else None), nothing
    if rows.X.shape[0] < FEWEST or not (columns := numbers & skewed(rows.X, rows.w)).any():
        return None, nothing
    offered = InputTransform.of(rows.X, rows.w, columns)
    plain = [attempt(part, None, None, engine, levels=levels) for part in some]
    scored = [attempt(part, None, offered, engine, levels=levels) for part in some]
    taken = all(better(new, old, part.w) for new, old, part in zip(scored, plain, some))
    gains = [gain(new, old, part.w)[0] for new, old, part in zip(scored, plain, some)]
    say(
        f"normal scores of {columns.sum()} skewed columns: log density of rows left out "
        f"{np.mean(gains):+.3f}, {'used' if taken else 'not used'}"
    )
    return (offered, [*scored]) if taken else (None, [*plain])


def choose_target(
    rows: Rows, some: Rows, kind: str | None, inputs: InputTransform | None, plain: Tried | None,
    engine: Any, say: Callable[[str], None], *, more: bool = False, levels: tuple[int, ...] = (),
) -> TargetTransform | None:  # fmt: skip
    """The transform of one output, of the kind given or by rows left out."""
    y, w = rows.y[:, 0], rows.w
    if kind is None:
        return None
    if kind != "auto":
        return TargetTransform.of(kind, y, w)
    kinds = kinds_worth_trying(y, w, more=more)
    if not kinds:
        return None
    old = plain or attempt(some, None, inputs, engine, levels=levels)
    tried = [
        attempt(some, TargetTransform.of(one, y, w), inputs, engine, old.learnt, levels=levels)
        for one in kinds
    ]
    new = best(old, tried, some.w).target
    gains = (f"{one} {gain(it, old, some.w)[0]:+.3f}" for one, it in zip(kinds, tried))
    say(
        f"transforms of y: log density of rows left out {', '.join(gains)}; "
        f"{'none' if new is None else new.kind} is used"
    )
    return new


def _of_output(rows: Rows, j: int) -> Rows:
    return Rows(rows.X, rows.y[:, j : j + 1], rows.w)


def sample(rows: Rows) -> Rows:
    """At most SAMPLE random rows, always the same."""
    n = rows.X.shape[0]
    if n <= SAMPLE:
        return rows
    return rows.take(np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False)))
