"""Sparse Gaussian processes: every method against its dense covariance, and as an estimator."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from collegium import (
    Chunks,
    CommitteeRegressor,
    Select,
    SparseGPRegressor,
    Transductive,
    kernels,
)
from collegium.learning.anchors import RULES
from collegium.rows.chunk import Chunk
from estimator_cases import (
    GIVEN,
    KERNEL,
    NOISE,
    SlowGP,
    assert_same_answers,
    queries,
    rmse,
    rows,
    smooth_rows,
    truth,
)

METHODS = ["sor", "dtc", "fitc", "pitc", "pic", "vfe"]
Q = queries()
LABELS = np.arange(40) % 4


def sparse(method, **arguments):
    return SparseGPRegressor(**{**GIVEN, "method": method, "anchors": Q[:7], **arguments})


def chunks(X, y, labels):
    own = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    y = (y - y.mean(axis=0)).reshape(len(X), -1)
    return [Chunk(i, X[at], y[at], np.ones(at.size)) for i, at in enumerate(own)]


def expected(method, X, y, Z, labels, Xs):
    """Mean and covariance of f, and the evidence, by dense matrices; noise-free."""
    parts = chunks(X, y, labels)
    kind = {"sor": "dtc", "vfe": "dtc"}.get(method, method)
    nearest = np.linalg.norm((Xs[:, None] - X) / KERNEL.length_scale, axis=2).argmin(axis=1)
    own = np.unique(labels, return_inverse=True)[1][nearest]
    mean, cov, evidence = reference.sparse_gp(kind, KERNEL, NOISE, parts, Z, Xs, own)
    Ksz, Kzz = reference.covariance(KERNEL, Xs, Z), reference.covariance(KERNEL, Z)
    if method == "sor":  # the prior is the anchors' alone
        cov = cov - reference.covariance(KERNEL, Xs) + Ksz @ np.linalg.solve(Kzz, Ksz.T)
    if method == "vfe":
        Kxz = reference.covariance(KERNEL, X, Z)
        left = KERNEL.variance - np.diag(Kxz @ np.linalg.solve(Kzz, Kxz.T))
        evidence = evidence - 0.5 * left.sum() / NOISE
    return y.mean(axis=0) + (mean[:, 0] if y.ndim == 1 else mean), cov, evidence.sum()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_its_dense_formula(method):
    X, y = rows(40)
    labelled = {"chunks": LABELS} if method in ("pitc", "pic") else {"chunks": 7}
    model = sparse(method, **labelled).fit(X, y)
    mean, cov, evidence = expected(method, X, y, Q[:7], LABELS, Q)
    found, std = model.predict(Q, return_std=True, level="function")
    assert_allclose(found, mean, rtol=1e-7)
    assert_allclose(std, np.sqrt(np.diag(cov)), rtol=1e-5, atol=1e-7)
    assert_allclose(model.log_evidence_, evidence, rtol=1e-8)
    found, joint = model.predict(Q, return_cov=True, level="function")
    assert_allclose(found, mean, rtol=1e-7)
    if method != "pic":
        assert_allclose(joint, cov, rtol=0, atol=1e-6 * KERNEL.variance)
    assert_allclose(np.diag(joint), std**2, rtol=1e-9)


def test_queries_of_one_chunk_share_its_rows_and_others_the_anchors_alone():
    """PIC: the covariance between queries of different chunks goes through the anchors."""
    X, y = rows(40)
    model = sparse("pic", chunks=LABELS).fit(X, y)
    _, joint = model.predict(Q, return_cov=True, level="function")
    assert np.linalg.eigvalsh(joint).min() > -1e-9
    Xt = np.concatenate([X, X[:1] + 1e-9])  # two queries at the row of one chunk
    _, twin = model.predict(Xt[[0, 40]], return_cov=True, level="function")
    assert_allclose(twin[0, 1], twin[0, 0], rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_anchors_at_all_rows_give_the_exact_mean(method):
    X, y = rows(30)
    model = sparse(method, anchors=X, chunks=8).fit(X, y)
    slow = SlowGP(X, y)
    mean, cov = slow.predict(Q)
    found, std = model.predict(Q, return_std=True, level="function")
    assert_allclose(found, mean, rtol=1e-6)
    if method != "sor":
        assert_allclose(std, np.sqrt(np.diag(cov)), rtol=1e-4)
    assert_allclose(model.log_evidence_, slow.log_evidence(), rtol=1e-6)


def test_chunks_of_one_row_make_pitc_fitc():
    X, y = rows(40)
    assert_same_answers(sparse("pitc", chunks=1).fit(X, y), sparse("fitc").fit(X, y), Q, rtol=1e-9)


@pytest.mark.parametrize("method", ["pitc", "pic"])
def test_one_chunk_is_the_exact_evidence_and_for_pic_the_exact_gp(method):
    X, y = rows(40)
    model, slow = sparse(method, chunks=40).fit(X, y), SlowGP(X, y)
    assert_allclose(model.log_evidence_, slow.log_evidence(), rtol=1e-8)
    if method == "pic":
        mean, cov = slow.predict(Q)
        found, joint = model.predict(Q, return_cov=True, level="function")
        assert_allclose(found, mean, rtol=1e-7)
        assert_allclose(joint, cov, rtol=0, atol=1e-7 * KERNEL.variance)


def test_the_variational_evidence_is_a_bound_that_grows_with_the_anchors():
    X, y = rows(40)
    exact = SlowGP(X, y).log_evidence()
    bounds = [sparse("vfe", anchors=X[:m]).fit(X, y).log_evidence_ for m in (2, 8, 20, 39)]
    assert bounds == sorted(bounds) and bounds[-1] <= exact


# --- transductive ---------------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("seed", range(5))
def test_the_variational_evidence_finds_functions_with_almost_no_noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(400, 2))
    y = kernels.RBF(1.0, [1.0, 1.0]).sample(X, 1, rng)[:, 0] + 1e-6 * rng.normal(size=400)
    model = SparseGPRegressor(method="vfe", anchors=40, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.995
    assert model.noise_ < 1e-3


def test_srm_trans_is_the_joint_committee_with_noise_for_a_residual():
    """R = cov(y | f*) replaced by σ²I: (K(Q, X)K(X, Q)/σ² + K(Q, Q))⁻¹ and so on."""
    X, y = rows(40)
    model = sparse("dtc", inference=Transductive(len(Q)), chunks=9)
    found, std = model.fit(X, y).predict(Q, return_std=True, level="function")
    Kqq, Kqx = reference.covariance(KERNEL, Q), reference.covariance(KERNEL, Q, X)
    A = np.linalg.solve(Kqq, Kqx).T
    C = np.linalg.inv(np.linalg.inv(Kqq) + A.T @ A / NOISE)
    assert_allclose(found, y.mean() + C @ A.T @ (y - y.mean()) / NOISE, rtol=1e-6)
    assert_allclose(std, np.sqrt(np.diag(C)), rtol=1e-5)


def test_transductive_pitc_is_the_joint_committee():
    X, y = rows(40)
    model = sparse("pitc", inference=Transductive(len(Q)), chunks=9)
    joint = CommitteeRegressor(**GIVEN, inference=Transductive(len(Q), screening=0.0), chunks=9)
    with pytest.warns(UserWarning, match="query_size"):
        joint.fit(X, y)
    for one, other in zip(
        model.fit(X, y).predict(Q, return_std=True), joint.predict(Q, return_std=True)
    ):
        assert_allclose(one, other, rtol=1e-8)


# --- as an estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_chooses_anchors_and_tells_of_them(rule):
    X, y = smooth_rows(300)
    model = SparseGPRegressor(
        kernels.RBF(1.0, 1.2), noise=0.0025, learn=False, method="dtc",
        anchors=Select(rule, 60), random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.anchors_.shape == (60, 2)
    assert rmse(model.predict(X), truth(X)) < 0.15
    chosen = model.selection_
    assert_allclose(chosen.Z, model.anchors_)
    if rule in ("sgma", "postapp", "pivoted-cholesky"):
        assert (np.diff(chosen.remaining) <= 1e-12).all() and chosen.remaining[-1] < 0.1


@pytest.mark.diagonal
@pytest.mark.parametrize("method", METHODS)
def test_hyperparameters_are_learnt_by_the_method_itself(method):
    X, y = smooth_rows(500)
    model = SparseGPRegressor(method=method, anchors=40, chunks=100, random_state=0)
    model.fit(X, y)
    Xs = 0.9 * smooth_rows(100, seed=7)[0]
    assert rmse(model.predict(Xs), truth(Xs)) < 0.2
    given = SparseGPRegressor(
        model.kernel_, noise=model.noise_, learn=False, method=method, anchors=model.anchors_,
        chunks=100, random_state=0,
    ).fit(X, y)  # fmt: skip
    other = SparseGPRegressor(
        model.kernel_.scaled(3.0), noise=10.0 * model.noise_, learn=False, method=method,
        anchors=model.anchors_, chunks=100, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.log_evidence_ > other.log_evidence_ + 1.0
    assert_allclose(given.predict(Xs), model.predict(Xs), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_is_the_batch_with_the_same_anchors(method):
    X, y = rows(48)
    y[24:] = y[:24][::-1]  # the first rows have the mean of all, by which y is centred
    whole = sparse(method, chunks=Chunks(8, "time")).fit(X, y)
    stream = sparse(method, chunks=Chunks(8, "time"))
    stream.partial_fit(X[:24], y[:24]).partial_fit(X[24:], y[24:])
    assert stream.n_chunks_ == whole.n_chunks_ == 6
    assert_same_answers(stream, whole, Q, rtol=1e-9)
    copy = pickle.loads(pickle.dumps(stream))
    assert_same_answers(stream, copy, Q, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_weights_outputs_and_threads(method):
    X, y = rows(40, p=2)
    w = 1 + np.arange(40) % 3
    weighted = sparse(method, chunks=8).fit(X, y, sample_weight=w)
    repeated = sparse(method, chunks=8).fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_same_answers(weighted, repeated, Q, rtol=0)
    threads = sparse(method, chunks=8, n_jobs=2).fit(X, y, sample_weight=w)
    assert_same_answers(weighted, threads, Q, rtol=0)
    assert weighted.predict(Q).shape == (11, 2)
    assert weighted.predict(Q, return_cov=True)[1].shape == (11, 11, 2)


@pytest.mark.parametrize("method", METHODS)
def test_far_from_the_anchors(method):
    X, y = rows(40)
    mean, std = sparse(method).fit(X, y).predict([[1e6, 1e6]], return_std=True, level="function")
    assert_allclose(mean, y.mean())
    assert_allclose(std, 0.0 if method == "sor" else np.sqrt(KERNEL.variance), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_no_noise_duplicates_and_constants_are_survived(method):
    X, y = rows(30)
    X = np.concatenate([X, X[:5]])
    y = np.concatenate([y, y[:5] + 1.0])
    for noise, targets in ((0.0, y), (NOISE, np.full(35, 3.0))):
        model = sparse(method, noise=noise, chunks=6).fit(X, targets)
        mean, std = model.predict(np.concatenate([Q, X]), return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()


@pytest.mark.parametrize("arguments, words", [
    ({"method": "best"}, "method='best'"),
    ({"anchors": Select("clusters")}, "'clusters'"),
    ({"anchors": np.zeros(3)}, "anchors: give .* a finite array"),
    ({"anchors": np.zeros((3, 5))}, "5 columns, but X has 2"),
    ({"inference": 1}, "inference=1"),
    ({"inference": "transductive", "method": "fitc"}, "inference='transductive' means nothing"),
    ({"learn": "anchored"}, "learn='anchored'"),
    ({"anchors": 0}, "anchors=0"),
    ({"inference": Transductive(screening=0.5), "method": "dtc"}, "screening means nothing"),
    ({"noise": -1.0}, "noise=-1.0"),
    ({"chunks": "big"}, "chunks='big'"),
    ({"chunks": "heaps"}, "chunks='heaps'"),
    ({"random_state": "x"}, "random_state='x'"),
])  # fmt: skip
def test_a_bad_argument_is_named(arguments, words):
    X, y = rows(30)
    model = SparseGPRegressor(**arguments)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


USUAL = [
    SparseGPRegressor(random_state=0),
    SparseGPRegressor(
        kernels.Matern32(2.0, 1.5), noise=0.1, learn=False, method="pic",
        anchors=Select("random", 8), chunks=20, random_state=0,
    ),
]  # fmt: skip
OTHERS = [
    SparseGPRegressor(method="pic", anchors=Select("random"), chunks=20, random_state=0),
    SparseGPRegressor(method="vfe", random_state=0),
    SparseGPRegressor(method="fitc", anchors=Select("sgma"), random_state=0),
    SparseGPRegressor(method="sor", anchors=Select("pivoted-cholesky"), random_state=0),
    SparseGPRegressor(method="dtc", inference="transductive", random_state=0),
]


@parametrize_with_checks(USUAL)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)


def test_a_constant_beginning_does_not_leave_a_stream_without_anchors():
    X, y = rows(80)
    model = sparse("dtc", anchors=Select("postapp", 20)).fit(X[:40], np.full(40, 50.0))
    assert len(model.anchors_) == 20
    model.partial_fit(X, y)
    assert rmse(model.predict(X), y) < 0.6 * y.std()


@pytest.mark.parametrize("before", [True, False])
def test_queries_at_rows_belong_to_the_chunk_of_the_row(before):
    X, y = rows(40)
    model = sparse("pic", chunks=Chunks(8, "time")).fit(
        X[:24] if before else X, y[:24] if before else y
    )
    if before:
        model.partial_fit(X[24:], y[24:])
    own = model.model_.predictor()
    for i, part in enumerate(own.parts):
        assert (own._owners(part.X) == i).all()


def test_targets_beyond_the_scale_of_the_first_are_refused():
    X, y = rows(40)
    for model in (sparse("fitc"), CommitteeRegressor(**GIVEN, anchors=Q, n_local=0)):
        model.set_params(noise=1e-200, kernel=KERNEL.scaled(1e-200))
        model.partial_fit(X, 1e-100 * y)
        with pytest.raises(ValueError, match="times the scale"):
            model.partial_fit(X, 1e140 * y)
        assert np.isfinite(model.log_evidence_)
