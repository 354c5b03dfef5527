"""scikit-learn's own checks: always for one exact model and one committee, all kinds slowly."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from collegium import CommitteeRegressor, ExpertsRegressor, Transductive, kernels, likelihoods

COMMITTEE = {"chunks": 5, "anchors": 5, "random_state": 0}
GIVEN = {"kernel": kernels.Matern32(2.0, 1.5)}
USUAL = [
    CommitteeRegressor(random_state=0),
    CommitteeRegressor(noise=0.1, learn=False, **GIVEN, **COMMITTEE),
]
OTHERS = [
    CommitteeRegressor(**COMMITTEE),
    CommitteeRegressor(chunks=1, anchors=5, random_state=0),
    CommitteeRegressor(n_local=0, **COMMITTEE),
    CommitteeRegressor(inference="transductive", **COMMITTEE),
    CommitteeRegressor(inference=Transductive(8), **COMMITTEE),
    CommitteeRegressor(likelihood="poisson", random_state=0),
    CommitteeRegressor(likelihood="poisson", **COMMITTEE),
    CommitteeRegressor(likelihood="student-t", random_state=0),
    CommitteeRegressor(likelihood="student-t", noise=0.5, learn=False, **GIVEN, **COMMITTEE),
    CommitteeRegressor(likelihood="student-t", noise=0.5, inference="transductive", **COMMITTEE),
    CommitteeRegressor(likelihood=likelihoods.Gaussian(0.3), n_local=0, **COMMITTEE),
    ExpertsRegressor(combination="grbcm", chunks=5, communication=5, random_state=0),
    ExpertsRegressor(combination="rbcm", chunks=5, random_state=0),
    ExpertsRegressor(combination="npae", chunks=5, random_state=0),
    ExpertsRegressor(combination="barycenter", chunks=40, random_state=0),
]


def expected_to_fail(estimator):
    """Padding with all training rows hides it; with few query points the company shows."""
    if getattr(estimator, "inference", None) == Transductive(8):
        return {
            "check_methods_subset_invariance": (
                "the joint answer depends on the queries asked together, by design"
            )
        }
    return {}


@parametrize_with_checks(USUAL)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:query_size=8 is below")
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)
