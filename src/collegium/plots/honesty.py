"""Draw whether error bars and probabilities are honest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..diagnostics.classes import Reliability, reliability
from ..diagnostics.coverage import CoveredShare, coverage_of_levels
from ..diagnostics.histogram import BINS, PitHistogram, pit_histogram
from ..diagnostics.numbers import as_percent
from ..diagnostics.predicted import Predicted, predicted_rows
from ..interface.checks.arguments import check_probabilities, whole_number
from .axes import DOTS, FAINT, LINE, TRUTH, dress, legend, new_axes, short_name
from .judged import MOST, Predictions, check_model, exposed_rows, of_rows, some_rows

Array = np.ndarray
#: Promised coverages that are compared with real ones.
LEVELS = (*np.arange(0.05, 0.951, 0.05).round(2), 0.98, 0.99)


def plot_calibration(
    model, X=None, y=None, *, levels=LEVELS, label=None, bins=10, most=MOST, ax=None, **exposure
):  # fmt: skip
    """Draw promised against real coverage; of classes, probabilities against what came true.

    Dots on the diagonal: intervals hold as many rows as they promise. The grey band is where each
    share lies in 95 % of all such tables, if intervals are right. Below the diagonal error bars
    are too short, above it too long.

    Parameters
    ----------
    model : fitted regressor or classifier, or what was computed before
        `Predictions`, `Predicted`, a sequence of `CoveredShare`, or a `Reliability` of
        `collegium.diagnostics`.
    X, y : rows that the model has not learnt from
    levels : sequence of float
        Promised coverages of the model's central intervals.
    label : a label of y, default=None
        Of classes: the one whose probability is judged; None: the second of two, of more the most
        probable class of each row.
    bins : int, default=10
        Of classes: parts of like many rows, by probability.
    most : int, default=10_000
        Rows that are predicted, evenly spaced, where there are more.
    ax : matplotlib Axes, default=None
        None: a new figure.
    exposure : array-like of shape (n,)
        Of counts, as in `predict`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X[::2], y[::2])
    >>> ax = plots.calibration(model, X[1::2], y[1::2])
    """
    if isinstance(model, Reliability):
        return _draw_reliability(new_axes(ax, 4.8, 4.8), model, "", int(model.count.sum()))
    if hasattr(model, "predict") and is_classifier(model):
        whole_number(bins, "bins")
        probability, true, words, total = _probabilities(model, X, y, label, most)
        found = reliability(probability, true, bins)
        return _draw_reliability(new_axes(ax, 4.8, 4.8), found, words, total)
    if _are_shares(model):
        return _draw_coverage(new_axes(ax, 4.8, 4.8), model, model[0].n)
    u, total = _positions(model, X, y, most, exposure)
    shares = coverage_of_levels(u, check_probabilities(levels))
    return _draw_coverage(new_axes(ax, 4.8, 4.8), shares, total)


def _are_shares(model: Any) -> bool:
    listed = isinstance(model, Sequence) and len(model) > 0
    return listed and all(isinstance(one, CoveredShare) for one in model)


def _positions(model: Any, X: Any, y: Any, most: int, exposure: dict) -> tuple[Array, int]:
    """P(Y ≤ y) of each row, as found before or by a model; and the number of all rows."""
    if isinstance(model, Predicted):
        return model.pit, model.n
    if isinstance(model, Predictions):
        if model.pit is None:
            raise ValueError(
                "these Predictions have no pit: make them by plots.predictions(model, X, y), or "
                "give the model"
            )
        return model.pit, model.total
    check_model(model)
    if X is None or y is None:
        raise ValueError("give X and y with a model, or predictions that were made before")
    return predicted_sample(model, X, y, most, exposure)


def _probabilities(
    model: Any, X: Any, y: Any, label: Any, most: int
) -> tuple[Array, Array, str, int]:
    """Probabilities, whether they came true, what they are of, and the number of all rows."""
    check_model(model)
    if X is None or y is None:
        raise ValueError("give X and y with a model, or a Reliability that was computed before")
    some, seen, total = some_rows(X, y, most)
    table, classes = model.predict_proba(some), np.asarray(model.classes_)
    if label is None and classes.size > 2:
        best = table.argmax(axis=1)
        words = "the most probable class"
        return table[np.arange(best.size), best], classes[best] == seen, words, total
    known = classes.tolist()
    if label is not None and label not in known:
        raise ValueError(f"label={label!r}: give one of the classes, {known[:10]}")
    k = 1 if label is None else known.index(label)
    return table[:, k], seen == classes[k], short_name(classes[k]), total


def _diagonal(ax: Any) -> None:
    ax.plot([0, 100], [0, 100], color=DOTS, lw=0.8, ls="--", label="honest", zorder=1)
    ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")


def _mark(ax: Any, x: Array, y: Array) -> None:
    """Cross what chance does not explain."""
    if x.size:
        ax.plot(x, y, "x", color=TRUTH, ms=8, mew=1.8, clip_on=False, label="beyond chance")


def _draw_coverage(ax: Any, shares: Sequence[CoveredShare], total: int) -> Any:
    shares = sorted(shares, key=lambda one: one.level)
    level, low, high, share = (
        100.0 * np.array([getattr(one, name) for one in shares])
        for name in ("level", "low", "high", "share")
    )
    _diagonal(ax)
    ax.fill_between(level, low, high, color=FAINT, alpha=0.4, lw=0, label="honest, within chance")
    ax.plot(level, share, "o-", color=LINE, ms=4, lw=1.4, clip_on=False, label="real")
    off = np.array([one.sign != 0 for one in shares])
    _mark(ax, level[off], share[off])
    nearest = min(shares, key=lambda one: (abs(one.level - 0.95), one.level))
    title = (
        f"{as_percent(nearest.level)} intervals hold {as_percent(nearest.share)} of "
        f"{of_rows(nearest.n, total)}"
    )
    dress(ax, title, "promised coverage (%)", "rows inside (%)")
    legend(ax, ncols=2)
    return ax


def _draw_reliability(ax: Any, found: Reliability, words: str, total: int) -> Any:
    p, share, low, high = (
        100.0 * one for one in (found.probability, found.share, found.low, found.high)
    )
    _diagonal(ax)
    ax.fill_between(p, low, high, color=FAINT, alpha=0.4, lw=0, label="honest, within chance")
    ax.plot(
        p,
        share,
        "o-",
        color=LINE,
        ms=5,
        lw=1.4,
        clip_on=False,
        label=f"parts of {of_rows(found.count.sum(), total)}",
    )
    off = (share < low) | (share > high)
    _mark(ax, p[off], share[off])
    title = (
        f"Probabilities are off by {as_percent(found.error)} on average; chance gives up to "
        f"{as_percent(found.by_chance)}"
    )
    dress(ax, title, f"predicted probability of {words or 'the class'} (%)", "came true (%)")
    legend(ax, ncols=2)
    return ax


def plot_pit(model, X=None, y=None, *, bins=BINS, most=MOST, ax=None, **exposure):
    """Draw where rows fall in their predictive distributions: flat, if these are right.

    u = P(Y ≤ y) by the model, in equal bins. A heap in the middle: distributions are too wide; at
    the ends: too narrow; at one side: means are off. All bars are within the grey band in 95 % of
    all tables, if distributions are right.

    Parameters
    ----------
    model : fitted regressor, or what was computed before
        `Predictions`, or `Predicted` or `PitHistogram` of `collegium.diagnostics`.
    X, y : rows that the model has not learnt from
    bins : int, default=20
        Fewer where there are fewer than 100 rows.
    most, ax, exposure : as in `calibration`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X[::2], y[::2])
    >>> ax = plots.pit(model, X[1::2], y[1::2])
    """
    whole_number(bins, "bins", least=2)
    found, total = model, None
    if not isinstance(model, PitHistogram):
        if hasattr(model, "predict") and is_classifier(model):
            raise ValueError("model tells classes, which have no order: call plots.calibration")
        u, total = _positions(model, X, y, most, exposure)
        found = pit_histogram(u, bins)
    ax = new_axes(ax, height=3.8)
    k = found.shares.size
    width, shares = 1.0 / k, k * found.shares
    off = (found.shares < found.low) | (found.shares > found.high)
    bars = ax.bar(
        np.arange(k) * width, shares, width, align="edge", color=LINE, alpha=0.6, ec="white"
    )
    for bar in (bar for bar, beyond in zip(bars, off) if beyond):
        bar.set(color=TRUTH, hatch="///", ec="white")
    ax.axhspan(
        k * found.low, k * found.high, color=FAINT, alpha=0.35, lw=0, label="flat, within chance"
    )
    ax.axhline(1.0, color=DOTS, lw=0.8, ls="--")
    verdict = "flat, as it should be" if found.flat else f"{off.sum()} of {k} bars beyond chance"
    title = f"Where rows fall in their distributions: {verdict}"
    rows = of_rows(found.n, found.n if total is None else total)
    dress(ax, title, f"u = P(Y ≤ y), {rows}", "density")
    ax.set(xlim=(0, 1), ylim=(0, 1.12 * max(shares.max(), k * found.high)))
    legend(ax)
    return ax


def predicted_sample(model: Any, X: Any, y: Any, most: int, exposure: dict) -> tuple[Array, int]:
    """P(Y ≤ y) of at most `most` rows, evenly spaced; the number of all."""
    some, seen, total = some_rows(X, y, most)
    if seen.ndim != 1:
        raise ValueError(f"y has {seen.shape[1]} columns: give a model of one output")
    given: dict[str, Any] = {name: exposed_rows(e, total, most) for name, e in exposure.items()}
    return predicted_rows(model, some, seen, **given).pit, total
