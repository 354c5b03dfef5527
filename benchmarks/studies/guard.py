"""Guards on speed: how long the parts of the library take, in matrix products of the same run.

python -m benchmarks.studies.guard [name ...]

Ratios depend less on the machine than times do, and processor time not on who else uses it. A
part that takes more than `TOLERANCE` times what it is expected to take fails, and so does the
command. What a second thread gains is by the clock, against what it gains with plain products.
A part that became faster wants a smaller number in `EXPECTED`.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.harness.meter import least
from collegium import kernels
from collegium.answers import conjugate_gradients as refine
from collegium.answers.predictors import GlobalPredictor, LocalPredictor
from collegium.engines import Serial, Threads, single_threaded
from collegium.kernels import Leaf
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.evidence import factorised
from collegium.messages.experts import Block
from collegium.messages.total import Total
from collegium.numerics import lapack, linalg
from collegium.rows.chunk import cut

N, D, M = 1000, 8, 500
TOLERANCE = 1.6
#: Runs of which the fastest counts.
REPEATS = 7
#: Of what a second thread gains with matrix products alone, and of the rate of these: the least
#: for messages. (Two idle cores gain 2: then 1.7.)
TWO_THREADS, MESSAGE_RATE = 0.85, 0.5
#: Adding a message exactly, at most, of the time that it takes to make it.
EXACT = 0.06
#: Time in products of two 1000 x 1000 matrices.
EXPECTED = {
    "Constant, value": 0.005,
    "Constant, vjp": 0.005,
    "Hat, value": 0.038,
    "Hat, vjp": 0.11,
    "Linear, value": 0.013,
    "Linear, vjp": 0.019,
    "Matern12, value": 0.079,
    "Matern12, vjp": 0.12,
    "Matern32, value": 0.084,
    "Matern32, vjp": 0.1,
    "Matern52, value": 0.085,
    "Matern52, vjp": 0.11,
    "Periodic, value": 0.12,
    "Periodic, vjp": 0.19,
    "RationalQuadratic, value": 0.155,
    "RationalQuadratic, vjp": 0.205,
    "RBF, value": 0.066,
    "RBF, vjp": 0.095,
    "White, value": 0.005,
    "White, vjp": 0.005,
    "Cholesky factor": 0.24,
    "triangular solve": 0.54,
    "Gram matrix": 0.57,
    "evidence and gradient, 1000 rows": 0.96,
    "message of a chunk": 0.39,
    "4096 means by anchors": 0.21,
    "4096 means and variances by anchors": 1.5,
    "1 query by 400 rows": 0.14,
    "64 queries by 400 rows": 6.5,
    "covariance times vector, 2000 rows": 0.21,
    "messages of 16 chunks": 6.2,
}


class Guard:
    """Prints each ratio beside what it should be, and remembers the failures."""

    def __init__(self, names: list[str]):
        A = np.random.default_rng(0).normal(size=(N, N))
        self.names, self.failed = names, []
        self.product = lambda: A @ A
        self.gemm = least(self.product, REPEATS)
        rate = 2e-9 * N**3 / self.gemm
        print(f"matrix product {N}³: {self.gemm * 1e3:.1f} ms, {rate:.1f} GFLOP/s\n")
        print(f"{'':34}{'ms':>9}{'products':>10}{'expected':>10}")

    def wants(self, name: str) -> bool:
        return not self.names or any(part in name for part in self.names)

    def time(self, name: str, f: Callable[[], object]) -> None:
        if not self.wants(name):
            return
        gemm, seconds = least(self.product, 3), least(f, REPEATS)
        ratio, expected = seconds / min(gemm, self.gemm), EXPECTED.get(name, np.inf)
        line = f"{name:34}{seconds * 1e3:9.2f}{ratio:10.3f}{expected:10.3f}"
        self.judge(name, ratio <= TOLERANCE * expected, line)

    def judge(self, name: str, good: bool, line: str) -> None:
        if not good:
            self.failed.append(name)
        print(line + ("" if good else "   TOO SLOW"), flush=True)


def guard_kernels(guard: Guard, X: np.ndarray) -> None:
    K_bar = np.random.default_rng(1).normal(size=(N, N))
    for leaf in Leaf.registry:
        kernel, name = leaf().for_width(D), leaf.__name__
        guard.time(f"{name}, value", partial(kernel.value, X, X + 1.0))
        guard.time(f"{name}, vjp", partial(kernel.vjp, X, X + 1.0, K_bar))


def guard_linalg(guard: Guard, K: np.ndarray) -> None:
    L, _ = linalg.cholesky(K, 1.0)
    B = np.random.default_rng(2).normal(size=(N, N))
    guard.time("Cholesky factor", lambda: linalg.cholesky(K, 1.0))
    guard.time("triangular solve", lambda: linalg.solve_lower(L, B))
    guard.time("Gram matrix", lambda: linalg.gram(B))


def guard_message(guard: Guard, basis: Anchors, chunks: list) -> None:
    """A chunk of M rows at M anchors, part by part what BLAS does."""
    send = partial(Block(0.1).send, basis, chunks[0])
    guard.time("message of a chunk", send)
    if not guard.wants("message of a chunk"):
        return
    flops = 4 * M**3 + M**3 / 3  # design, residual, whitening and Gram matrix; one factor
    A = np.random.default_rng(3).normal(size=(M, M))
    ideal, own = 2e-9 * M**3 / least(lambda: A @ A, REPEATS), 1e-9 * flops / least(send, REPEATS)
    inside = blas_share(send)
    line = f"{'  GFLOP/s, product, share of BLAS':34}{own:9.1f}{ideal:10.1f}{inside:10.2f}"
    guard.judge("message rate", own >= MESSAGE_RATE * ideal, line)


def blas_share(f: Callable[[], object], repeats: int = 5) -> float:
    """The share of f's time that is spent in BLAS and LAPACK."""
    inside = [0.0]
    names = ("potrf", "potri", "trsm", "syrk")
    real = {name: getattr(lapack, name) for name in names}

    def timed(routine, *arguments):
        start = time.process_time()
        found = routine(*arguments)
        inside[0] += time.process_time() - start
        return found

    shares = []
    try:
        for name in names:
            setattr(lapack, name, partial(timed, real[name]))
        for _ in range(repeats):
            inside[0], start = 0.0, time.process_time()
            f()
            shares.append(inside[0] / (time.process_time() - start))
    finally:
        for name in names:
            setattr(lapack, name, real[name])
    return float(np.median(shares))


def guard_threads(guard: Guard, basis: Anchors, chunks: list) -> None:
    name = "messages of 16 chunks"
    if not guard.wants(name):
        return
    send, A = partial(Block(0.1).send, basis), np.random.default_rng(5).normal(size=(M, M))
    add = partial(_add, send, chunks, basis.prior())
    guard.time(name, partial(add, Serial()))
    plain = partial(_multiply, A, len(chunks))
    own, ideal = 0.0, 0.0
    for _ in range(5):  # side by side, so that whoever else computes slows both
        own = max(own, gain(add))
        ideal = max(ideal, gain(plain))
    idle = "" if ideal > 1.8 else "   (cores are busy)"
    line = f"{'  gain of a second thread; products':34}{own:9.2f}{ideal:10.2f}{idle}"
    guard.judge("second thread", own >= TWO_THREADS * ideal, line)


def _add(send, chunks, zero, engine) -> None:
    engine.sum(send, chunks, zero)


def _send(send, chunks) -> list:
    return [send(chunk) for chunk in chunks]


def _multiply(A, times, engine) -> None:
    engine.map(lambda _: [A @ A for _ in range(3)], range(times))


def gain(run: Callable[[Serial], None]) -> float:
    """Speed of two threads relative to one, by wall time."""
    one, two = (
        least(partial(run, engine), 2, time.perf_counter) for engine in (Serial(), Threads(2))
    )
    return one / two


def guard_sums(guard: Guard, kernel: kernels.Kernel, Z: np.ndarray, chunks: list) -> None:
    """Exact sums, against the messages that are added."""
    for m in (200, 500):
        name = f"exact sum, {m} anchors"
        if not guard.wants(name):
            continue
        send = partial(Block(0.1).send, Anchors.at(kernel, Z[:m]))
        made = least(partial(_send, send, chunks), REPEATS)
        share = least(partial(Total.zero(m).plus, _send(send, chunks)), REPEATS) / made
        line = f"{name + ', of a message':34}{share:9.3f}{EXACT:10.2f}"
        guard.judge(name, share <= EXACT, line)


def guard_predictions(guard: Guard, kernel: kernels.Kernel, Z: np.ndarray, chunks: list) -> None:
    engine, Xs = Serial(), np.random.default_rng(4).normal(size=(4096, D))
    committee = Committee.start(kernel, 0.1, Z, 1).add(chunks, engine, keep=True)
    by_anchors, by_rows = GlobalPredictor(committee), LocalPredictor.of(committee, 400)
    guard.time("4096 means by anchors", lambda: by_anchors.mean(Xs, engine))
    guard.time("4096 means and variances by anchors", lambda: by_anchors.predict(Xs, engine))
    guard.time("1 query by 400 rows", lambda: by_rows.predict(Xs[:1], engine))
    guard.time("64 queries by 400 rows", lambda: by_rows.predict(Xs[:64], engine))


def main() -> int:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16 * M, D)), rng.normal(size=(16 * M, 1))
    kernel = kernels.Matern32(length_scale=np.full(D, 3.0))
    chunks = cut(X, y, np.ones(len(X)), np.array_split(np.arange(len(X)), 16))
    with single_threaded():
        guard = Guard(sys.argv[1:])
        basis = Anchors.at(kernel, rng.normal(size=(M, D)))
        K = kernel.value(X[:N])
        linalg.add_diagonal(K, 0.1)
        guard_kernels(guard, X[:N])
        guard_linalg(guard, K)
        one = cut(X[:N], y[:N], np.ones(N), [np.arange(N)])
        step = partial(factorised, kernel, 0.1, one, Serial())
        guard.time("evidence and gradient, 1000 rows", step)
        guard_message(guard, basis, chunks)
        guard_sums(guard, kernel, basis.Z, chunks)
        guard_predictions(guard, kernel, basis.Z, chunks)
        system = refine.LinearSystem.of(kernel, 0.1, chunks[:4])
        product = partial(system.product, y[: system.X.shape[0]], Serial())
        guard.time("covariance times vector, 2000 rows", product)
    guard_threads(guard, basis, chunks)
    if guard.failed:
        print(f"\ntoo slow: {', '.join(guard.failed)}")
    return 1 if guard.failed else 0


if __name__ == "__main__":
    sys.exit(main())
