"""Trees beside CommitteeClassifier, and beside counts and other rates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.committee.classes import log_probabilities


def boxes(n, seed=0, K=2):
    """Classes that are boxes of the inputs, with some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 6))
    f = 2.5 * (np.sign(X[:, 0]) * np.sign(X[:, 1]) * (X[:, 2] > -0.4) + (X[:, 3] > 0.6))
    y = (rng.uniform(size=n) < expit(2.0 * f - 1.0)).astype(int)
    return X, y if K == 2 else y + (X[:, 4] > 0.3)


def log_loss(model, X, y):
    return -float(model.predict_log_proba(X)[np.arange(len(y)), y].mean())


@pytest.fixture(scope="module")
def fitted():
    return CommitteeClassifier(random_state=0).fit(*boxes(1500))


def test_trees_are_taken_where_they_help(fitted):
    X, y = boxes(2000, seed=3)
    alone = CommitteeClassifier(random_state=0, members=None).fit(*boxes(1500))
    assert fitted.model_.members is not None and alone.model_.members is None
    assert log_loss(fitted, X, y) < log_loss(alone, X, y) - 0.01
    assert "trees, which count" in fitted.summary()


def test_probabilities_are_those_of_the_formula(fitted):
    Q = boxes(40, seed=5)[0]
    model = fitted.model_
    members, found = model.members, model.predictor().predict(Q, fitted._engine())
    own = log_probabilities(model.likelihoods[0], found)
    t = np.mean([part(Q) for part in members.parts], axis=0)
    w = members.weight
    u = 0.5 * np.log(found[0].variance)
    omega = expit(w.a + w.b * (np.clip(u, w.low, w.high) - w.centre) / w.spread)[:, None]
    table = np.exp(members.sharpness * ((1.0 - omega) * own + omega * t))
    assert_allclose(fitted.predict_proba(Q), table / table.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_file_answers_to_the_last_bit(fitted, tmp_path):
    Q = boxes(40, seed=5)[0]
    fitted.save(tmp_path / "boxes.clg")
    assert_array_equal(
        collegium.load(tmp_path / "boxes.clg").predict_proba(Q), fitted.predict_proba(Q)
    )
    assert_array_equal(
        np.concatenate([fitted.predict_proba(Q[:1]), fitted.predict_proba(Q[1:])]),
        fitted.predict_proba(Q),
    )


def test_labels_at_random_have_no_members():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(700, 4)), rng.integers(0, 2, 700)
        assert CommitteeClassifier(random_state=0).fit(X, y).model_.members is None


@pytest.mark.slow
def test_several_classes_and_softmax():
    X, y = boxes(1500, K=3)
    Q, t = boxes(1500, seed=8, K=3)
    for link in ("probit", "softmax"):
        both = [
            CommitteeClassifier(random_state=0, likelihood=link, members=one).fit(X, y)
            for one in ("trees", None)
        ]
        assert log_loss(both[0], Q, t) < log_loss(both[1], Q, t)
        assert_allclose(both[0].predict_proba(Q).sum(axis=1), 1.0, rtol=1e-12)


def test_rows_that_check_a_classifier_are_kept_from_its_kernel():
    """Labels of these rows do not change the kernel, from 1,000 rows on."""
    from collegium.pipeline.swept.kept import to_check_with

    X, y = boxes(1300, seed=2)
    some = to_check_with(X)
    assert 0.25 < some.mean() < 0.42 and not to_check_with(X[:900]).any()
    other = np.where(some, 1 - y, y)
    kinds = {"members": None, "transforms": None, "random_state": 0}
    one, two = (CommitteeClassifier(**kinds).fit(X, own) for own in (y, other))
    assert_allclose(one.kernel_.theta, two.kernel_.theta, rtol=1e-9)


def counts(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 5))
    rate = np.exp(
        1.2 * np.sign(X[:, 0]) * np.sign(X[:, 1]) + 0.8 * (X[:, 2] > 0.2) * (X[:, 3] < 0.5)
    )
    exposure = rng.uniform(0.5, 3.0, n)
    return X, rng.poisson(exposure * rate).astype(float), exposure


def test_counts_with_exposure_have_trees():
    X, y, e = counts(1200)
    Q, t, f = counts(1500, seed=4)
    both = [
        CommitteeRegressor(likelihood="poisson", random_state=0, members=one).fit(X, y, exposure=e)
        for one in ("auto", None)
    ]
    assert both[0].model_.members is not None and both[1].model_.members is None
    density = [one.log_density(Q, t, exposure=f).mean() for one in both]
    assert density[0] > density[1] + 0.01
    (member,) = both[0].model_.members.outputs
    # trees tell the log of the rate, relative to the typical one
    rate = np.exp(member(Q) + both[0].model_.units.shift)
    assert np.corrcoef(rate, t / f)[0, 1] > 0.6 and abs(np.log((rate * f).sum() / t.sum())) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["gamma", "exponential", "student-t"])
def test_other_likelihoods_have_trees(likelihood):
    X, _, _ = counts(1500)
    f = 1.2 * np.sign(X[:, 0]) * np.sign(X[:, 1])
    rng = np.random.default_rng(0)
    y = f + 0.3 * rng.standard_t(3, 1500) if likelihood == "student-t" else (
        np.exp(f) * rng.gamma(2.0 if likelihood == "gamma" else 1.0, size=1500)
    )  # fmt: skip
    both = [
        CommitteeRegressor(likelihood=likelihood, random_state=0, members=one).fit(
            X[:1100], y[:1100]
        )
        for one in ("trees", None)
    ]
    assert both[0].model_.members is not None
    density = [one.log_density(X[1100:], y[1100:]).mean() for one in both]
    assert density[0] > density[1]


def test_members_of_ones_own_need_gaussian_noise():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(ValueError, match="members of your own"):
        CommitteeRegressor(likelihood="poisson", members=LinearRegression()).fit(*counts(50)[:2])
    with pytest.raises(ValueError, match="members of your own"):
        CommitteeClassifier(members=LinearRegression()).fit(*boxes(50))
