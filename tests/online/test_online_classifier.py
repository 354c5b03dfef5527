"""OnlineGPClassifier: probabilities, classes, streams of labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from collegium.online.classifier import OnlineGPClassifier


@pytest.mark.parametrize("removal", ["posterior", "mean"])
def test_two_moons_are_told_apart_with_honest_probabilities(removal):
    X, y = make_moons(900, noise=0.25, random_state=0)
    names = np.array(["north", "south"])[y]
    model = OnlineGPClassifier(budget=40, removal=removal, random_state=0)
    model.fit(X[:600], names[:600])
    assert model.score(X[600:], names[600:]) > 0.91
    probability = model.predict_proba(X[600:])
    assert_allclose(probability.sum(axis=1), 1.0)
    own = probability[np.arange(300), y[600:]]
    assert -np.log(own).mean() < 0.22
    assert model.basis_.shape == (40, 2) and model.n_seen_ == 600
    assert_array_equal(model.classes_, ["north", "south"])


def test_several_classes_are_told_apart_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    model = OnlineGPClassifier(random_state=0).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.9
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert len(model.basis_) == 3
    far = model.predict_proba(np.full((1, 4), 1e6))
    assert_allclose(far, 1.0 / 3.0, rtol=1e-6)


def test_labels_may_change_their_names_and_order():
    X, y = make_moons(200, noise=0.25, random_state=0)
    a = OnlineGPClassifier(random_state=0).fit(X, y)
    b = OnlineGPClassifier(random_state=0).fit(X, 1 - y)
    assert_allclose(a.predict_proba(X)[:, 1], b.predict_proba(X)[:, 0], atol=0.05)


def test_a_stream_of_labels_is_cut_anywhere_and_learns_from_its_first_rows():
    X, y = make_moons(300, noise=0.25, random_state=0)
    model = OnlineGPClassifier(learn_rows=100, budget=30)
    for batch in np.split(np.arange(300), [1, 2, 60, 170]):
        model.partial_fit(X[batch], y[batch], classes=[0, 1])
    whole = OnlineGPClassifier(learn_rows=100, budget=30).partial_fit(X, y, classes=[0, 1])
    assert model.model_.waiting is None and model.n_seen_ == 300
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    assert_allclose(model.log_evidence_, whole.log_evidence_, rtol=1e-8)
    again = clone(model).set_params(kernel=model.kernel_, learn=False)
    again.partial_fit(X, y, classes=[0, 1])
    assert_allclose(again.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_class_may_come_late():
    X, y = load_iris(return_X_y=True)
    model = OnlineGPClassifier(learn_rows=120, budget=60)
    for batch in np.split(np.arange(150), 5):
        model.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) > 0.9


def test_labels_of_whole_weights_are_repeated():
    X, y = make_moons(60, noise=0.25, random_state=0)
    w = np.random.default_rng(0).integers(0, 3, size=60)
    again = np.repeat(np.arange(60), w)
    a = OnlineGPClassifier(random_state=0).fit(X, y, w)
    b = OnlineGPClassifier(random_state=0).fit(X[again], y[again])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ValueError, match="sample_weight"):
        OnlineGPClassifier().fit(X, y, np.full(60, 0.5))
