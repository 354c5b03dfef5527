"""A fitted model in words, from what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ...errors.mass import masses
from ...kernels import Kernel, Leaf, Sum
from ...kernels.columns import On, Wrapped
from ...kernels.composite import Composite
from ...kernels.season import Season
from ...kernels.stationary.periodic import UNITS
from ...kernels.wrapped.scored import Scored
from ...kernels.wrapped.stepped import Stepped
from ...rows.metric import column_scales
from ...tables.reading import DATE, LEVELS

Array = np.ndarray
#: Columns that are named one by one; levels, lengths and effects of further ones are counted.
NAMED = 6
#: Least share of the variance of the function that is worth a name.
WORTH_NAMING = 0.01
#: Kernels as people would call them.
WORDS = {
    "Matern12": "a rough function (Matérn 1/2)",
    "Matern32": "a fairly smooth function (Matérn 3/2)",
    "Matern52": "a smooth function (Matérn 5/2)",
    "RBF": "a very smooth function (squared exponential)",
    "RationalQuadratic": "a smooth function at many scales (rational quadratic)",
    "Periodic": "a function that repeats itself",
    "Linear": "a straight line",
    "Trend": "a trend, which is a straight line",
    "Season": "a season that repeats itself",
    "Constant": "a constant",
    "Group": "an effect of each group",
    "White": "noise",
}
#: Those whose length scales are of slopes.
LINES = ("Linear", "Trend")
#: Names of columns of dates.
Dates = frozenset[str]
#: Units that lengths of time are said in, the largest first.
TIMES = ("year", "day", "hour", "minute", "second")
#: What a target is seen by.
TRANSFORMS = {"log": "logarithm", "yeo-johnson": "power (Yeo and Johnson)", "rank": "normal scores"}


def summary_of(estimator: Any) -> str:
    """About ten lines, each with a word for what it tells."""
    names = column_names(estimator)
    lines = [
        *found_lines(estimator),
        *evidence_lines(estimator),
        ("matters", effects_line(estimator.feature_importances_, names)),
    ]
    width = max(len(word) for word, _ in lines)
    body = [f"  {word:<{width}}  {text}" for word, text in lines]
    return "\n".join([type(estimator).__name__, *body])


def found_lines(estimator: Any) -> list[tuple[str, str]]:
    """Tell what a model keeps of its fit, as words and texts; it takes no predictions."""
    model, names = estimator.model_, column_names(estimator)
    function = function_lines(model, names, date_names(estimator))
    return [
        ("rows", rows_line(model)),
        *forgetting_lines(model),
        ("columns", columns_line(names, estimator.n_features_in_)),
        *kinds_lines(getattr(estimator, "encoding_", None)),
        *ids_lines(estimator, names),
        *steps_lines(model, names),
        *seasons_lines(model),
        *classes_lines(estimator),
        *(("" if k else "function", text) for k, text in enumerate(function)),
        *members_lines(model),
        *noise_lines(model),
        *mass_lines(model),
        ("transforms", transforms_line(estimator, names)),
    ]


def column_names(estimator: Any) -> list[str]:
    """Name the columns that a model sees; x0, x1 … where X came without names."""
    given = getattr(estimator, "feature_names_in_", None)
    own = [f"x{j}" for j in range(estimator.n_features_in_)] if given is None else list(given)
    encoding = getattr(estimator, "encoding_", None)
    return own + [f"{own[k]} is missing" for k in (encoding.filled if encoding else ())]


def date_names(estimator: Any) -> Dates:
    """Names of the columns of dates."""
    encoding = getattr(estimator, "encoding_", None)
    return (
        frozenset(one.name for one in encoding.columns if one.kind == DATE) if encoding else Dates()
    )


def listed(words: Sequence[str], more: str = "more", most: int = NAMED) -> str:
    """The first of the words, and how many more there are."""
    some = ", ".join(words[:most])
    return some if len(words) <= most else f"{some} and {len(words) - most} {more}"


def rows_line(model: Any) -> str:
    return f"{model.total_weight:,.10g}{model.rows_words()}"


def forgetting_lines(model: Any) -> list[tuple[str, str]]:
    """The rate of forgetting, where the past fades or several rates are compared."""
    rate, several = getattr(model, "forgetting", 1.0), getattr(model, "rates", ())
    if rate == 1.0 and not several:
        return []
    past = (
        "all rows count alike" if rate == 1.0 else f"the last {1.0 / (1.0 - rate):,.3g} rows count"
    )
    text = f"{rate:.4g}: {past}"
    if not several:
        return [("forgetting", text)]
    others = ", ".join(f"{one:.4g}" for one in several)
    again = f"; begun again {model.n_restarted:,} times" if model.n_restarted else ""
    return [("forgetting", f"{text}; followed among {others}{again}")]


def columns_line(names: Sequence[str], d: int) -> str:
    return f"{d}: {listed(names[:d])}"


def kinds_lines(encoding: Any) -> list[tuple[str, str]]:
    """Columns that are not plain numbers."""
    if encoding is None or encoding.plain:
        return []
    columns, found = encoding.columns, []
    if words := [f"{one.name} ({len(one.levels):,})" for one in columns if one.kind == LEVELS]:
        found.append(("levels", listed(words)))
    if words := [f"{one.name}, {_since(one.origin)}" for one in columns if one.kind == DATE]:
        found.append(("dates", listed(words)))
    if words := [one.name for one in columns if one.gaps]:
        found.append(("gaps", f"in {listed(words)}"))
    return found


def ids_lines(estimator: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Columns of numbers that were taken for levels."""
    encoding, given = getattr(estimator, "encoding_", None), getattr(estimator, "kernel", None)
    if encoding is None or given is not None:
        return []
    kernel = estimator.model_.kernel
    seen = {k for kind, k in kernel.labels if kind == "mismatch"}
    steps = set(kernel.columns) if isinstance(kernel, Stepped) else set()
    words = [names[k] for k in sorted(seen - steps - set(encoding.categories)) if k < len(names)]
    return [("ids", f"{listed(words)}: numbers that are names, by rows held out")] if words else []


def steps_lines(model: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Columns of few values that act by steps."""
    kernel = model.kernel
    if not isinstance(kernel, Stepped):
        return []
    return [
        ("steps", f"{listed([names[k] for k in kernel.columns])}: few values, which act by steps")
    ]


def seasons_lines(model: Any) -> list[tuple[str, str]]:
    """Seasons and a trend that were found, not asked for."""
    found = getattr(getattr(model, "sum", None), "seasons", None)
    return [] if found is None else [("seasons", found.words())]


def _since(seconds: float) -> str:
    """Dates far from ours have no name."""
    try:
        day = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return "in seconds"
    return f"in seconds since {day}"


def classes_lines(estimator: Any) -> list[tuple[str, str]]:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return []
    return [("classes", f"{len(classes)}: {listed([str(one) for one in classes])}")]


def function_lines(model: Any, names: Sequence[str], dates: Dates = frozenset()) -> list[str]:
    """The prior, term by term."""
    averaged = getattr(model, "averaged", ())
    if averaged:
        count = sum(len(one.shares) for one in averaged)
        return [
            f"an average over {count} smooth functions (Matérn 5/2), each with a line beside it, "
            "whose length scales differ"
        ]
    kernel: Any = model.kernel_in_units
    own, spread = list(names), column_scales(model.some_inputs())
    if isinstance(kernel, Scored):
        own += [f"{names[one.column]} as a number" for one in kernel.scores]
        kernel, spread = kernel.kernel, np.append(spread, np.ones(len(kernel.scores)))
    if isinstance(kernel, Stepped):
        spread[kernel.columns] = column_scales(kernel.seen(model.some_inputs()))[kernel.columns]
        kernel = kernel.kernel
    terms = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    each = [term_words(term, own, spread, dates) for term in terms]
    return [text if k == 0 else f"plus {text}" for k, text in enumerate(each)]


def term_words(kernel: Kernel, names: list[str], spread: Array, dates: Dates = frozenset()) -> str:
    """Describe a term of a kernel, columns by name, those of short length scales first.

    Lengths in columns of `dates`, which are counted in seconds, are said in days too.
    """
    if isinstance(kernel, On):
        at = list(kernel.positions or ())
        return term_words(kernel.kernel, [names[k] for k in at], spread[at], dates)
    if isinstance(kernel, Composite):
        parts = [term_words(part, names, spread, dates) for part in kernel.parts]
        return (" times " if not isinstance(kernel, Sum) else " plus ").join(parts)
    if isinstance(kernel, Wrapped):
        inner = WORDS.get(type(kernel.kernel).__name__, repr(kernel.kernel))
        return f"{inner} of {listed(names)} ({type(kernel).__name__.lower()}){_size(kernel.kernel)}"
    if not isinstance(kernel, Leaf):
        return repr(kernel)
    text = WORDS.get(type(kernel).__name__, type(kernel).__name__) + _size(kernel)
    if isinstance(kernel, Season):
        periods = ", ".join(
            f"{period:.4g}{_in_time(period, name, dates)}"
            for period, name in zip(np.atleast_1d(kernel.period), [*names, *names[:1]])
        )
        return f"{WORDS['Season']} of {listed(names)}; period {periods}"
    if type(kernel).__name__ in LINES:
        bent = getattr(kernel, "degree", 1) > 1
        own = "a trend, which bends" if bent else WORDS[type(kernel).__name__]
        return f"{own} of {listed(names)}"
    if hasattr(kernel, "length_scale"):
        return f"{text}; {lengths_words(kernel, names, spread, dates)}"
    return text if type(kernel).__name__ in ("Constant", "White") else f"{text} of {listed(names)}"


def _size(kernel: Any) -> str:
    """The standard deviation of a term, where it has one."""
    variance = getattr(kernel, "variance", None)
    return "" if variance is None else f", sd {np.sqrt(variance):.3g}"


def lengths_words(kernel: Any, names: list[str], spread: Array, dates: Dates = frozenset()) -> str:
    """Length scales in the units of the columns, the shortest beside the spread of each first;
    levels are one apart."""
    codes = [k for k in getattr(kernel, "categories", ()) if not isinstance(k, str)]
    spread = spread.copy()
    spread[codes] = 1.0
    if np.ndim(kernel.length_scale) == 0:
        length = float(kernel.length_scale)
        time = _in_time(length, names[0], dates) if names else ""
        text = f"length scale {length:.3g}{time} of {listed(names)}"
    else:
        lengths = np.asarray(kernel.length_scale, dtype=float)
        order = np.argsort(lengths / spread, kind="stable")
        words = [
            f"{names[j]} {lengths[j]:.3g}{_in_time(lengths[j], names[j], dates)}"
            + " (levels)" * (j in codes)
            for j in order
        ]
        text = f"length scales {listed(words, 'longer')}"
    if hasattr(kernel, "period"):
        periods = np.broadcast_to(kernel.period, (len(names),))
        text += "; period " + listed(
            [f"{n} {p:.4g}{_in_time(p, n, dates)}" for n, p in zip(names, periods)]
        )
    return text


def _in_time(seconds: float, name: str, dates: Dates) -> str:
    """A length in a column of dates, in the largest unit that it holds twice, up to years."""
    if name not in dates:
        return ""
    unit = next((one for one in TIMES if seconds >= 2.0 * UNITS[one]), TIMES[-1])
    return f" ({seconds / UNITS[unit]:,.3g} {unit}s)"


def members_lines(model: Any) -> list[tuple[str, str]]:
    """Members beside the committee, and how much they count."""
    members = getattr(model, "members", None)
    return [] if members is None else [("members", text) for text in members.words()]


def noise_lines(model: Any) -> list[tuple[str, str]]:
    """The noise in the units of y, and how errors are spread about means."""
    noise = model.noise_in_units if hasattr(model, "noise_in_units") else None
    found = []
    if noise is not None:
        sds = ", ".join(f"{sd:.3g}" for sd in np.sqrt(np.atleast_1d(noise)))
        known = model.known_noise
        found.append(
            ("noise", f"standard deviation {sds}" + " beside what is known of rows" * known)
        )
        if not model.likelihood_name:
            found.append(("errors", errors_words(getattr(model, "errors", None))))
    if model.likelihood_name:
        found.append(("likelihood", model.likelihood_name))
    return found


def mass_lines(model: Any) -> list[tuple[str, str]]:
    """Values that many rows share, which errors do not describe."""
    rows = model.some_targets()
    if rows is None:
        return []
    text = ": intervals do not know it; classify these rows first, fit the others"
    return [("point mass", f"{one}{text}") for one in masses(rows.y, rows.w)]


def errors_words(errors: Any) -> str:
    if errors is None:
        return "of the same size everywhere, normal"
    outputs = errors.scale.outputs
    varies = any(one.function is not None for one in outputs)
    text = "of a size that varies from place to place" if varies else "of the same size everywhere"
    if not (tails := [one.nu for one in outputs if np.isfinite(one.nu)]):
        return f"{text}, normal"
    return f"{text}, with heavy tails (Student's t, {min(tails):.2g} degrees of freedom)"


def transforms_line(estimator: Any, names: Sequence[str]) -> str:
    targets = getattr(estimator, "target_transform_", None)
    kinds = [targets] if targets is None or isinstance(targets, str) else list(targets)
    words = [f"y by its {TRANSFORMS.get(kind, kind)}" for kind in kinds if kind is not None]
    inputs = getattr(estimator, "input_transform_", None)
    if inputs is not None:
        scored = [name for name, kind in zip(names, inputs) if kind is not None]
        words.append(f"normal scores of {listed(scored)}")
    text = "; ".join(dict.fromkeys(words))
    return f"{text} (noise and function are in these units)" if text else "none"


def evidence_lines(estimator: Any) -> list[tuple[str, str]]:
    value = getattr(estimator, "log_evidence_", None)
    return [] if value is None else [("evidence", f"log p(y given X) = {value:,.1f}")]


def effects_line(shares: Array, names: Sequence[str]) -> str:
    """Columns by their share of the variance of the function."""
    order = np.argsort(-shares, kind="stable")
    if not shares.any():
        return "no column: the function is constant"
    words = [f"{names[j]} {shares[j]:.0%}" for j in order if shares[j] >= WORTH_NAMING]
    rest = len(shares) - len(words)
    text = listed(words)
    return f"{text}; {rest} hardly" if rest else text
