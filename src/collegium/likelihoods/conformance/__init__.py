"""Try a likelihood: methods, shapes, derivatives by differences, densities that integrate to one,
moments and predictions by integrals, quantiles and draws that y can be."""

from __future__ import annotations

from ..base import Observation, Scalar
from .differences import check_derivatives, check_parameters
from .integrals import (
    check_answers,
    check_integrals,
    check_moments,
    check_predictive,
    check_quantiles,
)
from .methods import check_extremes, check_methods, check_support, examples


def check(likelihood: Observation) -> None:
    """Raise ValueError where a likelihood of your own does not keep what it promises.

    Methods, shapes, values that are finite at any f, derivatives in f and in the logs of free
    parameters against differences, densities that integrate to one, moments that are theirs, and
    predictions, quantiles and draws at small and large variances of f.

    Examples
    --------
    >>> from collegium import likelihoods
    >>> likelihoods.check(likelihoods.StudentT(dof=3.0))
    """
    check_methods(likelihood)
    y, f = examples(likelihood)
    if not y.size:
        return
    check_support(likelihood)
    check_extremes(likelihood, y)
    check_derivatives(likelihood, y, f)
    if likelihood.free:
        check_parameters(likelihood, y, f)
    if isinstance(likelihood, Scalar):
        check_moments(likelihood)
        check_integrals(likelihood)
        check_answers(likelihood)
        check_predictive(likelihood, y)
        check_quantiles(likelihood)
