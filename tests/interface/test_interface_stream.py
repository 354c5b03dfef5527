"""The shell of a stream: rows that wait, that are merged, that are added."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import RegressionFilter
from collegium.interface.streams.waiting import Waiting, arriving_rows, condensed, lengthened
from collegium.rows.rows import Rows


def numbered(n, first=0):
    y = np.arange(first, first + n, dtype=float)[:, None]
    return Rows(y + 0.5, y, np.ones(n))


@dataclass(frozen=True)
class Log:
    """A model that notes from which rows it was begun, and which were added."""

    begun: tuple
    added: tuple = ()
    waiting: Waiting | None = None
    n_seen: int = 0

    def with_rows(self, rows):
        return replace(self, added=(*self.added, rows.w.size))


def test_a_stream_begins_again_when_rows_double_until_they_are_enough():
    model, first, steps = None, 0, []
    for n in (3, 2, 2, 4, 5):
        model = lengthened(model, numbered(n, first), n, lambda rows: Log((rows.w.size,)), 10)
        first += n
        steps.append((model.begun, model.added, model.waiting is not None, model.n_seen))
    assert steps == [
        ((3,), (), True, 3),
        ((3,), (2,), True, 5),
        ((7,), (), True, 7),
        ((11,), (), False, 11),
        ((11,), (5,), False, 16),
    ]


def test_rows_that_wait_are_all_rows_in_their_order():
    begin = lambda rows: Log((rows.w.size,))  # noqa: E731
    model = lengthened(None, numbered(3), 3, begin, 10)
    model = lengthened(model, numbered(2, 3), 2, begin, 10)
    assert_array_equal(model.waiting.rows.y, numbered(5).y)


def test_rows_that_came_are_counted_before_copies_are_merged():
    rows = Rows(np.zeros((4, 1)), np.ones((4, 1)), np.array([1.0, 2.0, 0.0, 1.0]))
    once = condensed(rows, in_order=False)
    assert_array_equal(once.w, [4.0])
    assert_array_equal(condensed(rows, in_order=True).w, [1.0, 2.0, 1.0])
    assert lengthened(None, once, 3, lambda rows: Log((rows.w.size,)), 10).n_seen == 3


def test_the_first_rows_set_columns_and_outputs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = RegressionFilter(n_basis=10, random_state=0)
    assert arriving_rows(model, X, y, None).y.shape == (40, 1) and model.y_ndim_ == 1
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="2 outputs, but 1 in earlier calls"):
        arriving_rows(model, X, np.column_stack([y, y]), None)
    with pytest.raises(ValueError, match="features"):
        arriving_rows(model, X[:, :1], y, None)
