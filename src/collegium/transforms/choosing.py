"""Choose transforms: which to try, and which of those tried to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors.values import Values
from ..rows.groups import error_of_mean
from ..rows.rows import Rows
from .held_out import TriedTransform, attempt
from .inputs import InputTransform, skewed, skewness
from .targets import TargetTransform
from .tuning import TUNING
from .warping import Warping

Array = np.ndarray


def density_gain(new: TriedTransform, old: TriedTransform, w: Array) -> tuple[float, float]:
    """Mean gain of a row in log density, each cut at ±2, and its standard error."""
    most, share = TUNING.most, w / w.sum()
    each = np.clip(new.log_density - old.log_density, -most, most)
    return float(share @ each), error_of_mean(share, each, new.group, TUNING.errors)


def squared_loss(new: TriedTransform, old: TriedTransform, w: Array) -> tuple[float, float]:
    """Mean increase of a row in squared error, relative to the mean before, and its standard
    error."""
    share = w / w.sum()
    before = max(float(share @ old.squared_error), 1e-300)
    each = (new.squared_error - old.squared_error) / before
    return float(share @ each), error_of_mean(share, each, new.group, TUNING.errors)


def better(new: TriedTransform, old: TriedTransform, w: Array) -> bool:
    """Whether log densities gain enough, and means are better."""
    mean, error = density_gain(new, old, w)
    if not mean > max(TUNING.least, TUNING.errors * error):
        return False
    share = 1.0 if mean > TUNING.clear else TUNING.smaller
    return bool(w @ new.squared_error <= share * (w @ old.squared_error))


def better_target(
    new: TriedTransform, old: TriedTransform, w: Array, *, natural: bool = False
) -> bool:
    """Whether a transform of y is used: by the rule of `better`, which asks for better means; means
    of the logarithm only have to be no worse beyond noise.

    `natural`: y itself suggests the logarithm (`lognormal`); then a gain counts together with that
    in squared error, and less is asked of both.
    """
    kind = None if new.target is None else new.target.kind
    if not (kind == "log" or (natural and kind == "yeo-johnson")):  # near it, in a stream
        return better(new, old, w)
    mean, error = density_gain(new, old, w)
    loss, noise = squared_loss(new, old, w)
    if loss > min(noise, TUNING.worse):
        return False
    if mean > max(TUNING.least, TUNING.errors * error):
        return True
    both = mean / max(error, 1e-300) - loss / max(noise, 1e-300)
    return natural and kind == "log" and mean > 0.0 and both > TUNING.together * np.sqrt(2.0)


def best(
    old: TriedTransform, others: Sequence[TriedTransform], w: Array, *, natural: bool = False
) -> TriedTransform:
    """First candidate that beats the old one, unless a later one has clearly higher density; else
    the old one. Give the plainest first; `natural`: see `better_target`."""
    found = None
    for one in others:
        if not better_target(one, old, w, natural=natural):
            continue
        mean, error = (np.inf, 0.0) if found is None else density_gain(one, found, w)
        found = one if mean > TUNING.errors * error else found
    return found or old


def kinds_worth_trying(y: Array, w: Array, *, more: bool = False) -> tuple[str, ...]:
    """Kinds of transforms for targets (n,): none unless they are skewed, and nearly continuous or
    discrete throughout.

    `more`: further targets will come, which may not be positive.
    """
    _, where = np.unique(y, return_inverse=True)
    atom = np.bincount(where, w).max() / w.sum()
    most = TUNING.atom if Values.of(y) is None else TUNING.atom_of_values
    if y.size < TUNING.fewest or atom > most:
        return ()
    if abs(skewness(y[:, None], w)[0]) < TUNING.skewed_target or not lopsided(y, w):
        return ()
    return (
        ("log", "yeo-johnson", "rank") if (y > 0.0).all() and not more else ("yeo-johnson", "rank")
    )


def unbiased(tried: TriedTransform, share: float) -> TriedTransform:
    """Subtract what log densities gain by numbers of the transform that the same rows chose: as
    much as `share`, numbers per row (Akaike 1974)."""
    return replace(tried, log_density=tried.log_density - share)


def lopsided(y: Array, w: Array) -> bool:
    """Whether the 5 % and 95 % quantiles of targets (n,) are at different distances from the
    median: a few outliers on one side of heavy, symmetric tails are not enough."""
    order = np.argsort(y, kind="stable")
    share = (np.cumsum(w[order]) - 0.5 * w[order]) / w.sum()
    low, middle, high = np.interp([0.05, 0.5, 0.95], share, y[order])
    return abs(high + low - 2.0 * middle) > TUNING.lopsided * (high - low)


def lognormal(y: Array, w: Array) -> bool:
    """Whether targets (n,) suggest their logarithm: it is far less skewed, and not about linear."""
    if not (y > 0.0).all():
        return False
    t = np.log(y)
    before, after = (abs(float(skewness(one[:, None], w)[0])) for one in (y, t))
    spread = float(np.sqrt(np.average((t - np.average(t, weights=w)) ** 2, weights=w)))
    return after < TUNING.straighter * before and spread > TUNING.spread


def choose(
    rows: Rows, target: str | None, inputs: str | None, engine: Any,
    say: Callable[[str], None] = lambda text: None, *, more: bool = False,
    levels: tuple[int, ...] = (), stop: Callable[[], bool] = lambda: False,
) -> Warping:  # fmt: skip
    """Choose transforms for rows in the units of the user: given kinds, or "auto" by held-out rows.

    `more`: whether further rows will come. `levels`: columns of codes, which stay as they are.
    Once `stop()` is true, no further transforms are tried.

    Rows are sorted by value, and equal ones are merged (`rows.scaling.merged`).
    """
    some = sample(rows)
    outputs = [(_of_output(rows, j), _of_output(some, j)) for j in range(rows.y.shape[1])]
    parts = [part for _, part in outputs]
    seen, plain = choose_inputs(rows, parts, inputs, engine, say, levels, stop)
    each = [
        choose_target(
            own, part, target, seen, start, engine, say, more=more, levels=levels, stop=stop
        )
        for (own, part), start in zip(outputs, plain)
    ]
    return Warping(seen, tuple(each))


def choose_inputs(
    rows: Rows, some: Sequence[Rows], kind: str | None, engine: Any, say: Callable[[str], None],
    levels: tuple[int, ...] = (), stop: Callable[[], bool] = lambda: False,
) -> tuple[InputTransform | None, list[TriedTransform | None]]:  # fmt: skip
    """Use scores of skewed columns, if held-out rows gain by them in every output.

    Also returns the trial with the chosen inputs for each output; None where nothing was tried.
    """
    nothing: list[TriedTransform | None] = [None] * len(some)
    numbers = np.isin(np.arange(rows.X.shape[1]), levels, invert=True)
    if kind != "auto":
        given = None if kind is None else InputTransform.of(rows.X, rows.w, numbers)
        return (given if given is not None and given.any else None), nothing
    if rows.X.shape[0] < TUNING.fewest or not (columns := numbers & skewed(rows.X, rows.w)).any():
        return None, nothing
    offered = InputTransform.of(rows.X, rows.w, columns)
    plain = [attempt(part, None, None, engine, levels=levels) for part in some]
    if stop():
        return None, [*plain]
    scored = [attempt(part, None, offered, engine, levels=levels) for part in some]
    taken = all(better(new, old, part.w) for new, old, part in zip(scored, plain, some))
    gains = [density_gain(new, old, part.w)[0] for new, old, part in zip(scored, plain, some)]
    say(
        f"normal scores of {columns.sum()} skewed columns: log density of held-out rows "
        f"{np.mean(gains):+.3f}, {'used' if taken else 'not used'}"
    )
    return (offered, [*scored]) if taken else (None, [*plain])


def choose_target(
    rows: Rows, some: Rows, kind: str | None, inputs: InputTransform | None,
    plain: TriedTransform | None, engine: Any, say: Callable[[str], None], *, more: bool = False,
    levels: tuple[int, ...] = (), stop: Callable[[], bool] = lambda: False,
) -> TargetTransform | None:  # fmt: skip
    """Choose the transform of one output: the given kind, or by held-out rows."""
    y, w = rows.y[:, 0], rows.w
    if kind is None:
        return None
    if kind != "auto":
        return TargetTransform.of(kind, y, w)
    kinds = kinds_worth_trying(y, w, more=more)
    if not kinds or stop():
        return None
    old = plain or attempt(some, None, inputs, engine, levels=levels)
    tried = []
    for one in kinds:
        if not stop():
            own = TargetTransform.of(one, y, w)
            found = attempt(some, own, inputs, engine, old.learnt, levels=levels)
            tried.append(unbiased(found, own.parameters / float(w.sum())))
    new = best(old, tried, some.w, natural=lognormal(y, w)).target
    gains = (f"{one} {density_gain(it, old, some.w)[0]:+.3f}" for one, it in zip(kinds, tried))
    say(
        f"transforms of y: log density of held-out rows {', '.join(gains)}; "
        f"{'none' if new is None else new.kind} is used"
    )
    return new


def _of_output(rows: Rows, j: int) -> Rows:
    return Rows(rows.X, rows.y[:, j : j + 1], rows.w, group=rows.group)


def sample(rows: Rows) -> Rows:
    """Take a random sample of many rows, the same in every call."""
    n, size = rows.X.shape[0], TUNING.sample
    if n <= size:
        return rows
    return rows.take(np.sort(np.random.default_rng(0).choice(n, size, replace=False)))
