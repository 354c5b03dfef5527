"""Rates of forgetting side by side: which one is followed, and that nothing else changes."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import collegium
from collegium import (
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    StreamWarning,
    kernels,
)
from collegium.interface.streams import rates as module
from collegium.interface.streams.rates import Rates, bounded_log_density, changed, check_rates
from collegium.online.gp import OnlineGP, Rules
from collegium.online.tuning import TUNING
from collegium.rows.rows import Rows
from estimator_cases import assert_plain, queries

ONLINE = {"kernel": kernels.Matern52(2.0, 1.3), "noise": 0.01, "learn": False, "budget": 15}
FILTER = {"kernel": kernels.RBF(2.0, 1.0), "noise": 0.01, "learn": False, "basis": "fourier"}
#: One of each system, by a rate.
SYSTEMS = {
    "online": lambda rate: OnlineGPRegressor(
        forgetting=rate, learn_rows=30, random_state=0, **ONLINE
    ),
    "filter": lambda rate: RegressionFilter(
        forgetting=rate, n_basis=25, start_rows=30, random_state=0, **FILTER
    ),
    "experts": lambda rate: RVCRegressor(
        forgetting=rate, width=0.6, max_experts=20, start_rows=30, random_state=0
    ),
}
EACH = pytest.mark.parametrize("system", SYSTEMS)
FAST = 0.9


def stream(n, jump=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    level = np.where(np.arange(n) >= (n if jump is None else jump), 2.5, 0.0)
    return X, 40.0 + np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + level + 0.1 * rng.normal(size=n)


def fed(model, X, y, size=50, first=50):
    """Feed a stream in calls, of which the first has `first` rows; blocks end with calls."""
    for part in np.split(np.arange(len(y)), range(first, len(y), size)):
        model.partial_fit(X[part], y[part])
    return model


def assert_same_answers(a, b):
    for one, other in zip(a.predict(queries(), True), b.predict(queries(), True), strict=True):
        assert_array_equal(one, other)


# --- the rule, against a plain loop -------------------------------------------------------------


@dataclass(frozen=True)
class Faded:
    """Mean of y under weights λ^age, as a model."""

    rate: float
    total: float = 0.0
    weight: float = 1.0

    def scored(self, rows):
        own, found = self, []
        for y in rows.y[:, 0]:
            found.append(bounded_log_density(y, own.total / own.weight, 1.0))
            total, weight = own.rate * own.total + y, own.rate * own.weight + 1.0
            own = replace(own, total=total, weight=weight)
        return own, np.array(found)

    def again_from(self, other):
        return replace(other, rate=self.rate)


def slowly(y, rates, length):
    """`Rates` of `Faded` models, row by row: positions followed, models, times begun again."""
    k = range(len(rates))
    models, block = [Faded(rate) for rate in rates], [0.0 for _ in k]
    short, long, at, again, history = [0.0 for _ in k], [0.0 for _ in k], 0, 0, []
    for i, value in enumerate(y):
        for j, own in enumerate(models):
            z = min(abs(value - own.total / own.weight), 5.0)
            block[j] -= 0.5 * (z * z + np.log(2.0 * np.pi))
            total, weight = own.rate * own.total + value, own.rate * own.weight + 1.0
            models[j] = Faded(own.rate, total, weight)
        if (i + 1) % length == 0:
            short = [np.exp(-length / module.COMPARED[0]) * short[j] + block[j] for j in k]
            long = [np.exp(-length / module.COMPARED[1]) * long[j] + block[j] for j in k]
            block, best = [0.0 for _ in k], short.index(max(short))
            if best > at and short[best] - short[at] > module.FASTER:
                at = best
            else:
                for j in range(at):
                    good = short[j] >= short[at] and long[j] - long[at] > module.SLOWER
                    if good and long[j] == max(long[: at + 1]):
                        at = j
                        break
            for j in range(at):
                if short[at] - short[j] > module.BEHIND:
                    models[j] = replace(models[at], rate=rates[j])
                    short[j], long[j], again = short[at], long[at], again + 1
        history.append(at)
    return history, models, again


def numbered(y):
    return Rows(np.zeros((len(y), 1)), np.asarray(y)[:, None], np.ones(len(y)))


@pytest.mark.parametrize("rates", [(1.0, 0.9), (1.0, 0.97, 0.8), (0.99,)])
@pytest.mark.parametrize("length", [20, 37])
def test_the_rule_is_that_of_a_plain_loop_however_rows_are_cut(rates, length):
    rng = np.random.default_rng(1)
    y = rng.normal(size=900) + np.where(np.arange(900) < 400, 0.0, 3.0)
    y += 0.02 * np.maximum(np.arange(900) - 700, 0)
    history, models, again = slowly(y, rates, length)
    if len(rates) > 1:  # the case is one in which something happens
        assert set(history[:400]) == {0} and max(history[400:]) > 0 and again > 1
    for cuts in ([], range(1, 900), [5, 6, 250, 251, 777]):
        own, seen = Rates.start(Faded, rates, length), []
        for part in np.split(y, cuts):
            own = own.with_rows(numbered(part))
            seen.append(own.followed)
        assert seen == [history[end - 1] for end in [*cuts, 900]]
        assert own.n_restarted == again and own.forgetting == rates[history[-1]]
        for one, other in zip(own.models, models, strict=True):
            assert one.rate == other.rate
            assert_allclose([one.total, one.weight], [other.total, other.weight], rtol=1e-12)


@pytest.mark.parametrize("outlier", [-60.0, 60.0])  # near to one mean or to the other
def test_one_outlier_does_not_change_the_rate(outlier):
    y = np.random.default_rng(0).normal(size=1200)
    y[1149] = outlier
    own = Rates.start(Faded, (1.0, 0.9)).with_rows(numbered(y[:1100]))
    after = own.with_rows(numbered(y[1100:1150]))
    assert own.followed == after.followed == after.n_restarted == 0


def test_a_small_advantage_of_a_slower_rate_is_followed_in_time():
    y = np.random.default_rng(0).normal(size=2000)
    own = replace(Rates.start(Faded, (1.0, 0.95)), followed=1).with_rows(numbered(y))
    assert own.followed == 0  # 0.013 nats per row


def test_rows_of_no_weight_do_not_count():
    y = np.arange(130.0)
    rows = replace(numbered(y), w=(np.arange(130) % 3 > 0).astype(float))
    own = Rates.start(Faded, (1.0, 0.9))
    cut = [(part.start, part.stop) for part in own._parts(rows.w > 0.0)]
    assert cut == [(0, 75), (75, 130)]
    assert (rows.w[:75] > 0.0).sum() == 50


def test_only_the_followed_model_is_changed():
    own = replace(Rates.start(Faded, (1.0, 0.9)), followed=1)
    new = changed(own, lambda model: replace(model, total=7.0))
    assert [one.total for one in new.models] == [0.0, 7.0] and new.total == 7.0
    assert changed(Faded(0.5), lambda model: model.rate) == 0.5


@pytest.mark.parametrize(
    "bad", ["slow", 0.0, 1.1, np.nan, True, None, (), (0.9, 1.0), (1.0, "auto"), np.array([1.0])]
)
def test_bad_rates_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=r"forgetting=.* give a number above 0 and at most 1"):
        check_rates(bad, (1.0, 0.5))
    assert check_rates("auto", (1.0, 0.5)) == (1.0, 0.5)
    assert check_rates([1, 0.25], ()) == (1.0, 0.25) and check_rates(0.3, ()) == (0.3,)


# --- every system ---------------------------------------------------------------------------------


@EACH
def test_each_rate_is_the_estimator_of_that_rate(system):
    X, y = stream(250)
    both = fed(SYSTEMS[system]((1.0, FAST)), X, y)
    assert both.model_.n_restarted == 0 and both.forgetting_ == 1.0
    for k, rate in enumerate((1.0, FAST)):
        both._keep(replace(both.model_, followed=k))
        assert both.forgetting_ == rate
        if system == "online" and rate < 1.0:  # fewer points and steps than alone
            gp, targets = both.model_.gp, both.model_.targets.forward(y[:, None])
            step = TUNING.coarse_step
            assert gp.rules == Rules(15, gp.rules.novelty, forgetting=FAST, step=step)
            alone = OnlineGP.start(gp.kernel, gp.likelihood, 2, 1, gp.rules)
            for part in np.split(np.arange(250), 5):
                alone = alone.add(X[part], targets[part])[0]
            assert_array_equal(gp.predict(X).mean, alone.predict(X).mean)
        else:
            assert_same_answers(both, fed(SYSTEMS[system](rate), X, y))


@EACH
@pytest.mark.parametrize("rates", [(0.97,), (0.97, 0.97), (1.0, 1.0, 1.0)])
def test_equal_rates_are_one_rate(system, rates):
    X, y = stream(150, jump=90)
    several = fed(SYSTEMS[system](rates), X, y)
    assert_same_answers(several, fed(SYSTEMS[system](rates[0]), X, y))
    assert several.forgetting_ == rates[0]


@EACH
def test_a_jump_is_followed_and_the_slow_rate_begins_again_from_the_fast_one(system, monkeypatch):
    X, y = stream(420, jump=200)
    model = fed(SYSTEMS[system]((1.0, FAST)), X[:200], y[:200])
    assert model.forgetting_ == 1.0 == model.stream_.forgetting
    fed(model, X[200:], y[200:], first=40)
    assert model.model_.n_restarted > 0
    assert np.sqrt(np.mean((model.predict(X[200:]) - y[200:]) ** 2)) < 0.5

    monkeypatch.setattr(module, "BEHIND", -np.inf)  # begin again after every comparison
    every = fed(SYSTEMS[system]((1.0, FAST)), X, y)
    every.model_ = replace(
        every.model_, totals=np.array([[0.0, 1e6], [0.0, 1e6]]), block_rows=0, length=20
    )
    before = every.model_.models[1]
    rows = Rows(X[:20], y[:20, None], np.ones(20))
    after = every.model_.with_rows(rows)
    assert after.forgetting == FAST
    slow, fast = after.models
    assert slow.forgetting == 1.0 and fast.forgetting == FAST
    expected = before.scored(rows)[0]
    for one in (slow, fast):  # all three believe the same
        found, known = (at.predictor() if system != "experts" else at for at in (one, expected))
        if system == "experts":
            assert_array_equal(found.answers(X)[0].mean, known.answers(X)[0].mean)
        else:
            assert_array_equal(found.mean(X, None), known.mean(X, None))


@EACH
def test_files_and_pickles_midway_change_nothing(system, tmp_path):
    X, y = stream(330, jump=170)
    whole = fed(SYSTEMS[system]((1.0, FAST)), X[:233], y[:233], size=29)
    assert_plain(whole)
    whole.save(tmp_path / "midway.clg")
    copies = [pickle.loads(pickle.dumps(whole)), collegium.load(tmp_path / "midway.clg")]
    fed(whole, X[233:], y[233:], first=11)
    for copy in copies:
        fed(copy, X[233:], y[233:], first=11)
        assert_same_answers(copy, whole)
        assert copy.forgetting_ == whole.forgetting_
        assert copy.model_.n_restarted == whole.model_.n_restarted > 0
        assert_array_equal(copy.model_.totals, whole.model_.totals)
    whole.save(tmp_path / "without.clg", rows=False)
    bare = collegium.load(tmp_path / "without.clg")
    assert_same_answers(bare, whole)
    bare.partial_fit(X[:60], y[:60])


@pytest.mark.parametrize("system", ["online", "experts"])
def test_cuts_of_a_stream_do_not_change_what_is_followed(system):
    X, y = stream(320, jump=160)
    whole = fed(SYSTEMS[system]((1.0, FAST)), X, y, size=400)
    assert whole.model_.n_restarted > 0
    for size in (1, 33):
        cut = fed(SYSTEMS[system]((1.0, FAST)), X, y, size=size)
        assert_allclose(cut.predict(queries()), whole.predict(queries()), rtol=1e-10)
        assert cut.forgetting_ == whole.forgetting_
        assert cut.model_.n_restarted == whole.model_.n_restarted
        assert_allclose(cut.model_.totals, whole.model_.totals, rtol=1e-8)


@EACH
def test_fit_is_that_of_the_rate_which_predicted_best_at_the_end(system):
    for jump, rate in ((None, 1.0), (200, FAST)):
        X, y = stream(260, jump=jump)
        model = SYSTEMS[system]((1.0, FAST)).fit(X, y)
        assert model.forgetting_ == rate and model.n_seen_ == 260
        # with rate 1 alone rows are shuffled; beside another rate an online GP has fewer points
        if rate < 1.0 and system != "online":
            assert_same_answers(model, SYSTEMS[system](rate).fit(X, y))
        assert_same_answers(clone(model).fit(X, y), model)


def test_one_step_ahead_predictions_of_a_filter_are_those_of_rows_added_one_by_one():
    X, y = stream(70)
    own = SYSTEMS["filter"](1.0).fit(X[:50], y[:50]).model_
    rows = Rows(X[50:], own.scaling.forward(y[50:, None]), np.linspace(0.5, 2.0, 20))
    mean, variance = own.posterior().one_step_ahead(own.model, rows)
    a, left = own.model.conditional(rows.X)
    S, v = own.posterior().root @ own.posterior().root.T, own.posterior().mean
    for i in range(20):
        s = a[i] @ S @ a[i] + left[i] + own.model.noise / rows.w[i]
        assert_allclose([mean[i, 0], variance[i, 0]], [(a[i] @ v)[0], s], rtol=1e-7)
        gain = S @ a[i] / s
        v, S = v + np.outer(gain, rows.y[i] - a[i] @ v), S - np.outer(gain, a[i] @ S)


def test_local_experts_predict_row_by_row_and_forget_alike():
    X, y = stream(320, jump=160)
    w = np.where(np.arange(320) % 7 == 3, 0.0, 1.0)
    one, other = (SYSTEMS["experts"]((1.0, FAST)) for _ in range(2))
    mean, std = one.progressive(X, y, w)
    used = w > 0.0
    fed(other, X[:251][used[:251]], y[:251][used[:251]])
    assert_allclose(other.predict(X[251:252], True), (mean[251:252], std[251:252]), rtol=1e-10)
    fed(other, X[251:][used[251:]], y[251:][used[251:]], first=9)
    assert_allclose(one.predict(queries()), other.predict(queries()), rtol=1e-10)
    assert one.n_seen_ == other.n_seen_ == used.sum()
    with pytest.raises(ValueError, match="several rates"):
        one.merge(other)


def test_labels_that_swap_are_followed():
    X, _ = stream(1000)
    y = np.where(X[:, 0] > 0.0, "a", "b")
    y[800:] = np.where(X[800:, 0] > 0.0, "b", "a")
    given = {"kernel": kernels.RBF(4.0, 1.0), "learn": False, "budget": 20}
    scores = {}
    for rate in (1.0, "auto"):
        model = OnlineGPClassifier(forgetting=rate, **given)
        for at in range(0, 1000, 50):
            model.partial_fit(X[at : at + 50], y[at : at + 50], ["a", "b"])
        scores[rate] = model.score(X[800:], y[800:])
    assert scores["auto"] > scores[1.0] + 0.1
    assert model.model_.n_restarted > 0 and model.stream_.forgetting == model.forgetting_


def test_learnt_hyperparameters_and_errors_follow_too():
    X, y = stream(700, jump=500)
    model = OnlineGPRegressor(
        forgetting="auto", noise="auto", budget=20, learn_rows=60, random_state=0
    )
    fed(model, X, y, size=70, first=60)
    assert model.model_.rates == (1.0, 0.995, 0.98, 0.95) and model.model_.n_restarted > 0
    lower, upper = model.predict_interval(X[600:])
    assert 0.85 < np.mean((lower <= y[600:]) & (y[600:] <= upper))
    words = model.summary()
    assert f"forgetting  {model.forgetting_:.4g}: " in words
    assert "followed among 1, 0.995, 0.98, 0.95; begun again" in words
    assert f"forgetting={model.forgetting_:.4g}" in str(model.stream_)


def test_a_stream_that_no_rate_follows_names_a_remedy():
    X, y = stream(420)
    y[300:] += 30.0 * np.sin(np.arange(120.0))
    model = fed(SYSTEMS["online"]((1.0, FAST)), X[:300], y[:300])
    with pytest.warns(StreamWarning, match=f"rates 1.0, {FAST} are compared.*faster ones"):
        fed(model, X[300:], y[300:], first=40)


@parametrize_with_checks(
    [
        OnlineGPRegressor(kernels.RBF(2.0, 1.5), noise=0.1, learn=False, forgetting="auto"),
        RegressionFilter(forgetting="auto", n_basis=10, learn=False, random_state=0),
        RVCRegressor(forgetting="auto", max_iter=2, max_experts=4, width=1.0, random_state=0),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "the check shuffles rows, whose order "
        "means something where the past fades"
    },
)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)
