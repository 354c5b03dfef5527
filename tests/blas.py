"""Run the numerical tests as other processors would: `python tests/blas.py [core types]`.

OpenBLAS chooses its loops by processor, and each choice rounds in its own way. A test that passes
under one and fails under another asks for more digits than its quantity has. `OPENBLAS_CORETYPE`
makes the choice by hand; `NUMBA_CPU_NAME=generic` does the same for our own compiled loops.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CORE_TYPES = ["Haswell", "SkylakeX", "Zen", "Sandybridge", "Nehalem", "Prescott"]
GENERIC = "numba-generic"
ROOMS = [
    "numerics", "kernels", "rows", "messages", "likelihoods", "answers", "learning", "errors",
    "averaging", "transforms", "pipeline", "combining", "laplace", "committee", "sparse", "online",
    "filter", "rvc",
]  # fmt: skip
HERE = Path(__file__).parent

PROBE = """
import numpy as np, scipy.linalg
from threadpoolctl import threadpool_info
A = np.random.default_rng(0).normal(size=(150, 150))
C = A @ A.T + np.eye(150)
scipy.linalg.cholesky(C), np.linalg.eigvalsh(C), np.linalg.solve(C, A), scipy.linalg.qr(A)
pools = [pool for pool in threadpool_info() if pool["internal_api"] == "openblas"]
print(*(pool["architecture"] for pool in pools))
"""


def probe(core_type):
    """The loops that OpenBLAS takes under this name; None where the processor cannot run them."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, "OPENBLAS_CORETYPE": core_type},
        capture_output=True,
        text=True,
        check=False,
    )
    return " ".join(sorted(set(done.stdout.split()))) if done.returncode == 0 else None


def run(changes):
    """Exit code of pytest, its last line, and the names of the tests that failed."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "2"), "--tb=line",
        "-m", "not slow", "-k", "not scikit_learn_conventions", "-p", "no:cacheprovider",
        *(str(HERE / room) for room in ROOMS),
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=HERE.parent,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **changes},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines() or done.stderr.splitlines() or ["no output"]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, lines[-1], failed


def tell(name, changes):
    """Run, print one line and the tests that failed; whether none did."""
    code, summary, failed = run(changes)
    print(f"{name:14s} {'passed' if code == 0 else 'FAILED'}: {summary.strip('= ')}", flush=True)
    for line in failed:
        print(f"  {line}", flush=True)
    return code == 0


def main(names):
    """One line a core type; core types that share their loops run once."""
    good, seen = True, {}
    for name in names or [*CORE_TYPES, GENERIC]:
        if name == GENERIC:
            with tempfile.TemporaryDirectory() as cache:
                good &= tell(name, {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": cache})
            continue
        loops = probe(name)
        if loops is None:
            print(f"{name:14s} skipped: this processor cannot run it", flush=True)
        elif loops == "":
            print(f"{name:14s} skipped: numpy and scipy do not use OpenBLAS here", flush=True)
        elif loops in seen:
            print(f"{name:14s} skipped: runs the loops of {seen[loops]} in this build", flush=True)
        else:
            seen[loops] = name
            good &= tell(name, {"OPENBLAS_CORETYPE": name})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
