"""Requests that are answered together get the answers that they get alone, of one model each."""

import asyncio

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.kernels import Matern32
from collegium.modelfile.files import model_bytes
from collegium.service.refusals import Refusal
from collegium.service.scores import scored_rows
from collegium.service.serving import AnswerOptions, Batcher, ServedModel

RNG = np.random.default_rng(4)
X = RNG.uniform(-2.0, 2.0, (90, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
GIVEN = {
    "learn": False, "anchors": 9, "chunks": 30, "n_local": 12, "transforms": None,
    "members": None, "random_state": 0, "inference": "inductive",
}  # fmt: skip


@pytest.fixture(scope="module")
def models():
    kernel = Matern32(1.3, [1.1, 1.9])
    return [
        ServedModel.of_model(CommitteeRegressor(kernel, noise=noise, **GIVEN).fit(X, Y), lsn)
        for lsn, noise in enumerate([0.05, 0.4])
    ]


def test_answers_do_not_depend_on_company(models):
    batcher = Batcher()
    batcher.served = models[0]
    rows = RNG.uniform(-2.0, 2.0, (200, 2)).tolist()
    sizes = [1, 150, 3, 1, 40, 1]
    options = [AnswerOptions(0.8), AnswerOptions(), AnswerOptions(0.8), AnswerOptions(),
               AnswerOptions(0.8, "function"), AnswerOptions(0.8)]  # fmt: skip

    async def ask_all():
        asked = [batcher.ask(rows[:n], how) for n, how in zip(sizes, options)]
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0.001)
        batcher.served = models[1]  # swapped in their midst
        return await asyncio.gather(*tasks, batcher.ask(rows[:2], options[0]))

    *found, last = asyncio.run(ask_all())
    for (own, served), n, how in zip(found, sizes, options):
        assert served is models[0]
        expected = models[0].model.predict(
            rows[:n], return_std=True, interval=how.interval, level=how.level
        )
        for name, values in zip(("mean", "std", "lower", "upper"), expected):
            assert_allclose(own[name], values, rtol=1e-11, atol=1e-13)
    assert last[1] is models[1]
    assert batcher.rows == sum(sizes) + 2 and batcher.calls < 30
    batcher.close()


def test_a_bad_request_fails_alone_and_errors_are_those_of_who_asked(models):
    batcher = Batcher()

    async def ask_all():
        with pytest.raises(Refusal, match="no model yet"):
            await batcher.ask([[0.0, 0.0]], AnswerOptions())
        batcher.served = models[0]
        bad = [[0.0, 1.0], [0.0, "warm"]]
        each = [batcher.ask(rows, AnswerOptions()) for rows in ([[0.0, 1.0]], bad, [[0.0]])]
        late = batcher.later(lambda: 1 / 0)
        return await asyncio.gather(*each, late, return_exceptions=True)

    fine, bad, short, late = asyncio.run(ask_all())
    assert len(fine[0]["mean"]) == 1
    assert (bad.status, bad.where) == (422, {"row": 1, "column": 1})
    assert short.status == 422 and isinstance(late, ZeroDivisionError)
    batcher.close()


def test_a_model_that_came_as_bytes_answers_alike(models):
    data = bytearray(model_bytes(models[0].model))
    other = ServedModel.of_bytes(data, 7, first=False)
    one, two = (m.answers(X[:5], AnswerOptions(0.9)) for m in (models[0], other))
    assert all(np.array_equal(one[name], two[name]) for name in one) and other.lsn == 7


def test_scores_are_those_of_the_library(models):
    y = Y[:30] + np.where(np.arange(30) % 3, 0.1, 1.0)
    inside, density = scored_rows(models[0], X[:30].tolist(), y)
    lower, upper = models[0].model.predict_interval(X[:30], 0.9)
    assert np.array_equal(inside, (lower <= y) & (y <= upper))
    assert 0 < inside.sum() < 30
    assert_allclose(density, models[0].model.log_density(X[:30], y), rtol=1e-9)
    labels = np.where(Y > 0, "high", "low")
    served = ServedModel.of_model(
        CommitteeClassifier(Matern32(2.0, 1.5), **GIVEN).fit(X, labels), 0
    )
    right, density = scored_rows(served, X[:30].tolist(), labels[:30])
    p = served.model.predict_proba(X[:30])
    assert_allclose(density, np.log(np.where(labels[:30] == "high", p[:, 0], p[:, 1])))
    assert np.array_equal(right, served.model.predict(X[:30]) == labels[:30])
