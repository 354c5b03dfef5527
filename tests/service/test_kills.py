"""Kills of both processes under load; `make bench-service` has a thousand of them."""

import pytest

from benchmarks.studies.service.kills import is_whole, killed


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_learnt_twice(tmp_path):
    found = killed(tmp_path, kills=10, seed=3, fronts=0.3)
    assert is_whole(found), found
    assert found["acknowledged"] > 10
