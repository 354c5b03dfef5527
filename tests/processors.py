"""Which loops of BLAS run here, and whether batches were seen to keep every bit under them."""

import numpy as np  # noqa: F401  loads its BLAS
import scipy.linalg  # noqa: F401  loads its own
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

#: Loops of OpenBLAS under which tiles of one size were seen to keep every bit of a row.
SEEN = {"Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott"}
BLAS = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
KEEPS_BITS = all(pool.get("architecture") in SEEN for pool in BLAS)


def assert_same_bits(found, expected):
    """Equal to the last bit; under loops of BLAS that were not tried, to nine digits."""
    if KEEPS_BITS:
        assert_array_equal(found, expected)
    else:
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
