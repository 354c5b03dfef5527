"""Rows left out to check error bars."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.answers.predictors import LocalPredictor
from collegium.engines.local import Serial
from collegium.messages.committee import Committee
from collegium.pipeline import exact
from collegium.pipeline.asked import AnswersAsked
from collegium.pipeline.checks import errors
from collegium.pipeline.checks.bars import HeldOut, telling
from collegium.pipeline.kept import memory
from collegium.pipeline.kept.memory import InMemory
from collegium.pipeline.tuning import TUNING
from collegium.rows.metric import Metric
from collegium.rows.rows import Rows


def test_heavy_tails_take_more_rows():
    """As many as make the standard error of a mean square that of so many normal rows."""
    rng = np.random.default_rng(3)
    normal = rng.normal(4.0, 3.0, size=(200_000, 1))
    assert telling(normal) == pytest.approx(TUNING.checking.held_out, rel=0.03)
    laplace = rng.laplace(size=(200_000, 1))  # kurtosis 6
    number = telling(laplace)
    z2 = laplace**2 / 2.0
    errors = [rng.choice(z2[:, 0], number).mean() - 1.0 for _ in range(400)]
    assert np.std(errors) == pytest.approx(np.sqrt(2.0 / TUNING.checking.held_out), rel=0.15)
    assert telling(np.hstack([normal, laplace])) == number  # the output that needs most
    assert telling(laplace + 10.0) == pytest.approx(number, abs=2)


@pytest.mark.parametrize(
    "y",
    [np.zeros((50, 1)), np.r_[np.zeros((10**5, 1)), [[1.0]]], 1e140 * np.arange(5.0)[:, None]],
    ids=["constant", "one spike", "huge"],
)
def test_the_number_of_rows_is_bounded(y):
    assert TUNING.checking.held_out <= telling(y) <= 5 * TUNING.checking.held_out


# -- held-out rows, answered by a committee of some chunks and the nearest rows of all -----------

KERNEL, NOISE = kernels.Matern32(1.3, np.array([0.6, 0.9])), 0.05


def held_out(n=1200, chunk=60, n_local=25, seed=2):
    """Rows in chunks, some held out, and a model's way to answer for a committee."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    w = rng.integers(1, 4, n).astype(float)
    y = np.sin(2.0 * X[:, :1]) * X[:, 1:] + 0.2 * rng.normal(size=(n, 1))
    order = np.lexsort((X[:, 1], np.floor(2.0 * X[:, 0])))
    kept = InMemory(Rows(X, y, w), tuple(order.reshape(-1, chunk)), tuple(range(n // chunk)))
    settings = SimpleNamespace(answers=AnswersAsked(n_local), engine=Serial())
    rows, held, others = kept.held_out(40, rng)
    left = HeldOut(rows, held, others, settings)
    prior = Committee.start(KERNEL, NOISE, X[::80], 1)
    return left, prior, partial(others.local, k=n_local)


def some_cells(monkeypatch, number):
    checking = replace(TUNING.checking, cells=number)
    monkeypatch.setattr(memory, "TUNING", replace(TUNING, checking=checking))


def test_ratios_that_share_neighbours_answer_as_each_alone():
    left, prior, ask = held_out()
    found = left.errors(prior, ask, (0.5, 1.5, 4.0))
    for one, ratio in zip(found, (0.5, 1.5, 4.0)):
        assert one.noise == pytest.approx(ratio * NOISE)
        whole = left.whole_committee(prior, ratio)
        alone = LocalPredictor.of(whole, 25).predict(left.rows.X[left.held], Serial())
        np.testing.assert_allclose(left.rows.y[left.held] - one.errors, alone.mean, atol=1e-9)
        np.testing.assert_allclose(one.function, alone.variance, rtol=1e-7)


def test_messages_of_a_check_are_of_some_chunks_and_near_rows_of_all(monkeypatch):
    left, prior, ask = held_out()
    some_cells(monkeypatch, 4)
    committee = left.committee(prior)
    cells = left.others.cells()
    few = [cells[i] for i in (0, 6, 12, 19)]
    slow = Committee.start(KERNEL, NOISE, prior.basis.Z, 1).add(few, Serial(), keep=False)
    np.testing.assert_array_equal(committee.belief.mean, slow.belief.mean)
    assert not committee.arrived
    predictor = ask(committee)
    X, S = left.others.some().X, Metric.of(KERNEL, left.rows.X).forward
    near = predictor.near.nearest(left.rows.X[left.held], 25)
    for x, own in zip(left.rows.X[left.held], near):
        gaps = ((S(X) - S(x[None])) ** 2).sum(axis=1)
        assert set(own) == set(np.argsort(gaps)[:25])


def test_misses_moved_to_the_next_ratio_are_those_found_there():
    left, prior, ask = held_out()
    low, high = left.errors(prior, ask, (1.0, 3.0))
    sloped = low.with_slope(low, high, 3.0)
    moved = sloped.moved(1.0, 3.0)
    np.testing.assert_allclose(moved.errors, high.errors, atol=1e-12)
    np.testing.assert_allclose(moved.function, high.function, rtol=1e-9)
    assert moved.noise == pytest.approx(high.noise)
    wider = sloped.moved(2.0, 6.0)  # kernel and noise twice as large: the same means
    np.testing.assert_allclose(wider.errors, high.errors, atol=1e-12)
    np.testing.assert_allclose(wider.function, 2.0 * high.function, rtol=1e-9)
    assert low.moved(1.0, 2.0) is None and low.moved(2.0, 2.0) is not None


def test_the_scale_of_errors_is_learnt_from_the_answers_of_the_check(monkeypatch):
    """They are those of a committee with the noise and the kernel that were chosen."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2.0, 2.0, (4000, 2))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=4000)
    seen = []

    def spy(model, left):
        seen.append((left.answered, answers(model, replace(left, answered=None))))
        return answers(model, left)

    answers = errors.answers_held_out
    monkeypatch.setattr(exact, "with_errors", partial(errors.with_errors, ask=spy))
    CommitteeRegressor(
        kernels.RBF(1.0, 1.0), chunks=400, n_local=60, members=None, random_state=0
    ).fit(X, y)
    ((known, again),) = seen
    sd = np.sqrt(again.variance)[:, None]
    assert np.abs((known.mean - again.mean) / sd).mean() < 0.1
    np.testing.assert_allclose(np.log(known.variance / again.variance).mean(), 0.0, atol=0.05)
