"""Limits on time and memory, and what is said about both."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from collegium import CommitteeClassifier, CommitteeRegressor, Limits, kernels
from collegium.engines import Serial
from collegium.interface.checks.limits import bytes_allowed, limits_allowed
from collegium.interface.words.progress import Progress
from collegium.learning.hyperparameters import learn
from collegium.learning.pool import Effort
from collegium.likelihoods.labels.logit import Logit
from collegium.likelihoods.labels.softmax import Softmax
from collegium.numerics.clock import Clock
from collegium.pipeline.checks import bars as checking
from collegium.pipeline.planning.cost import Speed
from collegium.pipeline.planning.plan import (
    CAREFUL,
    CHECKS,
    EFFORTS,
    FEW_CHUNKS,
    FEWEST,
    MESSAGES_LEFT,
    Plan,
)
from collegium.pipeline.planning.swept import SweptPlan
from collegium.pipeline.planning.work import Costs
from collegium.pipeline.swept.settings import latent_settings
from collegium.pipeline.systems import system_for
from collegium.rows.rows import Rows


def settings_of(**arguments):
    model = CommitteeRegressor(**arguments)
    return system_for(model).settings(model)


def rows(n=3000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def plan(n=40_000, d=8, **arguments):
    return Plan.of(settings_of(**arguments), n, d, 1)


class Hands:
    """A clock's hands, which tests move."""

    def __init__(self, limit=1e3, left=1e3):
        self.time = limit - left
        self.clock = Clock(limit, 0.0, lambda: self.time)


def with_left(known, seconds, factor=1.0, **costs):
    """A plan with so many seconds left, at a pace, that expects these costs."""
    hands = Hands(left=seconds)
    hands.clock.pace.note(1e6, 1e6 * factor)
    return replace(known, clock=hands.clock, costs=replace(known.costs, **costs))


@pytest.mark.diagonal
@pytest.mark.parametrize("limit, refined", [(1e-6, False), (60.0, True)])
def test_little_time_gives_a_model_and_time_to_spare_refines_it(limit, refined):
    X, y = rows()
    unchecked = pytest.warns(UserWarning, match="intervals may be too narrow or too wide")
    with nullcontext() if refined else unchecked:
        model = CommitteeRegressor(limits=limit, chunks=300, random_state=0).fit(X, y)
    mean, std = model.predict(X[:200] + 0.01, return_std=True)
    truth = np.sin(2 * (X[:200, 0] + 0.01)) * (X[:200, 1] + 0.01)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.2
    assert np.all(std > 0.02)
    assert (model.residuals_.size > 1) == refined


class Stopped(Clock):
    """A clock that is out after some looks at it."""

    looks = 0

    def out(self):
        Stopped.looks += 1
        return Stopped.looks > 3


def test_learning_ends_when_the_clock_does():
    X, y = rows(400, 2)
    data, rng = Rows(X, y[:, None], np.ones(400)), np.random.default_rng(0)
    evaluations = []

    class Counting(Serial):
        def sum(self, f, chunks, zero):
            evaluations.append(len(chunks))
            return super().sum(f, chunks, zero)

    whole = learn(data, None, None, rng, Counting())
    n_whole = len(evaluations)
    Stopped.looks = 0
    found = learn(data, None, None, rng, Counting(), clock=Stopped())
    assert len(evaluations) - n_whole < 0.5 * n_whole
    assert np.isfinite(found.value) and np.isfinite(whole.value)


def test_refining_ends_when_the_clock_does():
    plan_ = plan(limits=1e3)
    assert not plan_.enough()
    last = plan_.costs.last
    assert with_left(plan_, 0.9 * last).enough() and not with_left(plan_, 1.1 * last).enough()
    assert with_left(plan_, 1.1 * last, factor=2.0).enough()


def test_a_kernel_of_more_terms_takes_longer():
    one, two = kernels.RBF(), kernels.RBF() + kernels.Matern52()
    plan_ = plan(limits=1e3)
    assert plan_.with_kernel(one) == plan_
    first, second, third = (plan_.with_kernel(k).costs for k in (one, two, two * one))
    assert np.isclose(second.last, first.last + first.product)
    more = third.refining - second.refining
    assert np.isclose(more, second.refining - first.refining) and more > 0.0


def test_a_stream_is_not_refined_and_hears_more_rows():
    X, y = rows(1500)
    given = {"kernel": kernels.RBF(1.0, 1.0), "noise": 0.01, "learn": False, "chunks": 300}
    model = CommitteeRegressor(limits=60, random_state=0, **given)
    model.partial_fit(X[:1200], y[:1200])
    assert model.residuals_.size == 0
    fitted = CommitteeRegressor(limits=60, random_state=0, **given)
    fitted.fit(X[:1200], y[:1200])
    assert fitted.residuals_.size > 1
    for each in (model, fitted):
        each.partial_fit(X[1200:], y[1200:])
        assert each.residuals_.size == 0
        error = each.predict(X[1200:]) - y[1200:]
        assert np.sqrt(np.mean(error**2)) < 0.15


def test_an_engine_of_ones_own_needs_no_number_of_workers():
    class Mine:
        def __init__(self):
            self.map, self.sum, self.imap = Serial().map, Serial().sum, Serial().imap

    X, y = rows(600, 2)
    kernel = kernels.RBF(1.0, 1.0)
    arguments = dict(noise=0.1, learn=False, chunks=100, random_state=0)
    model = CommitteeRegressor(kernel, engine=Mine(), **arguments).fit(X, y)
    plain = CommitteeRegressor(kernel, **arguments).fit(X, y)
    np.testing.assert_array_equal(model.predict(X[:5]), plain.predict(X[:5]))


def test_a_plan_does_more_where_there_is_more_time():
    little, much, free = plan(limits=1e-3), plan(limits=1e4), plan()
    assert little.effort == EFFORTS[0].for_rows(40_000)
    assert not little.held_out(800) and not little.refine and little.most_anchors == 50
    assert much.effort == free.effort == Effort().for_rows(40_000)
    assert (
        much.held_out(800) == 800 and much.refine and much.most_anchors == free.most_anchors == 200
    )
    assert free.held_out(800) == 800 and not free.refine
    assert little.seconds < much.seconds


def heavy_tails(n=3000):
    X, y = rows(n)
    return X, y + (np.arange(n) % 40 == 0) * np.random.default_rng(1).normal(size=n) * 3.0


@pytest.mark.diagonal
@pytest.mark.parametrize("data", [rows, heavy_tails])
def test_a_check_takes_the_rows_that_were_foreseen(data, monkeypatch):
    foreseen, taken = [], []
    of, errors = Plan.of, checking.HeldOut.errors

    def spy_plan(*arguments, held, **more):
        foreseen.append(held)
        return of(*arguments, held=held, **more)

    def spy_check(self, *arguments):
        found = errors(self, *arguments)
        taken.extend(len(one.errors) for one in found)
        return found

    monkeypatch.setattr(Plan, "of", spy_plan)
    monkeypatch.setattr(checking.HeldOut, "errors", spy_check)
    X, y = data(1500)
    CommitteeRegressor(kernels.RBF(), chunks=300, limits=1e3, random_state=0).fit(X, y)
    assert taken and set(taken) == set(foreseen) == {checking.held_out_rows(y[:, None])}


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_check_takes_no_more_rows_than_there_is_time_for(factor):
    known = plan(limits=1e3)
    costs = {"messages": 1.0, "passing": 2.0, "regions": 0.4, "answering": 1e-3, "error": 2e-3}
    after = 1.0 + (2.0 + 2e-3 * 800)  # messages, and the scale of errors
    need = CAREFUL * CHECKS * (2.0 + 0.4 + 1e-3 * 500)

    def left(seconds):
        return with_left(known, factor * seconds, factor, **costs)

    assert left(after + need + 0.1).held_out(800) in range(500, 600)
    assert left(after + need - 0.9).held_out(800) == 0  # below FEWEST
    assert left(after + need + 9.0).held_out(800) == 800
    once = CAREFUL * (2.0 + 0.4 + 1e-3 * 500)
    rest = 1.0 + (2.0 + 2e-3 * 500)
    for spare in (0.1, -0.1):
        now = left(rest + once + spare)
        assert now.clock.fits(rest + once) == (spare > 0)


def test_a_check_learns_the_pace_from_its_passes():
    hands = Hands(left=100.0)
    costs = Costs(messages=5.0, passing=6.0, regions=2.0)
    known = replace(plan(limits=1e3), clock=hands.clock, costs=costs)
    goes_on = known.rounds(500)
    hands.time += 8.0  # as expected
    assert goes_on() and hands.clock.pace.factor == pytest.approx(1.0)
    hands.time += 80.0  # ten times as long: 12 s are left, and more are needed
    assert not goes_on() and 6.0 < hands.clock.pace.factor < 10.0


def test_regions_are_a_part_of_a_check_where_there_are_any():
    some = plan(limits=1e3).costs
    fixed = plan(limits=1e3, learn=False, kernel=kernels.RBF(1.0, 1.0), noise=0.1).costs
    assert some.regions > 0.0 == fixed.regions
    assert some.check(100) == pytest.approx(some.regions + replace(some, regions=0.0).check(100))
    known = plan(limits=1e3)
    costs = {"messages": 1.0, "passing": 2.0, "answering": 1e-2, "error": 0.0}
    left = 1.0 + CAREFUL * CHECKS * (2.0 + 3.0 + 4.5)  # 450 rows beside regions of 3 s
    assert with_left(known, left, **costs, regions=3.0).held_out(800) in (449, 450)


def test_every_pass_of_a_check_is_timed_alone():
    hands = Hands()
    known = replace(plan(limits=1e3), clock=hands.clock, costs=Costs(messages=5.0, passing=8.0))
    goes_on = known.rounds(500)
    for _ in range(4):
        hands.time += 24.0  # three times as long as expected
        assert goes_on() and hands.clock.pace.factor == pytest.approx(3.0, rel=1e-3)


def test_few_chunks_are_as_many_as_surely_fit():
    """They have to fit with CAREFUL times the time that they are expected to take."""
    costs = {"messages": 0.0, "passing": 1e9, "few": 10.0, "answering": 0.0}
    known = replace(plan(limits=1e3), costs=replace(plan(limits=1e3).costs, **costs))
    most = known.costs.check(FEWEST, FEW_CHUNKS[0])
    assert 0.1 * 1e3 < most < 1e3 / CAREFUL
    for share, found in ((1.05, FEW_CHUNKS[0]), (0.95, FEW_CHUNKS[1])):
        assert with_left(known, share * CAREFUL * most).few_chunks() == found


def test_few_chunks_are_checked_where_there_is_no_time_for_all():
    known = plan(limits=1e3)
    costs = {"messages": 1.0, "passing": 2e3, "few": 0.1, "answering": 1e-3}
    assert with_left(known, 500.0, **costs).few_chunks() == FEW_CHUNKS[0]
    assert with_left(known, 0.0, **costs).few_chunks() == FEW_CHUNKS[0]  # a tenth of the limit
    assert with_left(known, 0.0, **{**costs, "few": 3.0}).few_chunks() == FEW_CHUNKS[1]
    assert with_left(known, 0.0, **{**costs, "few": 30.0}).few_chunks() == FEW_CHUNKS[2]
    assert with_left(known, 0.0, **{**costs, "few": 60.0}).few_chunks() == 0
    small = plan(limits=1e3, chunks=50)  # a tenth of 40 chunks of 50 rows is FEWEST
    assert with_left(small, 0.0, **{**costs, "few": 4.0}).few_chunks() == 10 * FEWEST // 50


def test_errors_are_learnt_late_up_to_a_pass_and_a_fifth_beyond_the_limit():
    hands = Hands()
    costs = Costs(messages=40.0, passing=1e9, few=1.0, error=1.0)
    clock = replace(hands.clock, limit=1000.0)
    known = replace(plan(limits=1e3), clock=clock, costs=costs)
    few = FEW_CHUNKS[-1]
    for number in (FEWEST, FEWEST // 2):
        most = 1000.0 + 200.0 + 40.0 - number - 2 * few
        hands.time = most - 1.0
        assert known.late_errors() == (number, few)
        hands.time = most + 1.0
        assert known.late_errors() != (number, few)
    assert known.late_errors() == (0, 0)


def test_anchors_are_fewer_where_the_machine_turned_out_slow(monkeypatch):
    monkeypatch.setattr("collegium.pipeline.planning.plan.look", lambda *given: None)
    known = plan(limits=1e3)
    assert known.revised().most_anchors == known.most_anchors > 100
    left = known.costs.messages / MESSAGES_LEFT
    assert with_left(known, 1.1 * left).revised().most_anchors == known.most_anchors
    slow = with_left(known, 1.1 * left, factor=1.5).revised()
    assert slow.most_anchors == known.most_anchors // 2
    assert slow.costs.messages < known.costs.messages
    assert with_left(plan(limits=1e3, anchors=300), 0.0).revised().most_anchors == 300


def test_learning_leaves_time_for_what_has_to_be_done():
    names = ("passing", "few", "regions", "answering", "error")
    known, no = plan(limits=1e3), dict.fromkeys(names, 0.0)
    assert with_left(known, 100.0, messages=1.0, **no).learning_clock().left() == pytest.approx(65)
    assert with_left(known, 100.0, messages=80.0, **no).learning_clock().left() == pytest.approx(20)
    slow = with_left(known, 100.0, factor=2.0, messages=40.0, **no)
    assert slow.learning_clock().left() == pytest.approx(20)
    assert with_left(known, 100.0, messages=1e4, **no).learning_clock().left() == pytest.approx(6.5)
    late = with_left(known, 100.0, messages=40.0, **{**no, "error": 40.0 / (FEWEST // 2)})
    assert late.learning_clock().left() == pytest.approx(20)


def test_few_rows_are_averaged_where_there_is_time():
    known = plan(n=300, limits=1e3)
    need = CAREFUL * known.costs.averaging
    assert need > 0.0 and with_left(known, 1.01 * need).averages()
    assert not with_left(known, 0.99 * need).averages()
    assert not with_left(known, 1.01 * need, factor=1.1).averages()
    assert plan(n=300).averages()


def test_no_words_of_negative_seconds():
    said = []
    for left in (0.0, 2.0):
        late = with_left(plan(limits=1e3), left, refining=34328.0)
        assert not late.refines(settings_of(limits=1e3), said.append)
    late = replace(late, clock=Clock(1.0, 0.0, lambda: 265.0))
    assert not late.refines(settings_of(limits=1.0), said.append)
    assert said == [
        "no refining: the time is up",
        "no refining: the 2 s that are left are too few",
        "no refining: the time is up",
    ]


def test_what_passes_over_all_rows_is_said(capsys):
    settings = settings_of(limits=1.0)
    known = plan(limits=1.0)
    replace(known, costs=replace(known.costs, messages=3.0)).announce(settings, Progress(1))
    assert "3.0 s pass over all rows once" in capsys.readouterr().out


def test_what_is_given_is_kept_however_little_time_there_is():
    found = plan(inference="cg", anchors=400, limits=1e-3)
    assert found.most_anchors == 400 and found.refine
    assert not plan(limits=1e4, n_local=0).refine
    assert not plan(limits=1e4, inference="transductive").refine


def test_efforts_grow():
    steps = [effort.steps() for effort in EFFORTS]
    assert steps == sorted(steps) and steps[0] < 0.02 * steps[-1]


def test_memory_is_kept_by_fewer_anchors_or_refused_before_the_work():
    X, y = rows()
    free = plan(limits=None)
    tight = plan(limits=Limits(memory=0.8 * free.bytes))
    assert tight.most_anchors < free.most_anchors and tight.bytes <= 0.8 * free.bytes
    model = CommitteeRegressor(limits="10kB", random_state=0)
    with pytest.raises(ValueError, match="limits: .*n_local=0"):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_memory_does_not_make_the_result_depend_on_the_workers():
    limit = 1.05 * plan(n=3000, n_jobs=1).bytes
    one, eight = (plan(n=3000, n_jobs=j, limits=Limits(memory=limit)) for j in (1, 8))
    assert one.most_anchors == eight.most_anchors
    assert eight.bytes > one.bytes


def test_workers_without_work_take_no_memory():
    assert plan(n=9000, chunks=9000, n_jobs=12).bytes == plan(n=9000, chunks=9000).bytes


def test_given_anchors_count():
    given = plan(anchors=np.zeros((3000, 8)))
    assert given.most_anchors == 3000
    assert given.bytes == plan(anchors=3000).bytes


def test_without_limits_and_words_nothing_is_measured(monkeypatch):
    monkeypatch.setattr("collegium.pipeline.planning.plan.Speed", None)
    X, y = rows(50)
    arguments = dict(kernel=kernels.RBF(1.0, 1.0), noise=0.1, learn=False)
    assert CommitteeRegressor(**arguments).fit(X, y).n_chunks_ == 1
    for more in ({"limits": 5.0}, {"verbose": 1}):
        with pytest.raises(AttributeError, match="measured"):
            CommitteeRegressor(**arguments, **more).fit(X, y)


def test_a_plan_counts_the_memory_of_rows_anchors_chunks_and_workers():
    base = plan().bytes
    assert plan(n=400_000).bytes > 4 * base
    assert plan(anchors=2000).bytes > base + 8 * 2000**2
    assert plan(chunks=4000).bytes > base + 8 * 4000**2
    assert plan(n_jobs=8).bytes > base


@pytest.mark.parametrize(
    "given, size",
    [("2GB", 2e9), ("1.5 mb", 1.5e6), ("10KiB", 1e4), (4096, 4096.0), (1e9, 1e9), ("7", 7.0)],
)
def test_sizes_are_read_as_people_write_them(given, size):
    assert bytes_allowed(given, "limits") == size
    assert limits_allowed(Limits(memory=given)) == (np.inf, size)


def test_the_estimate_comes_before_the_work(capsys):
    X, y = rows(400)
    kernel = kernels.RBF(1.0, 1.0)
    CommitteeRegressor(kernel, noise=0.1, learn=False, verbose=1).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert "expecting about" in first and "MB" in first


def classes(n, K):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, (np.floor((X[:, 0] + 2) / 4 * K)).astype(int)


@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_many_classes_give_an_estimate_and_bars_over_classes(likelihood, capsys, monkeypatch):
    for name in ("PAUSE", "SHARE"):
        monkeypatch.setattr(f"collegium.interface.words.progress.{name}", 0.0)
    X, y = classes(60, 5)
    CommitteeClassifier(kernels.RBF(), learn=False, likelihood=likelihood, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert "5 latent functions" in lines[0] and "expecting about" in lines[1]
    assert any("3 of 5" in line for line in lines)


@pytest.mark.parametrize("likelihood, count", [("logit", 1000), ("softmax", 300)])
def test_more_classes_take_more(likelihood, count):
    settings = latent_settings(CommitteeClassifier(likelihood=likelihood))
    link, speed = Softmax if likelihood == "softmax" else Logit, Speed(5e-3, 1e10, 1e-9, 1e-3)

    def planned(K, n=20_000):
        own = [link(classes=K)] if link is Softmax else [link()] * K
        return SweptPlan.of(settings, n, 3, own)

    few, many = planned(3), planned(count)
    assert many.seconds(speed) > 0.1 * count * few.seconds(speed)
    messages = count * (20_000 / 500) * 8 * settings.anchor_count(20_000) ** 2
    assert messages < many.bytes() < 3 * messages
    assert planned(count, 2000).bytes() > 8 * count * 2000**2  # a factor each, to predict


def test_classes_beyond_memory_are_refused_before_the_work(monkeypatch):
    monkeypatch.setattr("collegium.numerics.memory.physical", lambda: 1e6)
    X, y = classes(150, 30)
    with pytest.raises(ValueError, match="would take .* MB"):
        CommitteeClassifier(likelihood="softmax").fit(X, y)
