"""Limits of containers and of the address space count as the memory of the machine does."""

import subprocess
import sys

import pytest

from collegium.interface.checks.limits import bytes_allowed
from collegium.numerics import memory


def tree(root, lines, limits):
    """Files as Linux shows them: the cgroups of a process, and limits below /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("".join(f"{line}\n" for line in lines))
    for path, value in limits.items():
        file = root / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return root


V1 = ["5:devices:/app", "4:memory:/app/job", "1:name=systemd:/", "0::/"]
NONE = 2**63 - 4096  # what version 1 says where there is no limit
CASES = {
    "version 2": (["0::/app/job"], {"app/job/memory.max": 10**9, "app/memory.max": "max"}, 1e9),
    "version 2, parent": (
        ["0::/app/job"], {"app/job/memory.max": 10**9, "app/memory.max": 7 * 10**8}, 7e8,
    ),
    "version 2, container": (["0::/"], {"memory.max": 3 * 10**8}, 3e8),
    "version 2, no limit": (["0::/app"], {"app/memory.max": "max"}, float("inf")),
    "version 2, another job": (["0::/app"], {"other/memory.max": 10}, float("inf")),
    "version 1": (V1, {"memory/app/job/memory.limit_in_bytes": 5 * 10**8,
                       "memory/app/memory.limit_in_bytes": NONE}, 5e8),
    "version 1, parent": (V1, {"memory/app/job/memory.limit_in_bytes": NONE,
                               "memory/app/memory.limit_in_bytes": 4 * 10**8}, 4e8),
    "version 1, container": (V1, {"memory/memory.limit_in_bytes": 2 * 10**8,
                                  "devices/app/memory.limit_in_bytes": 10}, 2e8),
    "version 1, shared": (["3:cpu,memory:/a"], {"memory/a/memory.limit_in_bytes": 60}, 60.0),
    "both": (V1, {"memory/app/job/memory.limit_in_bytes": 5 * 10**8,
                  "unified/memory.max": 10**8}, 1e8),
    "no cgroups": ([], {}, float("inf")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_least_limit_of_a_cgroup_and_its_parents_counts(name, tmp_path):
    lines, limits, expected = CASES[name]
    assert memory.cgroup_limit(tree(tmp_path, lines, limits)) == expected


def test_a_system_without_cgroups_has_no_such_limit(tmp_path):
    assert memory.cgroup_limit(tmp_path / "nothing") == float("inf")


def test_the_limit_of_a_container_is_what_fits_go_by(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "physical", lambda: 8e9)
    own = memory.cgroup_limit
    root = tree(tmp_path, ["0::/"], {"memory.max": 10**9})
    monkeypatch.setattr(memory, "cgroup_limit", lambda: own(root))
    assert bytes_allowed(None, "") == memory.allowed() == 1e9
    memory.refuse_beyond_machine(0.9e9, "this", "do less")
    with pytest.raises(ValueError, match=r"this would take 1.10 GB .* may have 1.00 GB: do less"):
        memory.refuse_beyond_machine(1.1e9, "this", "do less")


LIMITED = """
import resource
import numpy as np
from collegium import CommitteeRegressor, kernels
X = np.linspace(0.0, 1.0, 50)[:, None]
model = CommitteeRegressor(kernels.RBF(), noise=0.1, learn=False).fit(X, X[:, 0])
resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, resource.RLIM_INFINITY))
print(model.sample_y(X, 3).shape)
try:
    model.sample_y(X, 10**7)
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(memory.resource is None, reason="there is no RLIMIT_AS on Windows")
def test_an_address_space_that_is_limited_refuses_before_it_is_full():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    shape, word = done.stdout.splitlines()
    assert shape == "(50, 3)", done.stderr
    assert "n_samples=10000000 at 50 queries would take" in word
    assert "this process may have 3.00 GB: ask for less" in word
