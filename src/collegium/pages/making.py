"""`collegium.report`: everything about a model on one page."""

from __future__ import annotations

from os import PathLike, fspath
from os.path import basename
from typing import Any

import numpy as np

from ..explain.effects import asked_of
from ..interface.checks.arguments import check_is_fitted, whole_number
from ..interface.checks.groups import apart_from_groups
from ..interface.checks.rows import refuse_missing
from ..interface.estimator import Estimator
from ..interface.frames.encoded import KnownColumns
from .budget import budget_of
from .judged import JudgedClasses, JudgedNumbers, judged
from .markup import visible
from .material import Material, importance_of, seen_rows, share_learnt
from .page import PagePart, ReportPage, page_of
from .sections import accuracy, columns, data, honesty, learnt, maps, places, verdict, worst

Array = np.ndarray


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    exposure: Any = None,
    groups: Any = None,
    stream: bool = False,
    target: str | None = None,
    title: str | None = None,
    rows: bool = True,
    ledger: Any = None,
    command: str | None = None,
    max_rows: int | None = None,
    random_state: int = 0,
) -> ReportPage:
    """Say on one HTML page whether a model is good, whether its error bars are honest, and more.

    The page has no script and needs nothing from elsewhere; it has at most 300 kB, and of the rows
    it shows the ten worst. The same model and rows give the same bytes.

    Parameters
    ----------
    model : fitted regressor of one output, or classifier
    X, y : array-like or frame of shape (n, d), and array-like of shape (n,)
        Rows that the model has not learnt from. Where it has, the page says so.
    path : path, default=None
        File to write; None: none.
    exposure : array-like of shape (n,), default=None
        Of counts, as in `predict`.
    groups : array-like of n labels, name and labels, or a column of the frame X, default=None
        Coverage is compared between these too.
    stream : bool, default=False
        The rows come in this order: a copy of the model predicts each hundred before it learns
        from them.
    target : str, default=None
        What y is called; None: the name of the series y, or "y".
    title : str, default=None
    rows : bool, default=True
        False: without the ten worst rows.
    ledger : Ledger, default=None
        That the model comes from: its events are listed.
    command : str, default=None
        The command that makes the page again; None: a line of Python.
    max_rows : int, default=None
        Of more rows so many are drawn by chance, of a stream the first are taken; the page says so.
        None: 20,000, or fewer where each answer takes long: 5,000 of models that answer from
        nearest rows, and of three classes or more; 1,000 of ten classes or more.
    random_state : int, default=0

    Returns
    -------
    page : ReportPage
        `page.html` is its text, `page.verdict` its first three sentences, `page.save(path)` writes
        it.

    Examples
    --------
    >>> import numpy as np
    >>> import collegium
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    >>> model = collegium.CommitteeRegressor(random_state=0).fit(X[:200], y[:200])
    >>> page = collegium.report(model, X[200:], y[200:])
    >>> print(page.verdict[1])  # doctest: +ELLIPSIS
    The error bars ...
    """
    own = material_of(
        model, X, y, exposure=exposure, groups=groups, stream=stream, target=target, rows=rows,
        max_rows=max_rows, seed=random_state,
    )  # fmt: skip
    found = judged(own, stream)
    near = places.find_places(own)
    lines = verdict.sentences(found, near[0])
    name = type(model).__name__
    line = command or command_of(name, own, path, stream, rows)
    head = title or f"{own.target}, predicted by {name}"
    parts = parts_of_page(own, found, near, line, ledger)
    page = ReportPage(page_of(visible(head, 120), verdict.verdict_section(lines), parts), lines)
    if path is not None:
        page.save(path)
    return page


def parts_of_page(
    own: Material, found: JudgedNumbers | JudgedClasses, near: Any, command: str, ledger: Any
) -> list[PagePart]:
    """All sections, in their order."""
    if isinstance(found, JudgedClasses):
        errors, bars = accuracy.errors_of_classes(found), honesty.bars_of_classes(found)
        ten = worst.worst_of_classes(found)
    else:
        errors, bars = accuracy.errors_of_numbers(found), honesty.bars_of_numbers(found)
        ten = worst.worst_of_numbers(found)
    parts = [
        PagePart("data", "The data", data.data_section(found, share_learnt(own))),
        PagePart("errors", "How large are the errors?", errors),
        PagePart("bars", "Are the error bars honest?", bars),
        PagePart("columns", "What does each column do?", columns.columns_section(own)),
    ]
    drawn = maps.find_map(own)
    if drawn is not None:
        parts.append(PagePart("map", "Map", maps.map_section(own, drawn)))
    parts.append(PagePart("next", "Where to measure next", places.places_section(own, near)))
    if own.show_rows:
        parts.append(PagePart("worst", "The ten worst rows", ten))
    parts.append(PagePart("learnt", "What was learnt", learnt.learnt_section(own)))
    if ledger is not None:
        parts.append(PagePart("ledger", "The ledger", learnt.ledger_part(ledger)))
    parts.append(PagePart("again", "How to make this page again", learnt.again(own, command)))
    return parts


def material_of(
    model: Any, X: Any, y: Any, *, exposure: Any, groups: Any, stream: bool, target: str | None,
    rows: bool, max_rows: int | None, seed: int,
) -> Material:  # fmt: skip
    """Check what was given, and draw the rows that are looked at."""
    if not isinstance(model, Estimator):
        raise ValueError(
            f"model is a {type(model).__name__}: give a fitted regressor or classifier of collegium"
        )
    check_is_fitted(model)
    if stream and not hasattr(model, "partial_fit"):
        raise ValueError(f"stream=True: {type(model).__name__} does not learn from a stream")
    max_rows = budget_of(model).rows if max_rows is None else max_rows
    whole_number(max_rows, "max_rows")
    whole_number(seed, "random_state", least=0)
    label = groups if isinstance(groups, str) else getattr(groups, "name", None) or "group"
    if isinstance(groups, tuple) and len(groups) == 2 and isinstance(groups[0], str):
        label, groups = groups
    X, groups = apart_from_groups(X, groups)
    named = getattr(y, "name", None)
    refuse_missing(y)
    y = checked_target(model, y)
    e = None if exposure is None else np.broadcast_to(np.asarray(exposure, float), y.shape)
    if groups is not None and len(groups) != len(y):
        raise ValueError(f"groups has {len(groups)} labels, and there are {len(y)} rows")
    some = drawn_rows(len(y), max_rows, stream, seed)
    X = np.ascontiguousarray(seen_rows(model, X, some, len(y)))
    asked = asked_of(model, X.view(KnownColumns), None, most_frequent(model, y))[1]
    chosen = None if groups is None else (label, np.asarray(groups, dtype=object)[some])
    return Material(
        model, asked, X, y[some], some, len(y), visible(target or named or "y", 40),
        None if e is None else e[some], chosen, importance_of(model, asked, X), bool(rows), seed,
    )  # fmt: skip


def checked_target(model: Any, y: Any) -> Array:
    """One value for each row: labels, or numbers."""
    if getattr(model, "y_ndim_", 1) > 1 and model.model_.scaling.scale.size > 1:
        raise ValueError(
            "model has several outputs: fit one model for each output, and report these"
        )
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1:
        raise ValueError(f"y has the shape {y.shape}: give one value for each row")
    if y.size < 10:
        raise ValueError(f"there are {y.size} rows: a page needs ten at least")
    return y if hasattr(model, "classes_") else y.astype(float)


def drawn_rows(n: int, most: int, stream: bool, seed: int) -> Array:
    """Positions of the rows that are looked at, in their order."""
    if n <= most:
        return np.arange(n)
    if stream:
        return np.arange(most)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def most_frequent(model: Any, y: Array) -> Any:
    """The class that maps and places are about: of two the second, else the most frequent one."""
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 2:
        return None
    labels, counts = np.unique(y, return_counts=True)
    return labels[np.argmax(counts)].item() if y.dtype != object else labels[np.argmax(counts)]


def command_of(name: str, own: Material, path: Any, stream: bool, rows: bool) -> str:
    """A line of Python that makes the page."""
    given = ["model", "X", "y"]
    given += [] if path is None else [repr(basename(fspath(path)))]
    given += ["exposure=exposure"] * (own.exposure is not None)
    given += ["groups=groups"] * (own.groups is not None)
    given += ["stream=True"] * stream + ["rows=False"] * (not rows)
    given += [f"random_state={own.seed}"] * (own.seed != 0)
    return f"collegium.report({', '.join(given)})  # model: {name}"
