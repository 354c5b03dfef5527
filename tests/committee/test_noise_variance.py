"""Known noise of each row: Ψ = (σ² + v)/w, in the units of y."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern as TheirMatern

import collegium
import reference
from collegium import (
    CommitteeRegressor,
    ExpertsRegressor,
    OnlineGPRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.engines import Serial
from collegium.messages.evidence import anchored, factorised
from collegium.messages.experts import Expert
from collegium.rows.chunk import Chunk, cut_rows
from collegium.rows.rows import Rows
from collegium.rows.scaling import merged

KERNEL = kernels.Matern32(1.7, [0.9, 1.6])
GIVEN = {"kernel": KERNEL, "learn": False, "random_state": 0}


def table(n=120, seed=3, p=1):
    """y with noise of sd 0.05 to 1.5 beside one of sd 0.2, in other units than one."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    v = rng.uniform(0.05, 1.5, n) ** 2
    f = np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = 5.0 + f[:, None] + np.sqrt(0.04 + v)[:, None] * rng.normal(size=(n, p))
    return X, y[:, 0] if p == 1 else y, v


def queries(seed=8, n=25):
    return np.random.default_rng(seed).uniform(-2.3, 2.3, size=(n, 2))


def evidence(noise, X, y, w, v):
    """log p of w equal rows each, of the noise σ² + v, given the mean of y by weights."""
    centred = (y - np.average(y, weights=w))[:, None]
    own = reference.gp(KERNEL, noise + v, X, centred, w, X[:1])[2].sum()
    repeats = -0.5 * (w - 1.0) * np.log(2.0 * np.pi * (noise + v)) - 0.5 * np.log(w)
    return own + repeats.sum()


# --- the exact GP ---------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.3])
def test_an_exact_gp_is_that_of_scikit_learn_with_an_array_alpha(noise):
    X, y, v = table()
    theirs = GaussianProcessRegressor(
        ConstantKernel(1.7) * TheirMatern([0.9, 1.6], nu=1.5), alpha=noise + v, optimizer=None
    ).fit(X, y - y.mean())
    mean, std = theirs.predict(queries(), return_std=True)
    own = CommitteeRegressor(**GIVEN, noise=noise).fit(X, y, noise_variance=v)
    found, deviation = own.predict(queries(), return_std=True, level="function")
    assert_allclose(found, y.mean() + mean, atol=1e-8)
    assert_allclose(deviation, std, atol=1e-8)
    assert_allclose(own.log_evidence_, theirs.log_marginal_likelihood_value_, rtol=1e-9)


def test_it_is_scikit_learns_with_targets_that_are_normalised():
    X, y, v = table(seed=4)
    theirs = GaussianProcessRegressor(
        ConstantKernel(1.7 / y.var()) * TheirMatern([0.9, 1.6], nu=1.5),
        alpha=(0.1 + v) / y.var(), optimizer=None, normalize_y=True,
    ).fit(X, y)  # fmt: skip
    own = CommitteeRegressor(**GIVEN, noise=0.1).fit(X, y, noise_variance=v)
    found = own.predict(queries(), return_std=True, level="function")
    assert_allclose(found, theirs.predict(queries(), return_std=True), atol=1e-8)


def test_a_new_observation_has_the_noise_alone():
    X, y, v = table()
    own = CommitteeRegressor(**GIVEN, noise=0.3).fit(X, y, noise_variance=v)
    function = own.predict(queries(), return_std=True, level="function")[1]
    assert_allclose(own.predict(queries(), return_std=True)[1] ** 2, function**2 + 0.3)
    assert own.noise_ == pytest.approx(0.3)


def test_a_weight_is_so_many_rows_of_the_same_noise():
    X, y, v = table(40)
    w = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    model = CommitteeRegressor(**GIVEN, noise=0.2)
    heavy = model.fit(X, y, w, noise_variance=v)
    centred = (y - np.average(y, weights=w))[:, None]
    mean, cov, _ = reference.gp(KERNEL, 0.2 + v, X, centred, w, queries())
    found, std = heavy.predict(queries(), return_std=True, level="function")
    assert_allclose(found, np.average(y, weights=w) + mean[:, 0], atol=1e-8)
    assert_allclose(std**2, cov.diagonal(), atol=1e-8)
    assert heavy.log_evidence_ == pytest.approx(evidence(0.2, X, y, w, v), rel=1e-9)
    each = np.repeat(np.arange(40), w.astype(int))
    again = CommitteeRegressor(**GIVEN, noise=0.2).fit(X[each], y[each], noise_variance=v[each])
    assert again.log_evidence_ == heavy.log_evidence_
    assert_array_equal(again.predict(queries()), heavy.predict(queries()))


def test_several_outputs_share_one_scale():
    X, y, v = table(p=2)
    y = y * [1.0, 3.0]
    both = CommitteeRegressor(**GIVEN, noise=0.2).fit(X, y, noise_variance=v)
    found, std = both.predict(queries(), return_std=True, level="function")
    for j in range(2):
        one = CommitteeRegressor(**GIVEN, noise=0.2).fit(X, y[:, j], noise_variance=v)
        alone = one.predict(queries(), return_std=True, level="function")
        assert_allclose([found[:, j], std[:, j]], alone, atol=1e-9)


def test_rows_of_equal_x_and_y_and_other_noise_stay_apart():
    rows = Rows(
        np.ones((3, 1)), np.ones((3, 1)), np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.5, 0.1])
    )
    both, _ = merged(rows, None, in_order=False)
    assert_array_equal(both.w, [5.0, 2.0])
    assert_array_equal(both.extra, [0.1, 0.5])


# --- committees -----------------------------------------------------------------------------------

Z = queries(1, 15)
PATHS = {
    "anchors": {"n_local": 0, "anchors": Z},
    "nearest": {"n_local": 30, "anchors": Z},
    "refined": {"inference": "cg", "anchors": Z},
    "joint": {"inference": "transductive"},
}


def balanced(n=150, seed=5):
    """Pairs of rows with opposite y: their mean is zero by any weights that pairs share."""
    X, y, v = table(n, seed)
    w = np.random.default_rng(seed).uniform(0.5, 3.0, n)
    other = queries(seed + 1, n)
    y = y - y.mean()
    return np.vstack([X, other]), np.append(y, -y), np.tile(w, 2), np.tile(v, 2)


def function_at(model, Xs):
    return np.array(model.predict(Xs, return_std=True, level="function"))


@pytest.mark.parametrize("path", PATHS)
def test_once_sigma_is_known_noise_is_an_effective_weight(path):
    """(σ² + v)/w = σ²/w′, w′ = wσ²/(σ² + v); the evidence differs by what copies count."""
    X, y, w, v = balanced()
    own = {**GIVEN, **PATHS[path], "noise": 0.2, "chunks": np.arange(300) // 60}
    effective = w * 0.2 / (0.2 + v)
    known = CommitteeRegressor(**own).fit(X, y, w, noise_variance=v)
    plain = CommitteeRegressor(**own).fit(X, y, effective)
    assert_allclose(function_at(known, queries()), function_at(plain, queries()), atol=1e-8)

    def copies(noise, w):
        return (-0.5 * (w - 1.0) * np.log(2.0 * np.pi * noise) - 0.5 * np.log(w)).sum()

    expected = plain.log_evidence_ - copies(0.2, effective) + copies(0.2 + v, w)
    assert known.log_evidence_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_committee_of_anchors_is_pitc(noise):
    X, y, w, v = balanced()
    groups = np.arange(300) // 60
    chunks = [Chunk(k, X[g], y[g][:, None], w[g]) for k in range(5) for g in [groups == k]]
    mean, cov, value = reference.sparse_gp("pitc", KERNEL, noise + v, chunks, Z, queries())
    own = CommitteeRegressor(**GIVEN, n_local=0, anchors=Z, noise=noise, chunks=groups)
    own.fit(X, y, w, noise_variance=v)
    assert_allclose(function_at(own, queries())[0], mean[:, 0], atol=1e-7)
    assert_allclose(function_at(own, queries())[1] ** 2, cov.diagonal(), atol=1e-7)
    repeats = -0.5 * (w - 1.0) * np.log(2.0 * np.pi * (noise + v)) - 0.5 * np.log(w)
    assert own.log_evidence_ == pytest.approx(value.sum() + repeats.sum(), rel=1e-8)


@pytest.mark.parametrize("method", ["fitc", "dtc", "pic"])
def test_sparse_methods_are_those_of_the_reference(method):
    X, y, w, v = balanced()
    groups = np.arange(300) // 60
    chunks = [Chunk(k, X[g], y[g][:, None], w[g]) for k in range(5) for g in [groups == k]]
    inside = X[:4] + 1e-6  # of the first chunk
    mean, cov, _ = reference.sparse_gp(method, KERNEL, 0.2 + v, chunks, Z, inside, own=[0] * 4)
    own = SparseGPRegressor(KERNEL, learn=False, noise=0.2, method=method, anchors=Z)
    own.set_params(chunks=groups).fit(X, y, w, noise_variance=v)
    if method != "pic":  # whose queries look for the nearest chunk
        assert_allclose(function_at(own, inside)[0], mean[:, 0], atol=1e-7)
        assert_allclose(function_at(own, inside)[1] ** 2, cov.diagonal(), atol=1e-7)
    again = SparseGPRegressor(KERNEL, learn=False, noise=0.2, method=method, anchors=Z)
    again.set_params(chunks=groups).fit(X, y, w * 0.2 / (0.2 + v))
    assert_allclose(function_at(own, queries()), function_at(again, queries()), atol=1e-8)


# --- learning -------------------------------------------------------------------------------------


def chunks_of_two_outputs():
    X, y, w, v = balanced(20)
    rows = Rows(X, np.column_stack([y, np.roll(y, 3)]), w, v)
    return cut_rows(rows, [np.arange(25), np.arange(25, 40)])


@pytest.mark.parametrize("expert", Expert.registry, ids=lambda e: e.__name__)
def test_the_gradient_of_the_evidence_is_its_derivative(expert):
    chunks = chunks_of_two_outputs()

    def value(theta):
        return anchored(
            KERNEL.with_theta(theta[:-1]), np.exp(theta[-1]), Z[:6], chunks, Serial(), expert
        )[0]

    theta = np.append(KERNEL.theta, np.log(0.17))
    found = anchored(KERNEL, 0.17, Z[:6], chunks, Serial(), expert)[1]
    expected = reference.gradient(value, theta, step=1e-3)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_the_gradient_without_anchors_is_the_derivative():
    chunks = chunks_of_two_outputs()

    def value(theta):
        return factorised(KERNEL.with_theta(theta[:-1]), np.exp(theta[-1]), chunks, Serial())[0]

    theta = np.append(KERNEL.theta, np.log(0.17))
    found = factorised(KERNEL, 0.17, chunks, Serial())[1]
    expected = reference.gradient(value, theta, step=1e-3)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("more", [{}, {"chunks": 150, "anchors": 30}])
def test_the_noise_that_is_learnt_is_what_is_not_known(more):
    X, y, v = table(600, seed=6)
    model = CommitteeRegressor(kernels.RBF(1.0, [1.0, 1.0]), random_state=0, **more)
    assert model.fit(X, y, noise_variance=v).noise_ == pytest.approx(0.04, rel=0.5)
    assert model.fit(X, y).noise_ > 0.4


def test_known_noise_makes_better_means():
    X, y, v = table(600, seed=7)
    Xs = queries(2, 400)
    f = 5.0 + np.sin(2.0 * Xs[:, 0]) + Xs[:, 1]
    model = CommitteeRegressor(kernels.RBF(1.0, [1.0, 1.0]), random_state=0)
    errors = [
        np.sqrt(np.mean((model.fit(X, y, **known).predict(Xs) - f) ** 2))
        for known in ({"noise_variance": v}, {})
    ]
    assert errors[0] < 0.85 * errors[1]


def test_defaults_are_constant_noise_and_one_kernel():
    X, y, v = table(60)
    model = CommitteeRegressor(random_state=0).fit(X, np.exp(y), noise_variance=v)
    assert model.target_transform_ is None and model.model_.errors is None
    assert not model.model_.averaged


# --- streams, files, forgetting -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:error bars cover")
def test_a_stream_is_a_fit_of_the_same_chunks():
    X, y, w, v = balanced()
    own = {**GIVEN, "noise": 0.2, "anchors": Z, "n_local": 20, "chunks": 400}
    stream = CommitteeRegressor(**own)
    for part in np.split(np.arange(300), 5):
        stream.partial_fit(X[part], y[part], w[part], noise_variance=v[part])
    at_once = CommitteeRegressor(**own).set_params(chunks=np.arange(300) // 60)
    at_once.fit(X, y, w, noise_variance=v)
    first = stream.scaling_.centre - at_once.scaling_.centre
    assert abs(first[0]) > 0.0  # the prior mean of the stream is that of its first rows
    found = stream.predict(queries(), level="function", return_std=True)[1]
    assert_allclose(found, function_at(at_once, queries())[1], atol=1e-8)


def test_rows_that_wait_keep_their_noise_and_so_do_those_learnt_anew():
    X, y, v = table(90)
    own = {"kernel": KERNEL, "noise": 0.2, "learn": False, "random_state": 0}
    stream = CommitteeRegressor(**own)
    stream.partial_fit(X[:50], y[:50], noise_variance=v[:50]).partial_fit(X[50:], y[50:])
    known = np.append(v[:50], np.zeros(40))
    whole = CommitteeRegressor(**own).fit(X, y, noise_variance=known)
    assert_allclose(function_at(stream, queries()), function_at(whole, queries()), atol=1e-10)
    assert_allclose(
        function_at(stream.relearn(), queries()), function_at(whole, queries()), atol=1e-10
    )


@pytest.mark.filterwarnings("ignore:error bars cover")
def test_chunks_are_forgotten_to_the_last_bit_where_rows_were_kept():
    X, y, w, v = balanced()
    own = {**GIVEN, "noise": 0.2, "anchors": Z, "n_local": 20, "chunks": 400}
    models = [CommitteeRegressor(**own) for _ in range(2)]
    for k, part in enumerate(np.split(np.arange(300), 3)):
        for model in models[: 1 if k == 1 else 2]:
            model.partial_fit(X[part], y[part], w[part], noise_variance=v[part], chunk_id=k)
    found, never = (function_at(model, queries()) for model in (models[0].forget(1), models[1]))
    assert_array_equal(found, never)


def test_rows_that_were_not_kept_are_not_forgotten_without_their_noise():
    X, y, w, v = balanced()
    own = {**GIVEN, "noise": 0.2, "anchors": Z, "n_local": 0}
    model = CommitteeRegressor(**own).partial_fit(X, y, w, noise_variance=v, chunk_id="a")
    with pytest.raises(ValueError, match="noise_variance"):
        model.forget("a", X, y, w)


def test_a_stream_is_checked_by_the_noise_of_its_rows():
    X, y, v = table(2500, seed=9)
    model = CommitteeRegressor(kernels.RBF(1.0, 1.0), chunks=300, random_state=0)
    for part in np.split(np.arange(2500), 10):
        model.partial_fit(X[part], y[part], noise_variance=v[part])
    assert 0.91 < model.stream_.coverage < 0.99
    assert 0.8 < model.stream_.square < 1.25


def test_a_model_file_keeps_the_noise(tmp_path):
    X, y, v = table(200)
    model = CommitteeRegressor(**GIVEN, noise=0.1, anchors=Z, chunks=50)
    model.fit(X, y, noise_variance=v).save(tmp_path / "model.clg")
    again = collegium.load(tmp_path / "model.clg")
    assert_array_equal(function_at(again, queries()), function_at(model, queries()))
    assert_array_equal(again.model_.rows().extra, model.model_.rows().extra)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise_variance", [np.ones(3), np.ones((120, 1)), -1.0, np.nan, np.inf, "much", [1e300] * 120]
)
def test_bad_noise_is_refused_and_leaves_the_model(noise_variance):
    X, y, v = table()
    model = CommitteeRegressor(**GIVEN, noise=0.1).fit(X, y, noise_variance=v)
    before = model.predict(queries())
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="noise_variance"):
            method(X, y, noise_variance=noise_variance)
    assert_array_equal(model.predict(queries()), before)


@pytest.mark.parametrize(
    "more",
    [
        {"likelihood": "student-t"},
        {"noise": "varying"},
        {"learn": "average"},
        {"transforms": "rank"},
        {"store": "somewhere.rows"},
        {"noise": [0.1, 0.2]},
    ],
)
def test_what_it_does_not_go_with_is_refused(more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, v = table(p=2 if "noise" in more and len(more["noise"]) == 2 else 1)
    model = CommitteeRegressor(random_state=0, **more)
    with pytest.raises(ValueError, match="noise_variance"):
        model.fit(X, y, noise_variance=v)
    assert not hasattr(model, "model_")


def test_sources_streams_begun_without_and_experts_are_refused(tmp_path):
    X, y, v = table(60)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    source = collegium.open(path, target="y")
    for model in (CommitteeRegressor(), SparseGPRegressor()):
        with pytest.raises(ValueError, match="noise_variance"):
            model.fit(source, noise_variance=v)
    own = CommitteeRegressor(**GIVEN, noise=0.2, anchors=Z).partial_fit(X, y)
    with pytest.raises(ValueError, match="noise_variance.*first call"):
        own.partial_fit(X, y, noise_variance=v)
    with pytest.raises(TypeError, match="noise_variance"):
        ExpertsRegressor().fit(X, y, noise_variance=v)


@pytest.mark.parametrize("v", [0.0, 1e-300, 1e250, "mixed"])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_answers_are_finite_whatever_the_noise(v, size):
    X, y, _ = table(80)
    v = np.geomspace(1e-300, 1e250, 80) if v == "mixed" else v
    for more in ({}, {"chunks": 30, "anchors": 10}):
        model = CommitteeRegressor(kernels.RBF(), random_state=0, **more)
        mean, std = model.fit(X, y * size, noise_variance=v).predict(queries(), return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0.0).all()
        assert np.isfinite(model.log_evidence_)


def test_rows_as_weights_have_the_same_noise():
    rows = Rows(np.ones((4, 1)), np.ones((4, 1)), np.array([1.0, 2.0, 0.5, 3.0]))
    known = replace(rows, extra=np.array([0.0, 0.3, 7.0, 1e-5]))
    plain, noise = known.as_weights(0.01)
    assert plain.extra is None
    assert_allclose(plain.psi(noise), known.psi(0.01), rtol=1e-12)
    assert rows.as_weights(0.01) == (rows, 0.01)


# --- the online GP --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:error bars cover")
@pytest.mark.parametrize("way", ["fit", "sweeps", "stream"])
def test_an_online_gp_takes_noise_as_an_effective_weight(way):
    X, y, w, v = balanced(60)
    own = OnlineGPRegressor(KERNEL, noise=0.2, learn=False, budget=200, random_state=0)
    own.set_params(n_sweeps=2 if way == "sweeps" else 1)
    found = []
    for weight, more in ((w, {"noise_variance": v}), (w * 0.2 / (0.2 + v), {})):
        if way == "stream":
            model = clone(own)
            for part in np.split(np.arange(120).reshape(2, 60).T.ravel(), 4):  # pair by pair
                known = {name: value[part] for name, value in more.items()}
                model.partial_fit(X[part], y[part], weight[part], **known)
        else:
            model = clone(own).fit(X, y, weight, **more)
        found.append(function_at(model, queries()))
    assert_allclose(found[0], found[1], atol=1e-8)


def test_an_online_gp_with_a_large_basis_is_the_exact_gp():
    X, y, v = table(100)
    own = OnlineGPRegressor(KERNEL, noise=0.1, learn=False, budget=100, novelty=1e-12)
    own.fit(X, y, noise_variance=v)
    exact = CommitteeRegressor(**GIVEN, noise=0.1).fit(X, y, noise_variance=v)
    assert_allclose(function_at(own, queries()), function_at(exact, queries()), atol=1e-4)
    assert own.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-2)


def test_an_online_gp_learns_what_is_not_known():
    X, y, v = table(800, seed=6)
    own = OnlineGPRegressor(kernels.RBF(1.0, [1.0, 1.0]), random_state=0)
    assert own.fit(X, y, noise_variance=v).noise_ == pytest.approx(0.04, rel=0.6)
    stream = OnlineGPRegressor(kernels.RBF(1.0, [1.0, 1.0]), random_state=0)
    for part in np.split(np.arange(800), 8):
        stream.partial_fit(X[part], y[part], noise_variance=v[part])
    assert stream.noise_ == pytest.approx(0.04, abs=0.04)
    assert 0.9 < stream.stream_.coverage < 0.99


@pytest.mark.parametrize("more", [{"likelihood": "poisson"}, {"noise": "varying"}])
def test_an_online_gp_refuses_what_it_does_not_go_with(more):
    X, y, v = table(40)
    with pytest.raises(ValueError, match="noise_variance"):
        OnlineGPRegressor(**more).fit(X, np.round(np.abs(y)), noise_variance=v)
    begun = OnlineGPRegressor(KERNEL, noise=0.1, learn=False, learn_rows=10).partial_fit(X, y)
    with pytest.raises(ValueError, match="noise_variance.*first call"):
        begun.partial_fit(X, y, noise_variance=v)


def test_known_noise_comes_along_when_models_are_merged():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(90, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
    anchors = np.linspace(-2, 2, 9)[:, None]
    model = CommitteeRegressor(
        noise=0.01, kernel=kernels.Matern32(), learn=False, chunks=30, anchors=anchors
    ).fit(X[:60], y[:60])
    blank = model.blank().model_
    knows = replace(blank, sum=replace(blank.sum, known_noise=True))
    assert not model.model_.known_noise
    assert model.model_.merged(knows, Serial()).known_noise
    assert knows.merged(model.model_, Serial()).known_noise
