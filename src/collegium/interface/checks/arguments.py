"""Checks of arguments that several estimators share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted as raise_unless_fitted

from ...engines import engine_for
from ...kernels import Kernel, as_kernel, split_white
from ...learning.anchors import POOLING, CandidatePool
from ...messages.probe import probe
from ...numerics import linalg, memory
from ...rows.ids import ChunkIds, Id
from ...rows.partition import RULES
from ..options import AnswerTime, Learn

Array = np.ndarray
#: How the noise may be learnt: varying with x where that is better, never, or always.
NOISES = ("auto", "constant", "varying")
#: Ways to learn, beside True and False.
LEARN = ("anchored",)
#: Arrays of the size of the draws that are held at once while they are made.
DRAWS = 4.0
#: Characters of the id of a chunk, at most.
LONGEST_ID = 200


def check_is_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError unless there is a model.

    scikit-learn's own check reads all tags first, and so all arguments.
    """
    if "model_" not in vars(estimator):
        raise_unless_fitted(estimator)


def check_coverage(coverage, name: str = "coverage") -> None:
    if not (isinstance(coverage, Real) and 0.0 < float(coverage) < 1.0):
        raise ValueError(
            f"{name}={coverage!r}: give a probability above 0 and below 1, such as 0.95"
        )


def check_probabilities(q: Any) -> list[float]:
    """One probability, or several in one dimension."""
    try:
        asked = np.atleast_1d(np.asarray(q, dtype=float))
    except (TypeError, ValueError):
        asked = np.empty(0)
    if asked.ndim != 1 or not asked.size or not ((asked > 0.0) & (asked < 1.0)).all():
        raise ValueError(f"q={q!r}: give one probability or a list, each above 0 and below 1")
    return asked.tolist()


def check_level(level, levels: tuple[str, ...]) -> None:
    if not isinstance(level, str) or level not in levels:
        raise ValueError(f"level={level!r}: give one of {levels}")


def check_verbose(verbose) -> None:
    whole_number(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", least=0)


def yes_or_no(value, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: give True or False")
    return bool(value)


def check_square(n: int, what: str) -> None:
    """Refuse a dense n × n matrix before it is tried."""
    if n > linalg.LARGEST:
        raise ValueError(
            f"{what} needs a dense {n} x {n} matrix ({8 * n * n / 2**30:.1f} GiB), beyond the "
            f"limit of {linalg.LARGEST}: ask for less at a time"
        )


def check_draws(n_samples, n: int, p: int = 1) -> int:
    """Refuse draws of n queries and p outputs that no memory could hold."""
    count = whole_number(n_samples, "n_samples")
    memory.refuse_beyond_machine(
        DRAWS * 8.0 * n * p * count, f"n_samples={count} at {n} queries", "ask for less at a time"
    )
    return count


def given_hyperparameters(
    given, noise, learn, words: tuple[str, ...] = ("constant",), ways: tuple[str, ...] = LEARN
) -> tuple[Kernel | None, Array | None, float | None]:
    """Kernel without white noise, noise to keep, noise to start from; `words`: what the noise may
    be where it is not given; `ways`: how to learn, beside True and False."""
    noise_word(noise, words)
    if not (isinstance(learn, (bool, np.bool_)) or (isinstance(learn, str) and learn in ways)):
        raise ValueError(f"learn={learn!r}: give True, False or one of {ways}")
    kernel = None if given is None else as_kernel(given)
    values, start = _noise(noise), None
    if kernel is not None:
        kernel, white = split_white(kernel)
        if white is not None and values is not None:
            raise ValueError("noise is given twice: drop it, or the white noise in kernel")
        if white is not None and (white.fixed or not learn):
            values = np.array([white.variance])
        elif white is not None:
            start = white.variance
    if not learn and (kernel is None or values is None):
        raise ValueError("learn=False needs both kernel and noise (or a kernel + White(...))")
    return kernel, values, start


def learning_asked(learn) -> tuple[Any, Any]:
    """How to learn, and from how many starting points."""
    return (learn.how, learn.n_starts) if isinstance(learn, Learn) else (learn, 1)


#: Values of `n_local` that are no numbers: cells where they are as good, and nearest rows always.
USUAL, NEAREST = "auto", "nearest"


def rows_asked(n_local) -> int | None:
    """Nearest rows that a model is fitted with; None for "auto" and "nearest"."""
    if isinstance(n_local, AnswerTime):
        return number_or_auto(n_local.n_local, "n_local of n_local=AnswerTime(…)", least=0)
    if isinstance(n_local, str):
        if n_local in ("auto", NEAREST):
            return None
        raise ValueError(
            f"n_local={n_local!r}: give a whole number of at least 0, 'auto', 'nearest' or "
            "AnswerTime(milliseconds)"
        )
    return number_or_auto(n_local, "n_local", least=0)


def one_of(value, name: str, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: give one of {choices}")
    return value


def tolerance(value, name: str) -> float:
    if not _is_number(value) or not 0.0 <= float(value) < 1.0:
        raise ValueError(f"{name}={value!r}: give a tolerance of at least 0 and below 1")
    return float(value)


def choose_engine(engine, n_jobs):
    """The engine given, or this machine with so many threads."""
    if engine is None:
        return engine_for(n_jobs)
    works = all(callable(getattr(engine, name, None)) for name in ("map", "sum", "imap"))
    if isinstance(engine, type) or not works:
        raise ValueError(f"engine={engine!r}: give an engine, with `map`, `sum` and `imap`")
    if hasattr(engine, "check"):  # of a cluster: whether its workers round alike
        engine.check(probe)
    return engine


def check_chunk_id(chunk_id: Any, ids: ChunkIds | None) -> Id | None:
    """An id for a new chunk: a number of at least 0, a name, or None."""
    if chunk_id is None:
        return None
    id = _id(chunk_id, "chunk_id")
    if ids is not None and id in ids:
        raise ValueError(
            f"chunk_id={id!r} was learnt already: give another, or forget that chunk first"
        )
    return id


def label_id(label: Any) -> Id:
    """The id of the chunk of a label: itself, or its text where it is no id (negative numbers,
    fractions, dates)."""
    number = float(label) if isinstance(label, Real) and not isinstance(label, bool) else 0.5
    whole = int(label) if number.is_integer() else label
    return _id(whole if number.is_integer() and number >= 0.0 else str(whole), "chunks")


def check_known_ids(chunk_ids: Any, ids: ChunkIds) -> list[Id]:
    """Ids of chunks that a model has and the user has given, each once.

    Numbers of clusters that a fit made are refused: nobody can mean these.
    """
    several = isinstance(chunk_ids, (list, tuple, set, frozenset, range, np.ndarray))
    found = list(
        dict.fromkeys(_id(one, "chunk_ids") for one in (chunk_ids if several else [chunk_ids]))
    )
    if not found:
        raise ValueError(f"chunk_ids={chunk_ids!r}: give at least one id")
    known = ids.named()
    unknown = [id for id in found if id not in known]
    if unknown:
        some = known.listed()
        own = f"the ids that were given, {some[:5]}{' …' * (len(some) > 5)}"
        raise ValueError(
            f"chunk_ids: {unknown[:5]} are not among {own if some else 'ids that were given'}: "
            "chunks that fit makes by itself cannot be forgotten. Fit with chunks=labels, one per "
            "row (its customer, for example), or add rows by partial_fit(X, y, chunk_id=…), to "
            "forget them by that id later; a collegium.Ledger forgets rows, and by the value of a "
            "column. To forget them now, call fit without them"
        )
    return found


def _id(value: Any, name: str) -> Id:
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID:
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= 0:
        return int(value)
    raise ValueError(
        f"{name}={value!r}: give a whole number of at least 0, or a text of 1 to {LONGEST_ID} "
        "characters"
    )


def whole_number(value, name: str, *, least: int = 1, most: float = np.inf, words: str = "") -> int:
    whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or not least <= value <= most:
        limits = f"at least {least}" + (f" and at most {most}" if np.isfinite(most) else "")
        raise ValueError(f"{name}={value!r}: give a whole number of {limits}{words}")
    return int(value)


def number_or_auto(value, name: str, *, least: int = 1) -> int | None:
    """A whole number; None for "auto"."""
    if is_auto(value):
        return None
    return whole_number(value, name, least=least, words=" or 'auto'")


def pool_asked(rule: str, candidates, picks, where: str = "") -> CandidatePool:
    """Read how many candidates a greedy rule draws at a time, and how many of them it takes."""
    usual = CandidatePool()
    found = CandidatePool(
        number_or_auto(candidates, f"candidates{where}") or usual.candidates,
        number_or_auto(picks, f"picks{where}") or usual.picks,
    )
    if rule not in POOLING and not (is_auto(candidates) and is_auto(picks)):
        raise ValueError(
            f"candidates and picks{where} are for the rules {POOLING}, not for {rule!r}"
        )
    if found.picks > found.candidates:
        raise ValueError(
            f"picks={found.picks}{where}: give at most candidates={found.candidates}, or more "
            "candidates"
        )
    return found


def is_auto(value) -> bool:
    return isinstance(value, str) and value == "auto"


def number(value, name: str, right: Callable[[float], bool], words: str) -> float:
    if not _is_number(value) or not right(float(value)):
        raise ValueError(f"{name}={value!r}: give a number of {words}")
    return float(value)


def _is_number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def noise_word(noise, words: tuple[str, ...] = ("constant",)) -> str:
    """How the noise is to be learnt; of one that is given: "constant"."""
    if not isinstance(noise, str):
        return "constant"
    if noise in NOISES and noise not in words:
        raise ValueError(f"noise={noise!r} is not for this model: leave it out, or give a variance")
    if noise not in words:
        raise ValueError(f"noise={noise!r}: give one of {words}, or a variance")
    return noise


def _noise(noise) -> Array | None:
    if isinstance(noise, str):
        return None
    if noise is None:
        raise ValueError("noise=None: leave it out, or give 'constant' (learnt) or a variance")
    number = np.atleast_1d(np.asarray(noise, dtype=object))
    good = number.ndim == 1 and all(isinstance(v, Real) for v in number)
    values = number.astype(float) if good else np.array([np.nan])
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"noise={noise!r}: give a variance of at least 0, or one per output")
    if values.size > 1 and (values == 0).any() and (values > 0).any():
        raise ValueError("noise has zeros beside other values: give all zeros, or none")
    return values


def partition_rule(rule, name: str, others: str = "") -> tuple[str, Array | None]:
    """How rows are dealt: the name of a rule, or "label" and the labels; `others` may be given."""
    words = f"give one of {sorted(RULES)}, or an array of one label per row{others}"
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(f"{name}={rule!r}: {words}")
        return rule, None
    labels = np.asarray(rule)
    missing = labels.dtype.kind in "fc" and not np.isfinite(labels).all()
    mixed = labels.dtype == object and len({type(label) for label in labels.flat}) > 1
    if labels.ndim != 1 or missing or mixed:
        raise ValueError(f"{name}: {words}")
    return "label", labels
