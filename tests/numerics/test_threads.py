"""The limit on threads of BLAS is one for the process; fits that overlap share it."""

import os
import subprocess
import sys
from threading import Event, Thread

import pytest
import sklearn.cluster  # noqa: F401  loads OpenMP
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from collegium.numerics.threads import single_threaded

WAIT = 30.0  # seconds


def limits(kind):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == kind}


class Worker(Thread):
    """Goes in and out of `single_threaded` when told, and notes the limits that it sees."""

    def __init__(self, fails=False):
        super().__init__(daemon=True)
        self.fails, self.seen = fails, {}
        self.go_in, self.inside, self.go_out, self.outside = (Event() for _ in range(4))

    def run(self):
        with ThreadpoolController().select(user_api="openmp").limit(limits=2):
            self.go_in.wait(WAIT)
            try:
                with single_threaded():
                    self.seen["inside"] = limits("openmp")
                    self.inside.set()
                    self.go_out.wait(WAIT)
                    if self.fails:
                        raise ValueError("a fit that fails")
            except ValueError:
                pass
            self.seen["outside"] = limits("openmp")
            self.outside.set()

    def enter(self):
        self.go_in.set()
        assert self.inside.wait(WAIT)

    def leave(self):
        self.go_out.set()
        assert self.outside.wait(WAIT)


@pytest.mark.parametrize("fails", [False, True])
def test_fits_that_overlap_share_one_limit_and_the_last_restores_it(fails):
    with threadpool_limits(2):
        a, b = Worker(fails), Worker()
        a.start()
        b.start()
        a.enter()
        b.enter()
        assert limits("blas") == {1}
        a.leave()
        assert limits("blas") == {1}  # b still runs
        b.leave()
        assert limits("blas") == {2}
        for worker in (a, b):  # OpenMP's limit is each thread's own
            assert worker.seen["inside"] <= {1}
            assert worker.seen["outside"] <= {2}


def test_libraries_that_are_loaded_late_are_limited_too():
    """OpenMP that comes with an import, after the first limit was set."""
    code = """
from threadpoolctl import threadpool_info
from collegium.numerics.threads import late_import, single_threaded
with single_threaded():
    pass
late_import("sklearn.cluster", "MiniBatchKMeans")
with single_threaded():
    found = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"]
assert found and set(found) == {1}, found
"""
    own = {**os.environ, "OMP_NUM_THREADS": "3"}
    subprocess.run([sys.executable, "-c", code], check=True, env=own)
