"""Turn a fitted estimator into a joint Gaussian and its prior, for a committee.

For every kind of estimator one function here returns, for each output, the posterior and the
prior of the *function* at the queries, and the noise variance of an observation. `KINDS` lists
them in the order in which they are tried; a new kind is one more function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..members.estimators import is_estimator, is_kind, last_step, weight_argument
from ..transforms.warping import Warping
from . import pointwise
from .jacobians import linearised
from .joint import JointGaussian, bayesian, independent
from .tuning import TUNING

Array = np.ndarray
#: Combinations of all queries together, and query by query.
JOINT = ("bcm", "independent")
POINTWISE = tuple(rule for rule in pointwise.RULES if rule not in ("bcm", "grbcm"))


@dataclass(frozen=True, eq=False)
class Member:
    """One output of one estimator at q points, in the units of y."""

    posterior: JointGaussian  # of the function: without noise
    prior: JointGaussian  # of the function, before any row
    noise: float  # variance of an observation about the function


def member(estimator, X: Array, weight: float = np.inf) -> list[Member]:
    """Posterior, prior and noise of a fitted estimator at X: one `Member` per output.

    weight: the number of its training rows, or the sum of their weights. A linear model does not
    store it; without it the level of the model counts as exact.
    """
    for kind in KINDS:
        found = kind(estimator, X, weight)
        if found is not None:
            return found
    raise ValueError(_refusal(estimator))


def check_kind(estimator) -> None:
    """Raise for an estimator, fitted or not, that is of no known kind."""
    _, estimator = last_step(estimator)
    known = is_kind(estimator, "GaussianProcessRegressor", "BayesianRidge", "ARDRegression")
    if known or _ours(estimator) or hasattr(estimator, "jacobian"):
        return
    if not callable(getattr(estimator, "prior", None)):
        raise ValueError(_refusal(estimator))


def _ours(estimator) -> bool:
    """Whether an estimator is a regressor of this library, which has levels."""
    return hasattr(estimator, "predict_interval") and hasattr(type(estimator), "levels")


def check_members(pairs) -> list[tuple]:
    """(name, estimator) of the members that are not dropped, each of a known kind."""
    good = isinstance(pairs, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in pairs
    )
    if not good:
        raise ValueError("estimators must be a list of (name, estimator)")
    dropped = [isinstance(each, str) and each == "drop" for _, each in pairs]
    members = [tuple(pair) for pair, out in zip(pairs, dropped) if not out]
    if not members:
        raise ValueError("estimators has no members: give at least one that is not 'drop'")
    for name, each in members:
        if not is_estimator(each):
            raise ValueError(
                f"estimators: member {name!r} is {each!r}; give an estimator, or 'drop'"
            )
        try:
            check_kind(each)
        except ValueError as error:
            raise ValueError(f"estimators: member {name!r}: {error}") from error
    return members


def check_weights(members: Sequence[tuple], weight: Array | None) -> None:
    """Refuse weights that some member would not take."""
    for name, each in members:
        if weight is not None and weight_argument(each) is None:
            raise ValueError(
                f"sample_weight is given, but member {name!r} does not take it: leave it out, or "
                "choose other members"
            )


def _refusal(estimator) -> str:
    return (
        f"{type(estimator).__name__} gives no joint Gaussian prediction with a prior. Members "
        "may be: GaussianProcessRegressor, BayesianRidge, ARDRegression, the regressors of "
        "collegium, a Pipeline that ends with one of these, an object with predict(X), "
        "jacobian(X), weight_covariance_ and weight_prior_covariance_, or an object with "
        "predict(X, return_cov=True) and prior(X), both returning mean and covariance"
    )


def combined(rule: str, members: Sequence[Member]) -> JointGaussian:
    """Combine the members of one output jointly; the prior is the average of theirs."""
    posteriors, priors = [m.posterior for m in members], [m.prior for m in members]
    if rule == "independent":
        return independent(posteriors)
    return bayesian(posteriors, average_prior(priors), priors=priors)


def query_by_query(rule: str, members: Sequence[Member]) -> tuple[Array, Array]:
    """Means and variances (q,) of one output by a rule of `pointwise`."""
    prior = average_prior([m.prior for m in members])
    means = np.array([m.posterior.mean for m in members]) - prior.mean
    variances = np.array([np.maximum(m.posterior.covariance.diagonal(), 0.0) for m in members])
    mean, variance = pointwise.combine(
        rule, means, variances, prior.covariance.diagonal(),
        own_means=np.array([m.prior.mean for m in members]) - prior.mean,
        own_priors=np.array([m.prior.covariance.diagonal() for m in members]),
    )  # fmt: skip
    return prior.mean + mean, variance


def average_prior(priors: Sequence[JointGaussian]) -> JointGaussian:
    """Average means and covariances; equal covariances are kept to the last bit."""
    first = priors[0]
    mean = np.mean([prior.mean for prior in priors], axis=0)
    if all(np.array_equal(prior.covariance, first.covariance) for prior in priors):
        return JointGaussian(mean, first.covariance)
    return JointGaussian(mean, np.mean([prior.covariance for prior in priors], axis=0))


# --- kinds of estimators --------------------------------------------------------------------------


def pipeline(estimator, X: Array, weight: float) -> list[Member] | None:
    """Ask the last step at the transformed queries."""
    if not is_kind(estimator, "Pipeline"):
        return None
    for _, step in estimator.steps[:-1]:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return member(estimator.steps[-1][1], X, weight)


def gaussian_process(estimator, X: Array, weight: float) -> list[Member] | None:
    """Take the kernel's white noise off the diagonal of scikit-learn's GP.

    K(X, X') of two sets of rows has none of it. `alpha` is noise of the training rows alone.
    """
    if not is_kind(estimator, "GaussianProcessRegressor"):
        return None
    check_is_fitted(estimator, "X_train_")
    mean, covariance = estimator.predict(X, return_cov=True)
    X = np.asarray(X)
    K = estimator.kernel_(X, X)
    white = np.maximum(estimator.kernel_.diag(X) - K.diagonal(), 0.0)
    noise = white.mean() + np.mean(estimator.alpha)
    scale2, centre = np.ravel(estimator._y_train_std) ** 2, np.ravel(estimator._y_train_mean)
    mean, covariances = _outputs(mean, covariance)
    after = [C - np.diag(white * scale) for C, scale in zip(covariances, scale2)]
    before = np.broadcast_to(centre, mean.shape)
    return _members(mean, after, before, [K * scale for scale in scale2], noise * scale2)


def own(estimator, X: Array, weight: float) -> list[Member] | None:
    """Accept our regressors that have a kernel; outputs differ in the size of their prior."""
    if not (_ours(estimator) and hasattr(estimator, "kernel_")):
        return None
    mean, covariances = _outputs(*estimator.predict(X, return_cov=True, level="function"))
    centre, scale = estimator.scaling_.centre, estimator.scaling_.scale
    warping = getattr(estimator.model_, "warping", None)
    if warping is not None:
        return _transformed(estimator, X, mean, covariances, warping)
    K = estimator.kernel_.value(np.asarray(X, dtype=float))
    before, noise = (np.broadcast_to(one, mean.shape) for one in (centre, estimator.noise_))
    priors = [K * (own / scale[0]) ** 2 for own in scale]
    return _members(mean, covariances, before, priors, noise[0])


def _transformed(
    estimator, X: Array, mean: Array, covariances: Sequence[Array], warping: Warping
) -> list[Member]:
    """Return the members where X or y are transformed: priors are transformed back like answers.

    The noise is the variance of an observation less that of the function, averaged over queries.
    """
    scaling = estimator.scaling_
    K = estimator.kernel_.value(warping.places(np.asarray(X, dtype=float)))
    sd = np.sqrt(K.diagonal())[:, None] * (scaling.scale / scaling.scale[0])
    before, spread = warping.moments(np.broadcast_to(scaling.centre, sd.shape), sd)
    ratio = spread / np.sqrt(K.diagonal())[:, None]
    both = (estimator.predict(X, return_std=True, level=one)[1] for one in estimator.levels[:2])
    y_sd, f_sd = (one.reshape(mean.shape) for one in both)
    noise = np.maximum(y_sd**2 - f_sd**2, 0.0).mean(axis=0)
    priors = [K * np.outer(own, own) for own in ratio.T]
    return _members(mean, covariances, before, priors, noise)


def bayesian_linear(estimator, X: Array, weight: float) -> list[Member] | None:
    """f(x) = b + (x − x̄)ᵀw, w ~ N(0, diag(λ)⁻¹), noise 1/α.

    The level b at x̄ has a flat prior, and variance 1/(αn) after n rows; a prior of 10⁴/α
    stands for the flat one. Columns that ARDRegression has dropped have no weight, before and
    after.
    """
    if not is_kind(estimator, "BayesianRidge", "ARDRegression"):
        return None
    check_is_fitted(estimator, "sigma_")
    precision = np.broadcast_to(estimator.lambda_, estimator.coef_.shape)
    kept = np.ones(precision.size, dtype=bool)
    if is_kind(estimator, "ARDRegression"):
        kept = precision < estimator.threshold_lambda
    J = (np.asarray(X, dtype=float) - estimator.X_offset_)[:, kept]
    level = float(estimator.intercept_ + estimator.coef_ @ np.ravel(estimator.X_offset_))
    after = linearised(estimator.predict(X), J, estimator.sigma_)
    before = linearised(np.full(X.shape[0], level), J, np.diag(1.0 / precision[kept]))
    if estimator.fit_intercept and np.isfinite(weight):
        noise = 1.0 / estimator.alpha_
        after = JointGaussian(after.mean, after.covariance + noise / weight)
        before = JointGaussian(before.mean, before.covariance + TUNING.flat_prior * noise)
    return [Member(after, before, float(1.0 / estimator.alpha_))]


def with_jacobian(estimator, X: Array, weight: float) -> list[Member] | None:
    """f(x, w) near the fitted weights ŵ: f(x, ŵ) + J(w − ŵ) (Tresp 2000, footnote 3).

    Without `weights_` the model is taken as linear, f(x, ŵ) = Jŵ. J is (q, k) or (q, p, k).
    """
    if not (hasattr(estimator, "jacobian") and hasattr(estimator, "weight_covariance_")):
        return None
    if not hasattr(estimator, "weight_prior_covariance_"):
        raise ValueError(
            f"{type(estimator).__name__} has weight_covariance_, but no weight_prior_covariance_: "
            "a committee needs the prior of the weights, to count it once"
        )
    J = np.asarray(estimator.jacobian(X), dtype=float)
    S, S0 = estimator.weight_covariance_, estimator.weight_prior_covariance_
    start = getattr(estimator, "weight_prior_mean_", np.zeros(J.shape[-1]))
    fitted = getattr(estimator, "weights_", None)
    mean = np.asarray(estimator.predict(X), dtype=float).reshape(X.shape[0], -1)
    noise = np.broadcast_to(getattr(estimator, "noise_", 0.0), mean.shape[1:])
    members = []
    for j in range(mean.shape[1]):
        Jj = J[:, j] if J.ndim == 3 else J
        before = Jj @ start if fitted is None else mean[:, j] + Jj @ (start - np.ravel(fitted))
        members.append(
            Member(linearised(mean[:, j], Jj, S), linearised(before, Jj, S0), float(noise[j]))
        )
    return members


def with_prior(estimator, X: Array, weight: float) -> list[Member] | None:
    """Accept any estimator with joint predictions and a `prior` method; a committee too."""
    if not callable(getattr(estimator, "prior", None)):
        return None
    level = {"level": "function"} if _ours(estimator) else {}
    mean, covariances = _outputs(*estimator.predict(X, return_cov=True, **level))
    noise = np.broadcast_to(getattr(estimator, "noise_", 0.0), mean.shape[1:])
    return _members(mean, covariances, *_outputs(*estimator.prior(X)), noise)


def _members(
    mean: Array, covariances: Sequence[Array], before: Array, priors: Sequence[Array], noise: Array
) -> list[Member]:
    """One per output, from means (q, p), covariances, and those of the prior."""
    each = zip(mean.T, covariances, before.T, priors, noise)
    return [
        Member(JointGaussian(m, C), JointGaussian(b, P), float(own)) for m, C, b, P, own in each
    ]


def _outputs(mean: Array, covariance: Array) -> tuple[Array, list[Array]]:
    """Means (q, p), and the covariance of each output: one for all, or the last axis."""
    mean, covariance = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    mean = mean.reshape(mean.shape[0], -1)
    p = mean.shape[1]
    if covariance.ndim == 2:
        return mean, [covariance] * p
    return mean, [covariance[:, :, j] for j in range(p)]


#: Each takes an estimator and queries, and returns None where the estimator is of another kind.
KINDS: list[Callable[..., list[Member] | None]] = [
    pipeline,
    gaussian_process,
    own,
    bayesian_linear,
    with_jacobian,
    with_prior,
]
