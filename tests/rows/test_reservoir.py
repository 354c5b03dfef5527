"""The sample of a stream: uniform, bounded, and the same however the stream is cut."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.rows.reservoir import Reservoir
from collegium.rows.rows import Rows


def stream(n, d=2, p=1):
    """Rows whose first input is their number."""
    number = np.arange(n, dtype=float)
    X = np.column_stack([number, *[-number] * (d - 1)])
    return Rows(X, np.tile(2 * number[:, None], p), 1 + number)


def sampled(rows, size, calls):
    found = Reservoir.start(size, rows.X.shape[1], rows.y.shape[1])
    for part in np.array_split(np.arange(rows.w.size), calls):
        found = found.add(rows.take(part))
    return found


def test_all_rows_are_kept_until_it_is_full():
    rows = stream(30, d=3, p=2)
    found = sampled(rows, 30, 4)
    assert found.seen == 30
    for kept, given in zip(found.rows.fields(), rows.fields(), strict=True):
        assert_array_equal(kept, given)


@pytest.mark.parametrize("calls", [2, 7, 500])
def test_the_sample_does_not_depend_on_how_the_stream_is_cut(calls):
    rows = stream(500)
    whole, cut = sampled(rows, 40, 1), sampled(rows, 40, calls)
    assert whole.seen == cut.seen == 500
    for one, other in zip(whole.rows.fields(), cut.rows.fields(), strict=True):
        assert_array_equal(one, other)


def test_rows_stay_whole_distinct_and_in_order():
    X, y, w = sampled(stream(2_000), 100, 9).rows.fields()
    assert X.shape == (100, 2) and (np.diff(X[:, 0]) > 0).all()
    assert_array_equal(y[:, 0], 2 * X[:, 0])
    assert_array_equal(w, 1 + X[:, 0])


def test_the_sample_is_uniform():
    """Numbers of the rows kept fill ten bins evenly: χ² with nine degrees of freedom."""
    number = sampled(stream(50_000), 5_000, 50).rows.X[:, 0]
    counts = np.histogram(number, bins=10, range=(0, 50_000))[0]
    assert ((counts - 500) ** 2 / 500).sum() < 21.7  # its 99 % point


@pytest.mark.parametrize("seed", range(5))
def test_the_sample_is_independent_of_data_drawn_with_a_plain_seed(seed):
    x = np.random.default_rng(seed).uniform(size=20_000)
    rows = Rows(x[:, None], x[:, None], np.ones(x.size))
    kept = sampled(rows, 2_000, 7).rows.X[:, 0]
    assert abs(kept.mean() - 0.5) < 4 / np.sqrt(12 * 2_000)


def test_memory_is_flat():
    found = sampled(stream(1_000), 50, 3)
    later = found
    for _ in range(20):
        later = later.add(stream(500))
    assert later.seen == 11_000
    assert abs(len(pickle.dumps(later)) - len(pickle.dumps(found))) < 20


def test_nothing_can_be_kept_in_no_room():
    found = sampled(stream(10), 0, 2)
    assert found.seen == 10 and found.rows.X.shape == (0, 2)
