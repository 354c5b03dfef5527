"""A cache of bounded size."""

from threading import Barrier, Thread

import numpy as np

from collegium.numerics.cache import Cache


def numbers(n):
    return np.zeros(n)


def test_a_value_is_made_once_and_dropped_when_others_need_its_room():
    cache, made = Cache(8 * 25), []

    def get(name):
        return cache.get(name, lambda: made.append(name) or numbers(10))

    for name in ("a", "b", "a", "c", "a", "b"):  # of three two fit: b goes when c comes
        assert get(name).size == 10
    assert made == ["a", "b", "c", "b"]
    assert len(cache) == 2 and cache.nbytes == 160


def test_what_is_larger_than_the_cache_is_not_kept():
    cache = Cache(100)
    assert cache.get("small", lambda: numbers(5)).size == 5
    assert cache.get("large", lambda: numbers(50)).size == 50
    assert len(cache) == 1 and cache.nbytes == 40
    cache.get("small", lambda: 1 / 0)


def test_a_value_that_two_threads_make_counts_once():
    cache, both = Cache(1000), Barrier(2)

    def make():
        both.wait(5)  # both are making it before one has stored it
        return numbers(10)

    threads = [Thread(target=cache.get, args=("a", make)) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert cache.nbytes == 80 and len(cache) == 1


def test_threads_share_a_cache():
    cache = Cache(8 * 40)
    found = []

    def work(seed):
        for i in np.random.default_rng(seed).integers(0, 9, 300):
            found.append(cache.get(int(i), lambda i=i: np.full(10, float(i)))[0] == i)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 1200 and all(found)
    assert cache.nbytes == 80 * len(cache) <= 320
