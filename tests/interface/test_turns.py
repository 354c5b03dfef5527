"""Threads that share an estimator: no update is lost, and readers see one model."""

import copy
import gc
import os
import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    ExpertsRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
)
from collegium.interface.turns import _turns, all_or_nothing, of_one_state
from estimator_cases import GIVEN, rows

CHUNKS = {"chunks": 8, "anchors": 6}
LATENT = {"kernel": GIVEN["kernel"], "learn": False, "random_state": 0}
STREAMS = {
    "committee": CommitteeRegressor(**GIVEN, **CHUNKS, n_local=9),
    "anchors only": CommitteeRegressor(**GIVEN, **CHUNKS, n_local=0),
    "student-t": CommitteeRegressor(**GIVEN, **CHUNKS, likelihood="student-t"),
    "classifier": CommitteeClassifier(**LATENT, **CHUNKS),
    "experts": ExpertsRegressor(**GIVEN, chunks=8),
    "sparse": SparseGPRegressor(**GIVEN, **CHUNKS),
    "online": OnlineGPRegressor(**GIVEN),
    "online classifier": OnlineGPClassifier(**LATENT),
    "filter": RegressionFilter(**GIVEN, n_basis=20),
    "rvc": RVCRegressor(width=0.7, random_state=0),
}
#: How long a thread gets to run into another: only a fault is found the later for it.
PATIENCE = 0.2


def start(model):
    """A fitted stream, and rows to go on with."""
    X, y = rows(120)
    y = np.where(y > 50.0, "up", "low") if hasattr(model, "predict_proba") else y
    model = clone(model)
    model.fit(X[:40], y[:40])
    return model, X[40:], y[40:]


def seen(model):
    """Rows that a model has learnt from."""
    return model.stream_.rows


def together(*calls):
    """Run calls in threads at once; raise what the first of them raises."""
    faults = []

    def run(call):
        try:
            call()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if faults:
        raise faults[0]


@pytest.mark.parametrize("name", STREAMS)
def test_two_writers_lose_nothing(name, monkeypatch):
    """Both threads meet before they keep their model, if nothing makes them take turns."""
    model, X, y = start(STREAMS[name])
    both, keep = threading.Barrier(2), type(model)._keep

    def late(self, *arguments):
        try:
            both.wait(PATIENCE)
        except threading.BrokenBarrierError:
            pass
        keep(self, *arguments)

    monkeypatch.setattr(type(model), "_keep", late)
    parts = [slice(0, 16), slice(16, 40)]
    together(*(lambda part=part: model.partial_fit(X[part], y[part]) for part in parts))
    assert seen(model) == 40
    monkeypatch.undo()
    if name == "anchors only":  # sums of messages are the same in any order, to the last bit
        alone, X, y = start(STREAMS[name])
        alone.partial_fit(X[:16], y[:16]).partial_fit(X[16:40], y[16:40])
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


class Pair:
    """Two attributes that must always be equal."""

    def __init__(self, size=1):
        self.size = size
        self.a_ = self.b_ = 0

    @staticmethod
    def _get_param_names():
        return ["size"]

    @all_or_nothing
    def step(self, between=lambda: None, fault=None):
        self.a_ += 1
        between()
        if fault is not None:
            raise fault
        self.b_ += 1
        return self

    @of_one_state
    def read(self, between=lambda: None):
        a = self.a_
        between()
        return a, self.b_


def test_a_reader_sees_one_state_and_does_not_wait():
    pair, found = Pair(), []
    assert pair.step(lambda: together(lambda: found.append(pair.read()))) is pair
    assert found == [(0, 0)]  # in the midst of a step, in another thread
    assert pair.read(pair.step) == (1, 1) and pair.read() == (2, 2)


def test_a_step_that_fails_leaves_everything_and_lets_others_in():
    pair = Pair()
    with pytest.raises(KeyError):
        pair.step(fault=KeyError())
    assert pair.read() == (0, 0)
    together(pair.step, pair.step)
    assert pair.read() == (2, 2)


def test_an_argument_set_during_a_step_stays():
    pair = Pair()
    pair.step(lambda: setattr(pair, "size", 7))
    assert pair.size == 7


def test_a_step_within_a_step_is_refused():
    """The outer one would overwrite it; a copy may be changed meanwhile."""
    pair = Pair()
    with pytest.raises(RuntimeError, match="this Pair is being changed"):
        pair.step(pair.step)
    assert pair.read() == (0, 0)
    other = copy.copy(pair)
    assert pair.step(other.step).read() == other.read() == (1, 1)


def test_estimators_that_are_equal_or_have_no_hash_have_turns_of_their_own():
    @dataclass(init=False, repr=False)
    class Mine(CommitteeRegressor):
        pass

    X, y = rows(20)
    model = Mine(**GIVEN).fit(X, y)
    with pytest.raises(TypeError, match="unhashable"):
        hash(model)
    assert model == Mine(**GIVEN)
    np.testing.assert_array_equal(
        model.predict(X), CommitteeRegressor(**GIVEN).fit(X, y).predict(X)
    )
    one, other = (type("Equal", (Pair,), {"__eq__": lambda *_: True})() for _ in range(2))
    assert one.step(other.step).read() == other.read() == (1, 1)


def test_turns_go_with_their_estimators():
    before = len(_turns.each)
    pairs = [Pair() for _ in range(5)]
    assert [pair.step().read() for pair in pairs] == [(1, 1)] * 5
    assert len(_turns.each) == before + 5
    del pairs[:]
    gc.collect()
    assert len(_turns.each) <= before


def test_answers_are_of_one_model_while_it_is_refitted(monkeypatch):
    """y in other units: predictions mix neither a new predictor with old units nor the reverse."""
    model, X, y = start(STREAMS["committee"])
    before = copy.deepcopy(model).predict(X)  # of the model itself nothing is made yet
    made, left = type(model)._predictor, [lambda: model.fit(X, 1000.0 * y + 7.0)]

    def late(self, *arguments):
        found = made(self, *arguments)
        together(*(left.pop() for _ in left[:]))
        return found

    monkeypatch.setattr(type(model), "_predictor", late)
    found = model.predict(X)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, before)
    assert abs(model.predict(X).mean() - 1000.0 * y.mean()) < 1000.0 * y.std()


def test_locks_are_no_state():
    model, X, y = start(STREAMS["committee"])
    model.partial_fit(X[:8], y[:8])
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert seen(other.partial_fit(X[8:16], y[8:16])) == 16
        assert seen(model) == 8
    assert not any("lock" in type(value).__name__.lower() for value in vars(model).values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_fork_does_not_wait_for_threads_that_are_gone():
    pair = Pair()

    def fork():
        child = os.fork()
        if child == 0:
            threading.Timer(20.0, lambda: os._exit(1)).start()
            os._exit(0 if pair.step().read() == (1, 1) else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    pair.step(lambda: together(fork))  # the thread that forks is not the one in the step
