"""The arguments and rows of models of latent functions: likelihoods that are not Gaussian."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..interface.arguments import (
    is_auto,
    noise_word,
    number,
    number_or_auto,
    one_of,
    yes_or_no,
)
from ..interface.options import Sweeps, Transductive
from ..interface.validation import check_exposure, check_rows, check_weights
from ..kernels import as_kernel, split_white
from ..likelihoods.base import Observation, Scalar
from ..likelihoods.conformance import check_methods
from ..likelihoods.support import SIGNS
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from .arguments import Settings
from .sweeping import MOST_SWEEPS, Sweeping

Array = np.ndarray
SCHEDULES = ("parallel", "sequence")
#: Of a regressor's y, by name. Gaussian noise the committee knows in closed form.
LIKELIHOODS = {name: own for name, own in Scalar.named().items() if own.support != SIGNS}
GAUSSIAN = "gaussian"


def sweeps_asked(value: Any) -> Sweeping:
    """The argument `sweeps`: "auto", a number, or Sweeps(most, tol, schedule)."""
    given = value if isinstance(value, Sweeps) else Sweeps(most=value)
    most = number_or_auto(given.most, "sweeps")
    tolerance = number(given.tol, "tol of sweeps=Sweeps(…)", lambda v: v >= 0.0, "at least 0")
    one_of(given.schedule, "schedule of sweeps=Sweeps(…)", SCHEDULES)
    sequential = given.schedule == "sequence"
    return Sweeping(most or MOST_SWEEPS, most is None, sequential, tolerance)


def chosen(estimator: Any) -> Scalar | None:
    """The likelihood that a regressor was asked for; None: Gaussian noise."""
    asked = estimator.likelihood
    if isinstance(asked, str) and asked in LIKELIHOODS:
        found = None if asked == GAUSSIAN else LIKELIHOODS[asked]()
    elif isinstance(asked, Scalar) and asked.support:
        found = asked
        check_methods(asked)
    elif isinstance(asked, type) and issubclass(asked, Observation):
        raise ValueError(f"likelihood={asked!r} is a class: give an instance, {asked.__name__}()")
    else:
        raise ValueError(
            f"likelihood={asked!r}: give one of {tuple(LIKELIHOODS)}, or a likelihood of "
            "collegium.likelihoods with one latent function"
        )
    sweeps_asked(estimator.sweeps)
    if found is None and not (isinstance(estimator.sweeps, str) and estimator.sweeps == "auto"):
        raise ValueError(
            "sweeps means nothing with likelihood='gaussian', where messages do not move: leave "
            "it out"
        )
    return found


def latent_settings(
    estimator: Any, *, n_local: int | None = None, noise: Any = 1.0, noisy: bool = False
) -> Settings:
    """The arguments that latent models share with committees; `n_local` by default, `noise`
    where y has some."""
    given = estimator.get_params(deep=False)
    asked = given.get("learn", True)
    learn = True if isinstance(asked, str) and asked == "auto" else yes_or_no(asked, "learn")
    if not learn and given.get("kernel") is None:
        raise ValueError("learn=False needs a kernel" + " and noise" * noisy)
    if not noisy and given["kernel"] is not None:
        if split_white(as_kernel(given["kernel"]))[1] is not None:
            raise ValueError("the kernel of a latent function has White noise: leave it out")
    asked = given.get("inference")
    if isinstance(asked, Transductive) and asked.screening != Transductive().screening:
        raise ValueError(
            "screening of inference=Transductive(…) means nothing where likelihoods are not "
            "Gaussian: leave it out"
        )
    settings = Settings.of(
        estimator, noise=noise, learn=learn, target_transform=None, input_transform=None
    )
    if settings.n_local is None and not settings.transductive:
        settings = replace(settings, n_local=n_local)
    return settings


def regression_settings(estimator: Any, likelihood: Scalar) -> Settings:
    """The arguments, those that mean nothing with this likelihood refused."""
    e, name, noisy = estimator, f"likelihood={estimator.likelihood!r}", likelihood.takes_noise
    if not (noisy or e.noise is None or isinstance(e.noise, str)):
        raise ValueError(f"noise means nothing with {name}: leave it out")
    if isinstance(e.learn, str) and e.learn != "auto":
        raise ValueError(f"learn={e.learn!r} needs likelihood='gaussian', not {name}")
    for argument in ("target_transform", "input_transform"):
        value = getattr(e, argument)
        if not (value is None or is_auto(value)):
            raise ValueError(f"{argument}={value!r} needs likelihood='gaussian', not {name}")
    noise_word(e.noise, ("auto", "constant"))
    noise = _given_noise(e, likelihood) if noisy else 1.0
    settings = latent_settings(e, noise=noise, noisy=noisy)
    asked = {
        "refine": settings.refine, "n_starts": settings.n_starts != 1,
    }  # fmt: skip
    for argument, given in asked.items():
        if given:
            raise ValueError(
                f"{argument}={getattr(e, argument)!r} needs likelihood='gaussian', not {name}"
            )
    if settings.noise is not None and settings.noise.size != 1:
        raise ValueError(f"noise has {settings.noise.size} values, but y has 1 output")
    if noisy and settings.noise is not None and settings.noise[0] == 0.0:
        raise ValueError(f"noise=0 means nothing with {name}: give a positive number")
    return settings


def _given_noise(e: Any, likelihood: Scalar) -> Any:
    """The noise to keep, by argument or as that of an object that is not to be learnt."""
    own: Any = "constant" if isinstance(e.noise, str) else e.noise
    fixed = "noise" in likelihood.fixed
    if fixed and not isinstance(own, str):
        raise ValueError("noise is given twice: drop it, or the fixed one of likelihood")
    white = e.kernel is not None and split_white(as_kernel(e.kernel))[1] is not None
    if fixed or not (isinstance(e.likelihood, str) or e.learn or white):
        return likelihood.noise if isinstance(own, str) else own  # type: ignore[attr-defined]
    return own


def check_latent_rows(
    estimator: Any, likelihood: Scalar, X, y, sample_weight, exposure, *, reset: bool
) -> Rows:
    """Validated rows: y (n, 1), or counts and exposures (n, 2)."""
    rows, y_ndim = check_rows(estimator, X, y, sample_weight, reset=reset)
    check_weights(rows.w, MOST_COPIES)
    if rows.y.shape[1] > 1:
        raise ValueError(
            f"y has {rows.y.shape[1]} outputs, but with likelihood={estimator.likelihood!r} it has "
            "one: fit one model each"
        )
    if y_ndim == 2:
        column_or_1d(rows.y, warn=True)
    e = check_exposure(exposure, rows.X.shape[0], likelihood)
    likelihood.accept(rows.y)
    if not likelihood.takes_exposure:
        return rows
    return Rows(rows.X, np.column_stack([rows.y, e]), rows.w)


def check_same_kind(estimator: Any, likelihood: Scalar | None, exposure: Any) -> None:
    """Refuse rows of a stream of another kind than those of earlier calls."""
    if likelihood != estimator.model_.given:
        raise ValueError(
            f"likelihood={estimator.likelihood!r} is not that of earlier calls: give the same, or "
            "call fit"
        )
    if exposure is None and estimator.model_.units.exposed:
        raise ValueError("exposure was given in earlier calls: give it here too, or 1.0")
