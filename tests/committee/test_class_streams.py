"""Classes that weigh differently, and streams whose classes come one after the other."""

import warnings

import numpy as np
import pytest
from class_cases import TINY, assert_same_answers, classifier, labelled, queries
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from collegium import CommitteeClassifier, CommitteeRegressor, Inductive, kernels, likelihoods
from collegium.interface.streams.watching import StreamWarning
from collegium.metrics import nlpd_scorer
from collegium.pipeline.swept import kept


def banana(n=900, seed=0, share=1.0):
    """Two bent clouds; `share` of the second is kept."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    t = rng.uniform(-0.3, np.pi + 0.3, n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[y == 1] = [1.0, 0.4] - X[y == 1]
    X += 0.3 * rng.normal(size=(n, 2))
    keep = (y == 0) | (rng.random(n) < share)
    return X[keep], y[keep]


# --- weights of classes -----------------------------------------------------------------------


@pytest.mark.slow
def test_weights_of_classes_do_not_change_what_is_learnt():
    X, y = banana(share=0.08)
    Xs, ys = banana(600, seed=1)
    plain = CommitteeClassifier(kernels.RBF(), random_state=0).fit(X, y)
    for given in ("balanced", {0: 0.5, 1: 8.0}):
        model = CommitteeClassifier(kernels.RBF(), random_state=0, class_weight=given).fit(X, y)
        assert_allclose(model.kernel_.theta, plain.kernel_.theta, rtol=1e-12)
        found, before = (m.predict_proba(Xs)[:, 1] for m in (model, plain))
        assert roc_auc_score(ys, found) > roc_auc_score(ys, before) - 0.01
        gain = [balanced_accuracy_score(ys, p > 0.5) for p in (before, found)]
        assert gain[1] > gain[0] + 0.05


def test_weights_of_classes_that_are_refused():
    X, y = labelled(40)
    refused = {
        "one class only": [{"ash": 0.0, "elm": 1.0}, {"ash": 0.0}],
        "not among the classes": [{"ash": 1.0, "elm": 2.0, "yew": 1.0}, {"yew": 2.0}],
        "class_weight": [{"ash": 1e13}, {"ash": 1e300}, "heavy", {"ash": np.inf}, 3],
    }
    for message, several in refused.items():
        for given in several:
            for method in ("fit", "partial_fit"):
                own = {} if method == "fit" else {"classes": ["ash", "elm"]}
                with pytest.raises(ValueError, match=message):
                    getattr(classifier(class_weight=given), method)(X, y, **own)
    with pytest.raises(ValueError, match="class_weight"):
        classifier(class_weight={"ash": 1e11}).fit(X, y, sample_weight=np.full(40, 100.0))


def test_a_class_of_weight_zero_says_nothing():
    X, y = labelled(60, K=3)
    model = classifier("one chunk", class_weight={"fir": 0.0}).fit(X, y)
    assert_array_equal(model.class_weight_, [1.0, 1.0, 0.0])
    other = X + np.where(y == "fir", 0.3, 0.0)[:, None]
    again = classifier("one chunk", class_weight={"fir": 0.0}).fit(other, y)
    assert_same_answers(model, again, queries(), rtol=0)


@pytest.mark.parametrize("likelihood", ["poisson", "student-t", "gaussian", None])
def test_weights_beyond_all_reason_are_refused(likelihood):
    X, y = labelled(40)
    y = y == "elm"
    model = classifier()
    if likelihood is not None:
        own = {} if likelihood == "poisson" else {"noise": 0.1}
        model = CommitteeRegressor(kernels.RBF(), learn=False, likelihood=likelihood, **own)
    w = np.where(np.arange(40) < 3, 1e300, 1.0)
    with pytest.raises(ValueError, match="sample_weight has values beyond"):
        model.fit(X, y, sample_weight=w)
    model.fit(X, y, sample_weight=np.minimum(w, 1e11))
    answer = model.predict_proba(X) if likelihood is None else model.predict(X)
    assert np.isfinite(answer).all()


# --- streams ------------------------------------------------------------------------------------


def in_order(model, X, y, size=100, classes=(0, 1)):
    """Hear rows in the order of their classes, and yield the model."""
    order = np.argsort(y, kind="stable")
    for start in range(0, y.size, size):
        part = order[start : start + size]
        yield model.partial_fit(X[part], y[part], classes=classes)


@pytest.mark.diagonal
@pytest.mark.parametrize("sizes", [{}, {"chunks": 150, "anchors": 30}])
def test_nothing_is_learnt_from_one_class(sizes):
    X, y = banana(300)
    Xs, ys = banana(400, seed=1)
    model = CommitteeClassifier(kernels.RBF(), random_state=0, **sizes)
    for now in in_order(model, X, y):
        if now.class_count_[1] == 0:
            assert_array_equal(now.kernel_.theta, kernels.RBF().for_width(2).theta)
            assert now.calibration_ == (1.0, 1.0)
    assert_array_equal(now.class_count_, np.bincount(y))
    whole = CommitteeClassifier(kernels.RBF(), random_state=0, **sizes).fit(X, y)
    assert now.score(Xs, ys) > whole.score(Xs, ys) - 0.02
    assert_allclose(now.kernel_.theta, whole.kernel_.theta, atol=0.7)


def test_rows_that_were_not_kept_cannot_be_learnt_from():
    X, y = banana(600)
    model = CommitteeClassifier(
        kernels.RBF(), random_state=0, chunks=100, anchors=X[:20], n_local=0
    )
    with pytest.warns(UserWarning, match="n_local=0"):
        assert list(in_order(model, X, y))
    with pytest.raises(ValueError, match="no rows were kept"):
        model.relearn()


def test_without_rows_a_kernel_is_learnt_anew_from_a_sample_of_the_stream():
    X, y = banana(400)
    model = CommitteeClassifier(kernels.RBF(), random_state=0, chunks=100, anchors=20, n_local=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)  # one class after the other
        list(in_order(model, X, y))
    assert model.model_.stream.following.n_relearnt >= 1
    assert model.score(X, y) > 0.8


def test_a_stream_of_the_same_mixture_is_learnt_from_once():
    X, y = banana(600)
    model = CommitteeClassifier(kernels.RBF(), random_state=0, chunks=100, anchors=20)
    found = []
    for start in range(0, 600, 100):
        rows = slice(start, start + 100)
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        found.append(model.kernel_.theta)
    assert_array_equal(found[1], found[-1])


@pytest.mark.diagonal
@pytest.mark.parametrize("given", [None, {"ash": 3.0}])
@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_relearning_is_a_fit_to_the_rows_that_were_kept(likelihood, given):
    X, y = labelled(90, K=3)
    model = CommitteeClassifier(
        kernels.RBF(), likelihood=likelihood, class_weight=given, **TINY
    ).partial_fit(X[:60], y[:60], classes=np.unique(y))
    model.partial_fit(X[60:], y[60:]).relearn()
    whole = CommitteeClassifier(
        kernels.RBF(), likelihood=likelihood, class_weight=given, **TINY
    ).fit(X, y)
    assert_same_answers(model, whole, queries(), rtol=0 if given is None else 1e-6)


# --- likelihoods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [{}, TINY])
def test_a_stream_keeps_its_likelihood(size):
    X, y = labelled(40)
    model = classifier("one chunk", **size).partial_fit(X, y, classes=["ash", "elm"])
    with pytest.raises(ValueError, match="likelihood='probit' is not that of earlier calls"):
        model.set_params(likelihood="probit").partial_fit(X, y)
    given = {"kernel": kernels.RBF(), "learn": False, "random_state": 0, **size}
    counts = CommitteeRegressor(likelihood="poisson", **given).partial_fit(X, y == "elm")
    for other in ("student-t", "gaussian", likelihoods.Gaussian(0.1)):
        noise = 0.1 if isinstance(other, str) else "constant"
        with pytest.raises(ValueError, match="is not that of earlier calls"):
            counts.set_params(likelihood=other, noise=noise).partial_fit(X, y == "elm")
    normal = CommitteeRegressor(noise=0.1, **given).partial_fit(X, X[:, 0])
    with pytest.raises(ValueError, match="is not that of earlier calls"):
        normal.set_params(likelihood="student-t").partial_fit(X, X[:, 0])


class OwnLogit(likelihoods.Scalar):
    """As `Logit`, by no closed form."""

    support = likelihoods.SIGNS

    def log_density(self, y, f):
        return -np.logaddexp(0.0, -y[..., 0] * f)

    def derivatives(self, y, f):
        p = expit(f)
        return 0.5 + 0.5 * y[..., 0] - p, -p * (1.0 - p), -p * (1.0 - p) * (1.0 - 2.0 * p)

    def mean(self, f):
        return np.tanh(0.5 * f)

    def variance(self, f):
        return 1.0 - self.mean(f) ** 2


likelihoods.Observation.registry.remove(OwnLogit)


@pytest.mark.diagonal
@pytest.mark.parametrize("K", [2, 3])
def test_likelihoods_of_labels_may_be_objects_and_your_own(K):
    X, y = labelled(60, K=K)
    plain = classifier().fit(X, y)
    for link in (likelihoods.Logit(), OwnLogit()):
        model = classifier(likelihood=link).fit(X, y)
        assert_same_answers(model, plain, queries(), rtol=1e-6)
    soft = classifier(likelihood=likelihoods.Softmax()).fit(X, y)
    assert_same_answers(soft, classifier(likelihood="softmax").fit(X, y), queries(), rtol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(likelihood=OwnLogit(), kernel=kernels.RBF(1e6, 1.0)).fit(X, y).predict_proba(X)


def test_likelihoods_that_are_not_of_labels_are_refused():
    X, y = labelled(40)
    for given in (likelihoods.Poisson(), likelihoods.StudentT(), 3, likelihoods.Scalar()):
        with pytest.raises(ValueError, match="labels ±1"):
            classifier(likelihood=given).fit(X, y)
    with pytest.raises(ValueError, match=r"give an instance, Logit\(\)"):
        classifier(likelihood=likelihoods.Logit).fit(X, y)


# --- what is said and checked ---------------------------------------------------------------------


def test_learning_leaves_time_for_the_check():
    """The clock of learning is a part of the whole."""
    X, y = banana(300)
    model = CommitteeClassifier(kernels.RBF(), limits=30.0, random_state=0).fit(X, y)
    assert model.calibration_ != (1.0, 1.0)


@pytest.mark.parametrize("n_local", [0, 7])
def test_rows_left_out_are_answered_as_queries_are(n_local, monkeypatch):
    X, y = banana(300)
    asked = []
    own = kept.latent_predictors
    monkeypatch.setattr(kept, "latent_predictors", lambda k, n: asked.append(n) or own(k, n))
    given = {"chunks": 60, "anchors": 12, "n_local": n_local, "random_state": 0}
    CommitteeClassifier(kernels.RBF(), **given).fit(X, y)
    assert asked == [max(n_local, 1)]  # a row is next to itself


def test_labels_that_are_objects_stay_objects():
    X, y = labelled(40)
    model = classifier().fit(X, y.astype(object))
    assert model.classes_.dtype == object and model.predict(X).dtype == object
    model = classifier().partial_fit(X, y.astype(object), classes=np.unique(y.astype(object)))
    assert model.classes_.dtype == object


def test_names_in_place_of_classes_are_warned_of():
    X = np.random.default_rng(0).normal(size=(220, 2))
    with pytest.warns(UserWarning, match="100 classes, of 2.2 rows each"):
        classifier("one chunk", inference=Inductive(1)).fit(X, np.arange(220) % 100)


def test_words_are_not_for_regressors():
    X, y = labelled(40)
    for given in ("gaussian", "poisson"):
        with pytest.raises(ValueError, match="use CommitteeClassifier"):
            CommitteeRegressor(likelihood=given).fit(X, y)
    with pytest.raises(ValueError, match="CommitteeClassifier is a classifier"):
        nlpd_scorer(classifier().fit(X, y), X, y)


def test_rows_that_are_counted_are_distinct(capsys):
    X, y = labelled(40)
    classifier(verbose=1).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert "40 distinct rows" in capsys.readouterr().out


@pytest.mark.parametrize("likelihood", ["poisson", "student-t"])
def test_memory_that_does_not_do_is_refused(likelihood):
    X, y = labelled(40)
    model = CommitteeRegressor(kernels.RBF(), likelihood=likelihood, limits="1KB")
    with pytest.raises(ValueError, match="limits: this fit"):
        model.fit(X, y == "elm")
