"""CommitteeClassifier: the Laplace GP with one chunk, a settled committee with many."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from class_cases import (
    KERNEL,
    TINY,
    WAYS,
    assert_same_answers,
    classifier,
    every_way,
    labelled,
    queries,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, log_expit, ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as theirs
from sklearn.metrics import log_loss
from sklearn.utils import compute_class_weight, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from collegium import (
    CG,
    AnswerTime,
    Chunks,
    CommitteeClassifier,
    Inductive,
    Learn,
    Limits,
    Select,
    Sweeps,
    Transductive,
    kernels,
)
from collegium.answers.local import predict_global
from collegium.learning.anchors import RULES
from collegium.likelihoods import Logit, Softmax
from collegium.pipeline.swept import settings as swept_settings
from collegium.rows.chunk import Chunk
from estimator_cases import assert_plain, assert_same_state, leaves, state
from site_cases import converged, start, swept


def assert_sound(model, Xs):
    p, log_p = model.predict_proba(Xs), model.predict_log_proba(Xs)
    assert p.shape == (len(Xs), model.classes_.size)
    assert np.isfinite(p).all() and (p >= 0.0).all() and (p <= 1.0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert not np.isnan(log_p).any() and (log_p <= 0.0).all()
    assert np.isfinite(model.predict_latent(Xs)).all() and np.isfinite(model.log_evidence_)
    score = model.decision_function(Xs)
    assert_allclose(score, log_p if p.shape[1] > 2 else log_p[:, 1] - log_p[:, 0])
    assert_array_equal(model.predict(Xs), model.classes_[p.argmax(axis=1)])


# --- scikit-learn's rules -------------------------------------------------------------------------

GIVEN_ONE = {"kernel": kernels.RBF(30.0, 12.0), "learn": False, "random_state": 0}
MANY = {"chunks": 30, "anchors": 6}
USUAL = [
    CommitteeClassifier(kernels.Matern32(), random_state=0),
    CommitteeClassifier(chunks=15, anchors=5, n_local=9, inference=Inductive(2), **GIVEN_ONE),
]
OTHERS = [
    CommitteeClassifier(**GIVEN_ONE),
    CommitteeClassifier(likelihood="softmax", n_local=9, **MANY, **GIVEN_ONE),
    CommitteeClassifier(likelihood="probit", n_local=9, **MANY, **GIVEN_ONE),
    CommitteeClassifier(
        n_local=0, inference=Inductive(Sweeps(schedule="sequence")), **MANY, **GIVEN_ONE
    ),
    CommitteeClassifier(inference=Transductive(sweeps=2), **MANY, **GIVEN_ONE),
]


@parametrize_with_checks(USUAL)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [*OTHERS, CommitteeClassifier(random_state=0), CommitteeClassifier(**TINY)]
)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)


def test_tags_say_what_it_is():
    tags = get_tags(CommitteeClassifier())
    assert tags.estimator_type == "classifier" and tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label and tags.target_tags.required


# --- what it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
@pytest.mark.parametrize("n_local", ["auto", 3])
def test_one_chunk_is_the_laplace_gp_of_scikit_learn(n_local, likelihood):
    X, y = labelled(60)
    kernel = 5.0 * theirs.Matern([0.9, 1.7], nu=1.5)
    other = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    model = classifier("one chunk", kernel=kernel, n_local=n_local).fit(X, y)
    if likelihood == "logit":
        latent = other.base_estimator_
        mean, variance = latent_moments(latent, queries())
        assert_allclose(model.predict_latent(queries()), mean, rtol=1e-8)
        evidence = other.log_marginal_likelihood_value_
        assert_allclose(model.log_evidence_, evidence, rtol=1e-8)
        p = [by_quadrature(expit, m, v) for m, v in zip(mean, variance)]
        assert_allclose(model.predict_proba(queries())[:, 1], p, rtol=1e-8)
        assert_allclose(model.predict_proba(queries()), other.predict_proba(queries()), atol=2e-3)
    else:  # two latent functions of half the variance are one of the whole
        half = classifier("one chunk", kernel=KERNEL.scaled(0.5), likelihood="softmax").fit(X, y)
        scores, both = model.predict_latent(queries()), half.predict_latent(queries())
        assert_allclose(both[:, 1] - both[:, 0], scores, rtol=1e-7)
    assert model.n_chunks_ == 1 and model.n_sweeps_ == 1 and model.change_ == 0.0
    assert model.anchors_.shape == (0, 2)


def latent_moments(theirs, Xs):
    """Rasmussen & Williams (2006), algorithm 3.2, from what scikit-learn keeps of a fit."""
    k = theirs.kernel_(theirs.X_train_, Xs)
    v = np.linalg.solve(theirs.L_, theirs.W_sr_[:, None] * k)
    return k.T @ (theirs.y_train_ - theirs.pi_), theirs.kernel_.diag(Xs) - (v**2).sum(axis=0)


def by_quadrature(link, m, v):
    s = np.sqrt(v)

    def integrand(z):
        return link(m + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

    return quad(integrand, -12.0, 12.0, epsabs=1e-13, epsrel=1e-12, limit=200)[0]


@pytest.mark.parametrize(("likelihood", "link"), [("logit", expit), ("probit", ndtr)])
def test_several_classes_are_told_one_from_the_rest(likelihood, link):
    X, y = labelled(60, K=3)
    model = classifier("one chunk", likelihood=likelihood).fit(X, y)
    total, table = 0.0, []
    for k, label in enumerate(model.classes_):
        own = classifier("one chunk", likelihood=likelihood).fit(X, y == label)
        total += own.log_evidence_
        score = own.predict_latent(queries())
        assert_allclose(model.predict_latent(queries())[:, k], score, rtol=1e-9)
        moments = own._latents(queries())[0]
        pairs = zip(moments.mean[:, 0], moments.variance)
        table.append([by_quadrature(link, m, v) for m, v in pairs])
    table = np.array(table).T
    expected = table / table.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(queries()), expected, rtol=1e-7)
    assert_allclose(model.log_evidence_, total, rtol=1e-9)


def test_one_from_the_rest_is_as_in_scikit_learn():
    X, y = labelled(60, K=3)
    other = GaussianProcessClassifier(5.0 * theirs.Matern([0.9, 1.7], nu=1.5), optimizer=None)
    model, other = classifier("one chunk").fit(X, y), other.fit(X, y)
    assert_allclose(model.predict_proba(queries()), other.predict_proba(queries()), atol=2e-3)
    assert_allclose(model.log_evidence_ / 3, other.log_marginal_likelihood_value_, rtol=1e-8)


def test_softmax_probabilities_are_averages_over_the_latent_functions():
    X, y = labelled(60, K=3)
    model = classifier("one chunk", likelihood="softmax").fit(X, y)
    found = model._latents(queries(3))
    m = np.column_stack([one.mean[:, 0] for one in found])
    v = np.column_stack([one.variance for one in found])
    z, w = np.polynomial.hermite_e.hermegauss(40)
    nodes = np.stack(np.meshgrid(z, z, z, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel() / w.sum() ** 3
    for row, expected in enumerate(model.predict_proba(queries(3))):
        p = Softmax(3).inverse_link(m[row] + np.sqrt(v[row]) * nodes)
        assert_allclose(weights @ p, expected, rtol=1e-5)


@pytest.mark.parametrize("likelihood", ["logit", "probit"])
def test_many_chunks_at_rest_are_the_laplace_gp_of_the_anchored_model(likelihood):
    X, y = labelled(60)
    parts, Z = np.arange(60) % 4, queries(7, seed=3)
    model = classifier(
        "local",
        likelihood=likelihood,
        chunks=parts,
        anchors=Z,
        inference=Inductive(Sweeps(tol=1e-10)),
    )
    model.fit(X, y)
    link = model.model_.likelihoods[0]
    chunks = [Chunk(i, X[parts == i], np.where(y == "elm", 1.0, -1.0)[parts == i, None],
                    np.ones(15)) for i in range(4)]  # fmt: skip
    _, signs, w, _ = reference.stack(chunks)
    C = reference.between_rows("pitc", KERNEL, chunks, Z)
    assert_allclose(model.log_evidence_, reference.laplace(C, link, signs, w)[3], rtol=1e-8)
    assert_array_equal(model.anchors_, Z)


# --- weights, order, copies -----------------------------------------------------------------------


@pytest.mark.diagonal
@every_way
def test_a_weight_is_so_many_rows(way):
    X, y = labelled(50, K=3)
    w = np.random.default_rng(3).integers(0, 4, 50)
    one = classifier(way).fit(X, y, sample_weight=w)
    other = classifier(way).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_same_answers(one, other, queries(), rtol=0)
    assert abs(one.log_evidence_ - classifier(way).fit(X, y).log_evidence_) > 1.0


def test_a_weight_is_so_many_rows_to_learning_and_to_class_weights():
    X, y = labelled(50)
    w = np.random.default_rng(3).integers(0, 4, 50)
    for weights in (None, "balanced", {"ash": 0.5, "elm": 2.0}):
        model = CommitteeClassifier(kernels.RBF(), class_weight=weights, **TINY)
        one = clone(model).fit(X, y, sample_weight=w)
        other = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert_same_answers(one, other, queries(), rtol=0)


def test_a_class_without_weight_is_not_there():
    X, y = labelled(50, K=3)
    w = (y != "fir").astype(float)
    model = classifier().fit(X, y, sample_weight=w)
    assert_same_answers(model, classifier().fit(X[w > 0], y[w > 0]), queries(), rtol=0)
    with pytest.raises(ValueError, match="one class"):
        classifier().fit(X, y, sample_weight=y == "fir")


def test_one_number_is_a_weight_of_all_rows():
    X, y = labelled(50)
    parts = np.arange(50) % 3
    one = classifier(chunks=parts).fit(X, y, sample_weight=2.0)
    assert_same_answers(one, classifier(chunks=parts).fit(X, y, np.full(50, 2.0)), queries(), 0)


@pytest.mark.parametrize("given", ["balanced", {"ash": 3.0, "elm": 0.5, "fir": 1.7}, {"elm": 4.0}])
def test_class_weights_are_those_of_scikit_learn(given):
    X, y = labelled(50, K=3)
    X, y = X[(y != "fir") | (X[:, 1] > 0)], y[(y != "fir") | (X[:, 1] > 0)]
    classes = np.unique(y)
    of_class = dict(zip(classes, compute_class_weight(given, classes=classes, y=y)))
    w = np.array([of_class[label] for label in y])
    one, other = classifier(class_weight=given).fit(X, y), classifier().fit(X, y, w)
    assert_same_answers(one, other, queries(), rtol=0)
    assert abs(one.log_evidence_ - classifier().fit(X, y).log_evidence_) > 0.1
    own = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    if given != "balanced":
        other = classifier().fit(X, y, w * own)
        assert_same_answers(classifier(class_weight=given).fit(X, y, own), other, queries(), 0)


@pytest.mark.diagonal
@every_way
def test_the_order_of_rows_does_not_matter(way):
    X, y = labelled(K=3)
    shuffled = np.random.default_rng(5).permutation(70)
    one, other = classifier(way).fit(X, y), classifier(way).fit(X[shuffled], y[shuffled])
    assert_same_answers(one, other, queries(), rtol=0)


@pytest.mark.diagonal
@every_way
def test_workers_and_seeds_give_the_same_bits(way):
    X, y = labelled(40, K=3)
    one, two = classifier(way).fit(X, y), classifier(way, n_jobs=2).fit(X, y)
    assert_same_answers(one, two, queries(), rtol=0)
    again = CommitteeClassifier(kernels.RBF(), **WAYS[way]).set_params(random_state=7)
    small = labelled(40)
    assert_same_answers(clone(again).fit(*small), clone(again).fit(*small), queries(), rtol=0)


def test_the_seed_is_of_use():
    X, y = labelled()
    chunks = Chunks(20, "random")
    one, other = (classifier(chunks=chunks, random_state=s).fit(X, y) for s in (0, 1))
    assert one.log_evidence_ != other.log_evidence_


@pytest.mark.diagonal
@every_way
def test_copies_say_the_same(way):
    model = classifier(way).fit(*labelled(40, K=3))
    model.predict(queries())
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(*labelled(40, K=3))):
        assert_same_answers(copy, model, queries(), rtol=0)
    again = model.set_params(likelihood=model.likelihood).fit(*labelled(40, K=3, seed=9))
    fresh = classifier(way).fit(*labelled(40, K=3, seed=9))
    assert_same_answers(again, fresh, queries(), rtol=0)


# --- the fitted state -----------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@every_way
def test_fitted_state_is_a_tree_of_plain_records(way):
    X, y = labelled(K=3)
    model = classifier(way).fit(pd.DataFrame(X, columns=["a", "b"]), pd.Categorical(y).codes)
    assert_plain(model)
    before = leaves(state(model))
    model.predict_proba(queries())
    assert np.isfinite(model.log_evidence_)
    assert_plain(model)
    assert_same_state(before, model)
    assert_plain(model.partial_fit(X + 0.1, pd.Categorical(y).codes))


@pytest.mark.parametrize("labels", [
    np.array(["no", "yes"]), np.array([False, True]), np.array([7, -2]), np.array([2.0, 3.0]),
], ids=lambda labels: labels.dtype.kind)  # fmt: skip
def test_labels_are_what_comes_back(labels):
    X, y = labelled()
    positive = y == "elm"
    model = classifier().fit(X, labels[positive.astype(int)])
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.classes_.dtype == labels.dtype and model.predict(X).dtype == labels.dtype
    assert model.score(X, labels[positive.astype(int)]) > 0.8
    plain = classifier().fit(X, positive).predict_latent(queries())
    sign = 1.0 if labels[1] > labels[0] else -1.0
    assert_allclose(model.predict_latent(queries()), sign * plain, rtol=1e-6, atol=1e-9)


def test_tables_with_names():
    X, y = labelled()
    table = pd.DataFrame(X, columns=["a", "b"])
    model = classifier().fit(table, pd.Series(y), sample_weight=pd.Series(np.ones(70)))
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    assert_same_answers(model, classifier().fit(table, y), table, rtol=0)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a"]])


# --- chunks, anchors, sweeps ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_partition_given_by_labels(weighted):
    X, y = labelled()
    parts = np.array(["b", "c", "d", "a"])[np.arange(70) % 4]
    w = np.where(np.arange(70) % 5 == 0, 0.0, 1.5) if weighted else np.ones(70)
    w[parts == "d"] = 0.0 if weighted else 1.0
    model = classifier(chunks=parts).fit(X, y, sample_weight=w)
    assert model.n_chunks_ == (3 if weighted else 4)
    for part, heard in zip(np.unique(parts[w > 0]), model.model_.committees[0].states):
        mine = np.unique(heard.chunk.load()[0], axis=0)
        assert_array_equal(mine, np.unique(X[(parts == part) & (w > 0)], axis=0))
    with pytest.raises(ValueError, match="chunks"):
        classifier(chunks=parts[:50]).fit(X, y)


@pytest.mark.parametrize("rule", ["balanced", "kmeans", "random", "time"])
@pytest.mark.parametrize("selection", RULES)
@pytest.mark.diagonal
def test_every_rule_for_chunks_and_anchors_is_of_use(selection, rule):
    X, y = labelled(90, K=3)
    model = classifier(anchors=Select(selection, 8), chunks=Chunks(15, rule), n_local=5).fit(X, y)
    assert model.n_chunks_ >= 5 and 1 <= len(model.anchors_) <= 8
    assert model.score(X, y) > 0.7


def test_anchors_do_not_hang_on_the_names_of_classes():
    X, y = labelled(45, K=3)
    renamed = np.where(y == "ash", "yew", y)
    for likelihood in ("logit", "softmax"):
        own = {"anchors": Select("postapp", 8), "likelihood": likelihood}
        arguments = {**own, "chunks": Chunks(15, "time")}
        one, other = (classifier(**arguments).fit(X, labels) for labels in (y, renamed))
        assert_allclose(one.anchors_, other.anchors_)


@pytest.mark.diagonal
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_both_schedules_rest_at_the_same_place(likelihood, K):
    X, y = labelled(K=K)
    rest = [
        classifier(
            inference=Inductive(Sweeps(tol=1e-9, schedule=schedule)), likelihood=likelihood
        ).fit(X, y)
        for schedule in ("parallel", "sequence")
    ]
    assert rest[0].n_sweeps_ > rest[1].n_sweeps_ or likelihood == "softmax"
    assert max(model.change_ for model in rest) <= 1e-9
    assert_same_answers(*rest, queries(), rtol=1e-6)
    once = classifier(inference=Inductive(1), likelihood=likelihood).fit(X, y)
    assert once.n_sweeps_ == 1 and once.change_ > 1e-3
    assert abs(once.log_evidence_ - rest[0].log_evidence_) > 1e-3


def test_one_sweep_is_the_committee_machine():
    X, y = labelled()
    parts, Z = np.arange(70) % 4, queries(7, seed=3)
    model = classifier("anchors only", chunks=parts, anchors=Z, inference=Inductive(1)).fit(X, y)
    prior = start(Logit(), Z, kernel=KERNEL)
    totals = prior.past
    for part in range(4):
        rows = parts == part
        signs = np.where(y[rows] == "elm", 1.0, -1.0)[:, None]
        alone = swept(prior.join([Chunk(part, X[rows], signs, np.ones(rows.sum()))]))
        totals = totals + alone.totals
    belief = totals.with_prior(prior.basis).beliefs()[0]
    mean = predict_global(prior.basis, belief, queries()).mean[:, 0]
    assert_allclose(model.predict_latent(queries()), mean, rtol=1e-8, atol=1e-10)
    assert_allclose(model.log_evidence_, belief.log_evidence[0], rtol=1e-9)


def at_most(monkeypatch, sweeps):
    """Let "auto" end after so many sweeps."""
    before = swept_settings.TUNING
    few = replace(before, sweeps=replace(before.sweeps, most=sweeps))
    monkeypatch.setattr(swept_settings, "TUNING", few)


def test_restless_messages_are_warned_of(monkeypatch):
    X, y = labelled()
    for sweeps, tol, most in ((2, 1e-3, 1.0), (4, 1e-8, 1e-3)):
        at_most(monkeypatch, sweeps)
        with pytest.warns(ConvergenceWarning, match=f"after {sweeps} sweeps"):
            assert tol < classifier(inference=Inductive(Sweeps(tol=tol))).fit(X, y).change_ < most
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(inference=Inductive(1)).fit(X, y)
        classifier("one chunk").fit(X, y)
        classifier(inference=Inductive(Sweeps(tol=10.0))).fit(X, y)


def test_transductive_answers_warn_where_they_do_not_come_to_rest(monkeypatch):
    X, y = labelled()
    model = classifier("transductive", inference=Transductive(20, sweeps=Sweeps(tol=1e-8)))
    with monkeypatch.context() as few, pytest.warns(ConvergenceWarning):
        at_most(few, 3)
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="after 3 sweeps") as caught:
        model.predict_proba(X[:45])
    assert len(caught) == 1  # of several batches
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sweeps in (2, "auto"):
            clone(model).set_params(inference__sweeps=sweeps).fit(X, y).predict_proba(X[:45])


def test_rounding_is_no_cause_for_a_warning():
    X, y = labelled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = classifier(inference=Inductive(Sweeps(tol=0.0))).fit(X, y)
    assert model.change_ < 1e-10


def test_learning_ends_in_time():
    X, y = labelled(400)
    with pytest.warns(UserWarning, match="limits left no time to check"):
        hasty = CommitteeClassifier(limits=1e-3, random_state=0).fit(X, y)
    assert hasty.calibration_ == (1.0, 1.0)
    assert "Matern32" in repr(hasty.kernel_)  # the first of three families, and few steps
    assert_sound(hasty, queries())


def test_learning_finds_a_better_kernel():
    X, y = labelled(120)
    start = kernels.RBF(1.0, 0.1)
    learnt = CommitteeClassifier(start, random_state=0).fit(X, y)
    given = classifier("one chunk", kernel=start).fit(X, y)
    assert learnt.log_evidence_ > given.log_evidence_ + 5.0
    again = classifier("one chunk", kernel=learnt.kernel_).fit(X, y)
    assert_allclose(again.log_evidence_, learnt.log_evidence_, rtol=1e-9)
    a, b = learnt.calibration_  # rows left out have scaled what was learnt
    mean, std = again.predict_latent(queries(), return_std=True)
    found = learnt.predict_latent(queries(), return_std=True)
    assert_allclose(found, (a * mean, np.sqrt(b) * std), rtol=1e-9)


def test_rows_left_out_make_timid_probabilities_bold():
    """Separable classes and a large prior: Laplace's variances are overstated."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + X[:, 1] > 0
    fixed = kernels.RBF(400.0, 1.0, fixed=("variance", "length_scale"))
    learnt = CommitteeClassifier(fixed, random_state=0).fit(X[:250], y[:250])
    plain = CommitteeClassifier(fixed, learn=False, random_state=0).fit(X[:250], y[:250])
    assert plain.calibration_ == (1.0, 1.0)
    assert learnt.calibration_[1] < 0.5
    losses = [log_loss(y[250:], one.predict_proba(X[250:])) for one in (learnt, plain)]
    assert losses[0] < 0.8 * losses[1]


def test_it_speaks_only_if_asked(capsys):
    X, y = labelled()
    classifier().fit(X, y).predict(X)
    assert capsys.readouterr().out + capsys.readouterr().err == ""
    classifier(verbose=1).fit(X, y)
    said = capsys.readouterr()
    assert "sweeps" in said.out + said.err


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.diagonal
@every_way
def test_waiting_rows_are_answered_as_by_one_chunk(way):
    X, y = labelled(60, K=3)
    model = classifier(way, chunks=100)
    for batch in np.split(np.arange(60), 6):
        model.partial_fit(X[batch], y[batch], classes=["ash", "elm", "fir"])
        assert model.model_.waiting is not None
    whole = classifier(way, chunks=100)
    whole.set_params(n_local="auto").fit(X, y)
    assert_same_answers(model, whole, queries(), rtol=0)
    model.partial_fit(*labelled(60, K=3, seed=4))
    assert model.model_.waiting is None and model.n_chunks_ >= 2
    assert len(model.anchors_) == (20 if way == "one chunk" else 8)


@pytest.mark.diagonal
@every_way
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_short_beginning_is_not_forgotten(way, begin):
    X, y = labelled(120, K=3)
    classes = {} if begin == "fit" else {"classes": ["ash", "elm", "fir"]}
    model = classifier(way, chunks=40)
    getattr(model, begin)(X[:30], y[:30], **classes)
    for batch in np.split(np.arange(30, 120), 3):
        model.partial_fit(X[batch], y[batch])
    assert model.score(X[:30], y[:30]) > 0.6 and model.score(X, y) > 0.65
    assert len(model.anchors_) == 8 or way == "one chunk"


@every_way
def test_a_new_chunk_meets_the_present_belief(way):
    X, y = labelled(100, K=3)
    Z = queries(6, seed=3)
    model = classifier(way, chunks=50, anchors=Z).partial_fit(X[:50], y[:50], np.unique(y))
    assert_array_equal(model.anchors_, Z)
    before = [replace(one) for one in model.model_.committees]
    model.partial_fit(X[50:], y[50:])
    order = np.lexsort(np.column_stack([np.searchsorted(np.unique(y), y[50:]), X[50:, ::-1]]).T)
    rows = 50 + order
    for k, (old, new) in enumerate(zip(before, model.model_.committees)):
        signs = np.where(y == model.classes_[k], 1.0, -1.0)
        codes = np.searchsorted(model.classes_, y).astype(float)
        targets = codes if old.likelihood.latents > 1 else signs
        grown = old.add([Chunk(1, X[rows], targets[rows, None], np.ones(50))])
        assert_allclose(replace(new).log_evidence, grown.log_evidence, rtol=1e-10)
        for a, b in zip(replace(new).beliefs, grown.beliefs):
            assert_allclose(a.mean, b.mean, rtol=1e-7, atol=1e-9)
    assert model.n_chunks_ == 2 and model.model_.total_weight == 100.0


@pytest.mark.slow
def test_streams_of_small_batches_learn():
    X, y = labelled(300, K=3)
    model = CommitteeClassifier(kernels.RBF(), chunks=80, anchors=15, random_state=0)
    whole = clone(model).fit(X, y)
    for batch in np.split(np.arange(300), 6):
        model.partial_fit(X[batch], y[batch], classes=["ash", "elm", "fir", "oak"])
    test = labelled(500, K=3, seed=8)
    assert model.score(*test) > whole.score(*test) - 0.04 > 0.6
    assert model.predict_proba(queries())[:, 3].max() < 0.2  # a class that never came


def test_classes_are_needed_once():
    X, y = labelled(40, K=3)
    with pytest.raises(ValueError, match="classes must be given"):
        classifier().partial_fit(X, y)
    model = classifier().partial_fit(X, y, classes=np.unique(y)).partial_fit(X, y)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X, y, classes=["ash", "elm"])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, np.where(y == "fir", "yew", y))
    with pytest.raises(ValueError, match="one class only"):
        classifier().partial_fit(X[y == "fir"], y[y == "fir"], classes=["fir"])


@pytest.mark.diagonal
@every_way
def test_classes_may_come_late(way):
    X, y = labelled(90, K=3)
    model = classifier(way)
    for label in ("elm", "ash", "fir"):
        model.partial_fit(X[y == label], y[y == label], classes=["ash", "elm", "fir"])
        assert_sound(model, queries())
    assert model.score(X, y) > 0.6


def test_a_class_weight_holds_for_classes_that_are_not_there_yet():
    X, y = labelled(90, K=3)
    weights = {"ash": 3.0, "elm": 0.5}
    model = classifier(class_weight=weights)
    other = classifier()
    for label in ("elm", "fir", "ash"):
        rows = y == label
        model.partial_fit(X[rows], y[rows], classes=["ash", "elm", "fir"])
        w = np.full(rows.sum(), weights.get(label, 1.0))
        other.partial_fit(X[rows], y[rows], classes=["ash", "elm", "fir"], sample_weight=w)
    assert_same_answers(model, other, queries(), rtol=0)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        classifier(class_weight="balanced").partial_fit(X, y, classes=np.unique(y))


def test_memory_is_flat_without_rows():
    X, y = labelled(600)
    model, sizes = classifier("anchors only"), []
    for batch in np.split(np.arange(600), 10):
        model.partial_fit(X[batch], y[batch], classes=np.unique(y))
        sizes.append(len(pickle.dumps(model)))
    assert model.n_chunks_ == 50 and max(sizes[1:]) - min(sizes[1:]) < 100
    assert_sound(model, queries())
    assert model.score(X, y) > 0.8


BAD = {
    "a new label": lambda X, y: (X, np.where(y == "elm", "yew", y)),
    "not finite": lambda X, y: (np.where(X > 1.9, np.inf, X), y),
    "columns": lambda X, y: (X[:, :1], y),
    "lengths": lambda X, y: (X, y[:-1]),
    "no weight": lambda X, y: (X, y, None, np.zeros(len(y))),
    "negative weight": lambda X, y: (X, y, None, -np.ones(len(y))),
    "beyond floats": lambda X, y: (1e200 * X, y),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("n", [20, 60], ids=["waiting", "anchored"])
def test_a_bad_batch_leaves_the_state_as_it_was(n, bad):
    X, y = labelled(60)
    model = classifier(chunks=40).partial_fit(X[:n], y[:n], classes=["ash", "elm", "fir"])
    model.predict(queries())
    before, answer = leaves(state(model)), model.predict_proba(queries())
    with pytest.raises(ValueError):
        model.partial_fit(*BAD[bad](X, y))
    assert_same_state(before, model)
    assert_array_equal(model.predict_proba(queries()), answer)
    fresh = classifier()
    with pytest.raises(ValueError):
        fresh.partial_fit(*BAD[bad](X, y))
    assert vars(fresh) == vars(classifier())


# --- transductive ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sweeping", [
    Sweeps(tol=1e-9), Sweeps(1), Sweeps(2, schedule="sequence"),
], ids=repr)  # fmt: skip
def test_a_batch_is_answered_by_messages_about_it(sweeping):
    X, y = labelled(60)
    parts, Xs = np.arange(60) % 4, queries(20)
    arguments = {"inference": Transductive(20, sweeps=sweeping), "chunks": parts}
    model = classifier("one chunk", **arguments).fit(X, y)
    signs = np.where(y == "elm", 1.0, -1.0)[:, None]
    chunks = [Chunk(i, X[parts == i], signs[parts == i], np.ones(15)) for i in range(4)]
    committee = converged(
        start(Logit(), Xs, kernel=KERNEL).join(chunks),
        sequential=sweeping.schedule == "sequence", tolerance=1e-9,
        max_sweeps=50 if sweeping.most == "auto" else sweeping.most,
    )  # fmt: skip
    belief = committee.beliefs[0]
    mean = (committee.basis.design(Xs).T @ belief.mean)[:, 0]
    assert_allclose(model.predict_latent(Xs), mean, rtol=1e-6, atol=1e-8)
    variance = np.sum(belief.spread(committee.basis.design(Xs)) ** 2, axis=0)
    p = [by_quadrature(expit, m, v) for m, v in zip(mean, variance)]
    assert_allclose(model.predict_proba(Xs)[:, 1], p, rtol=1e-6)


@pytest.mark.diagonal
@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_many_queries_are_answered_in_batches_whatever_their_order(likelihood):
    X, y = labelled(120, K=3)
    model = classifier("transductive", likelihood=likelihood, chunks=60).fit(X, y)
    Xs, labels = labelled(60, K=3, seed=7)
    p = model.predict_proba(Xs)
    assert np.mean(model.classes_[p.argmax(axis=1)] == labels) > 0.65
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 2))
    assert_array_equal(model.predict_proba(Xs[order]), p[order])
    inductive = classifier(likelihood=likelihood, chunks=60).fit(X, y).predict_proba(Xs)
    assert np.abs(inductive - p).mean() < 0.05


def test_a_single_query_has_company():
    X, y = labelled(300, K=2)
    model = classifier("transductive", inference=Transductive(60), chunks=60).fit(X, y)
    exact = classifier("one chunk").fit(X, y)
    for x in queries(5):
        alone = model.predict_proba([x])
        assert_allclose(alone, exact.predict_proba([x]), atol=0.05)


@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_transductive_streams_answer_as_if_all_rows_had_come_at_once(likelihood):
    X, y = labelled(60, K=3)
    parts = np.repeat([0, 1, 2, 3], 15)
    given = {"likelihood": likelihood, "anchors": queries(5, seed=3), "chunks": 15}
    stream = classifier("transductive", **given)
    for part in range(4):
        rows = parts == part
        stream.partial_fit(X[rows], y[rows], classes=np.unique(y))
    whole = classifier("transductive", **{**given, "chunks": parts}).fit(X, y)
    assert stream.n_chunks_ == whole.n_chunks_ == 4
    found, expected = stream.predict_proba(queries()), whole.predict_proba(queries())
    assert_allclose(found, expected, rtol=1e-6)


# --- nasty input ----------------------------------------------------------------------------------


def nasty():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y, thirds = (X[:, 0] > 0).astype(int), np.arange(60) % 3
    yield "separable", X, y
    yield "constant", np.full((60, 2), 3.7), thirds
    yield "both labels everywhere", np.tile(X[:20], (3, 1)), thirds
    yield "huge", 1e100 * X, y
    yield "tiny", 1e-100 * X, y
    yield "huge and tiny", X * [1e100, 1e-100], y
    yield "one row a class", X[:3], np.arange(3)
    yield "two rows", X[:2], [1, 0]
    yield "wide", rng.normal(size=(60, 100)), y
    yield "a rare class", X, (np.arange(60) == 17).astype(int)


NASTY = {case[0]: case[1:] for case in nasty()}


@every_way
@pytest.mark.parametrize(("X", "y"), NASTY.values(), ids=NASTY.keys())
@pytest.mark.diagonal(9)
def test_nasty_rows_have_probabilities(X, y, way):
    arguments = {**WAYS[way], "kernel": kernels.RBF(), "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CommitteeClassifier(**arguments).fit(X, y)
        assert_sound(model, np.concatenate([X[:8], 1.3 * X[:3], 1e3 * X[:3]]))


def test_the_units_of_the_columns_do_not_matter():
    X, y = labelled()
    plain = CommitteeClassifier(**TINY).fit(X, y)
    for units in ([2.0**300, 2.0**-300], [2.0**-330, 2.0**-330]):
        scaled = CommitteeClassifier(**TINY).fit(X * units, y)
        found = scaled.predict_proba(queries() * units)
        assert_allclose(found, plain.predict_proba(queries()), atol=5e-3)


@pytest.mark.diagonal
@pytest.mark.parametrize("way", ["one chunk", "local", "softmax"])
def test_thirty_classes(way):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-6.0, 6.0, size=(30, 2)), 2, axis=0) + 0.05 * rng.normal(size=(60, 2))
    y = np.repeat(np.arange(30), 2)
    arguments = {} if way == "one chunk" else {"chunks": 30, "anchors": 20}
    model = classifier(way, kernel=kernels.RBF(9.0, 0.5), **arguments).fit(X, y)
    assert_sound(model, X[::5])
    assert model.score(X, y) > 0.8
    few = classifier(way).partial_fit(X[:2], y[:2], classes=np.arange(30))
    assert_sound(few, X[:3])


@pytest.mark.diagonal
@every_way
def test_chunks_of_one_class(way):
    X, y = labelled(K=3)
    arguments = {} if way == "one chunk" else {"chunks": y}
    model = classifier(way, **arguments).fit(X, y)
    assert_sound(model, queries())
    assert model.score(X, y) > 0.6


def test_one_in_ten_thousand():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_001, 2))
    X[0], y = [2.5, 2.5], np.zeros(10_001, dtype=int)
    y[0] = 1
    arguments = {"chunks": 200, "anchors": X[:20], "n_local": 20}
    model = classifier(kernel=kernels.RBF(9.0, 1.0), inference=Inductive(2), **arguments).fit(X, y)
    assert_sound(model, X[:50])
    assert model.predict_proba(X[:1])[0, 1] > 0.02
    assert 0.0 < np.median(model.predict_proba(X[1:200])[:, 1]) < 0.003


def test_sure_answers_keep_their_odds():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-8.0, 1.0, (200, 1)), rng.normal(8.0, 1.0, (200, 1))])
    y = np.repeat([0, 1], 200)
    model = classifier("one chunk", kernel=kernels.RBF(400.0, 4.0)).fit(X, y)
    moments = model._latents(X[:1])[0]
    log_p = model.predict_log_proba(X[:1])[0]
    assert log_p[1] < -2.0
    tail = by_quadrature(expit, moments.mean[0, 0], moments.variance[0])
    assert_allclose(log_p[1], np.log(tail), rtol=1e-6)
    assert log_expit(moments.mean[0, 0]) < log_p[1]


REFUSED = {
    "likelihood": ["cloglog", None, 3],
    "inference": [
        "deductive", None, Transductive(0), Transductive(screening=0.5), "cg", CG(),
        *(kind(sweeps=sweeps) for kind in (Inductive, Transductive) for sweeps in (
            0, 1.5, "all", True, Sweeps(schedule="random"), Sweeps(schedule=None),
            *(Sweeps(tol=tol) for tol in (-1e-3, np.nan, "small", True)),
        )),
    ],
    "limits": [
        0, -1.0, "soon", Limits(0), Limits(-1.0), Limits("soon"), Limits(memory=0),
        Limits(memory="much"),
    ],
    "class_weight": ["heavy", {"ash": -1.0}, {"yew": 2.0}, {"ash": np.nan}, 3, {"ash": "a"},
                     {"ash": 0.0, "elm": 0.0}],
    "chunks": [
        0, 2.5, "large", np.zeros((70, 2)), np.zeros(3), Chunks(0), Chunks("auto", "by hand"),
    ],
    "anchors": [
        0, "many", -3, Select("best"), Select(None), Select("sgma", 0),
        np.zeros(3), np.full((2, 2), np.nan), np.zeros((2, 5)), "here",
    ],
    "n_local": [-1, 0.5, "some", AnswerTime(1.0)],
    "learn": ["anchored", 1, None, Learn(True, n_starts=2)],
    "engine": ["threads", 3],
    "n_jobs": [0, "two"],
    "random_state": ["seed", -1],
    "verbose": [-1, "loud"],
    "kernel": ["rbf", kernels.RBF() + kernels.White(0.1), theirs.WhiteKernel() + theirs.RBF()],
}  # fmt: skip
CASES = [(name, value) for name, values in REFUSED.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v!r:.20}" for n, v in CASES])
def test_wrong_arguments_are_named(name, value):
    model = classifier(**{name: value})
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(*labelled())
    assert vars(model) == before


def test_other_refusals():
    X, y = labelled()
    with pytest.raises(ValueError, match="needs a kernel"):
        CommitteeClassifier(learn=False).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        classifier().fit(X, np.full(70, "ash"))
    with pytest.raises(ValueError, match="[Ss]ample.weight"):
        classifier().fit(X, y, sample_weight=np.zeros(70))
    with pytest.raises(ValueError, match="X has values beyond"):
        classifier().fit(1e200 * X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="n_local means nothing"):
        classifier("transductive", n_local=5).fit(X, y)


def test_labels_that_are_missing_are_counted():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array(["a", "b", None] * 10, dtype=object)
    with pytest.raises(ValueError, match="y is NaN, None or infinite in 10 of .* drop these rows"):
        CommitteeClassifier().fit(X, y)
