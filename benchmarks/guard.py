"""Guards on speed, as ratios within one run: kernels against BLAS, gradients, two threads.

python benchmarks/guard.py
"""

import time

import numpy as np

from collegium import kernels
from collegium.core.chunk import cut
from collegium.core.evidence import factorised
from collegium.core.kernels import Leaf
from collegium.engines import Serial, Threads, single_threaded

N, D = 1000, 8


def seconds(f, repeats: int = 7) -> float:
    """The best of some runs."""
    f()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(N, D)), rng.normal(size=(N, N))
    A = A + A.T
    with single_threaded():
        gemm = seconds(lambda: A @ A)
        print(f"matrix product {N}³: {gemm * 1e3:.1f} ms, {2 * N**3 / gemm / 1e9:.1f} GFLOP/s\n")
        print(f"{'kernel':20}{'value, ns an entry':>20}{'vjp':>8}{'value / product':>18}")
        for leaf in Leaf.registry:
            kernel = leaf().for_width(D)
            value = seconds(lambda k=kernel: k.value(X, X + 1.0))
            vjp = seconds(lambda k=kernel: k.vjp(X, X + 1.0, A))
            words = f"{value / N**2 * 1e9:20.2f}{vjp / N**2 * 1e9:8.2f}{value / gemm:18.3f}"
            print(f"{leaf.__name__:20}{words}")
        kernel = kernels.Matern32(length_scale=np.full(D, 3.0))
        y = rng.normal(size=(N, 1))
        one = cut(X, y, np.ones(N), [np.arange(N)])
        step = seconds(lambda: factorised(kernel, 0.1, one, Serial()))
        print(
            f"\nevidence and gradient at n = {N}: {step * 1e3:.0f} ms = {step / gemm:.2f} products"
        )
    X, y = np.tile(X, (8, 1)) + rng.normal(size=(8 * N, D)), np.tile(y, (8, 1))
    chunks = cut(X, y, np.ones(8 * N), np.array_split(np.arange(8 * N), 16))
    serial = seconds(lambda: factorised(kernel, 0.1, chunks, Serial()), 5)
    threads = seconds(lambda: factorised(kernel, 0.1, chunks, Threads(2)), 5)
    print(f"16 chunks of 500: two threads are {serial / threads:.2f} times as fast as one")


if __name__ == "__main__":
    main()
