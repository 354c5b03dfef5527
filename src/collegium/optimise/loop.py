"""minimise: evaluate a function where a model suggests, and tell the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..committee.regressor import CommitteeRegressor
from ..interface.checks.arguments import one_of, whole_number, yes_or_no
from ..interface.checks.rows import generator
from .bounds import space_of_bounds
from .incumbent import noiseless
from .suggesting import HOW, suggest
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best point that was evaluated, and all of them."""

    x: Any  # an array (d,), or a dict
    value: float  # y there, or the mean of the posterior where there is noise
    #: All points, in the order of evaluations: an array (n, d), or a list of dicts.
    X: Any = field(repr=False)
    y: Array = field(repr=False)  # (n,)
    model: Any = field(repr=False)  # fitted to all of them


def minimise(
    function: Callable[[Any], float],
    bounds: Any,
    evaluations: int = 60,
    *,
    model: Any = None,
    how: str = "ei",
    maximise: bool = False,
    random_state: Any = None,
) -> Optimum:
    """Minimise an expensive function of a few columns by Bayesian optimisation.

    Parameters
    ----------
    function : callable
        From a point, an array of shape (d,) or a dict where `bounds` is one, to a number, which may
        be noisy.
    bounds : list or dict
        As in `suggest`.
    evaluations : int, default=60
        Calls of the function. The first, two per column and five at least, are quasi-random.
    model : regressor, default=None
        With `partial_fit`; a copy is fitted. None: a `CommitteeRegressor`. Every five evaluations
        it is fitted to all rows; those in between are added by `partial_fit`, which keeps
        hyperparameters.
    how, maximise : as in `suggest`
    random_state : int, RandomState, Generator or None

    Returns
    -------
    found : Optimum
        With `x`, `value`, all `X` and `y`, and the last `model`.

    Examples
    --------
    >>> from collegium.optimise import minimise
    >>> found = minimise(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-3, 3), (-3, 3)], 20,
    ...                  random_state=0)
    >>> found.value < 0.01, found.X.shape
    (True, (20, 2))
    """
    evaluations = whole_number(evaluations, "evaluations")
    one_of(how, "how", HOW)
    sign = -1.0 if yes_or_no(maximise, "maximise") else 1.0
    space, rng = space_of_bounds(bounds), generator(random_state)
    seed = int(rng.integers(2**31 - 1))
    own = CommitteeRegressor(random_state=seed) if model is None else clone(model)
    first = min(max(TUNING.fewest, TUNING.first * len(space.axes)), evaluations)
    X = list(space.told(space.pool(first, rng)))
    y = [_value(function, x) for x in X]
    own.fit(_table(X), y)
    for k in range(first, evaluations):
        x = suggest(own, bounds, how=how, maximise=maximise, random_state=rng)[0]
        X.append(x)
        y.append(_value(function, x))
        if (k - first) % TUNING.relearn:
            own.partial_fit(_table(X[-1:]), y[-1:])
        else:
            own.fit(_table(X), y)
    return _optimum(own, sign, X, np.array(y))


def _value(function: Callable[[Any], float], x: Any) -> float:
    """Evaluate the function; it gives one finite number."""
    found = function(x)
    value: Any = np.asarray(found).item() if np.size(found) == 1 else found
    if not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ValueError(f"function gave {found!r} at {x!r}: return one finite number")
    return float(value)


def _table(X: list[Any]) -> Any:
    return X if isinstance(X[0], dict) else np.array(X)


def _optimum(model: Any, sign: float, X: list[Any], y: Array) -> Optimum:
    """Choose the best point, by y where there is no noise, else by the mean of the posterior."""
    table = _table(X)
    values = y if noiseless(model.model_) else model.predict(table, level="function")
    best = int((sign * values).argmin())
    return Optimum(X[best], float(values[best]), table, y, model)
