"""From what users pass to what the core expects: validated, merged, centred and scaled."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from ...likelihoods.base import Scalar
from ...rows.rows import Rows
from ...rows.scaling import LARGEST, Scaling
from ...sources.frames import library_of
from ...sources.source import Source
from ..frames.encoded import KnownColumns, validated
from ..frames.writing import queries

Array = np.ndarray
#: Weights beyond, which with Gaussian noise are inverse variances, leave the range of floats.
LARGEST_WEIGHT = 1e250
#: Types of queries that become double precision without further checks.
NUMBERS = tuple(np.dtype(name) for name in ("f8", "f4", "i8", "i4"))


def check_rows(estimator, X, y, sample_weight, *, reset: bool) -> tuple[Rows, int]:
    """Validated rows (y two-dimensional), and the number of dimensions y came with."""
    refuse_collections(X, y, sample_weight)
    _refuse_single_y(y)
    _refuse_words(y)
    refuse_missing(y)
    X, y = validated(
        estimator, X, y, reset=reset, multi_output=True, y_numeric=True, dtype=np.float64,
        order="C", ensure_min_samples=1,
    )  # fmt: skip
    y = _numbers(y)
    check_range(X, "X")
    w = np.ones(X.shape[0])
    if sample_weight is not None:
        w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        check_consistent_length(X, w)
        check_weights(w)
    return Rows(X, y.reshape(X.shape[0], -1), w), y.ndim


def _refuse_single_y(y) -> None:
    if isinstance(y, str):
        raise ValueError(
            f"y={y!r} names a column, which only fit of a frame takes: give X and y apart, "
            f"frame.drop(columns={y!r}) and frame[{y!r}]"
        )
    if isinstance(y, Real) or (isinstance(y, np.ndarray) and y.ndim == 0 and y.dtype.kind in "iuf"):
        shown = f"{float(y):g}"
        raise ValueError(f"y={shown} is one number: give a list with one value per row, [{shown}]")


def refuse_collections(*values) -> None:
    """Refuse what another library holds elsewhere: it would all be pulled into this process."""
    for value in values:
        kind = f"a {type(value).__name__} of {library_of(value)}"
        if library_of(value) == "dask":
            raise TypeError(
                f"{kind} would be pulled into this process as a whole: fit(frame, y='column') "
                "reads a frame partition by partition; for answers, "
                "frame.map_partitions(model.predict, meta=(None, float)) or "
                "X.map_blocks(model.predict, drop_axis=1, dtype=float); or call its compute()"
            )
        if library_of(value) in ("pyspark", "ray"):
            raise TypeError(
                f"{kind} would be pulled into this process as a whole: write it as Parquet, and "
                "fit(collegium.open('folder/*.parquet', target='column'))"
            )


def check_weights(w: Array, most: float = LARGEST_WEIGHT) -> None:
    if not (w > 0).any():
        raise ValueError("sample_weight is zero for every row: give at least one a weight")
    if w.max() > most:
        raise ValueError(f"sample_weight has values beyond {most:.0e}: give smaller ones")


def check_outputs(rows: Rows, scaling: Scaling) -> None:
    """Refuse rows of a stream with another number of outputs than the first ones."""
    if rows.y.shape[1] != scaling.scale.size:
        raise ValueError(
            f"y has {rows.y.shape[1]} outputs, but {scaling.scale.size} in earlier calls"
        )


def refuse_missing(y) -> None:
    """Refuse y with values that are missing or infinite: say how many, and where the first is."""
    lost = missing(y)
    if lost.any():
        at = int(np.flatnonzero(lost)[0])
        raise ValueError(
            f"y is NaN, None or infinite in {int(lost.sum())} of {lost.size} rows (row {at} is the "
            "first): drop these rows from X and y"
        )


def missing(y) -> Array:
    """Whether each row of y has a value that is missing or infinite; none where y is no array of
    numbers or objects, which others refuse  (n,)."""
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths
        return np.zeros(0, dtype=bool)
    if values.ndim == 0 or values.dtype.kind not in "fO":
        return np.zeros(0, dtype=bool)
    lost = ~np.isfinite(values) if values.dtype.kind == "f" else _MISSING(values).astype(bool)
    return lost.any(axis=tuple(range(1, lost.ndim)))


def _is_missing(value) -> bool:
    if isinstance(value, (float, np.floating)):
        return not np.isfinite(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


_MISSING = np.frompyfunc(_is_missing, 1, 1)


def _refuse_words(y) -> None:
    kind = getattr(np.asarray(y), "dtype", np.dtype(float)).kind
    if kind in "Mm":
        raise ValueError(
            "y holds dates or spans of time: give numbers, for instance days since the first"
        )
    if kind not in "OSU" or issparse(y):
        return
    try:
        np.asarray(y, dtype=float)
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(
                f"y has words ({error}): for classes, use CommitteeClassifier"
            ) from error
    except TypeError:
        pass


def _numbers(y) -> Array:
    if issparse(y):
        raise ValueError("y is sparse: give a dense array")
    y = np.asarray(y, dtype=np.float64)
    check_range(y, "y")
    if y.any() and 0.0 < max(y.max(), -y.min()) < 1.0 / LARGEST:
        warnings.warn(
            f"y has no values beyond {1.0 / LARGEST:.0e}: variances of it are too small for "
            "floating-point numbers, and error bars are too wide. Give y in larger units",
            stacklevel=4,
        )
    return y


def check_range(values: Array, name: str) -> None:
    if max(values.max(), -values.min()) > LARGEST:
        raise ValueError(f"{name} has values beyond {LARGEST:.0e}: give it in other units")


def generator(random_state) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as `random_state`, or a generator itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        seed = check_random_state(random_state).randint(2**31 - 1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"random_state={random_state!r}: {error}") from error
    return np.random.default_rng(seed)


def check_exposure(exposure, n: int, likelihood: Scalar, *, used: bool = False) -> Array:
    """One per row, or of all rows; ones by default, with a warning where others were used  (n,)."""
    if exposure is None:
        if used:
            warnings.warn(
                "the rows came with exposures, and these queries without: their exposure is "
                "taken to be one; give exposure=1.0 if that is meant",
                stacklevel=4,
            )
        return np.ones(n)
    if not likelihood.takes_exposure:
        takers = [name for name, own in Scalar.named().items() if own.takes_exposure]
        names = " or ".join(f"likelihood={name!r}" for name in takers)
        raise ValueError(f"exposure means something with {names} only: leave it out")
    try:
        e = np.asarray(exposure, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"exposure must be numbers: {error}") from error
    if e.ndim == 0:
        e = np.full(n, float(e))
    if e.shape != (n,):
        raise ValueError(f"exposure has shape {e.shape}: give one number per row, ({n},), or one")
    if not ((e >= 1.0 / LARGEST) & (e <= LARGEST)).all():
        raise ValueError(f"exposure must be positive numbers, at most {LARGEST:.0e}")
    return e


def check_noise_variance(noise_variance, rows: Rows) -> Rows:
    """Rows with their known noise variances: one per row, or one of all; as they are without."""
    if noise_variance is None:
        return rows
    n = rows.w.size
    try:
        v = np.asarray(noise_variance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"noise_variance must be numbers: {error}") from error
    v = np.full(n, float(v)) if v.ndim == 0 else v
    if v.shape != (n,):
        raise ValueError(f"noise_variance has shape {v.shape}: give one per row, ({n},), or one")
    if not ((v >= 0.0) & (v <= LARGEST_WEIGHT)).all():
        raise ValueError(
            "noise_variance must be finite numbers of at least 0: give the square of each row's "
            "standard error, in the units of y squared"
        )
    return replace(rows, extra=v)


def check_known(model, noise_variance) -> bool:
    """Whether rows of a stream have noise variances; one that has begun without has none."""
    if model is None or model.known_noise or noise_variance is None or model.waiting is not None:
        return noise_variance is not None or (model is not None and model.known_noise)
    raise ValueError(
        "noise_variance: this stream began without. Give it from the first call on, 0 where "
        "nothing is known, or call fit"
    )


def refuse_noise_variance(noise_variance) -> None:
    """Refuse noise variances of rows in a file or frame that is read as a source."""
    if noise_variance is not None:
        raise ValueError(
            "noise_variance is for X and y in arrays; a source or store has no such column"
        )


def check_targets(y, shape: tuple[int, int]) -> Array:
    """y to compare answers with, (n, p), finite."""
    try:
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers: {error}") from error
    if y.shape not in ((shape if shape[1] > 1 else shape[:1]), shape):
        raise ValueError(f"y has shape {y.shape}: give {shape if shape[1] > 1 else shape[:1]}")
    if not np.isfinite(y).all():
        raise ValueError("y has NaN or infinite values: drop those rows or repair them")
    return y.reshape(shape)


def check_queries(estimator, X) -> Array:
    if isinstance(X, Source):
        return queries(estimator, X)
    if isinstance(X, KnownColumns):
        return X.view(np.ndarray)
    plain = _plain(estimator, X)
    if plain is not None:
        return plain
    refuse_collections(X)
    return validated(estimator, X, reset=False, dtype=np.float64, order="C")


def _plain(estimator, X) -> Array | None:
    """Convert an array or list of finite numbers with the columns of the model; None: anything
    else, which takes longer to read or to refuse."""
    encoding = getattr(estimator, "encoding_", None)
    if hasattr(estimator, "feature_names_in_") or not (encoding is None or encoding.plain):
        return None
    if type(X) is list:
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths
            return None
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in NUMBERS:
        return None
    fits = X.shape[0] > 0 and X.shape[1] == estimator.n_features_in_
    if not fits or not np.isfinite(X).all():
        return None
    return np.ascontiguousarray(X, dtype=np.float64)
