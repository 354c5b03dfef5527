"""Rows as trees are grown from them."""

import numpy as np
import pytest

from collegium.members.boosting import spelled_out


@pytest.mark.parametrize("w, copied", [([1, 2, 1, 1, 1], True), ([1, 9, 1, 1, 1], False)])
def test_few_whole_weights_are_spelled_out_as_copies(w, copied):
    X, y, w = np.arange(10.0).reshape(5, 2), np.arange(5.0), np.array(w, dtype=float)
    found = spelled_out(X, y, w)
    if copied:
        assert found[2] is None
        np.testing.assert_array_equal(found[1], [0.0, 1.0, 1.0, 2.0, 3.0, 4.0])
        np.testing.assert_array_equal(found[0][:, 0], 2.0 * found[1])
    else:
        np.testing.assert_array_equal(found[1], y)
        np.testing.assert_allclose(found[2], w / w.mean())
    assert spelled_out(X, y, np.full(5, 3.0))[2] is None
    assert spelled_out(X, y, w + 0.5)[2] is not None
