"""The scale of a stream's errors follows its rows, and costs nothing where it is not wanted."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import collegium
from collegium import CommitteeRegressor, Transform
from collegium.errors.checked import Checked
from collegium.errors.errors import Errors
from collegium.errors.features import ScaleInputs
from collegium.errors.scale import ErrorScale
from collegium.errors.tuning import TUNING
from collegium.kernels import Matern52
from collegium.pipeline.stream import errors as errors_stream_fitting
from collegium.rows.rows import Prediction, Rows
from estimator_cases import assert_same_state, leaves, state

FIRST, KEPT, LOOKED = TUNING.stream.first, TUNING.stream.kept, TUNING.stream.looked

Z = np.linspace(-2.0, 2.0, 8)[:, None]


def noisy(n, seed=0, p=1, sign=1.0):
    """Rows whose noise grows with x by a factor of twenty; with sign −1 it falls."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 1))
    sd = 0.2 * np.exp(sign * 0.75 * X)
    return X, np.sin(X) * np.arange(1, p + 1) + sd * rng.standard_normal((n, p))


def streaming(**given):
    given = {"n_local": 0, "anchors": Z, "chunks": 300, "random_state": 0, **given}
    return CommitteeRegressor(Matern52(1.0, 1.0), **given)


def feed(model, X, y, size=100, w=None):
    for a in range(0, X.shape[0], size):
        part = slice(a, a + size)
        model.partial_fit(X[part], y[part], None if w is None else w[part])
    return model


def ratio(model):
    """Predicted standard deviations at x = 1.5 over those at −1.5: twenty raised to .5 or so."""
    std = model.predict(np.array([[-1.5], [1.5]]), return_std=True)[1]
    return std[1] / std[0]


def inputs(n, p=1, seed=0):
    rng = np.random.default_rng(seed)
    rows = Rows(rng.normal(size=(n, 1)), rng.normal(size=(n, p)), np.ones(n))
    return rows, ScaleInputs(np.zeros((n, p)), np.zeros((n, p)), rows.X, None)


# -- the rows that are kept -----------------------------------------------------------------------


def test_only_the_last_rows_checked_are_kept():
    rows, at = inputs(3 * KEPT // 2)
    own = Checked.start(1, 1)
    for part in np.array_split(np.arange(rows.w.size), 7):
        own = own.add(rows.take(part), at.take(part), None)
    assert own.seen == rows.w.size and own.rows.w.size == own.gain.size == KEPT
    np.testing.assert_array_equal(own.rows.X, rows.X[-KEPT:])
    np.testing.assert_array_equal(own.mean, at.mean[-KEPT:])


@pytest.mark.parametrize(
    "seen, learnt_at, due",
    [
        (FIRST - 1, 0, False), (FIRST, 0, True), (399, 200, False), (400, 200, True),
        (5 * KEPT, 4 * KEPT, True), (5 * KEPT - 1, 4 * KEPT, False),
    ],
)  # fmt: skip
def test_a_scale_is_due_when_rows_doubled_or_a_thousand_came(seen, learnt_at, due):
    rows, at = inputs(min(seen, KEPT))
    own = replace(Checked.of(rows, at), seen=seen, learnt_at=learnt_at)
    assert own.due == due


def test_a_scale_has_failed_where_the_last_rows_lose_by_it():
    rows, at = inputs(400)
    own = replace(Checked.of(rows, at), learnt_at=0)
    gain = np.random.default_rng(1).normal(0.3, 1.0, 400)
    assert not replace(own, gain=gain).failed
    assert replace(own, gain=gain - 1.0).failed
    gain[-LOOKED:] -= 1.5
    late = replace(own, gain=gain)
    assert gain.mean() > 0.0 and late.failed
    assert not replace(late, learnt_at=400 - LOOKED + 1).failed
    assert late.restarted().rows.w.size == LOOKED and not late.restarted().due


def test_gains_are_those_of_log_densities():
    rows, at = inputs(300, p=2)
    scale = ErrorScale.learn(at, rows.y * np.exp(rows.X), always=True)
    errors = Errors(scale, None)
    density = scale.predictive(at).log_density(rows.y)
    normal = -0.5 * (np.log(2.0 * np.pi) + rows.y**2)
    each = np.clip(density - normal, -2.0, 2.0)
    np.testing.assert_allclose(errors.gains(at, rows.y), each.mean(axis=1))


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:error bars cover")
def test_a_stream_without_rows_learns_a_scale_and_follows_its_change():
    model = feed(streaming(), *noisy(1200))
    assert model.model_.errors is not None and ratio(model) > 3.0
    assert model.model_.stream.checked.rows.w.size <= KEPT
    feed(model, *noisy(2000, seed=1, sign=-1.0))
    assert ratio(model) < 1.0 / 3.0


def test_a_scale_is_learnt_at_doublings_of_the_rows_checked_and_not_in_every_call(monkeypatch):
    seen, own = [], Checked.errors

    def counted(self, kernel, **given):
        seen.append(self.seen)
        return own(self, kernel, **given)

    monkeypatch.setattr(Checked, "errors", counted)
    model = feed(streaming(), *noisy(400))
    start = model.model_.stream.checked.seen
    feed(model, *noisy(1100, seed=1))
    calls = start + 64 * np.arange(1, 12)
    first = calls[calls >= FIRST][0]
    assert seen == [first, calls[calls >= 2 * first][0]]


def test_rows_that_are_answered_anew_are_learnt_from_at_once():
    rows, at = inputs(FIRST, p=2)
    own = Checked.of(rows, at)
    again = own.answered(Prediction(rows.y + 1.0, np.full(FIRST, 3.0)), 1.0)
    assert not own.due and again.due
    np.testing.assert_array_equal(again.mean, rows.y + 1.0)
    np.testing.assert_allclose(again.log_sd, np.full((FIRST, 2), np.log(2.0)))


def test_a_stream_with_rows_learns_a_scale_anew_where_there_are_four_times_as_many(monkeypatch):
    learnt = []
    own = errors_stream_fitting.with_errors

    def counted(job, model, rows, left):
        learnt.append(rows.w.size)
        return own(job, model, rows, left)

    monkeypatch.setattr(errors_stream_fitting, "with_errors", counted)
    model = feed(streaming(n_local=20), *noisy(400))  # from now on with anchors
    assert model.model_.stream.errors_at == 400
    feed(model, *noisy(1300, seed=1), 130)
    assert learnt == [1700]  # the first above 1600
    assert model.model_.stream.errors_at == learnt[-1] and ratio(model) > 3.0


@pytest.mark.filterwarnings("ignore:error bars cover")
@pytest.mark.parametrize("n_local", [0, 20])
def test_a_scale_that_rows_lose_by_is_given_up(n_local):
    model = feed(streaming(n_local=n_local), *noisy(900))
    errors = model.model_.errors
    (own,) = errors.scale.outputs
    lower = replace(own.function, constant=own.function.constant - 6.0)  # errors / 20
    wrong = replace(errors, scale=ErrorScale((replace(own, function=lower),)))
    model._keep(replace(model.model_, errors=wrong), model.stream_)
    feed(model, *noisy(500 if n_local else 100, seed=1), 50)
    assert model.model_.errors is None and model.model_.stream.checked.learnt_at == 0


@pytest.mark.parametrize("n_local", [0, 20])
@pytest.mark.parametrize("noise", ["constant", 0.05])
def test_nothing_happens_with_constant_noise(monkeypatch, n_local, noise):
    def never(*_):
        raise AssertionError("a scale was looked for")

    monkeypatch.setattr(Checked, "add", never)
    monkeypatch.setattr(errors_stream_fitting, "with_errors", never)
    model = feed(streaming(noise=noise, n_local=n_local), *noisy(700))
    assert model.model_.errors is None and model.model_.stream.checked is None


@pytest.mark.parametrize("n_local", [0, 20])
def test_a_stream_goes_on_the_same_after_a_file_and_a_pickle(tmp_path, n_local):
    X, y = noisy(1300, p=2)
    model = feed(streaming(n_local=n_local), X[:700], y[:700])
    model.save(tmp_path / "stream.clg")
    copies = [collegium.load(tmp_path / "stream.clg"), pickle.loads(pickle.dumps(model))]
    feed(model, X[700:], y[700:])
    assert model.model_.errors is not None and len(model.model_.errors.scale.outputs) == 2
    for copy in copies:
        assert_same_state(leaves(state(model)), feed(copy, X[700:], y[700:]))


@pytest.mark.parametrize("n_local", [0, 20])
def test_neither_the_order_in_a_call_nor_threads_matter(n_local):
    X, y = noisy(900)
    order = np.random.default_rng(1).permuted(np.arange(900).reshape(9, 100), axis=1).ravel()
    w = np.tile([1.0, 2.0], 450)
    one = feed(streaming(n_local=n_local), X, y, w=w)
    two = feed(streaming(n_local=n_local, n_jobs=2), X[order], y[order], w=w[order])
    assert one.model_.errors is not None
    for (path, left), (_, right) in zip(leaves(one.model_), leaves(two.model_), strict=True):
        np.testing.assert_array_equal(left, right, err_msg=path)


def test_rows_that_are_forgotten_leave_the_rows_checked():
    X, y = noisy(900)
    model = feed(streaming(), X[:800], y[:800])
    model.partial_fit(X[800:], y[800:], chunk_id="gone")
    held = model.model_.stream.checked.rows.X
    assert np.isin(X[800:], held).any()
    model.forget("gone", X[800:], y[800:])
    left = model.model_.stream.checked.rows.X
    assert not np.isin(X[800:], left).any() and np.isin(left, held).all()


def test_a_file_without_rows_has_none_that_were_checked(tmp_path):
    model = feed(streaming(), *noisy(600))
    model.save(tmp_path / "small.clg", rows=False)
    other = collegium.load(tmp_path / "small.clg")
    assert other.model_.stream.checked is None
    np.testing.assert_array_equal(other.quantile(Z, 0.9), model.quantile(Z, 0.9))
    assert feed(other, *noisy(300, seed=2)).model_.stream.checked.seen == 3 * 64


def test_a_waiting_streams_scale_follows_the_units_of_y():
    X, y = noisy(300)
    y = np.round(20.0 * y)
    model = CommitteeRegressor(random_state=0, transforms=Transform(y=None)).partial_fit(X, y)
    assert model.model_.errors is not None
    before, unit = np.subtract(*model.predict_interval(Z)), model.model_.scaling.scale
    model.partial_fit(np.linspace(50.0, 60.0, 10)[:, None], 3e3 + np.arange(10.0))
    assert model.model_.scaling.scale > 10.0 * unit
    np.testing.assert_allclose(np.subtract(*model.predict_interval(Z)), before, rtol=0.05)
