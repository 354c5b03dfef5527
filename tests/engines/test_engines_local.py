"""The same numbered chunks give the same bits: any engine, any order, in a stream or at once."""

import threading
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from collegium.engines import Serial, Threads, engine_for, single_threaded
from collegium.engines.local import share
from collegium.messages.experts import Block
from collegium.numerics.tree import Tree, place

ENGINES = [Serial(), Threads(2), Threads(3)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=["serial", "two", "three"])
steady = settings(max_examples=60, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Numbered:
    id: int
    value: object = None


def numbers(n, seed=0):
    """Terms whose sum depends on the order: 40 binary orders of magnitude, both signs."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 2.0 ** rng.integers(-20, 20, n)
    return [Numbered(i, float(v)) for i, v in enumerate(values)]


def value_of(chunk):
    return chunk.value


def slow_tree(values):
    """The sum by its definition: the largest power of two first, halves added to halves."""
    if len(values) == 1:
        return values[0]
    left = 1
    while 2 * left < len(values):
        left *= 2
    return slow_tree(values[:left]) + slow_tree(values[left:])


# --- the tree -------------------------------------------------------------------------------------


@steady
@given(st.integers(1, 70), st.integers(0, 1000))
def test_total_is_the_balanced_sum_to_the_bit(n, seed):
    chunks = numbers(n, seed)
    tree = Tree()
    for chunk in chunks:
        tree = tree.push(chunk.value)
    assert tree.total(0.0) == slow_tree([chunk.value for chunk in chunks])
    assert sum(tree.counts) == n
    assert len(tree.sums) == bin(n).count("1")


def test_the_shape_matters_to_the_last_bit():
    # so that equality above is not trivial
    values = [chunk.value for chunk in numbers(50)]
    assert slow_tree(values) != sum(values)


@dataclass(frozen=True)
class Words:
    """Terms that do not commute show the order of addition."""

    text: str

    def __add__(self, other):
        return Words(f"({self.text}{other.text})")


def test_terms_are_added_in_order_and_zero_comes_first():
    tree = Tree()
    for letter in "abcdefg":
        tree = tree.push(Words(letter))
    assert tree.total(Words("0")).text == "(0(((ab)(cd))((ef)g)))"


def test_a_tree_grows_without_changing_the_smaller_one():
    small = Tree().push(1.0).push(2.0).push(4.0)
    larger = small.push(8.0)
    assert (small.counts, small.sums) == ((2, 1), (3.0, 4.0))
    assert (larger.counts, larger.sums) == ((4,), (15.0,))


def test_an_empty_tree_is_zero():
    zero = object()
    assert Tree().total(zero) is zero
    assert Tree().counts == ()


# --- engines --------------------------------------------------------------------------------------


@every_engine
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 33])
def test_sum_is_the_same_to_the_bit_in_any_order(engine, n):
    chunks = numbers(n)
    expected = 0.25 + slow_tree([chunk.value for chunk in chunks])
    rng = np.random.default_rng(n)
    for _ in range(3):
        order = rng.permutation(n)
        assert engine.sum(value_of, [chunks[i] for i in order], 0.25) == expected


@every_engine
def test_sum_does_not_depend_on_who_is_ready_first(engine):
    chunks = numbers(24)
    delays = np.random.default_rng(1).uniform(0.0, 0.004, 24)

    def slow(chunk):
        time.sleep(delays[chunk.id])
        return chunk.value

    assert engine.sum(slow, chunks, 0.0) == slow_tree([chunk.value for chunk in chunks])


@every_engine
def test_imap_gives_one_answer_at_a_time_in_the_order_of_its_items(engine):
    found = engine.imap(value_of, iter(numbers(13)))
    assert next(found) == numbers(13)[0].value
    assert list(found) == [chunk.value for chunk in numbers(13)[1:]]


def test_numbers_come_before_names_and_parts_in_their_order():
    ids = [("b", 0), 3, (10, 1), ("a", 1), (10, 0), ("a", 0), 2]
    assert sorted(ids, key=place) == [2, 3, (10, 0), (10, 1), ("a", 0), ("a", 1), ("b", 0)]


@every_engine
def test_messages_of_a_committee_are_the_same_to_the_bit(engine, make):
    problem = make((9, 1, 14, 6, 3, 22, 8), m=12)
    basis = problem.basis
    send = partial(Block(problem.noise).send, basis)
    expected = Serial().sum(send, problem.chunks, basis.prior(2))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(7)
        found = engine.sum(send, [problem.chunks[i] for i in order], basis.prior(2))
        assert_array_equal(found.precision, expected.precision)
        assert_array_equal(found.shift, expected.shift)
        assert_array_equal(found.log_scale, expected.log_scale)


@every_engine
def test_map_keeps_the_order_of_its_items(engine):
    def slow(item):
        time.sleep(0.002 * (item % 3))
        return item * item

    assert engine.map(slow, iter(range(20))) == [i * i for i in range(20)]


@pytest.mark.parametrize(("n", "jobs", "most", "expected"), [
    (2000, 1, 1024, 1024), (2000, 4, 1024, 512), (2000, 2, 256, 256), (2000, 100, 1024, 32),
    (1, 4, 1024, 32), (0, 4, 1024, 1), (100, 2, 3, 3), (10**6, 8, 1024, 1024),
])  # fmt: skip
def test_every_worker_has_a_share_in_whole_tiles(n, jobs, most, expected):
    assert share(Threads(jobs), n, most) == expected


@every_engine
def test_nothing_to_do(engine):
    assert engine.map(value_of, []) == []
    zero = object()
    assert engine.sum(value_of, [], zero) is zero
    assert list(engine.imap(value_of, [])) == []


class Broken(Exception):
    pass


@every_engine
@pytest.mark.parametrize("at", [0, 6, 19])
def test_errors_come_through_and_leave_the_engine_usable(engine, at):
    def f(chunk):
        if chunk.id == at:
            raise Broken(chunk.id)
        return chunk.value

    chunks = numbers(20)
    before = threading.active_count()
    with pytest.raises(Broken):
        engine.sum(f, chunks, 0.0)
    with pytest.raises(Broken):
        engine.map(f, chunks)
    assert threading.active_count() == before
    assert engine.sum(value_of, chunks, 0.0) == slow_tree([c.value for c in chunks])


def test_several_threads_work_at_a_time_and_never_more_than_asked():
    at_work, most, lock = 0, 0, threading.Lock()

    def f(item):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.003)
        with lock:
            at_work -= 1
        return item

    Threads(3).map(f, range(18))
    assert most == 3


def test_few_results_wait_to_be_added():
    produced, taken = 0, 0
    ahead = []

    def items():
        nonlocal produced
        for i in range(60):
            produced += 1
            ahead.append(produced - taken)
            yield i

    for _ in Threads(2).imap(lambda i: i, items()):
        taken += 1
    assert max(ahead) <= 2 * 2 + 2


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@every_engine
def test_blas_has_one_thread_inside_and_its_own_again_after(engine):
    with threadpool_limits(2):
        before = blas_threads()
        assert set(before) == {2}
        inside = engine.map(lambda _: blas_threads(), range(4))
        assert all(set(found) == {1} for found in inside)
        assert blas_threads() == before
        with single_threaded():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


# --- n_jobs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, 1), (1, 1), (2, 2), (5, 5), (np.int64(3), 3), (-1, 6), (-2, 5), (-6, 1), (-20, 1)],
)
def test_n_jobs_counts_as_in_scikit_learn(n_jobs, expected, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    engine = engine_for(n_jobs)
    assert engine.n_jobs == expected
    assert isinstance(engine, Threads) == (expected > 1)


@pytest.mark.parametrize("n_jobs", [0, True, False, 1.5, 2.0, "2", [2], np.float64(2)])
def test_n_jobs_that_is_no_number_of_workers_is_named(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        engine_for(n_jobs)
