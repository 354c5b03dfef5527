"""suggest: points to evaluate next."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..interface.checks.arguments import check_is_fitted, one_of, whole_number, yes_or_no
from ..interface.checks.rows import check_queries, generator
from ..interface.regressor import Regressor
from ..interface.turns import as_it_is
from .ahead import CRITERIA, Ahead
from .bounds import space_of_model
from .drawing import drawn, lowest_of_draw
from .incumbent import incumbent
from .search import highest
from .space import Space
from .surface import Surface
from .tuning import TUNING

Array = np.ndarray
THOMPSON = "thompson"
HOW = (*CRITERIA, THOMPSON)


def suggest(
    model: Any,
    bounds: Any = None,
    n: int = 1,
    *,
    how: str = "ei",
    maximise: bool = False,
    candidates: Any = None,
    random_state: Any = None,
) -> Any:
    """Suggest where to evaluate the function next, by what a fitted model knows of it.

    Parameters
    ----------
    model : fitted regressor of collegium, of one output
    bounds : list of one entry per column, or dict by column name
        Of each column (low, high), or a `range` of whole numbers, or a list of values (levels too;
        one value holds the column constant). Two numbers are always low and high.
    n : int, default=1
        Points to suggest. Each is chosen as if the values at those before it were known, averaged
        over joint draws of them, so that they differ. The first one is that of n=1.
    how : {"ei", "ucb", "thompson"}
        "ei": the largest expected improvement on the best row, which is the one of the best y
        where there is no noise and of the best mean where there is. "ucb": the best mean plus (or
        minus) two standard deviations. "thompson": the best point of a function drawn from the
        posterior.
    maximise : bool, default=False
        Look for large values instead of small ones.
    candidates : array or frame, default=None
        In place of bounds: the rows to choose from, as `predict` takes them.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    points : array of shape (n, d), list of dicts, or rows of `candidates`
        Dicts where the model was fitted to named columns; `partial_fit` takes them. Of candidates
        n different rows, as they came.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> from collegium.optimise import suggest
    >>> X = np.linspace(0, 10, 8)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 0]
    >>> model = CommitteeRegressor(random_state=0).fit(X, y)
    >>> for _ in range(5):
    ...     x = suggest(model, [(0, 10)], random_state=0)
    ...     model = model.partial_fit(x, np.sin(x[:, 0]) + 0.1 * x[:, 0])
    >>> bool(abs(x[0, 0] - 4.61) < 0.1)  # the least is at 4.61
    True
    """
    surface = _surface(model, maximise)
    n, how = whole_number(n, "n"), one_of(how, "how", HOW)
    if (bounds is None) == (candidates is None):
        raise ValueError("give either bounds or candidates")
    streams = generator(random_state).spawn(n)
    if candidates is not None:
        X = check_queries(surface.model, candidates)
        if n > X.shape[0]:
            raise ValueError(
                f"n={n}, and there are {X.shape[0]} candidates: give more of them, or a smaller n"
            )
        return _taken(candidates, chosen_rows(surface, X, how, streams))
    space = space_of_model(surface.model, bounds)
    if n > space.size:
        raise ValueError(
            f"n={n}, and bounds hold {space.size:.0f} points: give wider ones, or a smaller n"
        )
    return space.told(chosen_points(surface, space, how, streams))


def chosen_points(
    surface: Surface, space: Space, how: str, streams: list[np.random.Generator]
) -> Array:
    """Choose coordinates in a region, one after the other, each with its own generator  (n, d)."""
    known = incumbent(surface, space.holds)
    best = _best_value(surface, how, known)
    rows = space.at(np.empty((0, len(space.axes)))) if known is None else known.X
    starts = space.back(rows[: TUNING.kept])
    U = np.empty((0, len(space.axes)))
    for rng in streams:
        X = space.at(U)
        if how == THOMPSON:
            found = lowest_of_draw(surface, space, starts, X, rng)
        else:
            score = partial(CRITERIA[how], Ahead.of(surface, X, rng), best)
            found = highest(score, space, starts, X, rng)
        U = np.concatenate([U, found])
    return U


def chosen_rows(
    surface: Surface, X: Array, how: str, streams: list[np.random.Generator]
) -> list[int]:
    """Choose different rows of X, one after the other; return their positions."""
    best = _best_value(surface, how, incumbent(surface))
    chosen: list[int] = []
    for rng in streams:
        if how == THOMPSON:
            score = _draw_score(surface, X, rng, len(streams))
        else:
            score = CRITERIA[how](Ahead.of(surface, X[chosen], rng), best, X)
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
    return chosen


def _draw_score(surface: Surface, X: Array, rng: np.random.Generator, n: int) -> Array:
    """Minus a draw of f at the rows that may be lowest; −1e300 and less at the others  (m,)."""
    mean, sd = surface.moments(X)
    lower = np.argsort(mean - 3.0 * sd, kind="stable")
    at = np.sort(lower[: max(TUNING.promising, n)])
    score = np.full(X.shape[0], -1e300)
    score[at] = -drawn(surface, X[at], rng)
    return score


def _surface(model: Any, maximise: bool) -> Surface:
    """Check that a model can be asked."""
    if not isinstance(model, Regressor):
        raise ValueError(
            f"model is a {type(model).__name__}: give a fitted regressor of collegium, such as "
            "CommitteeRegressor"
        )
    check_is_fitted(model)
    model = as_it_is(model)
    if model.model_.scaling.scale.size != 1:
        raise ValueError(
            f"model has {model.model_.scaling.scale.size} outputs: fit the one to optimise"
        )
    return Surface(model, -1.0 if yes_or_no(maximise, "maximise") else 1.0)


def _best_value(surface: Surface, how: str, known: Any) -> float:
    if known is None and how == "ei":
        raise ValueError(
            f"how='ei': {type(surface.model).__name__} keeps no rows to improve on; give "
            "how='ucb' or 'thompson'"
        )
    return np.inf if known is None else known.value


def _taken(candidates: Any, positions: list[int]) -> Any:
    """Take rows of candidates, as they came."""
    if hasattr(candidates, "iloc"):
        return candidates.iloc[positions]
    if isinstance(candidates, (list, tuple)):
        return [candidates[i] for i in positions]
    return candidates[positions]
