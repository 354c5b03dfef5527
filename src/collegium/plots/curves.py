"""Draw the error against the number of rows: would more of them help?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ..diagnostics.numbers import as_percent, three_digits
from ..interface.checks.arguments import whole_number
from .axes import DOTS, LINE, dress, legend, new_axes, plain_numbers, short_name
from .judged import count_rows, take_rows, target_name

Array = np.ndarray
#: Rows that the largest fit has and rows held out, unless told otherwise; sizes of fits.
MOST_ROWS, HELD_OUT, SIZES, SMALLEST = 20_000, 2_000, 6, 20


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Errors of held-out rows by the number of rows that were learnt from.

    Attributes
    ----------
    sizes : array of shape (k,)
    error : array of shape (k,)
        Root mean squared error; of classes the share of wrong labels.
    half : array of shape (k,)
        Half the length of a 95 % interval of the error, from the scatter over held-out rows.
    expected : array of shape (k,)
        The error that the model itself expects: the root mean square of its standard deviations,
        or the mean of the probabilities that its labels are wrong.
    held_out : int
        Rows that the errors are of.
    words : str
        What the error is.
    """

    sizes: Array
    error: Array
    half: Array
    expected: Array
    held_out: int
    words: str = "root mean squared error"


def learning_errors(model, X, y, *, sizes=SIZES, held_out=None, random_state=0) -> LearningCurve:
    """Fit copies of a model on nested subsets of the rows, and measure them on rows held out.

    Parameters
    ----------
    model : regressor or classifier, which stays as it is
    X : array-like or frame of shape (n, d)
    y : array-like of shape (n,)
    sizes : int or sequence of int, default=6
        Numbers of rows to learn from, or how many of these: from 20 at least to all that are not
        held out, but 20,000 at most, by equal factors.
    held_out : int, default=None
        None: a fifth of the rows, 2,000 at most.
    random_state : int, RandomState, Generator or None, default=0
        Shuffles the rows.

    Returns
    -------
    found : LearningCurve
    """
    seen = np.asarray(y)
    n = count_rows(X)
    if seen.shape != (n,):
        raise ValueError(f"y has shape {seen.shape}: give one number or label for each of {n} rows")
    held = min(HELD_OUT, n // 5) if held_out is None else whole_number(held_out, "held_out")
    if held < 2 or n - held < 2:
        raise ValueError(f"held_out={held}: of {n} rows keep at least two, and two to learn from")
    order = _generator(random_state).permutation(n)
    test, train = order[:held], order[held:]
    asked, truth = take_rows(X, test), seen[test]
    counts = sizes_of(sizes, train.size)
    found = []
    for size in counts:
        own = clone(model).fit(take_rows(X, train[:size]), seen[train[:size]])
        found.append(_measured(own, asked, truth))
    words = "share of wrong labels" if is_classifier(model) else _words(y)
    error, half, expected = np.transpose(found)
    return LearningCurve(counts, error, half, expected, held, words)


def _words(y: Any) -> str:
    name = target_name(y)
    return "root mean squared error" + ("" if name == "y" else f" of {short_name(name)}")


def _generator(random_state: Any) -> Any:
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return random_state
    return np.random.default_rng(random_state)


def sizes_of(sizes: Any, n: int) -> Array:
    """Numbers of rows to learn from, ascending."""
    if np.ndim(sizes) == 0:
        k, most = whole_number(sizes, "sizes", least=2), min(n, MOST_ROWS)
        least = min(max(SMALLEST, most // 2 ** (k - 1)), most)
        return np.unique(np.geomspace(least, most, k).round().astype(int))
    found = np.unique(np.asarray(sizes))
    if not found.size or found.dtype.kind not in "iu" or found[0] < 2 or found[-1] > n:
        raise ValueError(f"sizes={sizes!r}: give whole numbers of rows, from 2 to {n}")
    return found


def _measured(model: Any, X: Any, y: Array) -> tuple[float, float, float]:
    """Error of held-out rows, half its 95 % interval, and the error that the model expects."""
    n = len(y)
    if is_classifier(model):
        table = model.predict_proba(X)
        wrong = (model.classes_[table.argmax(axis=1)] != y).astype(float)
        share = float(wrong.mean())
        half = 1.96 * float(wrong.std()) / np.sqrt(n)
        return share, half, float(1.0 - table.max(axis=1).mean())
    mean, sd = model.predict(X, return_std=True)
    square = (y - mean) ** 2
    error = float(np.sqrt(square.mean()))
    # d√m = dm / (2√m)
    half = 1.96 * float(square.std()) / np.sqrt(n) / max(2.0 * error, 1e-300)
    return error, half, float(np.sqrt(np.mean(sd**2)))


def plot_learning_curve(
    model, X=None, y=None, *, sizes=SIZES, held_out=None, random_state=0, ax=None
):  # fmt: skip
    """Draw the error of held-out rows against the number of rows learnt from, with 95 % bars.

    Copies of the model are fitted on nested subsets of the rows, which takes about twice as long as
    the largest fit. Bars come from the scatter over held-out rows. These are the same for all
    sizes, so that steps of the curve are surer than the bars. The dashed line is the error that the
    model itself expects.

    Parameters
    ----------
    model : regressor or classifier, or a `LearningCurve` of `learning_errors`
    X, y, sizes, held_out, random_state : as in `learning_errors`
    ax : matplotlib Axes, default=None
        None: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 80)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> ax = plots.learning_curve(CommitteeRegressor(random_state=0), X, y, sizes=[20, 40])
    """
    found = model
    if not isinstance(model, LearningCurve):
        if X is None or y is None:
            raise ValueError("give X and y with a model, or a LearningCurve of learning_errors")
        if not hasattr(model, "fit"):
            raise ValueError(f"model={model!r}: give a regressor or a classifier")
        found = learning_errors(
            model, X, y, sizes=sizes, held_out=held_out, random_state=random_state
        )
    ax = new_axes(ax)
    ax.errorbar(
        found.sizes, found.error, np.minimum(found.half, 0.95 * found.error), fmt="o-", color=LINE,
        ms=5, lw=1.6, capsize=3, label=f"error of {found.held_out:,} rows held out",
    )  # fmt: skip
    ax.plot(found.sizes, found.expected, "--", color=DOTS, lw=1.2, label="error it expects")
    ax.set_xscale("log")
    plain_numbers(ax.xaxis)
    smallest = min(found.error.min(), found.expected.min())
    if smallest > 0 and found.error.max() > 2.0 * found.error.min():
        ax.set_yscale("log")
        plain_numbers(ax.yaxis)
    dress(ax, _verdict(found), "rows learnt from", found.words)
    legend(ax)
    return ax


def _verdict(found: LearningCurve) -> str:
    """Say what the last step of the curve brought."""
    if found.sizes.size < 2 or not found.error[-2] > 0:
        return f"With {found.sizes[-1]:,} rows the error is {three_digits(found.error[-1])}"
    step = 1.0 - found.error[-1] / found.error[-2]
    did = "lowered" if step > 0 else "raised"
    return (
        f"From {found.sizes[-2]:,} to {found.sizes[-1]:,} rows: the error was {did} by "
        f"{as_percent(abs(step))}"
    )
