"""The arguments of models of latent functions: likelihoods that are not Gaussian."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...interface.checks.arguments import (
    learning_asked,
    noise_word,
    number,
    number_or_auto,
    one_of,
    yes_or_no,
)
from ...interface.checks.limits import answer_time_allowed
from ...interface.options import Inductive, Learn, Sweeps, Transductive, Transform
from ...kernels import as_kernel, split_white
from ...likelihoods.base import Scalar
from ..asked import TransformsAsked
from ..settings import Settings
from ..tuning import TUNING
from .sweeping import Sweeping

SCHEDULES = ("parallel", "sequence")


def sweeps_of(inference: Any) -> Any:
    """The field `sweeps` of the argument `inference`; "auto" where it has none."""
    return inference.sweeps if isinstance(inference, (Inductive, Transductive)) else "auto"


def sweeps_asked(inference: Any) -> Sweeping:
    """Read `sweeps` of inference: "auto", a number, or Sweeps(most, tol, schedule)."""
    value = sweeps_of(inference)
    given = value if isinstance(value, Sweeps) else Sweeps(most=value)
    where = f"of inference={type(inference).__name__}(…)"
    most = number_or_auto(given.most, f"sweeps {where}")
    tolerance = number(given.tol, f"tol of sweeps {where}", lambda v: v >= 0.0, "at least 0")
    one_of(given.schedule, f"schedule of sweeps {where}", SCHEDULES)
    sequential = given.schedule == "sequence"
    return Sweeping(most or TUNING.sweeps.most, most is None, sequential, tolerance)


def latent_settings(
    estimator: Any, *, n_local: int | None = None, noise: Any = 1.0, noisy: bool = False
) -> Settings:
    """Read the arguments that latent models share with committees; `n_local` by default, `noise`
    where y has some."""
    given = estimator.get_params(deep=False)
    asked, n_starts = learning_asked(given.get("learn", True))
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
    if answer_time_allowed(given.get("n_local")) is not None:
        refuse_answer_time()
    settings = Settings.of(estimator, noise=noise, learn=Learn(learn, n_starts), transforms=None)
    if settings.members.own is not None:
        raise ValueError(
            "members of your own are for likelihood='gaussian': give 'auto', 'trees' or None"
        )
    if settings.answers.n_local is None and not settings.answers.transductive:
        settings = replace(settings, answers=replace(settings.answers, n_local=n_local))
    return settings


def class_settings(estimator: Any, n_local: int) -> Settings:
    """Read the arguments of a classifier, with transforms of X."""
    settings, asked = (
        latent_settings(estimator, n_local=n_local),
        inputs_asked(estimator.transforms),
    )
    open_prior = replace(settings.prior, noise=None)  # labels have none to be given
    free = replace(settings, prior=open_prior).may_transform
    return replace(settings, transforms=asked if free else asked.without_auto())


def inputs_asked(value: Any) -> TransformsAsked:
    """Read `transforms` where y are labels: "auto", None, or Transform(X=…)."""
    plain = value is None or (isinstance(value, str) and value == "auto")
    if plain or (isinstance(value, Transform) and value.y in (None, "auto")):
        return replace(TransformsAsked.of(value), y=None)
    raise ValueError(
        f"transforms={value!r}: labels are not transformed. Give 'auto', None, or for the columns "
        "collegium.Transform(X='rank')"
    )


def refuse_answer_time() -> None:
    raise ValueError(
        "n_local=AnswerTime(…) is for regression with likelihood='gaussian': give a small number "
        "such as 50"
    )


def regression_settings(estimator: Any, likelihood: Scalar) -> Settings:
    """Read the arguments; refuse those that mean nothing with this likelihood."""
    learn, _ = learning_asked(estimator.learn)
    e, name, noisy = estimator, f"likelihood={estimator.likelihood!r}", likelihood.takes_noise
    if not (noisy or e.noise is None or isinstance(e.noise, str)):
        raise ValueError(f"noise means nothing with {name}: leave it out")
    if isinstance(learn, str) and learn != "auto":
        raise ValueError(f"learn={learn!r} needs likelihood='gaussian', not {name}")
    if TransformsAsked.of(e.transforms).without_auto().wanted:
        raise ValueError(f"transforms={e.transforms!r} needs likelihood='gaussian', not {name}")
    noise_word(e.noise, ("auto", "constant"))
    noise = _given_noise(e, likelihood) if noisy else 1.0
    settings = latent_settings(e, noise=noise, noisy=noisy)
    asked = {"inference": settings.answers.refine, "learn": settings.learning.n_starts != 1}
    for argument, given in asked.items():
        if given:
            raise ValueError(
                f"{argument}={getattr(e, argument)!r} needs likelihood='gaussian', not {name}"
            )
    noise = settings.prior.noise
    if noise is not None and noise.size != 1:
        raise ValueError(f"noise has {noise.size} values, but y has 1 output")
    if noisy and noise is not None and noise[0] == 0.0:
        raise ValueError(f"noise=0 means nothing with {name}: give a positive number")
    return settings


def _given_noise(e: Any, likelihood: Scalar) -> Any:
    """The noise to keep, by argument or as that of an object that is not to be learnt."""
    own: Any = "constant" if isinstance(e.noise, str) else e.noise
    fixed = "noise" in likelihood.fixed
    if fixed and not isinstance(own, str):
        raise ValueError("noise is given twice: drop it, or the fixed one of likelihood")
    white = e.kernel is not None and split_white(as_kernel(e.kernel))[1] is not None
    if fixed or not (isinstance(e.likelihood, str) or learning_asked(e.learn)[0] or white):
        return likelihood.noise if isinstance(own, str) else own  # type: ignore[attr-defined]
    return own
